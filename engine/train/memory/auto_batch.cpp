// Chooses the batch for batch = "auto".
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "divisors.h"
#include "plan/fit_plan_parts.h"
#include "plan/option_lines.h"
#include "searching.h"
#include "tensor/free_memory.h"
#include "tensor/memory.h"
#include "train/memory_prediction.h"
#include "what_fits.h"

namespace trainlab {
namespace {

// A tenth of the room stays free, because a prediction leaves out some memory, such as that of metrics.
constexpr double margin = 0.9;
constexpr int refinements = 8;  // most predictions above a batch that fits, and below a batch that does not

// The largest multiple of 8, or below 8 the largest power of two, that is at most `batch`; 0 for a batch below 1.
std::int64_t rounded(double batch) {
  const auto whole = static_cast<std::int64_t>(std::max(batch, 0.0));
  return whole >= 8 ? whole / 8 * 8 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(whole)));
}

struct Tried {
  std::int64_t batch;
  double peak;
};

// The batch at which the straight line through both peaks reaches `room`.
double where_full(const Tried& a, const Tried& b, double room) {
  const double slope = (b.peak - a.peak) / static_cast<double>(b.batch - a.batch);
  if (slope <= 0) return HUGE_VAL;
  return static_cast<double>(b.batch) + (room - b.peak) / slope;
}

}  // namespace

std::int64_t largest_batch(const FitPlan& plan, const RunSettings& settings) {
  const Options& fit = plan.options;
  if (!plan.device.is_cpu()) {
    throw fit.error("batch", "\"auto\" knows what a step takes on the CPU alone, found the device " + plan.device.str())
        .hint("batch = 64");
  }
  const auto whole = static_cast<double>(room_of(plan));
  const double room = margin * whole;
  const std::int64_t effective = fit.given("effective") ? fit.integer("effective") : 0;
  Searching searching(settings, "batch = \"auto\"");
  const auto tried = [&](std::int64_t batch) -> Tried {
    searching.tries();
    const MemoryPrediction step = predict_memory(plan, 1, [&](FitPlan& dry) {
      dry.loader.batch = batch;
      plan_length(dry, settings);  // the loader makes no more batches ahead than the training takes
    });
    if (step.is_least())
      throw fit.error("batch", "\"auto\" cannot tell what a step takes: " + step.estimated_because).hint("batch = 64");
    return {batch, static_cast<double>(step.memory.training())};
  };
  // `least`: the batch that takes the fewest bytes.
  const auto nothing_fits = [&](const Tried& least) {
    const std::string parts = effective > 0 ? "micro-batches" : "steps";
    const std::string samples = least.batch == 1 ? "one sample" : std::to_string(least.batch) + " samples";
    Lines lines{{"batch", least.batch}, {"effective", Value()}, {"memory.budget", Value()}};
    if (effective > 0) lines["accumulate"] = effective / least.batch;
    const FitPlan sized = plan_fit(with_lines(fit, lines), settings, &plan.data);
    const auto usable = static_cast<std::int64_t>(room) - live_tensor_bytes();
    return fit
        .error("batch", "a training with " + parts + " of " + samples + " takes " + memory_text(least.peak) +
                            ", found room for " + memory_text(room) + " (nine tenths of " + memory_text(whole) + ")")
        .hint(what_fits(sized, 1, usable))
        .lacking_memory();
  };
  const auto held = static_cast<double>(plan.data.train.epoch_size());
  if (effective > 0) {
    // Smaller batches have fewer activations, but many of them may lie in the loader's buffers.
    Tried least{.batch = 1, .peak = HUGE_VAL};
    const std::vector<std::int64_t> sizes = divisors(effective);
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
      const Tried one = tried(*size);
      if (one.peak <= room) return one.batch;
      if (one.peak < least.peak) least = one;
    }
    throw nothing_fits(least);
  }
  Tried small = tried(rounded(std::min(16.0, held)));
  while (small.peak > room && small.batch > 1) small = tried(rounded(static_cast<double>(small.batch) / 2));
  if (small.peak > room) throw nothing_fits(small);
  if (small.batch < 16 || held < 24) return small.batch;
  // The peak grows in proportion to the batch, except for the loader's buffers and for changes of the moment at which
  // the step holds most.
  Tried low = tried(rounded(std::min(32.0, held))), high = low;
  if (low.peak > room && low.batch > 24) low = high = tried(24);
  if (low.peak > room) return small.batch;
  for (int i = 0; i < refinements && high.peak <= room; ++i) {
    const std::int64_t next = rounded(std::min(where_full(small, low, room), held));
    if (next <= low.batch) return low.batch;
    high = tried(next);
    if (high.peak <= room) small = std::exchange(low, high);
  }
  if (high.peak <= room) return high.batch;
  for (int i = 0; i < refinements && high.batch - low.batch > std::max<std::int64_t>(8, low.batch / 16); ++i) {
    const auto least = static_cast<double>(low.batch + 8), most = static_cast<double>(high.batch - 8);
    const Tried next = tried(rounded(std::clamp(where_full(low, high, room), least, most)));
    (next.peak <= room ? low : high) = next;
  }
  return low.batch;
}

}  // namespace trainlab
