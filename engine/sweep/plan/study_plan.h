// StudyPlan: the plan of a lab.sweep or a lab.ensemble, checked before the first trial: the space, how trials are
// chosen and ended early, how a trial's fits are built, and in which direction its metrics are better. SweepPlan and
// EnsemblePlan hold the differences.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/stage.h"
#include "study/failures.h"
#include "study/pruner.h"
#include "study/shared_study.h"
#include "study/study.h"
#include "sweep/sweep.h"
#include "train/fit_plan.h"

namespace trainlab {

struct Objective {
  std::string metric;  // full name: "val.accuracy"
  bool maximize = false;
};

// Whether the metric is measured at the end of a fit alone.
inline bool is_of_test(const Objective& objective) { return objective.metric.starts_with("test."); }

// Data sets that fits of this process have opened, by spec: the trials of a study mostly share a data set.
class OpenedData {
 public:
  // nullptr if the data cannot be shared, because it contains functions of the recipe.
  const DataParts* open(const Options& fit, const RunSettings& settings);

 private:
  std::map<std::string, DataParts> opened_;
};

// The strings of a list option; empty if the option has no value.
std::vector<std::string> strings(const Options& stage, const char* option);

// Whether an error of a trial is the trial's own, after which other trials may go on: what its parameters make is
// wrong, or needs more memory than there is.
bool is_of_trial(const Error& error);

// NaN for no values.
double mean_of_repeats(const std::vector<double>& values);

// The terms on which a sweep or an ensemble makes its trials, each from options of its own.
struct StudyTerms {
  static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

  Space space;
  std::int64_t seed = 1;
  std::string_view trials_name;    // "trials", for the progress line
  std::int64_t trials = no_limit;  // at most
  std::int64_t repeats = 1;        // fits of a trial
  // The share of the time that the stage has in its run's budget which it needs when all trials have ended.
  double share_at_end = 0;
  // The share of the stage's own time (the option `time`) in which trials begin.
  double share_of_time = 1;
  std::int64_t trainings_at_end = 0;    // those that follow when all trials have ended
  std::int64_t predictions_at_end = 0;  // models that then predict together
  // The trials are trainings that confirm what another study has found: their study lies in the folder of the stage,
  // whatever the option `storage` says, and a single one of them is no result.
  bool is_confirmation = false;
  double longest = 0;  // seconds that a trial is known to take; 0: nothing is known
  // A trial begins if this part of the time that it is expected to take is left of the run's budget. It may be cut
  // short then, which is better than time that nothing uses; a confirmation that is cut short would tell too little.
  double least_part() const { return is_confirmation ? 1 : 0.5; }
  bool is_deterministic = false;
  bool reuses_duplicates = false;         // a trial takes over the result of an earlier trial at the same point
  bool ends_without_improvement = false;  // the stage ends when no more improvement is expected
  std::vector<std::vector<double>> enqueued = {};  // points to try first
  // The value of a trial, from the values of its repeats.
  double (*aggregate)(const std::vector<double>& values) = mean_of_repeats;
};

class StudyPlan {
 public:
  virtual ~StudyPlan() = default;
  StudyPlan(const StudyPlan&) = delete;

  const Options& options() const { return options_; }
  const RunSettings& settings() const { return settings_; }  // of the fits: threads of one trial
  const StudyTerms& terms() const { return terms_; }
  const std::vector<Objective>& objectives() const { return objectives_; }
  const TrialAddition& addition() const { return addition_; }  // to the trainings of trials
  bool extends() const { return !extension_.empty(); }         // whether this is `trainlab extend`
  int workers() const { return workers_; }
  // The fit or task of the first trial that can be built. A fit shows the available metrics.
  const Options& example() const { return *example_; }
  StageTrainings trainings() const;
  // Whether trials are tasks, loops by hand, and not fits.
  bool runs_tasks() const { return example_->entry().name == "task"; }

