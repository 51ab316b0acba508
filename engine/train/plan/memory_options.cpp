// The option `memory`.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/bytes.h"
#include "fit_plan_parts.h"
#include "memory/auto_recompute.h"
#include "tensor/free_memory.h"
#include "tensor/memory.h"
#include "train/memory_prediction.h"

namespace trainlab {
namespace {

// The number of "every 2"; 0 for anything else.
std::size_t every(std::string_view text) {
  constexpr std::string_view begin = "every ";
  if (!text.starts_with(begin)) return 0;
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data() + begin.size(), text.data() + text.size(), size);
  return error == std::errc() && end == text.data() + text.size() ? size : 0;
}

bool covers_last(const FitPlan& plan) {
  const std::vector<const Layer*> chain = plan.model->chain();
  if (plan.recompute.segments.empty()) return false;
  const ChainSegment& last = plan.recompute.segments.back();
  return last.first + last.count == chain.size();
}

void plan_auto(FitPlan& plan, const Options& memory, const RunSettings& settings) {
  if (!plan.device.is_cpu()) {
    throw memory
        .error("recompute", "\"auto\" knows what a step takes on the CPU alone, found the device " + plan.device.str())
        .hint("\"every 2\", or patterns of layers");
  }
  plan.plans_for_one = true;
  const std::int64_t budget = room_of(plan);
  Searching searching(settings, "segments for memory.recompute");
  const RecomputePrice price = recompute_within(plan, budget, memory, /*nests=*/true, searching);
  if (!price.fits) {
    const bool is_of_process = budget == tensor_memory_limit();  // which is no value of the option `budget`
    throw memory
        .error(is_of_process ? "recompute" : "budget",
               "the training needs " + memory_text(price.peak) + " at least when activations are computed again, " +
                   memory_text(price.plain) + " without, found " + (is_of_process ? "--memory " : "a budget of ") +
                   memory_text(budget))
        .hint("a smaller `batch` with `accumulate`, or an optimizer with a smaller state")
        .lacking_memory();
  }
  plan.notes.push_back(
      plan.recompute.empty()
          ? fmt::format("memory: the training takes {} at most, within {}: nothing is computed again",
                        memory_text(price.plain), memory_text(budget))
          : fmt::format("memory: the training takes {} at most in place of {}, and a step computes {:.3g} ms again "
                        "beside a forward pass of {:.3g} ms",
                        memory_text(price.peak), memory_text(price.plain), 1e3 * price.again, 1e3 * price.forward));
}

Recompute recompute_of(const Model& model, const Options& memory) {
  const Value::List& given = memory.get("recompute").list();
  if (given == Value::List{"cheap"}) {
    Recompute cheap = recompute_cheap(model);
    if (!cheap.empty()) return cheap;
    throw memory
        .error("recompute",
               "\"cheap\" found no norm, activation or dropout before an nn.Linear or a convolution in the "
               "model's chain")
        .hint("\"every 2\", or patterns of layers");
  }
  const bool is_every = given.size() == 1 && given.front().string().starts_with("every");
  if (!is_every) return recompute_by_pattern(model, memory, "recompute");
  const std::size_t size = every(given.front().string()), layers = model.chain().size();
  if (size == 0) {
    throw memory
        .error("recompute", "expected \"every N\" with a number of layers, found \"" + given.front().string() + "\"")
        .hint("\"every 2\"");
  }
  if (size >= layers) {
    throw memory
        .error("recompute", "expected segments of fewer layers than the model's chain of " + std::to_string(layers) +
                                ", found \"" + given.front().string() + "\"")
        .hint("the last segment is kept, and nothing would be computed again; patterns name layers inside of others");
  }
  return recompute_every(model, size);
}

bool is_auto_recompute(const Options& memory) {
  return memory.given("recompute") && memory.get("recompute").list() == Value::List{"auto"};
}

}  // namespace

bool has_relative_budget(const Options& fit) {
  return fit.given("memory") && fit.child("memory").given("budget") &&
         fit.child("memory").string("budget").ends_with('%');
}

bool takes_free_memory(const Options& fit) {
  if (!fit.given("memory")) return false;
  const Options memory = fit.child("memory");
  return is_auto_recompute(memory) && !memory.given("budget");
}

