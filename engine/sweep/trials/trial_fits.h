// The fits of the trials that a process has leased: built, grouped into stacks where that pays off, trained, and told
// of to the study. A task in place of a fit runs alone.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "train/fit.h"
#include "trials/trial_end.h"

namespace trainlab {

// Used by the recipe's thread.
class TrialFits {
 public:
  // `speed`: of the stage. `reported` is called after each report of a trial.
  TrialFits(const StudyPlan& plan, const StageContext& context, SharedStudy& study, TrialPlans& plans,
            TrialWarnings& warnings, SpeedTotal& speed, std::function<void()> reported);

  // Writes the reports that wait to be written together. Raises as Reports::flush().
  void write_reports() { reports_.flush(); }

  // Trains all repeats of these trials, each of which may use this number of FLOPs; in the order given. Raises
  // LeaseLost, and Error for what concerns more than a trial.
  std::vector<TrialEnd> run(std::span<LeasedTrial> trials, double most_flops);

 private:
  using Member = std::pair<BuiltTrial*, TrialFit*>;

  BuiltTrial build(LeasedTrial& trial);
  void take_over(const LeasedTrial& trial, TrialFit& fit) const;
  void go_on_from(std::int64_t parent, std::int64_t trial, const TrialFit& fit) const;
  std::string clone_of(const LeasedTrial& trial, const TrialFit& fit) const;
  void train_stacks(std::list<BuiltTrial>& trials);
  void train_alone(BuiltTrial& trial);
  StageContext context_of(const Member& member, bool resumed, const std::function<double()>& seconds_left);
  // The time that a training of `members` of the open fits may take.
  std::function<double()> share_of_time(std::size_t members) const;
  // The facts of trials that train together, for the addition of the plan.
  TrialsAtWork at_work(std::span<const Member> members) const;
  void train(std::span<const Member> members, bool axis);
  void run_alone(const Member& task);
  void keep(const Member& member, Value summary, std::size_t members);
  void train_again(std::span<const Member> members, bool axis);
  // The company that the additions to a fit have for trials.
  const std::vector<JoinTrials>& joins(const Options& fit);

  const StudyPlan& plan_;
  const StageContext& context_;
  SharedStudy& study_;
  TrialPlans& plans_;
  TrialWarnings& warnings_;
  SpeedTotal& speed_;
  std::unique_ptr<Pruner> pruner_;
  Reports reports_;
  std::vector<JoinTrials> joins_;
  double fit_flops_ = 0;  // that a fit of the present trials may use
  std::size_t open_ = 0;  // fits of the present trials that have not ended
};

}  // namespace trainlab
