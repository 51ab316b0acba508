// Rules for the course of the run, which is how the losses of training and validation develop over time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>

#include "core/value.h"
#include "measures.h"
#include "rules.h"

namespace trainlab {
namespace {

using Rows = std::span<const MeasuredEvaluation>;

double mean_of(Rows rows, double MeasuredEvaluation::*member) {
  double sum = 0;
  for (const MeasuredEvaluation& row : rows) sum += row.*member;
  return sum / static_cast<double>(rows.size());
}

// The mean square of x[i + distance] − 2 x[i] + x[i − distance] of the losses x; 0 with too few rows.
double mean_square_bend(Rows rows, double MeasuredEvaluation::*x, std::size_t distance) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = distance; i + distance < rows.size(); ++i, ++count) {
    const double bend = rows[i + distance].*x - 2 * (rows[i].*x) + rows[i - distance].*x;
    sum += bend * bend;
  }
  return count ? sum / static_cast<double>(count) : 0;
}

// The standard error of the mean of `width` neighbouring losses around a smooth curve, whose noise is autocorrelated of
// first order. With the correlation φ and the variance s² of the noise, the mean square of the bends is
// s² (6 − 8 φ + 2 φ²) at the distance 1, and that at the distance 2 is (1 + φ)(3 − φ²) / (3 − φ) times as large. φ is
// corrected for its bias and kept in 0 … 0.8, as that of most_fall().
double error_of_mean(Rows rows, std::size_t width, double MeasuredEvaluation::*x = &MeasuredEvaluation::val_loss) {
  constexpr double largest = 0.8;
  const double near = mean_square_bend(rows, x, 1), far = mean_square_bend(rows, x, 2);
  double low = 0, high = largest;  // around φ, which grows with far / near
  while (high - low > 1e-3) {
    const double middle = (low + high) / 2;
    ((1 + middle) * (3 - middle * middle) / (3 - middle) * near < far ? low : high) = middle;
  }
  const double phi = std::min(low + (1 + 4 * low) / static_cast<double>(rows.size()), largest);
  const double variance = near / (6 - 8 * phi + 2 * phi * phi);
  return std::sqrt(variance / static_cast<double>(width) * (1 + phi) / (1 - phi));
}

// Where the mean of `width` neighbouring validation losses is least: the place of the first of them.
std::size_t least_mean(Rows rows, std::size_t width) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + width <= rows.size(); ++i) {
    const double mean = mean_of(rows.subspan(i, width), &MeasuredEvaluation::val_loss);
    if (!(mean < least)) continue;
    least = mean;
    best = i;
  }
  return best;
}

// Rows whose means are compared for overfitting: a fifth of all.
std::size_t window_of(Rows rows) { return std::max<std::size_t>(rows.size() / 5, 2); }

std::vector<MeasuredEvaluation> finite_rows(const HealthFigures& figures) {
  std::vector<MeasuredEvaluation> rows = figures.evaluations;
  std::erase_if(rows, [](const MeasuredEvaluation& row) {
    return !std::isfinite(row.val_loss) || !std::isfinite(row.train_loss);
  });
  return rows;
}

// Labels that do not belong to their inputs can only be learnt by heart: training improves, validation does not.
Finding by_heart(const HealthFigures& figures, const std::vector<MeasuredEvaluation>& rows) {
  const double prior = figures.run.prior_loss, known = figures.run.val_prior_loss;
  const double val_prior = std::isnan(known) ? prior : known;
  if (rows.size() < 3 || std::isnan(prior) || !(rows.back().train_loss < 0.9 * prior)) return {};
  const double best = std::ranges::min_element(rows, {}, &MeasuredEvaluation::val_loss)->val_loss;
  // An enormous loss comes from single values of the validation part.
  if (best < 0.99 * val_prior || best > 10 * val_prior) return {};
  return HealthVerdict{
      .kind = HealthKind::overfitting,
      .confidence = "high",
      .evidence = fmt::format("the training loss is {} and the validation loss was never better than {}; a "
                              "constant prediction has {}",
                              figure_text(rows.back().train_loss, 3), figure_text(best, 3), figure_text(val_prior, 3)),
      .remedy = "check that inputs and labels belong together; else more data, weight_decay, nn.Dropout"};
}

}  // namespace

