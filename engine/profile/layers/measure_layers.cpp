#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/statistics.h"
#include "few_steps.h"
#include "profile/layers.h"
#include "reading_cost.h"
#include "recording.h"
#include "run/run.h"
#include "steps/measure.h"
#include "steps/repeat.h"
#include "tensor/device.h"
#include "tensor/types.h"

namespace trainlab {
namespace {

// Samples and micro-batches of the counted steps. The last batch of an epoch may be smaller, and the last step of an
// epoch may have fewer micro-batches.
struct Work {
  double samples = 0, batches = 0;
};
Work counted_work(const FitPlan& plan, const Recording& recording) {
  const std::int64_t batch = plan.loader.batch, size = plan.data.train.epoch_size();
  const std::int64_t batches = plan.loader.drop_last ? size / batch : (size + batch - 1) / batch;
  Work work;
  for (const std::int64_t step : recording.counted()) {
    const std::int64_t first = step % plan.length.steps_per_epoch * plan.accumulate;
    const std::int64_t end = std::min(first + plan.accumulate, batches);
    work.samples += static_cast<double>(std::min(end * batch, size) - first * batch);
    work.batches += static_cast<double>(end - first);
  }
  return work;
}

// Adds the FLOPs per sample of each layer, without the layers inside; NaN where the model does not know them.
void add_own_flops(const Layer& layer, std::map<std::string, Flops>& all) {
  Flops own = layer.flops();
  for (const Layer* child : layer.children()) {
    const Flops inside = child->flops();
    own.forward -= inside.forward;
    own.backward -= inside.backward;
    add_own_flops(*child, all);
  }
  all[layer.path] = own;
}

// The seconds of a tick, and those that a reading of the clock adds to a step of one use.
struct Clock {
  double tick = 0, reading = 0;

