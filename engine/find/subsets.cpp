#include "find/subsets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>

#include "core/random/stream.h"
#include "seeded_trainings.h"

namespace trainlab {
namespace {

constexpr std::array shares = {0.125, 0.25, 0.5, 1.0};
constexpr std::size_t fewest_sizes = 3;

bool samples_overlap(const Dataset& data) {
  return std::ranges::any_of(data.columns, [](const Column& column) {
    if (!column.values.defined() || column.values.size(0) < 2) return false;
    return column.values.stride(0) < column.values.numel() / column.values.size(0);
  });
}

void check_plan_of(const FitPlan& plan) {
  check_monitors_validation(plan, "more data do not improve");
  const Part& train = plan.data.train;
  if (train.draws && !train.draws->cumulative.empty()) {
    throw plan.options.error("data", "expected samples that are drawn alike, found samples that are drawn by weight")
        .hint("leave :weighted, or the share of :append, out for the plan");
  }
}

// The shares that have the samples of a step.
std::vector<double> shares_for(const FitPlan& plan) {
  const std::int64_t n = std::min(plan.data.train.size(), plan.data.train.epoch_size()), step = plan.length.batch;
  std::vector<double> enough;
  for (const double share : shares) {
    if (std::llround(share * static_cast<double>(n)) >= step) enough.push_back(share);
  }
  if (enough.size() >= fewest_sizes) return enough;
  throw plan.options
      .error("data", "expected at least " + std::to_string(4 * step) +
                         " training samples, so that a quarter of them fills a step of " + std::to_string(step) +
                         ", found " + std::to_string(n))
      .hint("a smaller batch, as by --set batch=16");
}

}  // namespace

Part share_of(const Part& train, double share, Key key) {
  if (share >= 1) return train;
  const std::int64_t size = train.size();
  std::vector<std::int64_t> rows(static_cast<std::size_t>(std::llround(share * static_cast<double>(size))));
  const std::vector<std::int64_t> order =
      samples_overlap(*train.data) ? std::vector<std::int64_t>() : permutation(key.fold("subsets"), size);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = train.row(order.empty() ? static_cast<std::int64_t>(i) : order[i]);
  }
  Part part = train;
  part.rows = std::make_shared<const std::vector<std::int64_t>>(std::move(rows));
  if (train.draws) {
    const auto count = std::llround(share * static_cast<double>(train.draws->count));
    part.draws = std::make_shared<const Draws>(Draws{.count = std::max<std::int64_t>(count, 1), .cumulative = {}});
  }
  return part;
}

FoundSubsets train_on_subsets(const Registry& registry, const Spec& fit, const RunSettings& settings,
                              const SearchContext& context) {
  const FitPlan whole = plan_fit(with_seed(registry, fit, settings.seed), settings, context.opened);
  check_plan_of(whole);
  const std::vector<double> used = shares_for(whole);
  RunSettings chosen = settings;
  chosen.chosen = whole.chosen;
  const auto plans = [&](std::int64_t seed) {
    const Options options = with_seed(registry, fit, seed);
    std::vector<FitPlan> all;
    for (const double share : used) {
      DataParts parts = whole.data;
      parts.train = share_of(whole.data.train, share, Key(static_cast<std::uint64_t>(seed)));
      parts.test.reset();  // nobody reads what would be measured on it
      all.push_back(plan_fit(options, chosen, &parts));
    }
    return all;
  };
  const SeededResults results = train_seeds({.fit = whole, .plans = plans}, chosen, context);
  FoundSubsets found{.seeded = results.findings};
  for (std::size_t i = 0; i < used.size(); ++i) {
    const Part part = share_of(whole.data.train, used[i], Key(0));
    found.sizes.push_back({.samples = static_cast<double>(part.size()), .values = results.sizes[i].values});
  }
  found.curve = data_curve(found.sizes, found.seeded.minimize);
  return found;
}

}  // namespace trainlab
