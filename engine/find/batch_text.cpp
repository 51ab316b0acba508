#include <fmt/format.h>

#include <cmath>

#include "core/number_or_nil.h"
#include "find/batch.h"
#include "tensor/free_memory.h"

namespace trainlab {
namespace {

// The share of the samples of the recipe's batch that small batches would save, by the range of the knee.
std::string wasted_text(const FoundBatch& found) {
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  const std::string most = percent(1 - efficiency_of(found.batch, found.knee_low));
  const std::string least = percent(1 - efficiency_of(found.batch, found.knee_high));
  return least == most ? most + " of its samples" : least + " to " + most + " of its samples";
}

// The line to type, for a recipe with a parameter of the option's name, that shows whether the recipe's batch wastes
// samples: a training with a quarter of it beside one with all of it. Empty where no smaller batch was timed, and where
// the recipe has no number that could be another one.
std::string test_text(const FoundBatch& found) {
  const std::int64_t small = found.curve.front().batch;
  if (small >= found.batch || !found.is_number) return "";
  return fmt::format(
      "  the test, with a parameter {0}: trainlab compare RECIPE --target METRIC=VALUE --b {0}={1} (docs/health.md)\n",
      found.option, found.value_of_option(small));
}

std::string factor_text(double factor) { return std::isnan(factor) ? "unknown" : fmt::format("{:.2f}×", factor); }

std::string samples_text(double samples) { return std::isfinite(samples) ? fmt::format("{:.3g}", samples) : "unknown"; }

}  // namespace

std::string batch_text(const FoundBatch& found) {
  std::string text = fmt::format("batch = {}", found.suggestion);
  if (found.suggestion == found.batch) {
    text += ", as it is\n";
  } else {
    text += fmt::format(" in place of {}", found.batch);
    if (std::isfinite(found.scaled_rate))
      text += fmt::format(", with lr = {:.2g} in place of {:g}", found.scaled_rate, found.rate);
    text += "\n";
  }
  text += "\nnoise scale of the gradients, in samples (95 %)\n";
  for (const NoiseAt& one : found.noise) {
    text += fmt::format("  after {:>5} steps  {} ({} to {})\n", one.step, samples_text(one.scale.value),
                        samples_text(one.scale.low), samples_text(one.scale.high));
  }
  if (std::isfinite(found.knee_high)) {
    text += fmt::format("  knee between {:.3g} and {:.3g}: larger batches save few steps\n", found.knee_low,
                        found.knee_high);
    if (found.knee_high < static_cast<double>(found.batch))
      text += fmt::format("  little noise is left in batches of {}\n", found.batch);
  } else {
    text += fmt::format("  knee above {:.3g}; the noise hides the gradient, so that no upper end is known\n",
                        found.knee_low);
  }
  text += fmt::format("  a batch of {} wastes {} (estimate)\n", found.batch, wasted_text(found)) + test_text(found);
  text += fmt::format("\n{:>8} {:>11} {:>13} {:>12} {:>17} {:>20}\n", "batch", "ms a step", "samples/s", "memory",
                      "time to a loss", "samples to a loss");
  for (const BatchPoint& one : found.curve) {
    text +=
        fmt::format("{:>8} {:>11.3g} {:>13.4g} {:>12} {:>17} {:>20}\n", one.batch, 1e3 * one.seconds,
                    static_cast<double>(one.batch) / one.seconds, one.memory > 0 ? memory_text(one.memory) : "unknown",
                    factor_text(one.time), factor_text(one.samples));
  }
  if (!found.ended_by.empty()) text += "no larger batch: " + found.ended_by + "\n";
  return text;
}

Value to_value(const FoundBatch& found) {
  Value::List noise, curve;
  for (const NoiseAt& one : found.noise) {
    noise.push_back(Value::Map{{"step", one.step},
                               {"value", finite_or_nil(one.scale.value)},
                               {"low", finite_or_nil(one.scale.low)},
                               {"high", finite_or_nil(one.scale.high)}});
  }
  for (const BatchPoint& one : found.curve) {
    curve.push_back(Value::Map{{"batch", one.batch},
                               {"step_seconds", one.seconds},
                               {"samples_per_second", static_cast<double>(one.batch) / one.seconds},
                               {"memory", one.memory > 0 ? Value(one.memory) : Value()},
                               {"time", finite_or_nil(one.time)},
                               {"samples", finite_or_nil(one.samples)}});
  }
  Value::Map value{
      {"kind", "finder"},
      {"batch",
       Value::Map{
           {"now", found.batch},
           {"suggestion", found.suggestion},
           {"accumulate", found.accumulate},
           {"micro_batch", found.micro_batch()},
           {"lr", finite_or_nil(found.scaled_rate)},
           {"knee", Value::Map{{"low", finite_or_nil(found.knee_low)}, {"high", finite_or_nil(found.knee_high)}}},
           {"efficiency", Value::Map{{"low", finite_or_nil(efficiency_of(found.batch, found.knee_low))},
                                     {"high", finite_or_nil(efficiency_of(found.batch, found.knee_high))}}}}},
      {"noise", std::move(noise)},
      {"curve", std::move(curve)}};
  value.merge(end_of_search(found.stopped));
  return value;
}

}  // namespace trainlab