  double seconds(const Ticks& time) const {
    return std::max(static_cast<double>(time.ticks) * tick - static_cast<double>(time.readings) * reading, 0.0);
  }
};

// The clock of the steps of one use. The time by which the median step is longer than a plain one of `plain` seconds is
// that of the readings of the clock, in equal parts, where they can take as long.
Clock clock_of(const TimedSteps& steps, double plain, const std::optional<double>& overhead) {
  const double all = std::accumulate(steps.seconds.begin(), steps.seconds.end(), 0.0);
  const double readings = static_cast<double>(steps.readings) / static_cast<double>(steps.seconds.size());
  return {.tick = all / static_cast<double>(steps.ticks), .reading = overhead ? *overhead * plain / readings : 0};
}

// Divides the row's seconds among its operators in the proportion of their times in the operator steps.
std::vector<OperatorCost> costs_of(const RowSums& row, double seconds, const Clock& clock, double counted) {
  std::vector<OperatorCost> all;
  double in_operators = 0;
  for (const auto& [name, sums] : row.operators) {
    all.push_back({.name = name,
                   .seconds = clock.seconds(sums.time),
                   .calls = static_cast<double>(sums.calls) / counted,
                   .bytes = sums.bytes / counted,
                   .flops = sums.flops / counted});
    in_operators += all.back().seconds;
  }
  // A reading may take less than its equal part, so that the row has less left than its operators.
  const double whole = std::max(clock.seconds(row.in_operator_steps), in_operators);
  for (OperatorCost& one : all) one.seconds *= whole > 0 ? seconds / whole : 0;
  std::ranges::stable_sort(all, std::greater<>(), &OperatorCost::seconds);
  return all;
}

// The FLOPs that the plan's model states for each call of its layers, by path.
std::map<std::string, double> stated_flops(const FitPlan& plan, const Recording& recording) {
  std::map<std::string, double> stated;
  if (!plan.model || plan.step) return stated;
  const Work work = counted_work(plan, recording);
  std::map<std::string, Flops> accounting;
  add_own_flops(plan.model->root(), accounting);
  // A step may pass through the model several times for one batch, as with optimizers that evaluate again.
  for (const auto& [path, flops] : accounting)
    stated[path] = (flops.forward + flops.backward) * work.samples / work.batches;
  return stated;
}

// `stated`: FLOPs of a call of a layer, by path; see LayerCost::flops.
LayerTable table_of(const Recording& recording, const ReadingCost& most, const std::map<std::string, double>& stated) {
  LayerTable table;
  if (const std::optional<at::ScalarType> type = recording.type()) table.type = dtype_name(*type);
  table.steps = std::ssize(recording.row_steps().seconds);
  const auto counted = static_cast<double>(recording.counted().size());
  table.step_seconds = upper_median(recording.plain());
  if (const std::optional<double> ratio = mean_over_median(recording.used_steps(), recording.has_whole_runs()))
    table.mean_seconds = *ratio * table.step_seconds;
  table.overhead = recording.row_steps().overhead(table.step_seconds, most.in_row_steps);
  table.operator_overhead = recording.operator_steps().overhead(table.step_seconds, most.in_operator_steps);
  const Clock rows = clock_of(recording.row_steps(), table.step_seconds, table.overhead);
  const Clock operators = clock_of(recording.operator_steps(), table.step_seconds, table.operator_overhead);
  // Readings of the clock are left out in equal parts. A row that would be shorter than nothing takes no time. What
  // else makes the rows longer or shorter than a plain step comes from the machine, and no row has more of it than its
  // part of the step.
  const std::vector<PassTicks> ticks = recording.middle_ticks();
  double left = 0;
  for (const PassTicks& row : ticks) left += rows.seconds(row.forward) + rows.seconds(row.backward);
  const double scale = left > 0 ? table.step_seconds / left : 1;

  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const auto& row = recording.rows()[i];
    LayerCost cost{.path = row->path,
                   .is_layer = row->is_layer,
                   .forward = scale * rows.seconds(ticks[i].forward),
                   .backward = scale * rows.seconds(ticks[i].backward),
                   .calls = static_cast<double>(row->calls) / counted,
                   .operators = {}};
    cost.operators = costs_of(*row, cost.seconds(), operators, counted);
    for (const OperatorCost& one : cost.operators) cost.bytes += one.bytes;
    const auto known = stated.find(row->path);
    cost.flops = known == stated.end() ? std::nan("") : known->second * cost.calls;
    if (std::isnan(cost.flops)) cost.flops = cost.operator_flops();
    table.rows.push_back(std::move(cost));
  }
  std::stable_partition(table.rows.begin(), table.rows.end(), [](const LayerCost& row) { return row.is_layer; });
  return table;
}

// Runs the stage until its steps are measured, and makes the table after each run, so that an error in a later run
// takes nothing away.
LayerTable measured_table(const std::string& kind, Recording& recording, const std::function<void()>& run,
                          const std::function<LayerTable()>& make) {
  std::optional<LayerTable> table;
  const auto run_once = [&] {
    const Listening listening(recording);
    run();
    recording.run_ended();
    if (stop_requested()) throw Error(ErrorKind::interrupted, "asked to stop while layers were measured");
    if (recording.fewest() > 0) table = make();
  };
  try {
    run_until_measured(recording, [&] { with_torch_errors(run_once); });
  } catch (const Error& error) {
    if (!table) throw;
    table->cut_short = error.headline();
  }
  if (table) return std::move(*table);
  if (!recording.is_done())
    throw run_error("the " + kind + " ended before its second step, and a first step is never timed");
  throw run_error("there was time for " + std::to_string(recording.measured()) + " steps of the " + kind +
                  " beside cold ones, and at least " + std::to_string(uses_of_steps) +
                  " are needed, each of which is measured in another way");
}

}  // namespace

double LayerCost::operator_flops() const {
  double sum = 0;
  for (const OperatorCost& one : operators) sum += one.flops;
  return sum;
}

LayerTable measure_layers(const FitPlan& plan, const LayerSteps& steps) {
  if (!device_at(plan.device).is_synchronous()) {
    throw usage_error("layers can be measured on the CPU, found the device " + plan.device.str() +
                      ", whose operators run behind the host, which measures the time")
        .hint("--device cpu");
  }
  const ReadingCost most = most_of_a_reading();
  Recording recording(steps);
  return measured_table(
      "fit", recording, [&] { run_few_steps(plan, 0, [&] { return recording.is_done(); }); },
      [&] { return table_of(recording, most, stated_flops(plan, recording)); });
}

LayerTable measure_task_layers(const Options& stage, const RunSettings& settings, LayerSteps steps) {
  const ReadingCost most = most_of_a_reading();
  steps.in_whole_runs = true;
  Recording recording(steps);
  return measured_table(
      "task", recording, [&] { run_task_steps(stage, settings, recording); },
      [&] { return table_of(recording, most, {}); });
}

}  // namespace trainlab
