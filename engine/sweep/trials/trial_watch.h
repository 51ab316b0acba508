// TrialWatch: sees the validations of a trial's fits, tells the study of them and asks its pruner.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/study_plan.h"
#include "study/pruner.h"
#include "study/shared_study.h"
#include "train/stop.h"

namespace trainlab {

// A trial that this process has leased, and how it stands.
struct LeasedTrial {
  Lease lease;
  std::vector<double> point;
  Segment segment;                    // what the scheduler gives the trial to train
  std::optional<std::string> pruned;  // why, once it is
  std::int64_t judged = 0;            // the validation of which the pruner was asked last
};

// Reports of all trials that this process has under way, written together.
class Reports {
 public:
  // `pruner` may be null. `reported` is called after each report.
  Reports(const StudyPlan& plan, SharedStudy& study, const Pruner* pruner, std::function<void()> reported);

  // Queues a report. Raises as flush().
  void add(const LeasedTrial& trial, const TrialReport& report);
  // All repeats of the trial that train now have reported this resource: its `pruned` is set when it is given up. The
  // pruner is asked at most once for a resource. Raises as flush().
  void judge(LeasedTrial& trial, std::int64_t resource);
  // A repeat begins after this resource. Its later reports are dropped; the repeat reports them again.
  void begin(LeasedTrial& trial, std::int64_t repeat, std::int64_t resource);
  // Writes all queued reports. Raises LeaseLost when one of the trials is another's by now, Error{run}.
  void flush();
  // Forgets the reports that were not written, which are those of trials that were given up.
  void drop() { pending_.clear(); }

 private:
  struct Pending {
    Lease lease;
    std::vector<TrialReport> reports;
  };

  const StudyPlan& plan_;
  SharedStudy& study_;
  const Pruner* pruner_;
  std::function<void()> reported_;
  std::map<std::int64_t, Pending> pending_;  // by trial
  double flushed_;
};

// The rule of one repeat.
class TrialWatch final : public StopRule {
 public:
  TrialWatch(const StudyPlan& plan, Reports& reports, LeasedTrial& trial, std::int64_t repeat)
      : plan_(plan), reports_(reports), trial_(trial), repeat_(repeat) {}

  std::optional<std::string> validated(const Progress& progress) override;
  // The next report: a value for each metric of the study.
  void report(std::vector<double> values);
  std::optional<std::string> all_validated() override;
  // The reports that a checkpoint counts have been written.
  Value state() const override;
  void restore(const Value& state) override;

 private:
  const StudyPlan& plan_;
  Reports& reports_;
  LeasedTrial& trial_;
  std::int64_t repeat_, resource_ = 0;  // validations, those before a segment included
};

}  // namespace trainlab
