#include "within_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "auto_recompute.h"
#include "core/words.h"
#include "machine/product_times.h"
#include "memory_summary.h"
#include "offload_price.h"
#include "optim/optimizer.h"
#include "plan/fit_plan_parts.h"
#include "plan/option_lines.h"
#include "tensor/dry_run.h"
#include "tensor/file_memory.h"
#include "tensor/free_memory.h"
#include "train/memory_prediction.h"

namespace trainlab {
namespace {

// A twentieth of the budget stays free for what a prediction leaves out.
constexpr double usable_share = 0.95;

// Estimated prices, as shares of the time of a step; memory.fuse_step and memory.chunk_loss have none to speak of.
// Where all candidates give the same bytes, a file has a measured price instead; else a measured time would decide
// about the numbers.
constexpr double price_of_a_file = 1;
constexpr double price_of_bfloat16_state = 0.02;
constexpr double price_of_8bit_state = 0.04;
constexpr double price_of_half_a_batch = 0.05;
constexpr double price_of_faster_products = -0.2;
// A processor is called faster with a type where a product takes less than this share of the time of float32: the
// choice must not depend on how busy the machine is.
constexpr double clearly_faster = 0.8;

// Options that change the numbers of a training, with their price.
struct Variant {
  Lines lines;
  double price = 0;
};
using Variants = std::vector<Variant>;

bool leaves_open(const FitPlan& plan, const char* option) {
  return !plan.options.given("memory") || !plan.options.child("memory").given(option);
}

// What may lie in a file, with the same bits: the optimizer's state, activations, or both. `activations`: their bytes.
Variants files(const FitPlan& plan, bool exact, std::int64_t activations) {
  if (!leaves_open(plan, "offload")) return {};
  const std::int64_t state = why_not_offloaded(plan).empty() ? plan.state_bytes : 0;
  const bool has_state = state >= smallest_in_file, has_activations = activations >= smallest_in_file;
  Variants all;
  try {
    const double of_byte =
        exact && (has_state || has_activations) ? offload_price(plan, std::max(state, activations)) : 0;
    const auto price = [&](std::int64_t bytes) {
      return exact ? of_byte * static_cast<double>(bytes) : price_of_a_file;
    };
    if (has_state) all.push_back({.lines = {{"memory.offload", "optimizer"}}, .price = price(state)});
    if (has_activations) all.push_back({.lines = {{"memory.offload", "activations"}}, .price = price(activations)});
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::recipe) throw;
    return {};  // the disk is full
  }
  if (has_state && has_activations) {
    all.push_back(
        {.lines = {{"memory.offload", Value::List{"activations", "optimizer"}}}, .price = all[0].price + all[1].price});
  }
  return all;
}

// Forms of the optimizer's state.
Variants states(const FitPlan& plan, bool any) {
  const Options optimizer = unwrapped(plan.options.child("optim"));
  if (!optimizer.entry().find("state") || optimizer.given("state")) return {};
  const std::string path = option_path_of(plan.options.get("optim"), "state");
  Variants all{{.lines = {{path, "bfloat16"}}, .price = price_of_bfloat16_state}};
  if (any) all.push_back({.lines = {{path, "8bit"}}, .price = price_of_8bit_state});
  return all;
}

// Products in bfloat16, where this processor is faster with them.
Variants precisions(const FitPlan& plan) {
  if (plan.options.given("precision")) return {};
  if (relative_product_time(at::kBFloat16) >= clearly_faster) return {};
  return {{.lines = {{"precision", "bfloat16"}}, .price = price_of_faster_products}};
}

// Smaller batches with the same effective batch, each at least twice as small as the one before.
Variants batches(const FitPlan& plan) {
  Variants all;
  if (plan.loader.drop_last) return all;  // another size would leave out other samples
  const std::int64_t whole = plan.loader.batch;
  for (std::int64_t parts = 2, least = 2; parts <= whole; ++parts) {
    if (whole % parts != 0 || parts < least) continue;
    least = 2 * parts;
    all.push_back({.lines = {{"batch", whole / parts}, {"accumulate", plan.accumulate * parts}},
                   .price = price_of_half_a_batch * std::log2(static_cast<double>(parts))});
  }
  return all;
}

// All that `allow` permits to vary, the cheapest first.
Variants variants(const FitPlan& plan, const std::string& allow, std::int64_t activations) {
  Variants all(1);
  const auto multiply = [&all](const Variants& ways) {
    const std::size_t before = all.size();
    for (const Variant& way : ways) {
      for (std::size_t i = 0; i < before; ++i) {
        Variant both = all[i];
        both.lines.insert(way.lines.begin(), way.lines.end());
        both.price += way.price;
        all.push_back(std::move(both));
      }
    }
  };
  multiply(files(plan, allow == "exact", activations));
  if (allow != "exact") {
    multiply(states(plan, allow == "any"));
    multiply(precisions(plan));
  }
  if (allow == "any") multiply(batches(plan));
  std::ranges::stable_sort(all, {}, &Variant::price);
  return all;
}

// Functions of the recipe may read the gradients, which a fused step does not leave; and a recipe that speaks of health
// wants the gradients watched.
bool can_fuse(const FitPlan& plan) {
  const bool speaks_of_health = plan.options.entry().find("health") && plan.options.given("health");
  return leaves_open(plan, "fuse_step") && !plan.options.given("on") && !speaks_of_health &&
         why_not_fused(plan).empty();
}

bool can_chunk(const FitPlan& plan) { return leaves_open(plan, "chunk_loss") && why_not_chunked(plan).empty(); }

// The arithmetic of the layers that a step computes again, as a share of that of the whole step, whose backward pass
// takes the time of two forward passes. A measured time would make the choice, and with it the numbers, depend on how
// busy the machine is.
double share_computed_again(const FitPlan& plan) {
  const std::vector<const Layer*> chain = plan.model->chain();
  double again = 0, all = 0;
  for (const Layer* layer : chain) all += layer->flops().forward;
  for (const ChainSegment& one : plan.recompute.segments) {
    for (std::size_t i = one.first; i < one.first + one.count; ++i) again += chain[i]->flops().forward;
  }
  return all > 0 ? again / (3 * all) : 0;
}

// The bytes at a step's peak that computing again cannot save.
std::int64_t fixed_bytes(const FitPlan& plan, const MemoryLedger& ledger) {
  const std::int64_t varying =
      ledger.of(MemoryKind::activations) + ledger.of(MemoryKind::temporaries) + ledger.of(MemoryKind::gradients);
  return ledger.peak - varying + kept_after_validation(plan);
}

// The bytes of the samples of a layer's activations, and of those in it, by which the health of a training is watched
// (engine/health): at most 128 rows and 512 units of each.
std::int64_t sampled_bytes(const FitPlan& plan, const Layer& layer) {
  std::int64_t sum = 0;
  if (layer.traits.nonlinearity != Nonlinearity::none) {
    const std::int64_t rows = std::min<std::int64_t>(plan.loader.batch, 128);
    const std::int64_t units = std::min<std::int64_t>(element_count(layer.output), 512);
    sum = block_bytes(rows * units * std::int64_t{sizeof(float)});
  }
  for (const Layer* child : layer.children()) sum += sampled_bytes(plan, *child);
  return sum;
}

// The most bytes of samples that a step holds: those of two watched steps, each with samples of the activations and
// four of each parameter (weights and gradients, before and after the step).
std::int64_t watched_bytes(const FitPlan& plan) {
  std::int64_t sum = sampled_bytes(plan, plan.model->root());
  for (const ParameterInfo& one : plan.model->parameters())
    sum += 4 * block_bytes(std::min<std::int64_t>(element_count(one.shape), 2048) * std::int64_t{sizeof(float)});
  return 2 * sum;
}

class MixtureSearch {
 public:
  // `fit`: the options without a budget.
  MixtureSearch(const Options& fit, const RunSettings& settings, const DataParts& data, const Options& memory,
                std::int64_t room, std::int64_t watched)
      : fit_(fit), settings_(settings), data_(data), memory_(memory), room_(room), watched_(watched) {}

