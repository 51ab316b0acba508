// The fits of the trials that a process has leased: built, grouped into stacks where that pays off, trained, and told
// of to the study. A task in place of a fit runs alone.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trials/trial_watch.h"

namespace trainlab {

// One repeat of a trial.
struct TrialFit {
  Options options;
  std::int64_t repeat = 1;
  std::filesystem::path folder;  // of the attempt
  std::string structure;         // see structure_of
  Value summary;                 // once it has ended
};

// How a trial ended.
struct TrialEnd {
  TrialState state = TrialState::complete;
  std::vector<double> values;
  Value info;
  bool interrupted = false;  // another process continues the trial
};

// Used by the recipe's thread.
class TrialFits {
 public:
  // `reported` is called after each report of a trial.
  TrialFits(const StudyPlan& plan, const StageContext& context, SharedStudy& study, std::function<void()> reported);

  // Members of the stacks that fits such as this trial's run in; 1: it runs alone. Error{recipe} when it cannot be
  // built.
  std::int64_t stack_of(const LeasedTrial& trial);

  // Writes the reports that wait to be written together. Raises as Reports::flush().
  void write_reports() { reports_.flush(); }

  // The FLOPs of all repeats of a trial that has begun, if they train to their end: infinite where only the time ends
  // them, 0 for a trial that cannot be built.
  double planned_flops(std::int64_t trial);

  // Trains all repeats of these trials, each of which may use this number of FLOPs; in the order given. Raises
  // LeaseLost, and Error for what concerns more than a trial.
  std::vector<TrialEnd> run(std::span<LeasedTrial> trials, double most_flops);

 private:
  struct Built {
    LeasedTrial* trial = nullptr;
    std::vector<TrialFit> fits;  // by repeat
    std::string failure;         // why it could not be built
  };
  using Member = std::pair<Built*, TrialFit*>;

  Built build(LeasedTrial& trial);
  Value ended_before(const LeasedTrial& trial, const std::filesystem::path& folder) const;
  void go_on_from(std::int64_t parent, std::int64_t trial, const TrialFit& fit) const;
  std::string clone_of(const LeasedTrial& trial, const TrialFit& fit) const;
  const std::shared_ptr<const FitPlan>& plan_of(const TrialFit& fit);
  std::int64_t stack_of(const TrialFit& fit);
  void train_stacks(std::list<Built>& trials);
  void train_alone(Built& trial);
  // The FLOPs of the parent of a trial, with whose checkpoint this fit has begun; 0 for a trial without a parent.
  double inherited_flops(const LeasedTrial& trial, const TrialFit& fit) const;
  void warn_of_cut(const Built& trial, double flops);
  StageContext context_of(const Member& member, bool resumed, const std::function<double()>& seconds_left);
  // The time that a training of `members` of the open fits may take.
  std::function<double()> share_of_time(std::size_t members) const;
  // What the addition of the plan gets to know of trials that train together.
  TrialsAtWork at_work(std::span<const Member> members) const;
  void train(std::span<const Member> members, bool axis);
  void run_alone(const Member& task);
  void keep(const Member& member, Value summary, std::size_t members);
  void train_again(std::span<const Member> members, bool axis);
  // Why the repeats that are left would be spent in vain, when they would.
  std::optional<std::string> hopeless(const Built& trial);
  std::optional<double> value_of(const TrialFit& fit, std::size_t objective) const;
  TrialEnd end_of(const Built& trial) const;

  const StudyPlan& plan_;
  const StageContext& context_;
  SharedStudy& study_;
  std::unique_ptr<Pruner> pruner_;
  Reports reports_;
  double fit_flops_ = 0;                                         // that a fit of the present trials may use
  std::size_t open_ = 0;                                         // fits of the present trials that have not ended
  std::map<std::string, std::shared_ptr<const FitPlan>> plans_;  // by structure
  std::set<std::string> warned_;                                 // what this process has been warned of
  Value::List new_warnings_;  // those that no trial has stored yet, with the words for a reader
};

}  // namespace trainlab
