// StudyPlan: what a lab.sweep or a lab.ensemble means, checked before the first trial: the space, who chooses and who
// prunes, how a trial's fits are built, and in which direction its metrics are better.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/stage.h"
#include "study/pruner.h"
#include "study/shared_study.h"
#include "study/study.h"
#include "train/fit_plan.h"

namespace trainlab {

struct Objective {
  std::string metric;  // full name: "val.accuracy"
  bool maximize = false;
};

// Data that fits of this process have opened, by its spec: the trials of a study mostly share one.
class OpenedData {
 public:
  // nullptr where it cannot be shared: functions of the recipe are in it.
  const DataParts* open(const Options& fit, const RunSettings& settings);

 private:
  std::map<std::string, DataParts> opened_;
};

class StudyPlan {
 public:
  // Builds the first trials, until one can be planned, to see what its metrics are. Error{recipe} with the option's
  // path for all that is wrong.
  StudyPlan(const Options& stage, const RunSettings& settings);

  const Options& options() const { return options_; }
  const RunSettings& settings() const { return settings_; }  // of the fits: threads of one trial
  bool is_ensemble() const { return options_.entry().name == "ensemble"; }
  const Space& space() const { return space_; }
  const std::vector<Objective>& objectives() const { return objectives_; }
  std::int64_t seed() const { return seed_; }
  std::int64_t repeats() const { return repeats_; }  // fits of a trial
  std::int64_t trials() const;                       // at most
  double time_budget() const;                        // seconds; 0: none
  bool deterministic() const;
  bool extends() const { return extends_; }  // whether this is `trainlab extend`
  int workers() const { return workers_; }
  // The fit of the first trial that can be built: what metrics there are is known from it.
  const Options& example() const { return *example_; }

  // An empty study, as each process makes it.
  Study study() const;
  std::unique_ptr<Pruner> pruner() const;  // null: none
  // Whether the stage ends when no more improvement is expected.
  bool ends_without_improvement() const;
  // Points to try first.
  std::vector<std::vector<double>> enqueued() const;
  // For the study's file: what a report needs to know without the recipe.
  Value description(const Study& study) const;

  // The value of a trial from those of its repeats: their mean, or their median.
  double aggregate(std::vector<double> values) const;

  // hp.seed of a repeat, from 1: the same for all trials, so that they share initial weights, order and masks.
  std::int64_t repeat_seed(std::int64_t repeat) const;
  // The fit of a repeat of a trial as `build` gives it, with the study's metric to monitor and hp.seed where it says
  // nothing else. Error{recipe}, also whatever the function raises.
  Options build(std::span<const double> point, std::int64_t trial, std::int64_t repeat) const;
  // The same with parameters by name.
  Options build_with(Value::Map params, std::int64_t trial, std::int64_t repeat) const;
  FitPlan plan_fit(const Options& fit) const;
  // Members of the stacks in which such fits train; 1: each trains alone.
  std::int64_t stack_of(const FitPlan& fit) const;

 private:
  static std::int64_t seed_of(const Options& stage, const RunSettings& settings);
  void check_lineage(const Study& study) const;
  void plan_objectives();
  void find_directions();
  void check_length(const FitPlan& fit, const Study& study) const;
  Value::Map params(std::span<const double> point) const;

  Options options_;
  RunSettings settings_;
  bool extends_ = false;
  std::optional<std::int64_t> extended_;  // the total of trials that `trainlab extend` gave
  std::int64_t seed_ = 1, repeats_ = 1;
  int workers_ = 1;
  Space space_;
  std::vector<Objective> objectives_;
  std::optional<Options> example_;
  std::shared_ptr<Callable> build_;
  mutable OpenedData data_;
};

}  // namespace trainlab
