// Faults of the data, seen before or in the first step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/value.h"
#include "measures.h"
#include "rules.h"

namespace trainlab {
namespace {

// The validation loss of a perfect model lies around the floor, by the labels that happen to be in the validation part.
Finding find_below_label_floor(const HealthFigures& figures) {
  const std::optional<LabelFloor>& floor = figures.run.floor;
  if (!floor || figures.evaluations.empty()) return {};
  const std::int64_t samples = figures.run.validation_samples;
  const double loss = figures.evaluations.back().val_loss;
  const double error = floor->deviation / std::sqrt(static_cast<double>(samples));
  if (!(floor->low - loss > 3 * error)) return {};
  return HealthVerdict{
      .kind = HealthKind::below_floor,
      .confidence = "medium",
      .evidence =
          fmt::format("the validation loss is {}, with a standard error of {} for the labels of {} samples, and "
                      "no model comes below {} on data with as many wrong labels as equal samples of the training "
                      "part have, though each class be taken for one other alone",
                      figure_text(loss, 3), figure_text(error, 2), samples, figure_text(floor->low, 3)),
      .remedy =
          "check that no sample of the validation part, nor another view of it, is in the training part, and "
          "that no input tells the label"};
}

// `shared`: the share of the samples of this part that are training samples too.
Finding leakage_into(std::string_view part, double shared, double repeated) {
  if (!(shared >= 0.02) || shared <= 4 * repeated) return {};
  return HealthVerdict{
      .kind = HealthKind::leakage,
      .confidence = shared > 0.1 ? "high" : "medium",
      .evidence = fmt::format("{:.3g} % of the {} samples are training samples too, byte for byte, while {:.3g} % of "
                              "the training samples are there four times or more",
                              100 * shared, part, 100 * repeated),
      .remedy = "remove the copies from the data, or split by what the copies share: split { groups = \"COLUMN\" }"};
}

}  // namespace

Finding find_unnormalised_inputs(const HealthFigures& figures) {
  const InputFigures& input = figures.input;
  if (input.is_normalised || std::isnan(input.root_mean_square)) return {};
  const double offset = input.deviation > 0 ? std::abs(input.mean) / input.deviation : 0;
  const bool is_shifted = offset > 3, is_large = input.root_mean_square > 10, is_small = input.root_mean_square < 0.01;
  if (!is_shifted && !is_large && !is_small) return {};
  if (input.deviation == 0) {
    return HealthVerdict{.kind = HealthKind::unnormalised_inputs,
                         .confidence = "high",
                         .evidence = "all inputs are " + figure_text(input.mean, 3),
                         .remedy = "look at the data: inputs that are all equal say nothing; the file may be empty"};
  }
  return HealthVerdict{
      .kind = HealthKind::unnormalised_inputs,
      .confidence = is_large || input.root_mean_square < 1e-3 || offset > 10 ? "high" : "medium",
      .evidence = fmt::format("the inputs have mean {} and standard deviation {}{}", figure_text(input.mean, 3),
                              figure_text(input.deviation, 3),
                              is_shifted ? ": the mean is " + figure_text(offset, 3) + " deviations away from 0" : ""),
      .remedy = "data = DATA:split { … }:normalize(), which takes mean and deviation from the training part",
      .cure = Cure{.option = FixedOption::normalize}};
}

Finding find_leakage(const HealthFigures& figures) {
  return leakage_into("validation", figures.run.shared, figures.run.repeated);
}

Finding find_leakage_into_test(const HealthFigures& figures) {
  return leakage_into("test", figures.run.shared_by_test, figures.run.repeated);
}

Finding find_one_label(const HealthFigures& figures) {
  const RunFacts& run = figures.run;
  if (run.classes < 1 || std::isnan(run.entropy)) return {};
  const bool is_single = run.largest_share >= 1;
  const double share = run.classes > 1 ? run.entropy / std::log(static_cast<double>(run.classes)) : 0;
  if (!is_single && (run.is_weighted || share >= 0.5)) return {};  // weights are the remedy
  return HealthVerdict{
      .kind = HealthKind::class_collapse,
      .confidence = is_single || share < 0.2 ? "high" : "medium",
      .evidence = is_single
                      ? "all training samples have the same label"
                      : fmt::format("{:.3g} % of the training samples have the same label, and the labels carry "
                                    "{:.3g} of at most {:.3g} nats",
                                    100 * run.largest_share, run.entropy, std::log(static_cast<double>(run.classes))),
      .remedy = is_single
                    ? "check the column of the labels and the order of the data: a split of sorted files may leave "
                      "one class"
                    : "loss = loss.cross_entropy { class_weights = \"balanced\" }, and a metric by class: "
                      "metrics = { \"report\" }"};
}

Finding find_below_floor(const HealthFigures& figures) {
  if (Finding found = find_below_label_floor(figures)) return found;
  if (!figures.run.is_never_negative) return {};
  const double loss = figures.losses.mean(0.8, 1);
  if (!(loss < -1e-3)) return {};
  return HealthVerdict{.kind = HealthKind::below_floor,
                       .confidence = "high",
                       .evidence = fmt::format("the training loss is {}, and the formula of this loss is never "
                                               "negative for outputs and targets in its range",
                                               figure_text(loss, 3)),
                       .remedy =
                           "targets that are probabilities lie in 0 … 1; the loss \"nll\" takes outputs of "
                           "nn.LogSoftmax(), \"cross_entropy\" takes scores"};
}

Finding find_not_finite_data(const HealthFigures& figures) {
  const std::optional<NotFinite>& spoilt = figures.outliers ? figures.outliers : figures.not_finite;
  if (!spoilt || spoilt->origin != "input") return {};
  return HealthVerdict{
      .kind = HealthKind::not_finite,
      .step = spoilt->step,
      .confidence = "high",
      .evidence = fmt::format("step {}: {}; {} is the first layer that gets them", spoilt->step + 1, spoilt->text,
                              spoilt->path),
      .remedy =
          "remove or fill missing values, and numbers that stand for them, before the training: a transform, or "
          "`fill` of a table's columns"};
}

}  // namespace trainlab