  double time_budget() const { return terms_.share_of_time * time_budget_; }  // seconds; 0: none
  virtual std::unique_ptr<Pruner> pruner() const { return nullptr; }          // null: none
  // The weights that a training delivers, by the first fit that can be planned; nothing is known before.
  const Delivery& delivery() const { return delivery_; }
  // The number of trials that may fail, and why the stage ends when one more has failed.
  virtual std::int64_t most_failures() const = 0;
  virtual std::string failure(const Failures& failures) const = 0;
  // The lines that `trainlab check` prints about the trials.
  virtual std::string text() const = 0;

  // An empty study, as each process makes it.
  Study study() const;
  // The description in the study's file, which reports read without the recipe.
  virtual Value description(const Study& study) const;

  // hp.seed of a repeat, from 1: the same for all trials, so that they share initial weights, order and masks.
  std::int64_t repeat_seed(std::int64_t repeat) const;
  // The fit or task of a repeat of a trial, as `build` returns it; it takes hp.seed, and a fit monitors the study's
  // metric, unless it says otherwise. Raises Error{recipe}, and every error of the function.
  virtual Options build(std::span<const double> point, std::int64_t trial, std::int64_t repeat) const = 0;
  // The same with parameters by name.
  Options build_with(Value::Map params, std::int64_t trial, std::int64_t repeat) const;
  FitPlan plan_fit(const Options& fit) const;
  // Number of members of the stacks in which such fits train; 1: each fit trains alone.
  std::int64_t stack_of(const FitPlan& fit) const;
  // The trials that a process trains together, when fits train in such stacks and `left` trials are left: no more than
  // its share of these.
  std::int64_t trials_at_once(const Study& study, std::int64_t stack, std::int64_t left) const;
  // Why such fits train alone although the option `stack` is a number; empty where they do not.
  std::string why_no_stack(const FitPlan& fit) const;
  // Whether the recipe asks for stacks, and does not leave the choice to the engine.
  bool demands_stack() const;

 protected:
  StudyPlan(const Options& stage, const RunSettings& settings, StudyTerms terms, TrialAddition addition);
  // A plan of other trials of the same fits, which `other` has checked.
  StudyPlan(const StudyPlan& other, StudyTerms terms);
  // Builds the first trials until one can be planned, to learn its metrics. Error{recipe} names the path of a wrong
  // option. The last step of a constructor.
  void find_directions();
  // Error{recipe} if the fit does not suit the study, or if tasks do not.
  virtual void check_example(const FitPlan& fit, const Study& study) const { (void)fit, (void)study; }
  virtual void check_tasks() const;
  // Error{recipe} if the option `stack` is a number and such fits cannot train in a stack.
  void check_stack(const FitPlan& fit) const;
  virtual std::unique_ptr<Sampler> sampler() const = 0;
  // Settings of the study beside directions, pruner and seed.
  virtual void settle(StudySettings& settings) const { (void)settings; }

 private:
  std::string option_behind(const Options& fit, const Error& error) const;
  std::int64_t trainings_together(const Study& study, std::int64_t trials) const;
  std::int64_t most_trials(const Study& study) const;
  bool leaves_out(const Study& study) const;
  void plan_time_budget(const RunSettings& settings);
  void plan_objectives();
  void set_directions(const FitPlan& plan);
  void set_directions_of_tasks();
  void set_delivery(const FitPlan& plan);
  void set_direction(std::size_t objective, std::optional<bool> minimize);

  Options options_;
  RunSettings settings_;
  std::string extension_;  // "56 trials" of `trainlab extend`, else empty
  int workers_ = 1;
  double time_budget_ = 0;
  StudyTerms terms_;
  TrialAddition addition_;
  std::vector<Objective> objectives_;
  std::optional<Options> example_;
  Delivery delivery_;
  std::int64_t example_trial_ = 0;
  std::vector<double> example_point_;
  std::shared_ptr<Callable> build_;
  std::shared_ptr<OpenedData> data_ = std::make_shared<OpenedData>();
};

}  // namespace trainlab
