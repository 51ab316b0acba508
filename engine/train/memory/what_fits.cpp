#include "what_fits.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "budget_variants.h"
#include "core/words.h"
#include "divisors.h"
#include "mixture_search.h"
#include "model/recompute.h"
#include "plan/fit_plan_parts.h"
#include "plan/option_lines.h"
#include "searching.h"
#include "tensor/free_memory.h"
#include "tensor/memory.h"
#include "train/memory_prediction.h"

namespace trainlab {
namespace {

using Change = std::function<void(FitPlan&)>;

// Options that save memory, and the bytes of the training with these options.
struct Way {
  std::string text;
  std::int64_t bytes = 0;
};

class Search {
 public:
  Search(const FitPlan& plan, std::size_t rows) : plan_(plan), rows_(rows) {}

  // The options of a change with the bytes of the training; nullopt where a dry run cannot predict the step.
  std::optional<Way> tried(std::string text, const Change& change) const {
    const std::int64_t before = live_tensor_bytes();
    const MemoryPrediction step = predict_memory(plan_, rows_, change);
    if (step.is_least()) return std::nullopt;
    return Way{std::move(text), step.memory.training() - before};
  }

  // The members of the option `memory` that go with all other options, each tried alone.
  std::vector<Way> options() const {
    std::vector<Way> ways;
    if (plan_.recompute.empty()) {
      if (std::optional<Way> way = best_recompute()) ways.push_back(std::move(*way));
    }
    if (!plan_.chunk_loss && why_not_chunked(plan_).empty()) {
      if (auto way = tried("chunk_loss = true", [](FitPlan& dry) { dry.chunk_loss = true; }))
        ways.push_back(std::move(*way));
    }
    if (!plan_.offload_optimizer && why_not_offloaded(plan_).empty()) {
      if (auto way = tried("offload = \"optimizer\"", [](FitPlan& dry) { dry.offload_optimizer = true; }))
        ways.push_back(std::move(*way));
    }
    return ways;
  }

  // memory.fuse_step, which needs the batch as a whole.
  std::optional<Way> fused_step() const {
    if (plan_.fuse_step || !why_not_fused(plan_).empty()) return std::nullopt;
    return tried("fuse_step = true", [](FitPlan& dry) { dry.fuse_step = true; });
  }

  // Batches that are made when they are needed: the same batches in fewer buffers.
  std::optional<Way> no_threads() const {
    if (plan_.loader.threads == 0) return std::nullopt;
    return tried("loader = { threads = 0 }", [](FitPlan& dry) { dry.loader.threads = 0; });
  }

  // The largest smaller batch that fits, with the number of micro-batches that keeps the effective batch.
  std::optional<Way> smaller_batch(std::int64_t room) const {
    std::optional<Way> found;
    if (!plan_.loss->is_divisible()) return found;
    const std::int64_t whole = plan_.loader.batch;
    for (const std::int64_t parts : divisors(whole)) {
      if (parts == 1) continue;
      const std::int64_t batch = whole / parts, accumulate = plan_.accumulate * parts;
      found = tried(fmt::format("batch = {}, accumulate = {}", batch, accumulate), [=](FitPlan& dry) {
        dry.loader.batch = batch;
        dry.accumulate = accumulate;
      });
      if (!found || found->bytes <= room) break;
    }
    return found;
  }

 private:
  std::optional<Way> best_recompute() const {
    std::optional<Way> best;
    for (const std::size_t size : segment_sizes(*plan_.model)) {
      const Recompute every = recompute_every(*plan_.model, size);
      auto way = tried(fmt::format("recompute = \"every {}\"", size), [every](FitPlan& dry) { dry.recompute = every; });
      if (way && (!best || way->bytes < best->bytes)) best = std::move(way);
    }
    return best;
  }

