#include "mixture_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "auto_recompute.h"
#include "core/duration.h"
#include "memory_summary.h"
#include "plan/fit_plan_parts.h"
#include "train/fit.h"

namespace trainlab {
namespace {

constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();

// Functions of the recipe, and additions that the recipe asks for, may read the gradients, which a fused step does not
// leave.
bool can_fuse(const FitPlan& plan) {
  const auto asks_for = [&](const FitAddition& addition) {
    return addition.reads_gradients &&
           std::ranges::any_of(addition.options, [&](const Option& option) { return plan.options.given(option.name); });
  };
  return leaves_open(plan, "fuse_step") && !plan.options.given("on") &&
         std::ranges::none_of(additions_of(plan.options), asks_for) && why_not_fused(plan).empty();
}

// The arithmetic of the layers that a step computes again, as a share of that of the whole step, whose backward pass
// takes the time of two forward passes. A measured time would make the choice, and with it the numbers, depend on how
// busy the machine is.
double share_computed_again(const FitPlan& plan) {
  const double all = plan.model->flops().forward;
  return all > 0 ? flops_again(*plan.model, plan.recompute) / (3 * all) : 0;
}

// The time that the loss in chunks adds, as a share of the step: a good quarter of the time of the last layer, whose
// weights are gone through for each chunk (tools/bench/run memory).
double share_of_chunks(const FitPlan& plan) {
  const double all = plan.model->flops().forward;
  return all > 0 ? 0.27 * plan.model->chain().back()->flops().forward / all : 0;
}

// The bytes of the training that computing again cannot save.
std::int64_t fixed_bytes(const TrainingMemory& memory) {
  std::int64_t varying = 0;
  for (const MemoryKind kind : {MemoryKind::activations, MemoryKind::temporaries, MemoryKind::gradients})
    varying += memory.ledger.of(kind);
  return std::max(memory.in_steps - varying, memory.in_measures);
}

}  // namespace

// A variant as a plan, and what may still be set in it.
struct MixtureSearch::Way {
  FitPlan plan;
  bool may_fuse, may_chunk, may_compute_again;

  void set(bool fuses, bool chunks) {
    if (may_fuse) plan.fuse_step = fuses;
    if (may_chunk) plan.chunk_loss = chunks;
  }
};

// nullopt: the fit has another option with which the variant does not go.
std::optional<MixtureSearch::Way> MixtureSearch::way_of(const BudgetVariant& variant) const {
  searching_.tries();
  try {
    FitPlan plan = plan_fit(with_lines(fit_, variant.lines), settings_, &data_);
    plan.budget = std::max<std::int64_t>(room_, 1);  // in which evaluations go in parts
    // Smaller batches save activations themselves, and so does a file for them.
    const bool has_file = variant.lines.contains("memory.offload") && plan.offload_activations;
    const bool may_compute_again = !variant.lines.contains("batch") && !has_file && plan.recompute.empty();
    const bool may_fuse = can_fuse(plan), may_chunk = can_chunk(plan);
    return Way{std::move(plan), may_fuse, may_chunk, may_compute_again};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::recipe) throw;
    return std::nullopt;
  }
}

// More than any room where a step cannot be predicted.
TrainingMemory MixtureSearch::predicted(const FitPlan& plan) {
  searching_.tries();
  MemoryPrediction prediction = predict_memory(plan);
  if (prediction.is_least()) prediction.memory.in_measures = unknown;
  return prediction.memory;
}

void MixtureSearch::offer(const BudgetVariant& variant) {
  if (!is_better(variant.price)) return;
  std::optional<Way> way = way_of(variant);
  if (!way) return;
  const double of_chunks = share_of_chunks(way->plan);
  const auto price = [&](bool chunks) { return variant.price + (chunks ? of_chunks : 0); };
  TrainingMemory memory;
  std::array<std::int64_t, 2> steps{};  // bytes of a step without and with the loss in chunks
  bool fits_in_chunks = false;
  for (const bool chunks : {false, true}) {
    if (chunks && !way->may_chunk) continue;
    way->set(true, chunks);
    memory = predicted(way->plan);
    steps[chunks ? 1 : 0] = memory.step();
    if (memory.training() > room_) continue;
    take(variant, *way, chunks, price(chunks));
    if (!chunks) return;
    fits_in_chunks = true;
  }
  if (!way->may_compute_again || fixed_bytes(memory) > room_) return;
  // The loss in chunks is rounded in another way, so the layers are first computed again without.
  for (const bool chunks : {false, true}) {
    if (chunks && (!way->may_chunk || fits_in_chunks || steps[1] >= steps[0])) continue;
    way->set(true, chunks);
    if (!recompute_within(way->plan, room_, fit_, /*nests=*/false, searching_).fits) continue;
    return take(variant, *way, chunks, price(chunks) + share_computed_again(way->plan));
  }
}

// Keeps a plan that fits with a fused step if no cheaper one is known. A step that is not fused takes no less.
void MixtureSearch::take(const BudgetVariant& variant, Way& way, bool chunks, double price) {
  if (!is_better(price)) return;
  way.set(false, chunks);
  std::int64_t bytes = predicted(way.plan).training();
  if (bytes > room_) {
    way.set(true, chunks);
    bytes = predicted(way.plan).training();
  }
  found_ = BudgetMixture{.lines = variant.lines, .price = price, .bytes = bytes};
  // Both are there in any case: a run that goes on must know that nothing else was needed.
  found_->lines["memory.fuse_step"] = way.plan.fuse_step;
  found_->lines["memory.chunk_loss"] = way.plan.chunk_loss;
  if (!way.plan.recompute.empty() && leaves_open(way.plan, "recompute")) {
    const std::vector<std::string> patterns = segment_patterns(way.plan);
    found_->lines["memory.recompute"] = Value::List(patterns.begin(), patterns.end());
  }
}

void MixtureSearch::lower(LeastMemory& least, const BudgetVariant& variant) {
  std::optional<Way> way = way_of(variant);
  if (!way) return;
  for (const bool chunks : {false, true}) {
    if (chunks && !way->may_chunk) continue;
    way->set(true, chunks);
    if (way->may_compute_again) way->plan.recompute = {};
    const TrainingMemory memory = predicted(way->plan);
    LeastMemory one{.bytes = memory.training(), .batches = memory.batches, .lines = variant.lines};
    one.lines["memory.fuse_step"] = way->plan.fuse_step;
    one.lines["memory.chunk_loss"] = way->plan.chunk_loss;
    if (way->may_compute_again && one.bytes > room_ && fixed_bytes(memory) < least.bytes) {
      const std::int64_t again = recompute_within(way->plan, room_, fit_, /*nests=*/false, searching_).peak;
      if (again < one.bytes) one.lines["memory.recompute"] = "auto";
      one.bytes = std::min(one.bytes, again);
    }
    if (one.bytes < least.bytes) least = std::move(one);
  }
}

std::optional<LeastMemory> MixtureSearch::least(const std::vector<BudgetVariant>& all, Allow first, Allow last) {
  LeastMemory least{.bytes = unknown};
  // Backwards, because the dearest variants probably take the least memory.
  for (auto variant = all.rbegin(); variant != all.rend() && least.bytes > room_; ++variant) {
    if (variant->is_lean && variant->allow >= first && variant->allow <= last) lower(least, *variant);
  }
  if (least.bytes == unknown) return std::nullopt;
  return least;
}

}  // namespace trainlab