Finding find_overfitting(const HealthFigures& figures) {
  const std::vector<MeasuredEvaluation> all = finite_rows(figures);
  if (Finding found = by_heart(figures, all)) return found;
  if (all.size() < 6) return {};
  const Rows rows = all;
  const std::size_t width = window_of(rows);
  const std::size_t best = least_mean(rows, width);
  if (best + 2 * width > rows.size()) return {};
  const Rows then = rows.subspan(best, width), latest = rows.last(width);
  const double low = mean_of(then, &MeasuredEvaluation::val_loss), now = mean_of(latest, &MeasuredEvaluation::val_loss);
  // Before its best the loss bends, which is no noise.
  const double error = std::numbers::sqrt2 * error_of_mean(rows.subspan(best), width);
  const double train_then = mean_of(then, &MeasuredEvaluation::train_loss);
  const double train_now = mean_of(latest, &MeasuredEvaluation::train_loss);
  // Near 0 a loss may rise by a large factor and without harm.
  const double prior = figures.run.prior_loss, harmless = std::isnan(prior) ? 0 : 0.01 * prior;
  const double train_error =
      std::numbers::sqrt2 * error_of_mean(rows.subspan(best), width, &MeasuredEvaluation::train_loss);
  // A fast fall bends, which counts as noise.
  const bool still_learns = train_now < 0.8 * train_then || train_then - train_now > 2 * train_error;
  if (now - low <= 5 * error || now - low <= std::max(0.2 * std::abs(low), harmless) || !still_learns) return {};
  return HealthVerdict{
      .kind = HealthKind::overfitting,
      .confidence = now - low > 0.5 * std::abs(low) ? "high" : "medium",
      .evidence = fmt::format("the validation loss rose from {} at step {:.0f} to {}, while the training loss "
                              "fell from {} to {}",
                              figure_text(low, 3), rows[best + width / 2].step, figure_text(now, 3),
                              figure_text(train_then, 3), figure_text(train_now, 3)),
      .remedy =
          "stop = stop.patience { patience = 5 }; more data, :augment { … }, nn.Dropout or more weight_decay let "
          "it learn longer"};
}

std::optional<std::string> refute_overfitting(const HealthVerdict& verdict, const HealthFigures& figures) {
  const std::vector<MeasuredEvaluation> all = finite_rows(figures);
  const Rows rows = all;
  const auto told = static_cast<double>(verdict.step);
  const auto first_later = std::ranges::find_if(rows, [&](const MeasuredEvaluation& row) { return row.step > told; });
  const auto earlier = static_cast<std::size_t>(first_later - rows.begin());
  const std::size_t width = std::min(window_of(rows), std::max<std::size_t>(earlier, 1));
  if (earlier == 0 || rows.size() < earlier + width) return {};
  const std::size_t best = least_mean(rows.first(earlier), width);
  const double low = mean_of(rows.subspan(best, width), &MeasuredEvaluation::val_loss);
  const double now = mean_of(rows.last(width), &MeasuredEvaluation::val_loss);
  const double error = std::numbers::sqrt2 * error_of_mean(rows.subspan(best), width);
  if (!(low - now > 2 * error)) return {};
  return fmt::format("the validation loss has fallen to {}, below its best until step {}, {}", figure_text(now, 3),
                     verdict.step, figure_text(low, 3));
}

Finding find_underfitting(const HealthFigures& figures) {
  if (!has_seen(figures, 100, 0.75) || std::isnan(figures.run.prior_loss)) return {};
  const double now = figures.losses.mean(0.8, 1), prior = figures.run.prior_loss;
  if (!(now > 0.9 * prior)) return {};
  return HealthVerdict{
      .kind = HealthKind::underfitting,
      .confidence = now > 0.97 * prior ? "medium" : "low",
      .evidence = fmt::format("the training loss is {} after {} steps, and a constant prediction has {}",
                              figure_text(now, 3), figures.losses.steps(), figure_text(prior, 3)),
      .remedy =
          "train on 16 samples first, data:take(16): a model that cannot learn these by heart needs "
          "more width or another input; one that can needs more steps or less weight_decay"};
}

std::optional<std::string> refute_underfitting(const HealthVerdict&, const HealthFigures& figures) {
  const double now = figures.losses.mean(0.8, 1), prior = figures.run.prior_loss;
  if (!(now < 0.8 * prior)) return {};
  return fmt::format("the training loss is {}, and a constant prediction has {}", figure_text(now, 3),
                     figure_text(prior, 3));
}

