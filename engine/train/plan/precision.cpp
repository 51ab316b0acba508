#include "precision.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/words.h"
#include "machine/product_times.h"
#include "tensor/device.h"
#include "tensor/names.h"
#include "tensor/types.h"

namespace trainlab {
namespace {

const std::vector<std::string> types = {"float32", "float64", "bfloat16", "float16"};

bool is_unmatched(const FitPlan& plan, const std::string& pattern) {
  const auto misses = [&](const Model& model) {
    return std::ranges::find(model.unmatched_keep(), pattern) != model.unmatched_keep().end();
  };
  if (plan.model) return misses(*plan.model);
  return std::ranges::all_of(plan.step_models, [&](const FitPlan::StepModel& one) { return misses(*one.model); });
}

}  // namespace

Option precision_option() {
  return Option("precision",
                "type in which layers multiply matrices and convolve. With \"bfloat16\" and \"float16\" weights, "
                "gradients, statistics of norms, losses and metrics stay in float32, and with \"float16\" the loss is "
                "scaled; with \"float64\" everything is in float64")
      .choice(types)
      .fields({Option("compute", "the type").choice(types).required(),
               Option("weights",
                      "type of weights and gradients (default: float64 with compute = \"float64\", else float32). "
                      "\"bfloat16\" goes with compute = \"bfloat16\", and leaves norms and biases in float32")
                   .choice({"float32", "float64", "bfloat16"}),
               Option("rounding",
                      "how a step rounds weights in bfloat16: up or down at random, so that the mean is right, or to "
                      "the nearest, with the rest in a second number (default: \"stochastic\")")
                   .choice({"stochastic", "compensated"}),
               Option("keep",
                      "patterns of layers that compute in float32 all the same: of the name that the layer's "
                      "parameters begin with (\"12\", \"3.norm1\"), of its last part if that is no number "
                      "(\"norm*\"), or of the layer's kind (\"LayerNorm\")")
                   .string()
                   .many()})
      .or_default("float32");
}

Precision precision_of(const Options& fit) {
  Precision precision;
  if (!fit.get("precision").is_map()) {
    precision.compute = *find_dtype(fit.string("precision"));
    precision.weights = precision.compute == at::kDouble ? at::kDouble : at::kFloat;
  } else {
    const Options table = fit.child("precision");
    precision.compute = *find_dtype(table.string("compute"));
    precision.weights = precision.compute == at::kDouble ? at::kDouble : at::kFloat;
    const std::string weights = table.given("weights") ? table.string("weights") : dtype_name(precision.weights);
    if (weights == "bfloat16" && precision.compute == at::kBFloat16) {
      const bool compensates = table.given("rounding") && table.string("rounding") == "compensated";
      precision.weights = at::kBFloat16;
      precision.rounding = compensates ? WeightRounding::compensated : WeightRounding::stochastic;
    } else if (*find_dtype(weights) != precision.weights) {
      throw table.error("weights", "compute = \"" + table.string("compute") + "\" goes with weights in " +
                                       dtype_name(precision.weights) + ", found " + weights);
    } else if (table.given("rounding")) {
      throw table.error("rounding", "weights in " + weights + " are not rounded")
          .hint("weights = \"bfloat16\" with compute = \"bfloat16\"");
    }
    if (table.given("keep")) {
      if (!precision.is_mixed()) {
        throw table.error("keep", "all layers compute in " + dtype_name(precision.weights) + " already")
            .hint("compute = \"bfloat16\"");
      }
      for (const Value& pattern : table.get("keep").list()) precision.keep.push_back(pattern.string());
    }
  }
  precision.loss = precision.batches = precision.compute == at::kDouble ? at::kDouble : at::kFloat;
  return precision;
}

void check_precision(const FitPlan& plan) {
  const Options& fit = plan.options;
  for (const std::string& pattern : plan.precision.keep) {
    if (!is_unmatched(plan, pattern)) continue;
    throw fit.child("precision")
        .error("keep", "no layer matches \"" + pattern + "\"")
        .hint(
            "a pattern stands for the name with which the names of a layer's parameters begin, \"2\" of 2.weight, or "
            "for the kind of a layer, \"LayerNorm\"; `trainlab check` prints the layers");
  }
  if (plan.precision.weights == at::kBFloat16) {
    const auto refused = [&](const std::string& what) {
      return fit.child("precision").error("weights", "bfloat16 is for " + what).hint("weights = \"float32\"");
    };
    if (plan.step) throw refused("fits without a step of the recipe's own, whose models and optimizers are float32");
    if (!plan.device.is_cpu()) throw refused("the CPU, where steps round it, found the device " + plan.device.str());
  }
  if (plan.precision.compute != at::kHalf) return;
  if (plan.step) {
    throw fit
        .error("precision",
               "float16 needs a loss that is scaled, and a step of the recipe's own takes its backward passes "
               "itself")
        .hint("bfloat16 needs no scale");
  }
}

std::optional<double> product_time(const FitPlan& plan) {
  if (!plan.precision.is_mixed() || !plan.device.is_cpu()) return std::nullopt;
  return relative_product_time(plan.precision.compute);
}

std::string product_time_text(double relative, const Precision& precision) {
  const std::string times = relative < 10 ? fmt::format("{:.2g}", relative) : fmt::format("{:.0f}", relative);
  return fmt::format("a product of {0} × {0} matrices in {1} takes {2} times as long as in float32 on this processor",
                     product_size, dtype_name(precision.compute), times);
}

std::optional<std::string> slow_products(const FitPlan& plan) {
  constexpr double noise = 1.1;
  const std::optional<double> relative = product_time(plan);
  if (!relative || *relative < noise) return std::nullopt;
  return plan.options.error("precision", product_time_text(*relative, plan.precision))
      .hint("precision = \"float32\" is faster here")
      .what();
}

std::string precision_text(const Precision& precision) {
  std::string text = dtype_name(precision.compute) + " in matrix products and convolutions, ";
  if (precision.weights == at::kBFloat16) {
    text += "and in weights with ";
    text += precision.rounding == WeightRounding::compensated ? "compensated" : "stochastic";
    text += " rounding, ";
  }
  text += dtype_name(precision.loss) + " elsewhere";
  if (precision.keep.empty()) return text;
  return text + " and in the layers " + joined(precision.keep);
}

}  // namespace trainlab
