// Wilcoxon's signed-rank test over the repeats: their last values against those of the best trial's same repeats.
#include <algorithm>
#include <cmath>
#include <optional>

#include "pruners.h"
#include "shared_entries.h"

namespace trainlab {

namespace {

// The chance that n differences of random sign have a rank sum of positive ones of at least w: exact up to 40, then
// normal. Ties share their ranks, so sums count in halves.
double rank_sum_tail(const std::vector<double>& ranks, double w) {
  const std::size_t n = ranks.size();
  if (n > 40) {
    double mean = 0, variance = 0;
    for (const double rank : ranks) {
      mean += rank / 2;
      variance += rank * rank / 4;
    }
    return 0.5 * std::erfc((w - 0.5 - mean) / std::sqrt(2 * variance));
  }
  std::vector<double> ways{1};
  for (const double rank : ranks) {
    const auto by = static_cast<std::size_t>(std::lround(2 * rank));
    std::vector<double> next(ways.size() + by);
    for (std::size_t i = 0; i < ways.size(); ++i) {
      next[i] += ways[i] / 2;
      next[i + by] += ways[i] / 2;
    }
    ways = std::move(next);
  }
  double tail = 0;
  for (auto i = static_cast<std::size_t>(std::lround(2 * w)); i < ways.size(); ++i) tail += ways[i];
  return tail;
}

class Wilcoxon final : public Pruner {
 public:
  Wilcoxon(double p, std::int64_t startup) : p_(p), startup_(startup) {}

  bool prunes(const Curves& curves, std::int64_t trial) const override {
    std::optional<std::int64_t> best;
    for (std::int64_t other = 0; other < curves.visible(); ++other) {
      if (other == trial || curves.trials().state(other) != TrialState::complete) continue;
      if (!best || curves.value(other) < curves.value(*best)) best = other;
    }
    if (!best) return false;
    std::vector<double> differences = differences_from(curves, trial, *best);
    if (static_cast<std::int64_t>(differences.size()) < startup_) return false;
    std::sort(differences.begin(), differences.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    std::vector<double> ranks(differences.size());
    // The sum of the differences decides whose mean is better. An infinite difference outweighs all finite ones, and
    // two of opposite sign cancel each other, as very large values would.
    double worse = 0, infinite = 0, finite = 0;
    for (std::size_t i = 0; i < ranks.size();) {
      std::size_t end = i + 1;
      while (end < ranks.size() && std::abs(differences[end]) == std::abs(differences[i])) ++end;
      for (std::size_t k = i; k < end; ++k) {
        ranks[k] = static_cast<double>(i + 1 + end) / 2;
        if (differences[k] > 0) worse += ranks[k];
        if (std::isinf(differences[k]))
          infinite += std::copysign(1.0, differences[k]);
        else
          finite += differences[k];
      }
      i = end;
    }
    // A trial whose mean is better is never pruned, whatever the ranks say.
    return (infinite != 0 ? infinite : finite) > 0 && rank_sum_tail(ranks, worse) < p_;
  }

 private:
  // Differences over the repeats that both trials have: the last value minus the other trial's value at the same
  // resource. Zeros are left out.
  static std::vector<double> differences_from(const Curves& curves, std::int64_t trial, std::int64_t best) {
    const auto& others = curves.trials().repeats(best);
    std::vector<double> differences;
    for (const auto& [repeat, own] : curves.trials().repeats(trial)) {
      const auto other = others.find(repeat);
      if (other == others.end()) continue;
      const auto& resources = other->second.resources;
      const auto place = std::ranges::lower_bound(resources, own.resources.back());
      if (place == resources.end() || *place != own.resources.back()) continue;
      const auto row = static_cast<std::size_t>(place - resources.begin());
      const double mine = worst_if_nan(curves.oriented(own.values.back()));
      const double theirs = worst_if_nan(curves.oriented(other->second.values[row]));
      if (mine != theirs) differences.push_back(mine - theirs);
    }
    return differences;
  }

  double p_;
  std::int64_t startup_;
};

std::unique_ptr<Pruner> make_wilcoxon(const Options& spec, std::size_t objectives, const Delivery&) {
  require_single_objective(spec, objectives);
  return std::make_unique<Wilcoxon>(spec.number("p"), spec.integer("startup"));
}

}  // namespace

void register_wilcoxon(Registry& registry) {
  registry.add(
      Entry("pruner.wilcoxon", "pruner",
            "Prunes a configuration whose seeds are significantly worse than those of the best configuration.")
          .with(Option("p", "significance level of the test: a smaller p-value prunes")
                    .number()
                    .more_than(0)
                    .less_than(1)
                    .or_default(0.1))
          .with(Option("startup", "number of seeds that a trial has begun before it may be pruned")
                    .integer()
                    .at_least(2)
                    .or_default(4))
          .example("pruner.wilcoxon { p = 0.05 }")
          .note(
              "Wilcoxon's signed-rank test (1945), exact up to 40 seeds. The last value of each seed is compared with "
              "the value of the same seed of the best trial after as many validations. Seeds that the best trial lacks "
              "and differences of zero are left out. Infinite differences have the highest rank, which they share; in "
              "the mean an infinite difference outweighs all finite ones, and two of opposite sign cancel each other. "
              "A trial whose mean over these seeds is no worse continues. The pruner takes one objective."),
      PrunerFactory{make_wilcoxon});
}

}  // namespace trainlab