Finding find_plateau(const HealthFigures& figures) {
  // A learning rate that has fallen, or will fall, already is the remedy of a plateau.
  if (figures.may_rate_fall || figures.measured.empty()) return {};
  if (figures.measured.back().rate < 0.9 * largest_rate(figures)) return {};
  const std::vector<MeasuredEvaluation> all = finite_rows(figures);
  if (all.size() < 40) return {};
  const Rows rows = all;
  const std::size_t width = std::max<std::size_t>(20, rows.size() / 4), first = rows.size() / 2 - width / 2;
  const Rows middle = rows.subspan(first, width), latest = rows.last(width);
  const double start = start_loss(figures), train_now = mean_of(latest, &MeasuredEvaluation::train_loss);
  if (!(train_now > 0.2 * start)) return {};  // the loss is so low that nothing is left to learn
  const double then = mean_of(middle, &MeasuredEvaluation::val_loss),
               now = mean_of(latest, &MeasuredEvaluation::val_loss);
  const double error = std::numbers::sqrt2 * error_of_mean(rows.subspan(first), width);
  const double worth = std::max(0.01 * (rows.front().val_loss - now), 1e-3 * start);
  if (then - now + 1.645 * error > worth) return {};
  // A training loss that still falls fast is no plateau, though nothing of it reaches the validation.
  const double train_then = mean_of(middle, &MeasuredEvaluation::train_loss);
  if (train_then - train_now > 0.1 * std::max(start - train_then, 0.0)) return {};
  const std::string setter = rate_setter(figures);
  return HealthVerdict{
      .kind = HealthKind::plateau,
      .confidence = "medium",
      .evidence = fmt::format("the validation loss was {} around the middle of the run and is {}, at the same rate",
                              figure_text(then, 4), figure_text(now, 4)),
      .remedy = setter.empty() ? "schedule = sched.cosine {} or sched.plateau {}, which lower the rate; or fewer epochs"
                               : "a rate that falls in place of the one which " + setter + " sets; or fewer epochs"};
}

Finding find_one_class_chosen(const HealthFigures& figures) {
  if (!has_seen(figures, 50, 0.5) || figures.run.classes < 2 || !(figures.run.largest_share < 0.7)) return {};
  if (!(learnt(figures) < 0.2) || drowns_in_noise(figures)) return {};
  const std::vector<double> shares = column(figures, &MeasuredStep::top_share);
  if (shares.size() < 3 || *std::min_element(shares.end() - 3, shares.end()) < 0.97) return {};
  return HealthVerdict{
      .kind = HealthKind::class_collapse,
      .confidence = "medium",
      .evidence = fmt::format("the model chooses one class for {:.0f} % of a batch, which {:.0f} % of the samples have "
                              "at most",
                              100 * shares.back(), 100 * figures.run.largest_share),
      .remedy = fmt::format("{}; then check the loss and the labels", lr_text(figures, 0.25)),
      .cure = lr_cure(figures, 0.25)};
}

Finding find_rare_classes_missed(const HealthFigures& figures) {
  const double rare = 1 - figures.run.largest_share;  // the share of all samples of another class
  if (!has_seen(figures, 50, 0.5) || figures.run.classes < 2 || !(rare > 0 && rare <= 0.3)) return {};
  // In the beginning a model chooses the most frequent class, also one that will learn the others.
  const double now = figures.losses.mean(0.8, 1), prior = figures.run.prior_loss;
  if (!(now > 0.9 * prior)) return {};
  const std::vector<double> shares = column(figures, &MeasuredStep::top_share);
  const std::span<const double> latest = std::span(shares).last(shares.size() / 2);
  if (latest.size() < 3) return {};
  const double chosen = 1 - std::accumulate(latest.begin(), latest.end(), 0.0) / static_cast<double>(latest.size());
  if (!(chosen < 0.1 * rare)) return {};
  return HealthVerdict{
      .kind = HealthKind::class_collapse,
      .confidence = "medium",
      .evidence =
          fmt::format("{:.2g} % of the training samples are not of the most frequent class, and the model chooses "
                      "another class for {:.2g} % of them; the training loss is {}, and a constant prediction "
                      "has {}",
                      100 * rare, 100 * chosen, figure_text(now, 3), figure_text(prior, 3)),
      .remedy =
          "loss = loss.cross_entropy { class_weights = \"balanced\" }, and a metric by class: metrics = { "
          "\"report\" }; then check that the inputs tell the label"};
}

}  // namespace trainlab
