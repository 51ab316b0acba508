// TrialPlans: the fits and tasks of which trials are made, and the plans that fits of one structure share.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "journal/speed.h"
#include "trials/trial_warnings.h"
#include "trials/trial_watch.h"

namespace trainlab {

// One repeat of a trial.
struct TrialFit {
  Options options;
  std::int64_t repeat = 1;
  std::filesystem::path folder = {};  // of the attempt
  std::string structure = {};         // see structure_of; empty for a task, which shares nothing
  Value summary = {};                 // once it has ended
  // What its trainings have measured. Of fits that train as a stack, the first one has the figures of all.
  SpeedFigures measured = {};
  // The steps, from the first on, that a training without a summary had begun when an error ended it.
  std::int64_t lost_steps = 0;

  bool is_task() const { return options.entry().name == "task"; }
};

// A trial with all that it trains.
struct BuiltTrial {
  LeasedTrial* trial = nullptr;
  std::vector<TrialFit> fits;  // by repeat
  std::string failure;         // why it could not be built
};

// Used by the recipe's thread.
class TrialPlans {
 public:
  // Warns of what the plans warn of.
  TrialPlans(const StudyPlan& plan, const StageContext& context, TrialWarnings& warnings)
      : plan_(plan), context_(context), warnings_(warnings) {}

  // A repeat of a trial, without a folder. Raises as StudyPlan::build.
  TrialFit fit(std::span<const double> point, std::int64_t trial, std::int64_t repeat) const;
  // The plan of a fit. Raises Error{recipe} when there is none.
  const std::shared_ptr<const FitPlan>& of(const TrialFit& fit);
  // Members of the stacks that such fits run in; 1: such a fit runs alone. Error{recipe} as the two above.
  std::int64_t stack_of(const TrialFit& fit);
  std::int64_t stack_of(const LeasedTrial& trial);

 private:
  const StudyPlan& plan_;
  const StageContext& context_;
  TrialWarnings& warnings_;
  std::map<std::string, std::shared_ptr<const FitPlan>> plans_;  // by structure
};

}  // namespace trainlab