  void offer_plain(const FitPlan& plain) {
    if (fits(predicted_peak(plain) + watched(plain))) take({}, plain, 0);
  }

  void offer(const Variant& variant) {
    if (!is_better(variant.price)) return;
    std::optional<FitPlan> planned;
    try {
      planned.emplace(plan_fit(with_lines(fit_, variant.lines), settings_, &data_));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::recipe) throw;
      return;  // the fit has another option with which these do not go
    }
    FitPlan& plan = *planned;
    const bool may_fuse = can_fuse(plan), may_chunk = can_chunk(plan);
    const auto set = [&](bool fuses, bool chunks) {
      if (may_fuse) plan.fuse_step = fuses;
      if (may_chunk) plan.chunk_loss = chunks;
    };
    MemoryPrediction step;
    std::array<std::int64_t, 2> peaks{};  // without and with the loss in chunks
    for (const bool chunks : {false, true}) {
      if (chunks && !may_chunk) continue;
      set(true, chunks);
      step = predict_memory(plan);
      if (!step.estimated_because.empty()) return;
      peaks[chunks ? 1 : 0] = step.ledger.peak;
      // A step that is not fused takes no less.
      if (!fits(step.ledger.peak + kept_after_validation(plan) + watched(plan))) continue;
      set(false, chunks);
      if (predicted_peak(plan) + watched(plan) > room_) set(true, chunks);
      return take(variant, plan, variant.price);
    }
    // Smaller batches save activations themselves, and so does a file for them.
    const bool has_file = variant.lines.contains("memory.offload") && plan.offload_activations;
    if (variant.lines.contains("batch") || has_file || !plan.recompute.empty()) return;
    if (const std::int64_t fixed = fixed_bytes(plan, step.ledger); fixed > room_) {
      if (!leanest_ || fixed < leanest_->fixed) leanest_ = {.variant = variant, .fixed = fixed};
      return;
    }
    // The loss in chunks is rounded in another way, so the layers are first computed again without.
    for (const bool chunks : {false, true}) {
      if (chunks && (!may_chunk || peaks[1] >= peaks[0])) continue;
      set(true, chunks);
      const RecomputePrice again = recompute_within(plan, room_ - watched(plan), memory_, /*nests=*/false);
      if (!fits(again.peak + watched(plan))) continue;
      set(false, chunks);
      if (predicted_peak(plan) + watched(plan) > room_) set(true, chunks);
      return take(variant, plan, variant.price + share_computed_again(plan));
    }
  }

