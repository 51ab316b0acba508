#include "what_fits.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <vector>

#include "core/words.h"
#include "divisors.h"
#include "model/recompute.h"
#include "plan/fit_plan_parts.h"
#include "tensor/free_memory.h"
#include "tensor/memory.h"
#include "train/memory_prediction.h"

namespace trainlab {
namespace {

using Change = std::function<void(FitPlan&)>;

// Options that save memory, and the bytes of the training with these options.
struct Way {
  std::string text;
  Change change;
  std::int64_t bytes = 0;

  std::string told() const { return text + " (" + memory_text(static_cast<double>(bytes)) + ")"; }
};

class Search {
 public:
  Search(const FitPlan& plan, std::size_t rows) : plan_(plan), rows_(rows) {}

  // The options of a change with the bytes of the training; nullopt where a dry run cannot predict the step.
  std::optional<Way> tried(std::string text, Change change) const {
    const std::int64_t before = live_tensor_bytes();
    const MemoryPrediction step = predict_memory(plan_, rows_, change);
    if (step.is_least()) return std::nullopt;
    return Way{std::move(text), std::move(change), step.memory.training() - before};
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

  // All of the ways together.
  std::optional<Way> together(const std::vector<Way>& ways) const {
    return tried(joined(ways, ", ", &Way::text), [ways](FitPlan& dry) {
      for (const Way& way : ways) way.change(dry);
    });
  }

  // The largest smaller batch that fits together with `more`, with the number of micro-batches that keeps the
  // effective batch.
  std::optional<Way> smaller_batch(std::int64_t room, const Change& more) const {
    std::optional<Way> found;
    if (!plan_.loss->is_divisible()) return found;
    const std::int64_t whole = plan_.loader.batch;
    for (const std::int64_t parts : divisors(whole)) {
      if (parts == 1) continue;
      const std::int64_t batch = whole / parts, accumulate = plan_.accumulate * parts;
      found = tried(fmt::format("batch = {}, accumulate = {}", batch, accumulate), [=](FitPlan& dry) {
        if (more) more(dry);
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
    const std::size_t layers = plan_.model->chain().size();
    for (const std::size_t size : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
      if (size >= layers) break;
      const Recompute every = recompute_every(*plan_.model, size);
      auto way = tried(fmt::format("recompute = \"every {}\"", size), [every](FitPlan& dry) { dry.recompute = every; });
      if (way && (!best || way->bytes < best->bytes)) best = std::move(way);
    }
    return best;
  }

  const FitPlan& plan_;
  std::size_t rows_;
};

}  // namespace

std::string what_fits(const FitPlan& plan, std::size_t rows, std::int64_t room) {
  if (plan.step) return "fewer samples at a time in `step`, or a smaller model, need less memory";
  const Search search(plan, rows);
  std::string fitting;
  std::optional<Way> least;
  const auto offer = [&](std::optional<Way> way) {
    if (!way) return;
    if (way->bytes <= room) fitting += (fitting.empty() ? "it fits with " : ", or ") + way->told();
    if (!least || way->bytes < least->bytes) least = std::move(way);
  };
  const auto of_memory = [](std::optional<Way> way) {
    if (way) way->text = "memory = { " + way->text + " }";
    return way;
  };
  std::vector<Way> ways = search.options();
  for (const Way& way : ways) offer(of_memory(way));
  const std::optional<Way> fused = search.fused_step();
  offer(of_memory(fused));
  if (!plan.fuse_step) offer(search.smaller_batch(room, {}));
  if (fitting.empty() && !plan.fuse_step && !ways.empty()) {
    const std::optional<Way> together = of_memory(search.together(ways));
    std::optional<Way> way = together ? search.smaller_batch(room, together->change) : std::nullopt;
    if (way) way->text += " and " + together->text;
    offer(std::move(way));
  }
  if (fused) ways.push_back(*fused);
  if (fitting.empty() && ways.size() > 1) offer(of_memory(search.together(ways)));
  if (!fitting.empty()) return fitting;
  if (!least) return "a smaller batch or a smaller model needs less memory";
  return "a smaller model is needed: the options with the least memory are " + least->told();
}

}  // namespace trainlab
