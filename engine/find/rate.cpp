#include "find/rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/statistics.h"
#include "optim/optimizer.h"
#include "range_test.h"

namespace trainlab {
namespace {

constexpr std::ptrdiff_t most_rates = 9;  // the search ends when as many or one more are probed
constexpr std::int64_t least_probe = 280, longest_probe = 1000;
constexpr std::array first_octaves = {-2, 0, 2};  // which are probed first

std::vector<RatePoint> mean_curve(const std::vector<std::vector<RatePoint>>& curves) {
  std::size_t shortest = curves.front().size();
  for (const auto& curve : curves) shortest = std::min(shortest, curve.size());
  std::vector<RatePoint> mean(curves.front().begin(), curves.front().begin() + static_cast<std::ptrdiff_t>(shortest));
  for (std::size_t i = 0; i < shortest; ++i) {
    mean[i].loss = 0;
    for (const auto& curve : curves) mean[i].loss += curve[i].loss / static_cast<double>(curves.size());
  }
  return mean;
}

// The loss by which rates are put in order; one that is not finite comes last.
double finite_or_most(const ProbedRate& one) { return std::isnan(one.loss) ? HUGE_VAL : one.loss; }

// Probed rates by the octaves between them and the start. Each rate has the same weights and data for each seed.
class RateProbe {
 public:
  RateProbe(Trainings& trainings, FoundRate& found, std::int64_t first_seed)
      : trainings_(trainings), found_(found), first_seed_(first_seed) {}

  // Rates 4 times apart until worse ones lie on both sides of the good ones, and then the half and the double of the
  // best, as long as one of these is better.
  void search() {
    for (const int octave : first_octaves) try_rate(octave);
    while (std::ssize(probes_) < most_rates) {
      std::vector<ProbedRate> sorted = this->sorted();
      const RateChoice choice = choose_rate(sorted);
      if (choice.is_bounded) break;
      const int lowest = probes_.begin()->first, highest = probes_.rbegin()->first;
      if (choice.suggestion == 0 || choice.low == sorted.front().rate) try_rate(lowest - 2);
      if (choice.suggestion != 0 && choice.high == sorted.back().rate) try_rate(highest + 2);
    }
    for (int best = this->best(); std::ssize(probes_) < most_rates; best = this->best()) {
      if (probes_.contains(best - 1) && probes_.contains(best + 1)) break;
      for (const int octave : {best - 1, best + 1}) try_rate(octave);
    }
  }

 private:
  void try_rate(int octave) {
    if (probes_.contains(octave)) return;
    ProbedRate probe{.rate = found_.start * std::exp2(octave)};
    for (int i = 0; i < found_.seeds; ++i) {
      EndLoss loss = trainings_.end_loss({.optimizer = trainings_.fit()["optim"],
                                          .rate = probe.rate,
                                          .steps = found_.probe_steps,
                                          .seed = first_seed_ + i});
      probe.losses.push_back(loss.value);
      probe.loss += loss.value / found_.seeds;
      found_.metric = std::move(loss.metric);
    }
    probes_.emplace(octave, std::move(probe));
    found_.probes = sorted();
  }

  std::vector<ProbedRate> sorted() const {
    std::vector<ProbedRate> all;
    for (const auto& [octave, probe] : probes_) all.push_back(probe);
    return all;
  }

  // The rate with the least loss; the lowest where no loss is finite.
  int best() const {
    const auto loss = [](const auto& entry) { return finite_or_most(entry.second); };
    return std::ranges::min_element(probes_, {}, loss)->first;
  }

  Trainings& trainings_;
  FoundRate& found_;
  std::int64_t first_seed_;
  std::map<int, ProbedRate> probes_;
};

// The standard error of the mean difference between two rates' losses.
double error_between(const ProbedRate& a, const ProbedRate& b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.losses.size(); ++i) differences.push_back(a.losses[i] - b.losses[i]);
  return mean_and_error(differences).error;
}

void search(Trainings& trainings, FoundRate& found, std::int64_t first_seed, const SearchContext& context) {
  std::vector<std::vector<RatePoint>> curves;
  std::vector<RateSuggestions> suggestions;
  context.tell(fmt::format("{} range tests of {} steps, then up to {} trainings of {} steps", found.seeds,
                           found.range_steps, (most_rates + 1) * found.seeds, found.probe_steps));
  for (int i = 0; i < found.seeds; ++i) {
    const std::int64_t seed = first_seed + i;
    context.tell(fmt::format("range test with seed {}", seed));
    curves.push_back(range_test(trainings, trainings.fit()["optim"], found.range_steps, seed));
    suggestions.push_back(suggestions_of(curves.back()));
    found.curve = mean_curve(curves);
    found.rules = median_of(suggestions);
    found.start = found.rules.quarter_of_least;
  }
  if (!(found.start > 0)) {
    throw trainings.changed({})
        .error("", fmt::format("the loss is not finite at the rate {:g} already", lowest_rate))
        .hint("the fit has another fault: trainlab run says which");
  }
  context.tell(fmt::format("probe of rates around {:.3g}, {} steps each", found.start, found.probe_steps));
  RateProbe(trainings, found, first_seed).search();
  found.choice = choose_rate(found.probes);
  if (found.choice.suggestion == 0) {
    throw trainings.changed({})
        .error("", fmt::format("the loss is not finite in {} steps at any of the rates from {:.2g} to {:.2g}",
                               found.probe_steps, found.probes.front().rate, found.probes.back().rate))
        .hint("the fit has another fault: trainlab run says which");
  }
}

// The choice when a budget is used: fewer rates than the first ones say too little.
RateChoice known_choice(const Trainings& trainings, FoundRate& found) {
  if (found.probes.size() >= first_octaves.size()) {
    if (const RateChoice choice = choose_rate(found.probes); choice.suggestion > 0) return choice;
  }
  const double rate = found.start > 0 ? found.start : learning_rate(trainings.changed({}).child("optim"));
  return {.suggestion = rate};
}

}  // namespace

RateChoice choose_rate(std::vector<ProbedRate>& probes) {
  const auto best = std::ranges::min_element(probes, {}, finite_or_most);
  if (best == probes.end() || std::isnan(best->loss)) return {};
  for (ProbedRate& one : probes) one.error = error_between(one, *best);
  const auto is_as_good = [&](const ProbedRate& one) { return one.loss - best->loss <= one.error; };
  auto low = best, high = best;
  while (low != probes.begin() && is_as_good(*(low - 1))) --low;
  while (high + 1 != probes.end() && is_as_good(*(high + 1))) ++high;
  return {.suggestion = std::sqrt(low->rate * high->rate),
          .low = low->rate,
          .high = high->rate,
          .is_bounded = low != probes.begin() && high + 1 != probes.end()};
}

FoundRate find_rate(const Registry& registry, const Spec& fit, const RunSettings& settings,
                    const RateOptions& options) {
  Trainings trainings(registry, fit, settings, options.context);
  FoundRate found{.seeds = options.seeds, .range_steps = options.range_steps};
  found.steps = trainings.length().total_steps;
  // All probes of a long fit together take about as many steps as the fit.
  found.probe_steps = options.probe_steps > 0
                          ? options.probe_steps
                          : std::min(found.steps, std::clamp(found.steps / 25, least_probe, longest_probe));
  try {
    search(trainings, found, settings.seed, options.context);
  } catch (const SearchBudgetUsed& used) {
    found.stopped = used.message();
    found.choice = known_choice(trainings, found);
  }
  return found;
}

}  // namespace trainlab