  bool found() const { return found_; }
  const Lines& lines() const { return lines_; }
  double price() const { return price_; }
  // The least bytes of a step that nothing which was offered can go below. For a search that found nothing.
  std::int64_t least() {
    if (!leanest_) return least_;
    FitPlan plan = plan_fit(with_lines(fit_, leanest_->variant.lines), settings_, &data_);
    if (can_fuse(plan)) plan.fuse_step = true;
    if (can_chunk(plan)) plan.chunk_loss = true;
    const RecomputePrice again = recompute_within(plan, 0, memory_, /*nests=*/false);
    return std::min(least_, again.peak + watched(plan));
  }

 private:
  struct Leanest {
    Variant variant;
    std::int64_t fixed;
  };

  // A step within the backward pass has no gradients to watch.
  std::int64_t watched(const FitPlan& plan) const { return plan.fuse_step ? 0 : watched_; }
  bool is_better(double price) const { return !found_ || price < price_; }
  bool fits(std::int64_t peak) {
    least_ = std::min(least_, peak);
    return peak <= room_;
  }

  // Keeps a plan that fits if no cheaper one is known.
  void take(const Variant& variant, const FitPlan& plan, double price) {
    if (!is_better(price)) return;
    lines_ = variant.lines;
    // Both are there in any case: a run that goes on must know that nothing else was needed.
    lines_["memory.fuse_step"] = plan.fuse_step;
    lines_["memory.chunk_loss"] = plan.chunk_loss;
    if (!plan.recompute.empty() && !memory_.given("recompute")) {
      const std::vector<std::string> patterns = segment_patterns(plan);
      lines_["memory.recompute"] = Value::List(patterns.begin(), patterns.end());
    }
    price_ = price;
    found_ = true;
  }

  const Options& fit_;
  const RunSettings& settings_;
  const DataParts& data_;
  const Options& memory_;
  std::int64_t room_, watched_, least_ = std::numeric_limits<std::int64_t>::max();
  std::optional<Leanest> leanest_;  // of those whose fixed bytes alone are too many
  bool found_ = false;
  Lines lines_;
  double price_ = 0;
};

std::string text(std::int64_t bytes) { return memory_text(static_cast<double>(bytes)); }

struct Mixture {
  Lines lines;
  double price = 0;
};

