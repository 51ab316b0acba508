#include "memory_summary.h"

#include <algorithm>

#include "model/model.h"
#include "tensor/memory.h"

namespace trainlab {
namespace {

// A place such as "5" would be read as a number if it stood alone.
std::string list_text(const std::vector<std::string>& patterns) {
  if (patterns.size() == 1 && patterns.front().find_first_not_of("0123456789.") != std::string::npos)
    return patterns.front();
  std::string text;
  for (const std::string& one : patterns) text += (text.empty() ? "[\"" : ", \"") + one + "\"";
  return text + "]";
}

std::string recompute_text(const FitPlan& plan) {
  std::vector<std::string> given;
  for (const Value& one : plan.options.child("memory").get("recompute").list()) given.push_back(one.string());
  return list_text(given == std::vector<std::string>{"auto"} ? segment_patterns(plan) : given);
}

// Whether one of the options in use saves memory. A batch = "auto" alone does not, nor does one that `effective`
// divides into a single part.
bool saves_memory(const FitPlan& plan, std::int64_t micro_batch) {
  const bool in_parts =
      (micro_batch > 0 && micro_batch < plan.loader.batch) || (plan.options.given("effective") && plan.accumulate > 1);
  return in_parts || !plan.recompute.empty() || plan.fuse_step || plan.chunk_loss || plan.offload_optimizer ||
         plan.offload_activations || plan.plain_training;
}

// The bytes of the training if no option saved memory, tensors from before the fit included.
Value plain_bytes(const FitPlan& plan, const MeasuredMemory& measured) {
  if (plan.plain_training) return *plan.plain_training;
  const std::int64_t held_now = live_tensor_bytes();
  const MemoryPrediction plain = plain_memory(plan, measured.rows);
  if (plain.is_least()) return {};
  return plain.memory.training() - held_now + measured.held_before;
}

}  // namespace

MemoryPrediction plain_memory(const FitPlan& plan, std::size_t rows) {
  return predict_memory(plan, rows, [](FitPlan& dry) {
    dry.recompute = {};
    dry.fuse_step = dry.chunk_loss = dry.offload_optimizer = dry.offload_activations = false;
    dry.micro_batch = 0;
    dry.budget = 0;
    if (!dry.options.given("effective")) return;
    dry.loader.batch *= dry.accumulate;
    dry.accumulate = 1;
  });
}

std::vector<std::string> segment_patterns(const FitPlan& plan) {
  const auto are_same = [](const ChainSegment& a, const ChainSegment& b) {
    return a.first == b.first && a.count == b.count && a.inner.empty() && b.inner.empty();
  };
  if (std::ranges::equal(plan.recompute.segments, recompute_cheap(*plan.model).segments, are_same)) return {"cheap"};
  const std::vector<const Layer*> chain = plan.model->chain();
  std::vector<std::string> patterns;
  for (const ChainSegment& one : plan.recompute.segments) {
    if (!one.inner.empty()) return {"auto"};
    const std::string &first = chain[one.first]->place, &last = chain[one.first + one.count - 1]->place;
    patterns.push_back(one.count == 1 ? first : first + "-" + last);
  }
  return patterns;
}

std::vector<std::string> memory_options_in_use(const FitPlan& plan, std::int64_t micro_batch) {
  std::vector<std::string> lines;
  const std::int64_t whole = plan.loader.batch;
  const bool in_parts = micro_batch > 0 && micro_batch < whole, is_chosen = plan.plain_training.has_value();
  if (in_parts || is_auto_batch(plan.options))
    lines.push_back("batch=" + std::to_string(in_parts ? micro_batch : whole));
  if (in_parts) {
    lines.push_back("accumulate=" + std::to_string(plan.accumulate * ((whole + micro_batch - 1) / micro_batch)));
  } else if (plan.options.given("effective")) {
    lines.push_back("accumulate=" + std::to_string(plan.accumulate));
  }
  if (is_chosen && !in_parts && plan.chosen["batch"].is_integer()) {
    lines.push_back("batch=" + std::to_string(whole));
    lines.push_back("accumulate=" + std::to_string(plan.accumulate));
  }
  if (!plan.recompute.empty()) lines.push_back("memory.recompute=" + recompute_text(plan));
  if (plan.fuse_step) lines.emplace_back("memory.fuse_step=true");
  if (plan.chunk_loss) lines.emplace_back("memory.chunk_loss=true");
  if (plan.offload_optimizer && plan.offload_activations) {
    lines.emplace_back(R"(memory.offload=["optimizer", "activations"])");
  } else if (plan.offload_optimizer) {
    lines.emplace_back("memory.offload=optimizer");
  } else if (plan.offload_activations) {
    lines.emplace_back("memory.offload=activations");
  }
  if (is_chosen) {
    if (plan.chosen["loader.threads"].is_integer()) lines.emplace_back("loader.threads=0");
    for (const auto& [path, value] : plan.chosen.map())
      if (value.is_string() && path != "memory.offload") lines.push_back(path + "=" + value.string());
  }
  return lines;
}

Value memory_summary(const FitPlan& plan, const MeasuredMemory& measured) {
  const std::vector<std::string> chosen = memory_options_in_use(plan, measured.micro_batch);
  const bool is_plain = chosen.empty() || !saves_memory(plan, measured.micro_batch);
  const std::int64_t limit = memory_limit(plan);
  Value categories, step;
  if (measured.step) {
    categories = measured.step->to_value()["categories"];
    categories.set("program", measured.program);
    step = measured.step->peak;
  }
  return Value::Map{{"peak", measured.training},
                    {"plain", is_plain ? Value(measured.training) : plain_bytes(plan, measured)},
                    {"step", std::move(step)},
                    {"budget", limit > 0 ? Value(limit) : Value()},
                    {"categories", std::move(categories)},
                    {"offloaded", measured.offloaded},
                    {"chosen", Value::List(chosen.begin(), chosen.end())}};
}

}  // namespace trainlab
