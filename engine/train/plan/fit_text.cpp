#include "fit_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/trace.h"
#include "core/value.h"
#include "core/words.h"
#include "fit_plan_parts.h"
#include "memory/what_fits.h"
#include "option_lines.h"
#include "precision.h"
#include "tensor/free_memory.h"
#include "tensor/memory.h"

namespace trainlab {
namespace {

// The arithmetic of a layer of the recipe's own is not known.
std::string flops_text(double x) {
  if (std::isnan(x)) return "unknown";
  constexpr std::array units{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
  std::size_t unit = 0;
  for (; x >= 1000 && unit + 1 < units.size(); ++unit) x /= 1000;
  return figure_text(x, 3) + " " + units[unit];
}

std::string column_text(std::int64_t classes, const Column& column) {
  std::string text = column.name + " " + dtype_name(column.batch_type()) + " " + shape_text(column.sample_shape());
  if (column.name == "y" && classes > 0) text += fmt::format(" ({} classes)", classes);
  return text;
}

std::string data_text(const FitPlan& plan) {
  const Dataset& data = *plan.data.train.data;
  std::string text = fmt::format("train {}", plan.data.train.epoch_size());
  if (plan.data.val) text += fmt::format(", val {}", plan.data.val->size());
  if (plan.data.test) text += fmt::format(", test {}", plan.data.test->size());
  const std::int64_t classes = plan.loss ? plan.head.classes : data.classes;
  for (const Column& column : data.columns) text += "; " + column_text(classes, column);
  return text;
}

std::string length_text(const FitPlan& plan) {
  std::string text;
  if (plan.length.total_steps > 0) {
    text = fmt::format("{} steps of {} samples, {} steps an epoch", plan.length.total_steps, plan.length.batch,
                       plan.length.steps_per_epoch);
  }
  if (plan.time_budget > 0) text += fmt::format("{}at most {:g} s", text.empty() ? "" : ", ", plan.time_budget);
  return text;
}

// The memory of a step at its peak, with the parts, where the peak is, and which layers keep most for the backward
// pass.
std::string step_memory_text(const MemoryPrediction& predicted) {
  const MemoryLedger& ledger = predicted.memory.ledger;
  const std::string bytes = bytes_text(static_cast<double>(predicted.memory.step()));
  if (predicted.is_least()) {
    return "a step at least " + bytes + ": " + category_text(ledger, bytes_text) + "; more is not known, because " +
           predicted.estimated_because;
  }
  std::string text = "a step " + bytes + " at its peak, in " + std::string(phase_name(ledger.phase)) + ": " +
                     category_text(ledger, bytes_text);
  const std::string layers = layer_text(ledger, bytes_text);
  return layers.empty() ? text : text + "; most activations: " + layers;
}

// The options with which a training above the limit of the process would fit; empty where there is no limit, or the
// training fits.
std::string text_above_limit(const FitPlan& plan, const MemoryPrediction& whole) {
  const std::int64_t limit = tensor_memory_limit();
  if (limit == 0 || whole.memory.training() <= limit) return "";
  const std::string room = bytes_text(static_cast<double>(limit));
  const bool in_parts = goes_in_parts(plan) && predict_memory_in(true, plan).memory.training() <= limit;
  const std::string what =
      in_parts ? "steps in parts may fit into " + room + "; as a whole " : "does not fit into " + room + ": ";
  return what + what_fits(plan, 1, limit - live_tensor_bytes());
}

// The layers that are computed again, and the arithmetic that this adds to a step.
std::string recompute_text(const FitPlan& plan) {
  const double again = flops_again(*plan.model, plan.recompute);
  const Flops once = plan.model->flops();
  const std::size_t segments = plan.recompute.segments.size() + plan.recompute.layers.size();
  std::string text = counted(segments, "segment");
  if (!plan.recompute.segments.empty()) {
    std::size_t layers = 0;
    for (const ChainSegment& one : plan.recompute.segments) layers += one.count;
    text += fmt::format(" with {} of the {} layers of the chain", layers, plan.model->chain().size());
  }
  if (std::isnan(again)) return text;
  return text + fmt::format(", at most {:.0f} % more arithmetic", 100 * again / (once.forward + once.backward));
}

// The bytes of the same training without numbers of 16 bits; nullopt where nobody knows them.
std::optional<std::int64_t> training_in_float32(const FitPlan& plan) {
  Lines lines{{"precision", "float32"}};
  RunSettings settings = plan.settings;
  settings.chosen = plan.chosen;  // nothing is chosen anew
  if (settings.chosen["precision"].is_string()) settings.chosen.map().erase("precision");
  try {
    const FitPlan full = plan_fit(with_lines(plan.options, lines), settings, &plan.data);
    const MemoryPrediction predicted =
        predict_memory(full, 1, [&plan](FitPlan& dry) { dry.recompute = plan.recompute; });
    if (!predicted.is_least()) return predicted.memory.training();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::recipe) throw;  // a budget that float32 does not fit into
  }
  return std::nullopt;
}

std::string trees(const FitPlan& plan) {
  if (plan.model) return plan.model->tree();
  std::string text;
  for (const FitPlan::StepModel& one : plan.step_models) text += one.name + "\n" + one.model->tree();
  return text;
}

}  // namespace

Checked describe(const FitPlan& plan) {
  const MemoryPrediction memory = predict_memory(plan);
  std::string text = plan.options.string("name") + "  " + plan.options.where() + "\n\n" + trees(plan) + "\n";
  const auto line = [&text](const char* name, const std::string& value) {
    text += fmt::format("{:<20} {}\n", name, value);
  };
  line("data", data_text(plan));
  line("length", length_text(plan));
  line("parameters", fmt::format("{}", plan.parameter_count()));
  const Flops flops = plan.step ? Flops{} : plan.model->flops();
  if (!plan.step) {
    line("FLOPs per sample", flops_text(flops.forward) + " forward, " + flops_text(flops.backward) + " backward");
  }
  if (!plan.step && plan.length.total_steps > 0) {
    const double samples = static_cast<double>(plan.length.total_steps) * static_cast<double>(plan.length.batch);
    line("FLOPs of the run", flops_text((flops.forward + flops.backward) * samples) + " (at most)");
  }
  if (plan.precision.is_mixed()) {
    const std::optional<double> relative = product_time(plan);
    line("precision",
         precision_text(plan.precision) + (relative ? "; " + product_time_text(*relative, plan.precision) : ""));
  }
  if (!plan.recompute.empty()) line("computed again", recompute_text(plan));
  const bool is_least = memory.is_least();
  line(is_least ? "memory (at least)" : "memory (predicted)", step_memory_text(memory));
  const auto training = static_cast<double>(memory.memory.training());
  std::optional<std::int64_t> in_float32;
  if (plan.precision.is_mixed() && !is_least) in_float32 = training_in_float32(plan);
  line("",
       "the training " + (memory.before_amount() + bytes_text(training)) + (is_least ? "" : " at most") +
           (in_float32 ? " in place of " + bytes_text(static_cast<double>(*in_float32)) + " in float32" : "") +
           (plan.data.val || plan.data.test ? ", with its evaluations and the copies of weights that they leave" : ""));
  if (plan.offload_optimizer)
    line("in a file", bytes_text(static_cast<double>(plan.state_bytes)) + " of the optimizer");
  if (plan.offload_activations) line("in a file", "activations");
  const std::string above = text_above_limit(plan, memory);
  if (!above.empty()) line("above the limit", above);
  line("monitor", plan.monitor + (plan.minimize(plan.monitor) ? " (smaller is better)" : " (greater is better)") +
                      (plan.keep_best ? ", the best weights are kept" : ", the last weights are kept"));
  for (const std::string& note : plan.notes) text += "\n" + note + "\n";
  std::vector<std::string> warnings = plan.warnings;
  if (const auto warning = slow_products(plan)) warnings.push_back(*warning);
  for (const std::string& warning : warnings) text += "\nwarning: " + warning + "\n";
  Value facts = fit_facts(plan, memory, warnings);
  if (!above.empty()) facts.map()["memory"].set("above_limit", above);
  if (in_float32) facts.map()["memory"].set("in_float32", *in_float32);
  return {.text = text, .facts = std::move(facts)};
}

}  // namespace trainlab
