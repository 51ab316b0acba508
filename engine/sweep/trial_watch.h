// TrialWatch: sees the validations of a trial's fits, tells the study of them and asks its pruner.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "study/pruner.h"
#include "study/shared_study.h"
#include "study_plan.h"
#include "train/stop.h"

namespace trainlab {

// What a process does for the trial that it has leased.
struct LeasedTrial {
  Lease lease;
  std::vector<double> point;
  std::optional<Segment> segment;     // of a population: where it begins and ends
  std::optional<std::string> pruned;  // why, once it is
};

// A trial waits for one that nobody runs any more: whoever meets this gives back what it has leased, and asks again.
class TrialMustWait : public std::exception {};

// Reports of all trials that this process has under way, written together.
class Reports {
 public:
  // `pruner` may be null.
  Reports(const StudyPlan& plan, SharedStudy& study, const Pruner* pruner);

  // Takes in one; the trial's pruned is set when it is given up. Raises LeaseLost, TrialMustWait, Error{run}.
  void add(LeasedTrial& trial, const TrialReport& report);
  // A repeat begins after this resource.
  void begin(const LeasedTrial& trial, std::int64_t repeat, std::int64_t resource) {
    study_.forget(trial.lease, repeat, resource);
  }
  // On disk before a trial ends.
  void flush(const LeasedTrial& trial);
  // Of a deterministic study: waits until all that a decision about this trial may look at are final; how many.
  std::int64_t final_trials(std::int64_t trial);

 private:
  bool prunes(const LeasedTrial& trial);

  const StudyPlan& plan_;
  SharedStudy& study_;
  const Pruner* pruner_;
  std::vector<std::pair<std::int64_t, TrialReport>> pending_;  // by trial
  double flushed_;
  std::int64_t final_ = 0;  // so many trials are known to be final
};

// The rule of one repeat.
class TrialWatch final : public StopRule {
 public:
  TrialWatch(Reports& reports, LeasedTrial& trial, std::int64_t repeat, std::string metric)
      : reports_(reports), trial_(trial), repeat_(repeat), metric_(std::move(metric)) {}

  std::optional<std::string> validated(const Progress& progress) override;
  Value state() const override;
  void restore(const Value& state) override;

 private:
  Reports& reports_;
  LeasedTrial& trial_;
  std::int64_t repeat_, resource_ = 0;  // validations, those before a segment included
  std::string metric_;
};

}  // namespace trainlab
