#include "within_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "auto_recompute.h"
#include "core/words.h"
#include "machine/product_times.h"
#include "memory_summary.h"
#include "offload_price.h"
#include "optim/optimizer.h"
#include "plan/fit_plan_parts.h"
#include "plan/option_lines.h"
#include "tensor/file_memory.h"
#include "tensor/free_memory.h"
#include "train/fit.h"
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

// The values of memory.allow: each permits what those before it permit.
enum class Allow : std::uint8_t { exact, close, any };
constexpr std::array<const char*, 3> allow_names = {"exact", "close", "any"};

Allow allow_of(const Options& memory) {
  const auto found = std::ranges::find(allow_names, memory.string("allow"));
  return static_cast<Allow>(found - allow_names.begin());
}
const char* name_of(Allow allow) { return allow_names[static_cast<std::size_t>(allow)]; }

// Options that change the numbers of a training or lie in a file, with their price.
struct Variant {
  Lines lines;
  double price = 0;
  Allow allow = Allow::exact;  // the first that permits them
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
Variants states(const FitPlan& plan, Allow allow) {
  const Options optimizer = unwrapped(plan.options.child("optim"));
  if (!optimizer.entry().find("state") || optimizer.given("state")) return {};
  const std::string path = option_path_of(plan.options.get("optim"), "state");
  Variants all{{.lines = {{path, "bfloat16"}}, .price = price_of_bfloat16_state, .allow = Allow::close}};
  if (allow >= Allow::any)
    all.push_back({.lines = {{path, "8bit"}}, .price = price_of_8bit_state, .allow = Allow::any});
  return all;
}

// Products in bfloat16, where this processor is faster with them.
Variants precisions(const FitPlan& plan) {
  if (plan.options.given("precision")) return {};
  if (relative_product_time(at::kBFloat16) >= clearly_faster) return {};
  return {{.lines = {{"precision", "bfloat16"}}, .price = price_of_faster_products, .allow = Allow::close}};
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
                   .price = price_of_half_a_batch * std::log2(static_cast<double>(parts)),
                   .allow = Allow::any});
  }
  return all;
}

// All that `allow` permits to vary, the cheapest first.
Variants variants(const FitPlan& plan, Allow allow, std::int64_t activations) {
  Variants all(1);
  const auto multiply = [&all](const Variants& ways) {
    const std::size_t before = all.size();
    for (const Variant& way : ways) {
      for (std::size_t i = 0; i < before; ++i) {
        Variant both = all[i];
        both.lines.insert(way.lines.begin(), way.lines.end());
        both.price += way.price;
        both.allow = std::max(both.allow, way.allow);
        all.push_back(std::move(both));
      }
    }
  };
  multiply(files(plan, allow == Allow::exact, activations));
  if (allow >= Allow::close) {
    multiply(states(plan, allow));
    multiply(precisions(plan));
  }
  if (allow >= Allow::any) multiply(batches(plan));
  std::ranges::stable_sort(all, {}, &Variant::price);
  return all;
}

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

// The bytes of the training that computing again cannot save.
std::int64_t fixed_bytes(const TrainingMemory& memory) {
  std::int64_t varying = 0;
  for (const MemoryKind kind : {MemoryKind::activations, MemoryKind::temporaries, MemoryKind::gradients})
    varying += memory.ledger.of(kind);
  return std::max(memory.in_steps - varying, memory.in_measures);
}

class MixtureSearch {
 public:
  // `fit`: the options without a budget.
  MixtureSearch(const Options& fit, const RunSettings& settings, const DataParts& data, const Options& memory,
                std::int64_t room)
      : fit_(fit), settings_(settings), data_(data), memory_(memory), room_(room) {}

  void offer_plain(const FitPlan& plain, const TrainingMemory& memory) {
    if (fits(memory.training())) take({}, plain, 0);
  }

