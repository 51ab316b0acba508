#include "find/rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "range_test.h"

namespace trainlab {
namespace {

constexpr std::array factors{0.25, 1.0, 4.0};

double mean_of_late_half(const std::vector<double>& losses) {
  const std::size_t half = losses.size() / 2;
  double sum = 0;
  for (std::size_t i = half; i < losses.size(); ++i) sum += losses[i];
  return sum / static_cast<double>(losses.size() - half);
}

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

// Probes three rates, with the same weights and data for each seed, and computes the standard error of the difference.
void probe(FoundRate& found, Trainings& trainings, std::span<const std::int64_t> seeds) {
  std::vector<std::vector<double>> losses;  // by rate, then by seed
  for (const double factor : factors) {
    ProbedRate one{.rate = found.start * factor};
    std::vector<double>& all = losses.emplace_back();
    for (const std::int64_t seed : seeds) {
      const std::vector<double> run = losses_of(
          trainings, {.optimizer = trainings.fit()["optim"], .rate = one.rate, .steps = found.steps, .seed = seed});
      const bool is_whole = std::ssize(run) == found.steps;
      all.push_back(is_whole ? mean_of_late_half(run) : std::nan(""));
      one.loss += all.back() / static_cast<double>(seeds.size());
    }
    found.probes.push_back(one);
  }
  std::size_t best = 1;
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    const bool is_better = found.probes[i].loss < found.probes[best].loss || std::isnan(found.probes[best].loss);
    if (is_better && !std::isnan(found.probes[i].loss)) best = i;
  }
  // The start is compared with the better of the other two rates.
  const std::size_t other = best != 1 ? best : found.probes[0].loss < found.probes[2].loss ? 0 : 2;
  double squares = 0;
  const auto n = static_cast<double>(seeds.size());
  const double mean = found.probes[1].loss - found.probes[other].loss;
  for (std::size_t k = 0; k < seeds.size(); ++k) squares += std::pow(losses[1][k] - losses[other][k] - mean, 2);
  found.error = seeds.size() > 1 ? std::sqrt(squares / (n - 1) / n) : std::nan("");
  found.is_clear = best == 1 || std::isnan(found.probes[1].loss) || mean > 3 * found.error;
  found.suggestion = found.is_clear ? found.probes[best].rate : found.start;
}

}  // namespace

FoundRate find_rate(const Registry& registry, const Spec& fit, const RunSettings& settings,
                    const RateOptions& options) {
  Trainings trainings(registry, fit, settings, options.context);
  std::vector<std::int64_t> seeds;
  seeds.reserve(static_cast<std::size_t>(options.seeds));
  for (int i = 0; i < options.seeds; ++i) seeds.push_back(settings.seed + i);
  FoundRate found{.seeds = options.seeds, .steps = options.steps};
  std::vector<std::vector<RatePoint>> curves;
  std::vector<RateSuggestions> suggestions;
  for (const std::int64_t seed : seeds) {
    options.context.tell(fmt::format("range test with seed {}", seed));
    curves.push_back(range_test(trainings, trainings.fit()["optim"], options.steps, seed));
    suggestions.push_back(suggestions_of(curves.back()));
  }
  found.curve = mean_curve(curves);
  found.rules = median_of(suggestions);
  found.start = found.rules.quarter_of_least;
  if (!(found.start > 0)) {
    throw trainings.changed({})
        .error("", fmt::format("the loss is not finite at the rate {:g} already", lowest_rate))
        .hint("the fit has another fault: trainlab run says which");
  }
  options.context.tell(fmt::format("probe of {:.3g} and of rates 4 times smaller and larger", found.start));
  probe(found, trainings, seeds);
  if (std::ranges::all_of(found.probes, [](const ProbedRate& one) { return std::isnan(one.loss); })) {
    throw trainings.changed({})
        .error("", fmt::format("the loss is not finite in {} steps at any of the rates from {:.2g} to {:.2g}",
                               found.steps, found.probes.front().rate, found.probes.back().rate))
        .hint("the fit has another fault: trainlab run says which");
  }
  return found;
}

std::string rate_text(const FoundRate& found) {
  std::string text =
      fmt::format("lr = {:.2g}{}\n\nrange test over {} seeds, {} steps each\n", found.suggestion,
                  found.is_clear ? "" : ", because the probe shows no clearly better rate", found.seeds, found.steps);
  text += fmt::format("  a quarter of the least loss's rate  {:.2g}\n", found.rules.quarter_of_least);
  text += fmt::format("  valley                              {:.2g}\n", found.rules.valley);
  text += fmt::format("  steepest                            {:.2g}\n", found.rules.steepest);
  text += fmt::format("\nprobe: mean loss of the last {} of {} steps, standard error {:.2g}\n", found.steps / 2,
                      found.steps, found.error);
  for (const ProbedRate& one : found.probes) {
    text += std::isnan(one.loss) ? fmt::format("  lr = {:<8.2g}  not finite\n", one.rate)
                                 : fmt::format("  lr = {:<8.2g}  {:.4g}\n", one.rate, one.loss);
  }
  if (found.suggestion == found.probes.front().rate) {
    text += "the best of the three is the smallest: smaller rates may be better still\n";
  } else if (found.suggestion == found.probes.back().rate) {
    text += "the best of the three is the largest: larger rates may be better still\n";
  }
  return text;
}

Value to_value(const FoundRate& found) {
  Value::List curve, probes;
  for (const RatePoint& point : found.curve) curve.push_back(Value::Map{{"lr", point.rate}, {"loss", point.loss}});
  for (const ProbedRate& one : found.probes) probes.push_back(Value::Map{{"lr", one.rate}, {"loss", one.loss}});
  return Value::Map{{"kind", "finder"},
                    {"status", "done"},
                    {"lr", Value::Map{{"suggestion", found.suggestion},
                                      {"start", found.start},
                                      {"valley", found.rules.valley},
                                      {"steepest", found.rules.steepest},
                                      {"is_clear", found.is_clear}}},
                    {"probes", std::move(probes)},
                    {"error", found.error},
                    {"curve", std::move(curve)}};
}

}  // namespace trainlab
