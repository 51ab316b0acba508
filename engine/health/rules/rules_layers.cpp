// Faults of initial weights and of layers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/statistics.h"
#include "core/value.h"
#include "measures.h"
#include "rules.h"

namespace trainlab {
namespace {

// The layer with the largest value of `share`; null without layers.
const UnitFigures* worst_layer(const HealthFigures& figures, double UnitFigures::*share) {
  const UnitFigures* worst = nullptr;
  for (const UnitFigures& unit : figures.units) {
    if (!std::isnan(unit.*share) && (!worst || unit.*share > worst->*share)) worst = &unit;
  }
  return worst;
}

// Deep stacks with PyTorch's initial weights learn although half of their units are dead from the beginning.
constexpr double most_dead = 0.7;

// The loss of fewer samples may be several times that of a model that knows nothing by chance.
constexpr std::int64_t fewest_samples = 16;

constexpr const char* he_init =
    "initial weights that fit the activation: nn.Linear { …, init = init.kaiming_normal() } before a ReLU, "
    "init.xavier_normal() before a tanh";

}  // namespace

Finding find_exploding_gradients(const HealthFigures& figures) {
  const RunFacts& run = figures.run;
  // The loss of a model that knows nothing is at most the logarithm of the number of classes. With several labels for
  // each sample, or with options of the loss, there is no such bound.
  if (run.classes > 1 && !std::isnan(run.prior_loss)) {
    const double most = std::log(static_cast<double>(run.classes));
    const std::int64_t in_step = std::max<std::int64_t>(run.batch * run.accumulate, 1);
    const std::int64_t steps = (fewest_samples + in_step - 1) / in_step;
    // Under a rate that is too high, the loss of the later steps is large and that of the first step is not.
    const double first = figures.losses.first(), start = figures.losses.start(steps);
    if (figures.from_start() && first > 2 * most && start > 2 * most) {
      return HealthVerdict{
          .kind = HealthKind::exploding_gradients,
          .confidence = start > 4 * most ? "high" : "medium",
          .evidence = fmt::format("the loss of the first {} is {}, while a model that knows nothing has {}: outputs "
                                  "are too large at the beginning",
                                  steps > 1 ? fmt::format("{} steps", steps) : "step", figure_text(start, 3),
                                  figure_text(most, 3)),
          .remedy = fmt::format("{}; or a normalisation between the layers", he_init),
          .cure = init_cure(figures)};
    }
  }
  const std::vector<double> spreads = column(figures, &MeasuredStep::spread_ratio);
  if (figures.from_start() && !spreads.empty() && spreads.front() > 20) {
    return HealthVerdict{.kind = HealthKind::exploding_gradients,
                         .confidence = spreads.front() > 100 ? "high" : "medium",
                         .evidence = fmt::format("the outputs of the last hidden layer spread {} times as far as "
                                                 "those of the first, at the beginning",
                                                 figure_text(spreads.front(), 3)),
                         .remedy = he_init,
                         .cure = init_cure(figures)};
  }
  if (was_rate_high(figures)) return {};
  const std::vector<double> norms = column(figures, &MeasuredStep::gradient_norm);
  if (norms.size() < 8) return {};
  const double usual = upper_median(norms), largest = *std::ranges::max_element(norms);
  if (!(usual > 0) || !(largest > 100 * usual) || !(learnt(figures) < 0.5)) return {};
  return HealthVerdict{.kind = HealthKind::exploding_gradients,
                       .confidence = "medium",
                       .evidence = fmt::format("the norm of the gradients is {} at most and {} usually",
                                               figure_text(largest, 3), figure_text(usual, 3)),
                       .remedy = fmt::format("clip = {{ norm = {:.2g} }}", 2 * usual),
                       .cure = Cure{.option = FixedOption::clip, .value = std::stod(fmt::format("{:.2g}", 2 * usual))}};
}

Finding find_vanishing_gradients(const HealthFigures& figures) {
  if (!has_seen(figures, 20, 0.1)) return {};
  const std::vector<double> norms = column(figures, &MeasuredStep::gradient_norm);
  if (norms.size() >= 8 && upper_median(norms) == 0 && learnt(figures) < 0.5 && !was_rate_high(figures)) {
    return HealthVerdict{
        .kind = HealthKind::vanishing_gradients,
        .confidence = "high",
        .evidence = fmt::format("the gradients of all weights are 0, and the loss is {}: it does not depend on them",
                                figure_text(figures.losses.mean(0.8, 1), 3)),
        .remedy =
            "no nn.ReLU() behind the last layer, whose outputs are 0 for all samples; else a loss that depends on "
            "the model's output"};
  }
  const std::vector<double> spreads = column(figures, &MeasuredStep::spread_ratio);
  const double ratio = upper_median(column(figures, &MeasuredStep::gradient_ratio));
  const double least = upper_median(column(figures, &MeasuredStep::least_update, 1));
  // Adaptive rates make up for small gradients, so the gradients alone prove nothing: a layer must hardly change, or
  // nothing must be learnt.
  const bool is_slow = least < 1e-3;
  const bool shrinks = figures.from_start() && !spreads.empty() && spreads.front() > 0 && spreads.front() < 1.0 / 20 &&
                       (is_slow || learnt(figures) < 0.1);
  if (!shrinks && !(ratio < 0.03 && is_slow && !was_rate_high(figures))) return {};
  return HealthVerdict{
      .kind = HealthKind::vanishing_gradients,
      .confidence = shrinks || ratio < 0.003 ? "high" : "medium",
      .evidence = shrinks
                      ? fmt::format("the outputs of the last hidden layer spread {:.2g} times as far as those of "
                                    "the first, at the beginning",
                                    spreads.front())
                      : fmt::format("the gradient of the first weight is {:.2g} times that of the last, and updates "
                                    "are {:.2g} of a weight",
                                    ratio, least),
      .remedy = fmt::format("nn.ReLU() or nn.SiLU() in place of a sigmoid, {}; a normalisation between the layers, or "
                            "nn.Residual around them",
                            he_init),
      .cure = init_cure(figures)};
}

Finding find_dead_units(const HealthFigures& figures) {
  const UnitFigures* first = worst_layer(figures, &UnitFigures::dead_at_start);
  if (figures.from_start() && first && first->dead_at_start > most_dead) {
    return HealthVerdict{
        .kind = HealthKind::dead_units,
        .confidence = first->dead_at_start > 0.9 ? "high" : "medium",
        .evidence = fmt::format("{:.3g} % of the units of {} were above 0 for no sample, from the beginning",
                                100 * first->dead_at_start, first->path),
        .remedy = "biases that begin at 0, and initial weights for a ReLU: init.kaiming_normal(); else nn.LeakyReLU()",
        .cure = init_cure(figures)};
  }
  const UnitFigures* now = worst_layer(figures, &UnitFigures::dead);
  if (!now || !(now->dead > most_dead) || was_rate_high(figures) || !(learnt(figures) < 0.5)) return {};
  return HealthVerdict{
      .kind = HealthKind::dead_units,
      .confidence = now->dead > 0.9 ? "high" : "medium",
      .evidence = fmt::format("{:.3g} % of the units of {} are above 0 for no sample; {:.3g} % at the beginning",
                              100 * now->dead, now->path, 100 * now->dead_at_start),
      .remedy = fmt::format("{}, then nn.LeakyReLU() in place of nn.ReLU()", lr_text(figures, 0.25)),
      .cure = lr_cure(figures, 0.25)};
}

Finding find_saturated_units(const HealthFigures& figures) {
  const UnitFigures* first = worst_layer(figures, &UnitFigures::saturated_at_start);
  const bool at_start = figures.from_start() && first && first->saturated_at_start > 0.6;
  const UnitFigures* worst = at_start ? first : worst_layer(figures, &UnitFigures::saturated);
  if (!worst) return {};
  const double share = at_start ? worst->saturated_at_start : worst->saturated;
  if (!(share > (at_start ? 0.6 : 0.8)) || (!at_start && (was_rate_high(figures) || !(learnt(figures) < 0.5))))
    return {};
  return HealthVerdict{
      .kind = HealthKind::saturated_units,
      .confidence = share > 0.8 ? "high" : "medium",
      .evidence = fmt::format("{:.3g} % of the outputs of {} are near a limit of the function{}, where its slope is "
                              "almost 0",
                              100 * share, worst->path, at_start ? " from the beginning" : ""),
      .remedy = fmt::format("inputs of mean 0 and deviation 1 (data:normalize()), and {}", he_init),
      .cure = at_start ? std::optional(init_cure(figures)) : std::nullopt};
}

Finding find_small_batch_statistics(const HealthFigures& figures) {
  const auto least = std::ranges::min_element(figures.norms, {}, &BatchNormFigures::values);
  if (least == figures.norms.end() || !(least->values < 16)) return {};
  // The relative standard deviation of the variance of m normal values is √(2 / (m − 1)).
  const double m = std::max(least->values, 1.0);
  const auto batch =
      static_cast<std::int64_t>(std::ceil(32 / m * static_cast<double>(std::max<std::int64_t>(figures.run.batch, 1))));
  return HealthVerdict{
      .kind = HealthKind::small_batch_statistics,
      .confidence = m <= 8 ? "high" : "medium",
      .evidence =
          fmt::format("{} takes mean and variance of {:.0f} values{}", least->path, m,
                      m > 1 ? fmt::format(": a variance that is {:.0f} % off", 100 * std::sqrt(2 / (m - 1))) : ""),
      .remedy = fmt::format("batch = {} or more, or nn.GroupNorm or nn.LayerNorm in place of nn.BatchNorm", batch),
      .cure = Cure{.option = FixedOption::batch, .value = batch}};
}

}  // namespace trainlab