  const FitPlan& plan_;
  std::size_t rows_;
};

// A value as a recipe has it.
std::string lua_text(const Value& value) {
  if (value.is_list()) return "{ " + joined(value.list(), ", ", lua_text) + " }";
  return to_json(value);
}

// Options as a recipe has them: "memory = { fuse_step = true }, loader = { threads = 0 }". What is false is left out.
std::string recipe_text(const Lines& lines) {
  std::map<std::string, std::vector<std::string>> tables;
  std::vector<std::string> all;
  for (const auto& [path, value] : lines) {
    if (value == Value(false)) continue;
    const std::size_t dot = path.rfind('.');
    const std::string line = path.substr(dot + 1) + " = " + lua_text(value);
    (dot == std::string::npos ? all : tables[path.substr(0, dot)]).push_back(line);
  }
  for (const auto& [table, members] : tables) {
    const bool is_option = table == "memory" || table == "loader";
    all.push_back(is_option ? table + " = { " + joined(members) + " }" : joined(members) + " of " + table);
  }
  return joined(all);
}

// The plan's options without any that save memory: a mixture has all of these itself. A batch that was chosen stays.
Options without_savings(const FitPlan& plan) {
  Lines lines{{"memory", Value()}};
  if (is_auto_batch(plan.options)) {
    lines["batch"] = plan.loader.batch;
    lines["accumulate"] = plan.accumulate;
    lines["effective"] = Value();
  }
  return with_lines(plan.options, lines);
}

// The mixture of options that a budget of `room` bytes would choose, or what comes nearest.
std::string mixture_that_fits(const FitPlan& plan, std::int64_t room) {
  const std::int64_t held = live_tensor_bytes(), whole = std::max<std::int64_t>(room + held, 1);
  RunSettings settings = plan.settings;
  settings.chosen = {};
  Searching searching(settings, "options with which the training fits");
  const Options fit = without_savings(plan);
  const FitPlan plain = plan_fit(fit, settings, &plan.data);
  const TrainingMemory memory = predict_memory(plain).memory;
  LeastMemory fewest{.bytes = memory.training()};
  for (const Allow allow : {Allow::exact, Allow::close, Allow::any}) {
    const std::vector<BudgetVariant> all = variants(plain, allow, memory, estimated_byte_price(plain));
    MixtureSearch search(fit, settings, plan.data, whole, searching);
    const std::optional<LeastMemory> least = search.least(all, allow, allow);
    if (!least) continue;
    if (least->bytes < fewest.bytes) fewest = *least;
    if (least->bytes > whole) continue;
    for (const BudgetVariant& variant : all) search.offer(variant);
    if (!search.found()) continue;
    return fmt::format("it fits with {} ({}); memory.budget chooses such options itself",
                       recipe_text(search.found()->lines), memory_text(search.found()->bytes - held));
  }
  const std::string options = recipe_text(fewest.lines);
  if (options.empty()) return "a smaller model is needed: no option saves memory";
  return fmt::format("a smaller model is needed: the options with the least memory are {} ({})", options,
                     memory_text(fewest.bytes - held));
}

}  // namespace

std::string what_fits(const FitPlan& plan, std::size_t rows, std::int64_t room) {
  if (plan.step) return "fewer samples at a time in `step`, or a smaller model, need less memory";
  const Search search(plan, rows);
  std::string fitting;
  bool is_known = false;
  const auto offer = [&](const std::optional<Way>& way, bool is_of_memory) {
    if (!way) return;
    is_known = true;
    if (way->bytes > room) return;
    const std::string options = is_of_memory ? "memory = { " + way->text + " }" : way->text;
    fitting += (fitting.empty() ? "it fits with " : ", or ") + options + " (" + memory_text(way->bytes) + ")";
  };
  offer(search.no_threads(), false);
  for (const Way& way : search.options()) offer(way, true);
  offer(search.fused_step(), true);
  if (!plan.fuse_step) offer(search.smaller_batch(room), false);
  if (!fitting.empty()) return fitting;
  const char* const unknown = "a smaller batch or a smaller model needs less memory";
  if (!is_known || rows > 1) return unknown;
  try {
    return mixture_that_fits(plan, room);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) throw;
    return unknown;  // advice does not take the place of the error that it is for
  }
}

}  // namespace trainlab
