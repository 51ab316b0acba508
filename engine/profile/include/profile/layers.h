// The cost of each layer of a model in a training step: time forward and backward, arithmetic, bytes moved, and the
// operators of LibTorch behind them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/value.h"
#include "train/fit_plan.h"

namespace trainlab {

// All figures are those of one training step. A row has its part of the time of the timed steps, without the time of
// the timing where this is known, scaled so that all rows add up to the median step that is not timed. How a row's
// seconds are divided among its operators comes from as many other steps, because timing each operator takes time.
// Calls, bytes and operations are means over as many further steps, because looking at tensors takes time too.
struct OperatorCost {
  std::string name;    // "aten::addmm"
  double seconds = 0;  // time without the operators that this operator calls
  double calls = 0;
  double bytes = 0;  // bytes that the operator itself reads and writes, not in operators that it calls
  double flops = 0;  // operations of matrix products and convolutions, from the shapes of operands

  OperatorCost& operator+=(const OperatorCost& other);  // keeps the name
};

struct LayerCost {
  // A layer's path, "fit.model[3].Linear", or a part of the step outside of the layers: "loss", "optimizer", "fetch",
  // "move", "gradients", "average", "backward" (what autograd does before the first of its functions), "on.step" and
  // other functions of the recipe, "transform", "own step", and "other" for the rest.
  std::string path;
  bool is_layer = false;
  // Seconds, without those of the layers inside. Operators of the backward pass belong to the layer whose forward pass
  // they differentiate. A second forward pass of memory.recompute belongs to the layer that needs its tensors first.
  double forward = 0, backward = 0;
  double calls = 0;
  // The operations that the model states for the layer (Flops, model/layer.h), without the layers inside, multiplied by
  // the samples. The sum over the row's operators instead for rows that are no layers, for layers whose arithmetic the
  // model does not know, and in fits with a step of the recipe's own.
  double flops = 0;
  double bytes = 0;
  std::vector<OperatorCost> operators;  // the longest first
  // The least time of the row's operators under the roofs of the machine (ProfileDetails), as a share of their time.
  std::optional<double> roof_share = {};
  std::optional<std::int64_t> activations = {};  // bytes that the layer keeps for the backward pass; ProfileDetails

  double seconds() const { return forward + backward; }
  double operator_flops() const;  // counted from the shapes of the calls
};

enum class LayerView { layers, operators };

struct LayerTable {
  std::vector<LayerCost> rows;  // in the order of the step, a layer before the layers inside
  std::string type = {};   // of the numbers of the products that have most of the FLOPs: "float32"; empty without any
  std::int64_t steps = 0;  // steps whose rows were timed
  // The median of the steps between them that are not timed, the plain ones: the sum of the rows.
  double step_seconds = 0;
  // The seconds of a step in the mean: more than step_seconds where some steps do more than the others, as a validation
  // that a task does by itself, and less where some have fewer samples, as the last one of an epoch. All steps but the
  // cold ones count where they are those of whole runs of a task. Else only what comes in most tenths of the
  // measurement counts: not a single long wait, nor a moment in which the machine was taken. nullopt with fewer than 20
  // steps of each use.
  std::optional<double> mean_seconds = {};
  // How much longer a step whose rows are timed takes than a plain one: 0.1 is a tenth. From the two medians; nullopt
  // where they do not tell it: with fewer than three such steps, or where a busy machine has made the plain steps the
  // longer ones, or the timed steps longer than all readings of the clock can.
  std::optional<double> overhead = {};
  std::optional<double> operator_overhead = {};  // the same of a step whose operators are timed
  std::string cut_short = {};  // why a further run of a short stage added no steps: the text of its error

  // Operators of all rows by name, the longest first.
  std::vector<OperatorCost> operators() const;
  // { layers = { { path, forward, backward, flops, bytes, calls, flops_per_second, bytes_per_second, roof_share,
  // activations, operators = { { name, seconds, calls, bytes, flops }, … } }, … }, steps, step_seconds,
  // mean_seconds, overhead, operator_overhead }. A rate is nil where a row has no time, and what is not known is
  // nil.
  Value to_value() const;
  // A table of only the `count` rows that take most seconds, the longest first.
  LayerTable heaviest(std::size_t count) const;
  // A line for each row, or for each operator.
  std::string text(LayerView view) const;
};

constexpr std::int64_t uses_of_steps = 4;  // among which steps take turns: LayerSteps::count

struct LayerSteps {
  std::int64_t first = 5;  // cold steps at the beginning of each run of the stage, which are not measured
  // Steps of each use: those whose rows are timed, those whose operators are timed, those that are counted, and those
  // that are left alone, in turns.
  std::int64_t count = 20;
  // Seconds after which the measurement ends as soon as each use has `few` steps.
  double seconds = std::numeric_limits<double>::infinity();
  // Seconds after which the measurement ends whatever it has.
  double longest = std::numeric_limits<double>::infinity();
  // Whether a stage that has ended by itself is then measured to the end of a run. The steps of a task may grow while
  // the task learns, so that its first steps alone are no measure of a step.
  bool in_whole_runs = false;

  static constexpr std::int64_t few = 3;  // the fewest from which the cost of the timing is told

  // Whether to end when each use has at least `steps` steps and `took` seconds have passed.
  bool is_enough(std::int64_t steps, double took) const {
    return steps >= count || (took > seconds && steps >= few) || took > longest;
  }
  // After a step that is listened to, the next one takes a few microseconds longer, because LibTorch looks anew for who
  // listens to its operators. Where steps are so short that many are measured, a plain step comes after one that is
  // left out.
  bool settles() const { return count >= 50; }
  // The steps of a run in which all steps are measured, where count is so small that the steps do not settle().
  std::int64_t total() const { return first + uses_of_steps * count; }
};

// Trains the plan's fit without a folder until all steps are measured. A fit that ends earlier is trained again from
// its beginning, as often as needed, and each of these trainings calls the recipe's `on.start`, of the functions in
// `on` that one alone. Validations of the fit take place as usual and are not in the table. Nothing is written, and the
// results are thrown away. Error{usage} for a device on which operators run behind the host; Error{run} where the fit,
// or the time, ends before each use has a step; Error{interrupted} where the run is asked to stop before; and errors of
// the fit itself. An error after that ends the measurement with the steps of the runs before (LayerTable::cut_short).
// Uses the calling thread.
LayerTable measure_layers(const FitPlan& plan, const LayerSteps& steps = {});

// The same of a task on the CPU, whose steps are the passes through its loops. Layers have rows where the task calls a
// model that lab.build has made; all else stands in the row "own step". Runs the task from its beginning, in a
// temporary folder, and a short task several times: each run calls the task's function.
LayerTable measure_task_layers(const Options& stage, const RunSettings& settings, LayerSteps steps = {});

}  // namespace trainlab
