// Faults of initial weights and of layers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

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

// The activation whose outputs spread furthest from those of the first one of its kind, in one direction, at the
// beginning. Activations of two kinds spread differently by what they compute.
struct Change {
  const UnitFigures *first = nullptr, *unit = nullptr;
  double ratio = 1;  // of the two spreads, the larger over the smaller

  std::string text() const {
    return fmt::format("the outputs of {} spread {} times as far as those of {}, at the beginning", unit->path,
                       figure_text(unit->spread_at_start / first->spread_at_start, 3), first->path);
  }
};

enum class Direction : std::uint8_t { up, down };

Change largest_change(const HealthFigures& figures, Direction direction) {
  Change largest;
  std::map<std::string, const UnitFigures*> first_of;  // by kind
  for (const UnitFigures& unit : figures.units) {
    if (!(unit.spread_at_start > 0)) continue;
    const UnitFigures* const first = first_of.try_emplace(unit.kind, &unit).first->second;
    const double growth = unit.spread_at_start / first->spread_at_start;
    const double ratio = direction == Direction::up ? growth : 1 / growth;
    if (ratio > largest.ratio) largest = {.first = first, .unit = &unit, .ratio = ratio};
  }
  return largest;
}

// Whether the weight with the least gradient usually changes by no larger part of itself than the others do.
bool changes_least(const HealthFigures& figures) {
  std::vector<double> parts;
  for (const MeasuredStep& row : figures.measured)
    if (row.step >= 1 && row.median_update > 0) parts.push_back(row.least_update / row.median_update);
  return upper_median(std::move(parts)) <= 1;
}

// The name of the parameter at this place of HealthFigures::weights; empty where it is not known.
std::string weight_name(const HealthFigures& figures, double place) {
  const bool is_known = place >= 0 && place < static_cast<double>(figures.weights.size());
  return is_known ? figures.weights[static_cast<std::size_t>(place)] : "";
}

// The place that most of the measured steps from `first` on have in this member; NaN without any.
double usual_place(const HealthFigures& figures, double MeasuredStep::*member, double first = 0) {
  std::map<double, int> counts;
  for (const double place : column(figures, member, first)) ++counts[place];
  const auto most = std::ranges::max_element(counts, {}, &std::pair<const double, int>::second);
  return most == counts.end() ? unmeasured : most->first;
}

// The activation whose outputs spread furthest at the beginning, as a clause; empty without activations.
std::string furthest_text(const HealthFigures& figures) {
  const UnitFigures* const furthest = worst_layer(figures, &UnitFigures::spread_at_start);
  if (!furthest) return "";
  return fmt::format("; of the activations, {} spreads furthest, with a standard deviation of {}", furthest->path,
                     figure_text(furthest->spread_at_start, 3));
}

// Deep stacks with PyTorch's initial weights learn although half of their units are dead from the beginning.
constexpr double most_dead = 0.7;

// The loss of fewer samples may be several times that of a model that knows nothing by chance.
constexpr std::int64_t fewest_samples = 16;

constexpr const char* he_init =
    "initial weights that fit the activation: nn.Linear { …, init = init.kaiming_normal() } before a ReLU, "
    "init.xavier_normal() before a tanh";

