#include "within_budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/words.h"
#include "memory_summary.h"
#include "mixture_search.h"
#include "plan/fit_plan_parts.h"
#include "tensor/free_memory.h"
#include "tensor/memory.h"
#include "train/memory_prediction.h"

namespace trainlab {
namespace {

// A twentieth of the budget stays free for what a prediction leaves out.
constexpr double usable_share = 0.95;

// The least budget for a training of these bytes.
std::string least_budget_text(std::int64_t bytes) { return memory_text_up(static_cast<double>(bytes) / usable_share); }

// Chooses among mixtures for one budget.
class MixtureChoice {
 public:
  // `plain`, and its memory: without options that a budget could choose. `unpredicted`: bytes to leave free in
  // addition.
  MixtureChoice(const Options& fit, const FitPlan& plain, const TrainingMemory& plain_memory,
                const RunSettings& settings, const Options& memory, std::int64_t unpredicted)
      : fit_(fit),
        plain_(plain),
        plain_memory_(plain_memory),
        settings_(settings),
        memory_(memory),
        unpredicted_(unpredicted),
        searching_(settings, "options for memory.budget") {}

  BudgetMixture within(std::int64_t budget) {
    const Allow allow = allow_of(memory_);
    const std::int64_t room = static_cast<std::int64_t>(usable_share * static_cast<double>(budget)) - unpredicted_;
    // Within a budget, evaluations of the plain training are made in parts too.
    const auto in_room = [room](FitPlan& dry) { dry.budget = std::max<std::int64_t>(room, 1); };
    if (predict_memory(plain_, 1, in_room).memory.training() <= room)
      return {.lines = {{"memory.fuse_step", plain_.fuse_step}, {"memory.chunk_loss", plain_.chunk_loss}}};
    // Whether anything fits is found by a few predictions, what is the cheapest by many.
    LeastMemory least = least_in(room, Allow::exact, allow, 0);
    if (least.bytes <= room) {
      const std::optional<double> price = byte_price(allow);
      MixtureSearch search = search_in(room);
      for (const BudgetVariant& variant : variants(plain_, allow, plain_memory_, price)) search.offer(variant);
      if (search.found()) return *search.found();
      least = least_in(0, Allow::exact, allow, price);  // without files, if the disk is full
    }
    throw nothing_fits(budget, allow, least);
  }

 private:
  std::int64_t activations() const { return plain_memory_.ledger.of(MemoryKind::activations); }
  MixtureSearch search_in(std::int64_t room) { return {fit_, settings_, plain_.data, room, searching_}; }
  // None where the disk is full. The forward pass that is timed may not fit, as it is without any of the options.
  std::optional<double> byte_price(Allow allow) const {
    try {
      return byte_price_of(plain_, allow, activations());
    } catch (const Error& error) {
      if (lacks_room(error)) return estimated_byte_price(plain_);
      if (error.kind() != ErrorKind::run) throw;
      return std::nullopt;
    }
  }
  LeastMemory least_in(std::int64_t room, Allow first, Allow last, std::optional<double> byte_price) {
    const LeastMemory plain{.bytes = plain_memory_.training(), .batches = plain_memory_.batches};
    return search_in(room).least(variants(plain_, last, plain_memory_, byte_price), first, last).value_or(plain);
  }

  Error nothing_fits(std::int64_t budget, Allow allow, const LeastMemory& least) {
    const bool is_of_process = budget == tensor_memory_limit();
    // A limit of the process is no value of the option.
    Error error =
        (is_of_process ? fit_ : memory_)
            .error(is_of_process ? "memory" : "budget",
                   fmt::format("expected at least {}, in which the training fits with options that allow = \"{}\" "
                               "permits, found {}{} (without options the training takes {})",
                               least_budget_text(least.bytes + unpredicted_), name_of(allow),
                               is_of_process ? "--memory " : "", memory_text(budget),
                               memory_text(plain_memory_.training())));
    return error.hint(hint(allow, least, is_of_process)).lacking_memory();
  }