  void offer(const Variant& variant) {
    if (!is_better(variant.price)) return;
    std::optional<FitPlan> planned;
    try {
      planned.emplace(plan_of(variant));
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
    MemoryPrediction predicted;
    std::array<std::int64_t, 2> steps{};  // bytes of a step without and with the loss in chunks
    for (const bool chunks : {false, true}) {
      if (chunks && !may_chunk) continue;
      set(true, chunks);
      predicted = predict_memory(plan);
      if (!predicted.estimated_because.empty()) return;
      steps[chunks ? 1 : 0] = predicted.memory.step();
      // A step that is not fused takes no less.
      if (!fits(predicted.memory.training())) continue;
      set(false, chunks);
      if (predict_memory(plan).memory.training() > room_) set(true, chunks);
      return take(variant, plan, variant.price);
    }
    // Smaller batches save activations themselves, and so does a file for them.
    const bool has_file = variant.lines.contains("memory.offload") && plan.offload_activations;
    if (variant.lines.contains("batch") || has_file || !plan.recompute.empty()) return;
    if (const std::int64_t fixed = fixed_bytes(predicted.memory); fixed > room_) {
      if (!leanest_ || fixed < leanest_->fixed) leanest_ = {.variant = variant, .fixed = fixed};
      return;
    }
    // The loss in chunks is rounded in another way, so the layers are first computed again without.
    for (const bool chunks : {false, true}) {
      if (chunks && (!may_chunk || steps[1] >= steps[0])) continue;
      set(true, chunks);
      const RecomputePrice again = recompute_within(plan, room_, memory_, /*nests=*/false);
      if (!fits(again.peak)) continue;
      set(false, chunks);
      if (predict_memory(plan).memory.training() > room_) set(true, chunks);
      return take(variant, plan, variant.price + share_computed_again(plan));
    }
  }

  bool found() const { return found_; }
  const Lines& lines() const { return lines_; }
  double price() const { return price_; }
  // The least bytes of a training that nothing which was offered can go below. For a search that found nothing.
  std::int64_t least() {
    if (!leanest_) return least_;
    FitPlan plan = plan_of(leanest_->variant);
    if (can_fuse(plan)) plan.fuse_step = true;
    if (can_chunk(plan)) plan.chunk_loss = true;
    return std::min(least_, recompute_within(plan, 0, memory_, /*nests=*/false).peak);
  }

 private:
  struct Leanest {
    Variant variant;
    std::int64_t fixed;
  };

  FitPlan plan_of(const Variant& variant) const {
    FitPlan plan = plan_fit(with_lines(fit_, variant.lines), settings_, &data_);
    plan.budget = std::max<std::int64_t>(room_, 1);  // in which evaluations go in parts
    return plan;
  }
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
  std::int64_t room_, least_ = std::numeric_limits<std::int64_t>::max();
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

// Chooses among mixtures for one budget.
class MixtureChoice {
 public:
  // `plain`, and its memory: without options that a budget could choose.
  MixtureChoice(const Options& fit, const FitPlan& plain, const TrainingMemory& plain_memory,
                const RunSettings& settings, const Options& memory)
      : fit_(fit), plain_(plain), plain_memory_(plain_memory), settings_(settings), memory_(memory) {}

  // `unpredicted`: bytes to leave free in addition.
  Mixture within(std::int64_t budget, std::int64_t unpredicted) const {
    const Allow allow = allow_of(memory_);
    const std::int64_t room = static_cast<std::int64_t>(usable_share * static_cast<double>(budget)) - unpredicted;
    MixtureSearch search(fit_, settings_, plain_.data, memory_, room);
    // Within a budget, evaluations of the plain training are made in parts too.
    const auto in_room = [room](FitPlan& dry) { dry.budget = std::max<std::int64_t>(room, 1); };
    search.offer_plain(plain_, predict_memory(plain_, 1, in_room).memory);
    if (!search.found()) {
      for (const Variant& variant : variants(plain_, allow, activations())) search.offer(variant);
    }
    if (search.found()) return {.lines = search.lines(), .price = search.price()};
    const std::int64_t least = search.least();
    throw memory_
        .error("budget", fmt::format("expected at least {}, in which the training fits with options that allow = "
                                     "\"{}\" permits, found {} (without options the training takes {})",
                                     budget_text(least, unpredicted), name_of(allow), text(budget),
                                     text(plain_memory_.training())))
        .hint(hint(allow, least, unpredicted))
        .lacking_memory();
  }

 private:
  std::int64_t activations() const { return plain_memory_.ledger.of(MemoryKind::activations); }
  static std::string budget_text(std::int64_t bytes, std::int64_t unpredicted) {
    return memory_text(static_cast<double>(bytes + unpredicted) / usable_share);
  }
  // The further values of memory.allow that permit options with which the training takes less, with the least budget of
  // each.
  std::string hint(Allow allow, std::int64_t least, std::int64_t unpredicted) const {
    std::string more, last = budget_text(least, unpredicted);
    const Variants all = variants(plain_, Allow::any, activations());
    for (const Allow next : {Allow::close, Allow::any}) {
      if (next <= allow) continue;
      MixtureSearch search(fit_, settings_, plain_.data, memory_, /*room=*/0);
      for (const Variant& variant : all)
        if (variant.allow == next) search.offer(variant);
      if (search.least() >= least) continue;
      least = search.least();
      std::string needed = budget_text(least, unpredicted);
      if (needed == last) continue;
      more += fmt::format("{}allow = \"{}\" needs {}", more.empty() ? "" : ", ", name_of(next), needed);
      last = std::move(needed);
    }
    return more.empty() ? "a smaller model, or smaller samples" : more;
  }

  const Options& fit_;
  const FitPlan& plain_;
  const TrainingMemory& plain_memory_;
  const RunSettings& settings_;
  const Options& memory_;
};

// `plain` and `training`: bytes without and with the options.
std::string note_of(const FitPlan& plan, std::int64_t plain, std::int64_t training, std::int64_t budget, double price) {
  const std::vector<std::string> lines = memory_options_in_use(plan, 0);
  if (lines.empty()) {
    return fmt::format("memory: the training takes {} at most, within the budget of {}: no option is needed",
                       text(training), text(budget));
  }
  std::string note =
      fmt::format("memory: the training takes {} at most in place of {}, within the budget of {}, with {}",
                  text(training), text(plain), text(budget), joined(lines));
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
  const MemoryPrediction predicted = predict_memory(plain);
  if (!predicted.estimated_because.empty()) {
    throw memory.error("budget", "cannot tell what a step takes: " + predicted.estimated_because)
        .hint("without a budget, each option is there by itself: memory = { recompute = \"every 2\" }");
  }
  const std::int64_t budget = memory_budget(memory);
  Mixture mixture;
  if (settings.chosen.is_nil()) {
    mixture = MixtureChoice(bare, plain, predicted.memory, settings, memory).within(budget, unpredicted);
  } else {
    mixture.lines = settings.chosen.map();
  }
  FitPlan plan = plan_fit(with_lines(bare, mixture.lines), settings, &plain.data);
  plan.budget = budget;
  plan.chosen = mixture.lines;
  plan.plain_training = plain_memory(plain).memory.training();
  plan.notes = {
      note_of(plan, predicted.memory.training(), predict_memory(plan).memory.training(), budget, mixture.price)};
  return plan;
}

std::optional<FitPlan> corrected_choice(const FitPlan& plan, const Options& fit, const RunSettings& settings) {
  const std::optional<TrainingMemory> measured = measured_memory(plan);
  if (!measured || measured->training() <= plan.budget) return std::nullopt;
  const std::int64_t unpredicted = measured->training() - predict_memory(plan).memory.training();
  FitPlan again = plan_within_budget(fit, settings, &plan.data, unpredicted);
  again.notes.push_back("memory: chosen again, because the training takes " + text(unpredicted) +
                        " more than was predicted");
  return again;
}

}  // namespace trainlab