HealthVerdict saturated(const std::string& path, double share, const char* when) {
  return {.kind = HealthKind::saturated_units,
          .confidence = share > 0.8 ? "high" : "medium",
          .evidence = fmt::format("{:.3g} % of the outputs of {} are near a limit of the function{}, where its slope "
                                  "is almost 0",
                                  100 * share, path, when),
          .remedy = fmt::format("inputs of mean 0 and deviation 1 (data:normalize()), and {}", he_init)};
}

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
                                  "are too large at the beginning{}",
                                  steps > 1 ? fmt::format("{} steps", steps) : "step", figure_text(start, 3),
                                  figure_text(most, 3), furthest_text(figures)),
          .remedy = fmt::format("{}; or a normalisation between the layers", he_init),
          .cure = init_cure(figures)};
    }
  }
  const Change growth = largest_change(figures, Direction::up);
  if (figures.from_start() && growth.ratio > 20) {
    return HealthVerdict{.kind = HealthKind::exploding_gradients,
                         .confidence = growth.ratio > 100 ? "high" : "medium",
                         .evidence = growth.text(),
                         .remedy = he_init,
                         .cure = init_cure(figures)};
  }
  if (was_rate_high(figures)) return {};
  const std::vector<double> norms = column(figures, &MeasuredStep::gradient_norm);
  if (norms.size() < 8) return {};
  const double usual = upper_median(norms), largest = *std::ranges::max_element(norms);
  if (!(usual > 0) || !(largest > 100 * usual) || !(learnt(figures) < 0.5)) return {};
  const auto worst = std::ranges::find(figures.measured, largest, &MeasuredStep::gradient_norm);
  const std::string weight = weight_name(figures, worst->largest_at);
  return HealthVerdict{
      .kind = HealthKind::exploding_gradients,
      .confidence = "medium",
      .evidence = fmt::format("the norm of the gradients is {} at most{} and {} usually", figure_text(largest, 3),
                              weight.empty() ? "" : ", most of it in " + weight + ",", figure_text(usual, 3)),
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
  const Change fall = largest_change(figures, Direction::down);
  const double ratio = upper_median(column(figures, &MeasuredStep::least_gradient));
  const double update = upper_median(column(figures, &MeasuredStep::least_update, 1));
  const double place = usual_place(figures, &MeasuredStep::least_at, 1);
  const MeasuredStep at_first = figures.measured.empty() ? MeasuredStep{} : figures.measured.front();
  // Adaptive rates make up for small gradients, so the gradients alone prove nothing: a layer must hardly change, or
  // nothing must be learnt. Of a weight that began at 0 no update relative to the weight is known.
  const bool is_slow = (update < 1e-3 && changes_least(figures)) || (std::isnan(update) && learnt(figures) < 0.1);
  const bool shrinks = figures.from_start() && fall.ratio > 20 && (is_slow || learnt(figures) < 0.1);
  // A branch that ends in small weights adds little in the beginning, and its layers begin to learn later. Behind the
  // first layer, a gradient of exactly 0 is that of units that are dead.
  const bool is_other = place != 0 && (ratio == 0 || !has_seen(figures, 20, 0.5));
  const bool is_starved = ratio < 0.03 && is_slow && !is_other && !was_rate_high(figures);
  // With adaptive rates a layer may change without learning. No rate has made the gradients of the first step.
  const bool began_starved = figures.from_start() && at_first.least_at == place && at_first.least_gradient > 0 &&
                             at_first.least_gradient < 1e-3 && ratio < 0.03 && !is_other && learnt(figures) < 0.1 &&
                             has_seen(figures, 50, 0.25);
  if (!shrinks && !is_starved && !began_starved) return {};
  return HealthVerdict{
      .kind = HealthKind::vanishing_gradients,
      .confidence = shrinks || ratio < 0.003 ? "high" : "medium",
      .evidence = shrinks ? fall.text()
                          : fmt::format("the gradient of {} is {:.2g} times that of the last weight, and {}",
                                        weight_name(figures, place), ratio,
                                        std::isnan(update) ? "it began at 0; nothing is learnt"
                                        : is_starved       ? fmt::format("its updates are {:.2g} of it", update)
                                                           : "nothing is learnt"),
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
  // No rate brings units back that were dead in the weights of another training.
  if (figures.run.begins_trained && now->dead_at_start > most_dead) {
    return HealthVerdict{
        .kind = HealthKind::dead_units,
        .confidence = now->dead > 0.9 ? "high" : "medium",
        .evidence = fmt::format("{:.3g} % of the units of {} are above 0 for no sample; {:.3g} % in the weights that "
                                "the training began with",
                                100 * now->dead, now->path, 100 * now->dead_at_start),
        .remedy = "a training from initial weights, or from a model whose units are not dead"};
  }
  return HealthVerdict{
      .kind = HealthKind::dead_units,
      .confidence = now->dead > 0.9 ? "high" : "medium",
      .evidence = fmt::format("{:.3g} % of the units of {} are above 0 for no sample; {:.3g} % at the beginning",
                              100 * now->dead, now->path, 100 * now->dead_at_start),
      .remedy = fmt::format("{}, then nn.LeakyReLU() in place of nn.ReLU()", lr_text(figures, 0.25)),
      .cure = lr_cure(figures, 0.25)};
}

Finding find_saturated_at_start(const HealthFigures& figures) {
  const UnitFigures* worst = worst_layer(figures, &UnitFigures::saturated_at_start);
  if (!figures.from_start() || !worst || !(worst->saturated_at_start > 0.6)) return {};
  HealthVerdict verdict = saturated(worst->path, worst->saturated_at_start, " from the beginning");
  verdict.cure = init_cure(figures);
  return verdict;
}

Finding find_saturated_later(const HealthFigures& figures) {
  const UnitFigures* worst = worst_layer(figures, &UnitFigures::saturated);
  if (!worst || !(worst->saturated > 0.8) || was_rate_high(figures) || !(learnt(figures) < 0.5)) return {};
  return saturated(worst->path, worst->saturated, "");
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
