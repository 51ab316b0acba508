// Trainings: short trainings of a fit with changed options, which write nothing.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/registry.h"
#include "find/context.h"
#include "run/stage.h"
#include "train/fit.h"

namespace trainlab {

// A training from new weights with another optimizer, another rate, and perhaps fewer steps.
struct ShortTraining {
  Value optimizer;  // spec of the optimizer; its rate is replaced
  double rate = 0;
  std::int64_t steps = 0;
  std::int64_t seed = 1;  // seed of the weights and of the order of samples
};

struct EndLoss {
  std::string metric;  // "val.loss", or "train.loss" without validation
  double value = 0;    // of the weights that are kept; NaN if the fit failed, as when a loss is not finite
};

// Raised where a budget of the search is used: budget_is_used or flops_are_used (run/budget.h).
class SearchBudgetUsed : public Error {
 public:
  explicit SearchBudgetUsed(const std::string& reason) : Error(run_error(reason)) {}
};

// Trains from new weights until the fit has ended, and returns its summary, or until the company raises SeenEnough, and
// then returns nil. Nothing is written or shown. `seconds_left`, `most_flops`: those of StageContext.
// Error{interrupted} when the run was asked to stop.
Value train_silently(const FitPlan& plan, const RunSettings& settings, const FitCompany& company,
                     const std::function<double()>& seconds_left = {},
                     double most_flops = std::numeric_limits<double>::infinity());

// Whether the fit itself says when it ends, by a number of epochs, steps or FLOPs.
bool has_length(const Options& fit);

class Trainings {
 public:
  // `fit` is a checked lab.fit. Error{recipe} for a fit with a step of its own.
  Trainings(const Registry& registry, const Spec& fit, const RunSettings& settings, const SearchContext& context);

  const Value& fit() const { return fit_.value; }
  // The fit with these options in place of its own (nil removes an option), and without the options that watch the fit
  // or end it early.
  Options changed(const Value::Map& changes) const;
  // The plan of a changed fit. All plans share the data that the first one opened.
  FitPlan plan(const Options& changed);
  // Trains as train_silently() does, and counts the FLOPs of its steps, also where an error ends it. SearchBudgetUsed
  // when the time or the FLOPs of the search are used, before the training or by it.
  Value run(const FitPlan& plan, FitCompany company);
  // The length of the whole fit, in steps; `assumed_steps` where only a time ends it.
  const RunLength& length();
  // Runs through the fit's schedules in the steps of the training, and returns the loss at its end.
  EndLoss end_loss(const ShortTraining& training);

 private:
  const Registry& registry_;
  const Spec& fit_;
  const RunSettings& settings_;
  const SearchContext& context_;
  std::optional<DataParts> data_;
  std::optional<RunLength> length_;
  double flops_ = 0;  // of all trainings so far
};

}  // namespace trainlab