// `step`: of the plain plan.
Mixture choose(const Options& fit, const FitPlan& plain, const MemoryPrediction& step, const RunSettings& settings,
               const Options& memory, std::int64_t budget, std::int64_t unpredicted) {
  const std::string& allow = memory.string("allow");
  const auto room = static_cast<std::int64_t>(usable_share * static_cast<double>(budget)) - unpredicted;
  const std::int64_t without = predicted_peak(plain);
  MixtureSearch search(fit, settings, plain.data, memory, room, watched_bytes(plain));
  search.offer_plain(plain);
  if (!search.found()) {
    for (const Variant& variant : variants(plain, allow, step.ledger.of(MemoryKind::activations)))
      search.offer(variant);
  }
  if (search.found()) return {.lines = search.lines(), .price = search.price()};
  const auto needed = static_cast<double>(search.least() + unpredicted) / usable_share;
  throw memory
      .error("budget", fmt::format("expected at least {}, with which a step fits by the options that allow = \"{}\" "
                                   "permits, found {} (a step without options takes {})",
                                   memory_text(needed), allow, text(budget), text(without)))
      .hint(allow == "any" ? "a smaller model, or an optimizer with a smaller state"
                           : "allow = \"any\" permits smaller batches with `accumulate`, and other types of numbers");
}

std::string note_of(const FitPlan& plan, std::int64_t plain, std::int64_t peak, std::int64_t budget, double price) {
  const std::vector<std::string> lines = memory_options_in_use(plan, 0);
  if (lines.empty()) {
    return fmt::format("memory: a step takes {} at its peak, within the budget of {}: no option is needed", text(plain),
                       text(budget));
  }
  std::string note = fmt::format("memory: a step takes {} at its peak in place of {}, within the budget of {}, with {}",
                                 text(peak), text(plain), text(budget), joined(lines));
  if (price >= 0.005) note += fmt::format("; about {:.0f} % more time (estimate)", 100 * price);
  if (plan.fuse_step) note += "; the gradients are not watched, and a step that comes to the budget ends the fit";
  return note;
}

}  // namespace

FitPlan plan_within_budget(const Options& fit, const RunSettings& settings, const DataParts* opened,
                           std::int64_t unpredicted) {
  const Options memory = fit.child("memory");
  const Options bare = with_lines(fit, {{"memory.allow", Value()}, {"memory.budget", Value()}});
  const FitPlan plain = plan_fit(bare, settings, opened);
  if (!plain.device.is_cpu()) {
    throw memory
        .error("budget",
               "chooses among options by what a step takes on the CPU, found the device " + plain.device.str())
        .hint("without a budget, each option is there by itself: memory = { recompute = \"every 2\" }");
  }
  const MemoryPrediction step = predict_memory(plain);
  if (!step.estimated_because.empty()) {
    throw memory.error("budget", "cannot tell what a step takes: " + step.estimated_because)
        .hint("without a budget, each option is there by itself: memory = { recompute = \"every 2\" }");
  }
  const std::int64_t budget = memory_budget(memory);
  Mixture mixture;
  if (settings.chosen.is_nil()) {
    mixture = choose(bare, plain, step, settings, memory, budget, unpredicted);
  } else {
    mixture.lines = settings.chosen.map();
  }
  FitPlan plan = plan_fit(with_lines(bare, mixture.lines), settings, &plain.data);
  plan.budget = budget;
  plan.chosen = mixture.lines;
  plan.plain_peak = plain_step(plain).ledger.peak;
  const std::int64_t peak = predicted_peak(plan), without = step.ledger.peak + kept_after_validation(plain);
  plan.notes = {note_of(plan, without, peak, budget, mixture.price)};
  return plan;
}

std::optional<FitPlan> corrected_choice(const FitPlan& plan, const Options& fit, const RunSettings& settings) {
  const std::optional<MemoryLedger> measured = measured_memory(plan);
  if (!measured) return std::nullopt;
  const std::int64_t peak = measured->peak + kept_after_validation(plan);
  if (peak <= plan.budget) return std::nullopt;
  const std::int64_t unpredicted = peak - predicted_peak(plan);
  FitPlan again = plan_within_budget(fit, settings, &plan.data, unpredicted);
  again.notes.push_back("memory: chosen again, because two steps took " + text(unpredicted) + " more than predicted");
  return again;
}

}  // namespace trainlab