  // The further values of memory.allow that permit options with which the training takes less, with the least budget of
  // each. `is_of_process`: whether the limit of the process is the budget.
  std::string hint(Allow allow, const LeastMemory& least, bool is_of_process) {
    std::vector<std::string> ways;
    std::int64_t bytes = least.bytes;
    for (const Allow next : {Allow::close, Allow::any}) {
      if (next <= allow) continue;
      const LeastMemory lower = least_in(0, next, next, 0);
      if (lower.bytes >= bytes) continue;
      const std::string needed = least_budget_text(lower.bytes + unpredicted_);
      if (needed != least_budget_text(bytes + unpredicted_))
        ways.push_back(
            fmt::format("allow = \"{}\" needs {}{}", name_of(next), is_of_process ? "a --memory of " : "", needed));
      bytes = lower.bytes;
    }
    if (const std::string weights = hint_of_weights(bytes, is_of_process); !weights.empty()) ways.push_back(weights);
    if (const std::string batches = hint_of_batches(least); !batches.empty()) ways.push_back(batches);
    return ways.empty() ? "a smaller model, or smaller samples" : joined(ways, ", ");
  }

  // Weights in bfloat16, which no budget chooses, where the training then takes less than these bytes.
  std::string hint_of_weights(std::int64_t bytes, bool is_of_process) {
    if (plain_.options.given("precision")) return "";
    std::vector<BudgetVariant> all = variants(plain_, Allow::any, plain_memory_, 0);
    for (BudgetVariant& one : all)
      one.lines["precision"] = Value::Map{{"compute", "bfloat16"}, {"weights", "bfloat16"}};
    const std::optional<LeastMemory> lower = search_in(0).least(all, Allow::exact, Allow::any);
    if (!lower || lower->bytes >= bytes) return "";
    return fmt::format(
        "precision = {{ compute = \"bfloat16\", weights = \"bfloat16\" }} with allow = \"any\" needs {}{}",
        is_of_process ? "a --memory of " : "", least_budget_text(lower->bytes + unpredicted_));
  }

  // Where the loader's buffers take a third or more, what makes them smaller.
  std::string hint_of_batches(const LeastMemory& least) const {
    if (3 * least.batches < least.bytes) return "";
    const bool has_threads = says_threads(plain_) && plain_.loader.threads > 0;
    return fmt::format("the loader's batches take {} of it, less with {}a smaller batch", memory_text(least.batches),
                       has_threads ? "loader = { threads = 0 } or " : "");
  }

  const Options& fit_;
  const FitPlan& plain_;
  const TrainingMemory& plain_memory_;
  const RunSettings& settings_;
  const Options& memory_;
  const std::int64_t unpredicted_;
  Searching searching_;
};

// `training`: its bytes.
std::string note_of(const FitPlan& plan, std::int64_t training, std::int64_t budget, double price) {
  const std::vector<std::string> lines = memory_options_in_use(plan, 0);
  if (lines.empty()) {
    return fmt::format("memory: the training takes {} at most, within the budget of {}: no option is needed",
                       memory_text(training), memory_text(budget));
  }
  std::string note =
      fmt::format("memory: the training takes {} at most in place of {}, within the budget of {}, with {}",
                  memory_text(training), memory_text(*plan.plain_training), memory_text(budget), joined(lines));
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
  if (predicted.is_least()) {
    throw memory.error("budget", "cannot tell what a step takes: " + predicted.estimated_because)
        .hint("without a budget, each option is there by itself: memory = { recompute = \"every 2\" }");
  }
  const std::int64_t asked = memory_budget(memory, settings.chosen), budget = memory_limit(asked);
  BudgetMixture mixture;
  if (settings.chosen.is_nil()) {
    mixture = MixtureChoice(bare, plain, predicted.memory, settings, memory, unpredicted).within(budget);
  } else {
    mixture.lines = settings.chosen.map();
    mixture.lines.erase("memory.budget");
  }
  FitPlan plan = plan_fit(with_lines(bare, mixture.lines), settings, &plain.data);
  plan.budget = budget;
  plan.chosen = mixture.lines;
  if (has_relative_budget(fit)) plan.chosen.set("memory.budget", asked);
  plan.plain_training = plain_memory(plain).memory.training();
  plan.notes = {note_of(plan, predict_memory(plan).memory.training(), budget, mixture.price)};
  return plan;
}

std::optional<FitPlan> corrected_choice(const FitPlan& plan, const Options& fit, const RunSettings& settings) {
  const std::optional<TrainingMemory> measured = measured_memory(plan);
  if (!measured || measured->training() <= plan.budget) return std::nullopt;
  const std::int64_t unpredicted = measured->training() - predict_memory(plan).memory.training();
  FitPlan again = plan_within_budget(fit, settings, &plan.data, unpredicted);
  again.notes.push_back("memory: chosen again, because the training takes at least " + memory_text(unpredicted) +
                        " more than was predicted");
  return again;
}

}  // namespace trainlab