std::int64_t memory_budget(const Options& memory, const Value& chosen) {
  if (!memory.given("budget")) return 0;
  if (const Value& kept = chosen["memory.budget"]; kept.is_integer()) return kept.integer();
  const std::string& text = memory.string("budget");
  const std::optional<std::int64_t> bytes = bytes_of(text, live_tensor_bytes() + free_tensor_memory());
  if (bytes) return *bytes;
  throw memory.error("budget", "expected bytes, or a percentage of what is free, found \"" + text + "\"")
      .hint("\"2 GB\", \"500 MiB\" or \"80%\"");
}

bool is_auto_memory(const Options& fit) {
  if (!fit.given("memory") || fit.given("step") || is_auto_batch(fit)) return false;
  const Options memory = fit.child("memory");
  return memory.given("budget") && !is_auto_recompute(memory);
}

std::string why_not_fused(const FitPlan& plan) {
  if (plan.accumulate > 1) {
    return "accumulate = " + std::to_string(plan.accumulate) + " waits for the gradients of further micro-batches";
  }
  if (plan.clip.norm > 0) return "`clip` by the norm needs all gradients; clip = { value = … } does not";
  if (plan.precision.compute == at::kHalf) return "the scale of the loss in float16 needs all gradients";
  if (!plan.steps_by_parameter) return plan.options.child("optim").entry().name + " needs all gradients";
  if (plan.rule_numbers > 0) return "a rule in `stop` reads all gradients of a step";
  return "";
}

std::string why_not_chunked(const FitPlan& plan) {
  const Layer& last = *plan.model->chain().back();
  if (!last.linear()) return "the model ends with " + last.path;
  if (!plan.loss->takes_linear()) return "the loss is another one";
  if (plan.head.target_type != at::kLong || plan.head.mixes_labels) return "the targets are no labels";
  if (covers_last(plan)) return "memory.recompute names this layer, which then cannot be computed with the loss";
  return "";
}

std::string why_not_offloaded(const FitPlan& plan) {
  if (!plan.device.is_cpu()) return "the state is on the device " + plan.device.str();
  if (plan.state_bytes == 0) return plan.options.child("optim").entry().name + " keeps none";
  return "";
}

void plan_memory(FitPlan& plan, const RunSettings& settings) {
  if (!plan.options.given("memory")) return;
  if (plan.step) throw plan.options.error("memory", "a fit with a step of its own has no such option");
  const Options memory = plan.options.child("memory");
  const bool is_auto = is_auto_recompute(memory);
  if (memory.given("allow")) {
    throw memory
        .error("allow", memory.given("budget")
                            ? "a budget chooses among all options where neither memory.recompute nor batch is \"auto\""
                            : "says which options a budget may choose, and there is no budget")
        .hint("memory = { budget = \"80%\", allow = \"close\" }");
  }
  if (is_auto && is_auto_batch(plan.options)) {
    throw memory.error("recompute", "\"auto\" makes room for a given batch, found batch = \"auto\"")
        .hint("batch = 64, or recompute = \"every 2\"");
  }
  plan.budget = memory_budget(memory, settings.chosen);
  if (has_relative_budget(plan.options)) plan.chosen.set("memory.budget", plan.budget);
  plan.fuse_step = memory.boolean("fuse_step");
  if (const std::string why = plan.fuse_step ? why_not_fused(plan) : ""; !why.empty())
    throw memory.error("fuse_step", "steps each parameter when its own gradient is there, and " + why);
  const bool names_layers = memory.given("recompute") && !is_auto;
  if (names_layers) plan.recompute = recompute_of(*plan.model, memory);
  plan.chunk_loss = memory.boolean("chunk_loss");
  if (const std::string why = plan.chunk_loss ? why_not_chunked(plan) : ""; !why.empty()) {
    throw memory.error("chunk_loss", "computes the cross-entropy of labels with the nn.Linear before it, and " + why);
  }
  if (memory.given("offload")) {
    const Value::List& offload = memory.get("offload").list();
    plan.offload_optimizer = std::ranges::find(offload, Value("optimizer")) != offload.end();
    plan.offload_activations = std::ranges::find(offload, Value("activations")) != offload.end();
  }
  if (plan.offload_activations && !plan.device.is_cpu())
    throw memory.error("offload",
                       "copies the host's activations into a file, and these are on the device " + plan.device.str());
  if (const std::string why = plan.offload_optimizer ? why_not_offloaded(plan) : ""; !why.empty())
    throw memory.error("offload", "keeps the optimizer's state in a file, and " + why);
  if (is_auto) return plan_auto(plan, memory, settings);
  if (names_layers) check_recomputable(*plan.model, plan.recompute, memory, "recompute", !plan.device.is_cpu());
}

}  // namespace trainlab
