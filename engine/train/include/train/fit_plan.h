// FitPlan: a `lab.fit` with everything that is derived and checked before the first step: opened data, shapes, lengths,
// names.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/registry.h"
#include "data/loader.h"
#include "journal/checkpoint_rule.h"
#include "model/model.h"
#include "model/recompute.h"
#include "objective/loss.h"
#include "objective/metric.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "run/stage.h"
#include "train/fix.h"

namespace trainlab {

// The types of numbers in a fit.
struct Precision {
  at::ScalarType weights = at::kFloat;  // of parameters (ParameterInfo::stored_in) and their gradients; in files
  at::ScalarType compute = at::kFloat;  // of matrix products and convolutions in the forward and the backward pass
  at::ScalarType loss = at::kFloat;     // of the scores that losses and metrics see, and of what they compute with
  at::ScalarType batches = at::kFloat;  // of the columns of numbers that the loader gives
  WeightRounding rounding = WeightRounding::none;  // of steps, where weights are in bfloat16
  std::vector<std::string> keep = {};              // patterns of layers (LayerPrecision::keep)

  // Whether products are in fewer digits than sums.
  bool is_mixed() const { return c10::isReducedFloatingType(compute); }
  LayerPrecision of_layers() const {
    return {.compute = is_mixed() ? compute : at::ScalarType::Undefined, .keep = keep};
  }
};

struct FitPlan {
  explicit FitPlan(Options fit) : options(std::move(fit)) {}

  Options options;
  RunSettings settings;  // with which the plan was made
  std::int64_t seed = 1;
  Precision precision;
  at::Device device = at::kCPU;

  DataParts data;
  std::vector<std::size_t> inputs;     // columns of the dataset that the model reads, in the order of its columns()
  std::shared_ptr<const Model> model;  // null if a step of the recipe's own trains several models
  Head head;
  std::unique_ptr<Loss> loss;
  std::vector<PlannedMetric> metrics;

  LoaderOptions loader;
  RunLength length;                 // total_steps 0: bounded by time only
  double time_budget = 0;           // seconds; 0: none
  std::int64_t validate_every = 0;  // steps
  CheckpointRule checkpoint;
  Clip clip;
  std::int64_t accumulate = 1;       // number of micro-batches in an optimizer step
  std::int64_t micro_batch = 0;      // the most samples of a batch that go through the model at a time; 0: all
  std::int64_t budget = 0;           // the most bytes that tensors may take in the training; 0: no limit
  Recompute recompute;               // the option memory.recompute
  bool plans_for_one = false;        // whether `recompute` was chosen for a trial that trains alone
  bool steps_by_parameter = false;   // whether the optimizer can step a parameter as soon as its gradient is there
  bool fuse_step = false;            // the option memory.fuse_step
  bool chunk_loss = false;           // the option memory.chunk_loss
  std::int64_t state_bytes = 0;      // of the optimizer
  std::int64_t rule_numbers = 0;     // float32 numbers that the rules in `stop` keep for each weight that trains
  bool offload_optimizer = false;    // the option memory.offload: the optimizer's state lies in a file
  bool offload_activations = false;  // the same of what autograd keeps for the backward pass
  std::filesystem::path folder;      // RunSettings::folder, where these files lie

  // A training step of the recipe's own, and the models that it trains, in order of name; the name of a single model is
  // empty.
  struct StepModel {
    std::string name;
    std::shared_ptr<const Model> model;
    Options optimizer;
    Clip clip;
    std::optional<Shape> input;  // shape of an input sample, if it is not that of the data
  };
  std::shared_ptr<Callable> step;
  std::vector<StepModel> step_models;

  std::vector<std::string> warnings;  // "FILE:LINE: path: text"
  std::vector<std::string> notes;     // what was chosen, and its price
  Value chosen;                       // RunSettings::chosen, settled: nil where nothing was to choose
  // The bytes of the training without options of `memory`, where a budget has chosen them; else nullopt.
  std::optional<std::int64_t> plain_training;

  std::vector<Fix> fixes;  // RunSettings::fixes, which `options` follow

  NamedTensors initial_optimizer;  // the optimizer's first state, by its own names; empty: as the optimizer makes it

  std::string monitor;  // "val.loss"
  bool keep_best = true;
  // Error{recipe} for a full name ("val.loss") of a metric that this fit does not have.
  void check_metric(const std::string& full_name) const;
  // The same for a metric that is asked for while the fit trains: those of the test part are known at the end only.
  void check_watched(const std::string& full_name) const;
  // Whether smaller is better for a metric, by its full name. Error{recipe} for an unknown name, and for a metric
  // written in Lua that declares no direction.
  bool minimize(const std::string& full_name) const;
  // The value of a metric, by its full name, than which no model can have a better one; nullopt where none is known.
  std::optional<double> best_possible(const std::string& full_name) const;
  // The full names of all metrics of a validation.
  std::vector<std::string> metric_names() const;
  // Whether the validation and test parts are measured: only a fit with a step of its own may have no loss, and is then
  // not measured.
  bool measures() const { return loss != nullptr; }
  std::int64_t parameter_count() const;
  // The facts of the fit's loss; null where a function or a step of the recipe computes it.
  const LossKind* loss_kind() const;
  // `loader`, with the number of batches that the length needs.
  LoaderOptions training_loader() const;
  // Samples of an optimizer step, the mean over an epoch, whose last step may have fewer than length.batch.
  double step_samples() const;
  // FLOPs of both passes for a sample; NaN where nobody knows them: with a step of the recipe's own, and with layers of
  // its own.
  double sample_flops() const;
  // The steps whose batches fit into this number of FLOPs, a whole number; infinite for infinitely many.
  double steps_within(double flops) const;
  // The FLOPs of this number of steps from the first on; NaN as sample_flops().
  double flops_until(std::int64_t count) const;

 private:
  // The full names of the metrics of a part that is measured, "val" or "test".
  void add_metrics_of(const std::string& part, std::vector<std::string>& names) const;
};

// Opens the data (unless it was opened before, from an equal option `data` with the same run's seed) and builds the
// model. Error{recipe} names the path of an option that does not fit.
FitPlan plan_fit(const Options& options, const RunSettings& settings, const DataParts* opened = nullptr);

// Whether a fit leaves the size of its batches to plan_fit().
bool is_auto_batch(const Options& fit);
// Whether a fit leaves to plan_fit() which options keep its training within memory.budget.
bool is_auto_memory(const Options& fit);
// Whether memory.budget is a percentage, whose bytes depend on the memory that is free at the time.
bool has_relative_budget(const Options& fit);
// Whether memory.recompute = "auto" has no budget, so that what is free decides.
bool takes_free_memory(const Options& fit);

// A warning, as "FILE:LINE: path: text", if products take longer than in float32.
std::optional<std::string> slow_products(const FitPlan& plan);

// The next batch of the plan's data. An error without a place in the recipe (from a transform) gets the place of the
// option `data`.
Batch next_batch(const FitPlan& plan, Loader& loader);

// Estimated bytes that a training step needs, by category.
struct MemoryEstimate {
  double weights = 0, gradients = 0, optimizer = 0, activations = 0, data = 0;
  double total() const { return weights + gradients + optimizer + activations + data; }
};
MemoryEstimate estimate_memory(const FitPlan& plan);

}  // namespace trainlab
