// Rules for the course of the run, which is how the losses of training and validation develop over time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/value.h"
#include "measures.h"
#include "rules.h"

namespace trainlab {
namespace {

double mean_of(const std::vector<MeasuredEvaluation>& rows, double MeasuredEvaluation::*member, std::size_t first,
               std::size_t count) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += rows[i].*member;
  return sum / static_cast<double>(count);
}

// The standard deviation of the noise around a smooth curve, from second differences, whose variance is 6 times that of
// the noise.
double noise_of(const std::vector<MeasuredEvaluation>& rows, double MeasuredEvaluation::*member) {
  double sum = 0;
  for (std::size_t i = 1; i + 1 < rows.size(); ++i) {
    const double bend = rows[i + 1].*member - 2 * rows[i].*member + rows[i - 1].*member;
    sum += bend * bend;
  }
  return std::sqrt(sum / 6 / static_cast<double>(std::max<std::size_t>(rows.size() - 2, 1)));
}

std::vector<MeasuredEvaluation> finite_rows(const HealthFigures& figures) {
  std::vector<MeasuredEvaluation> rows = figures.evaluations;
  std::erase_if(rows, [](const MeasuredEvaluation& row) {
    return !std::isfinite(row.val_loss) || !std::isfinite(row.train_loss);
  });
  return rows;
}

// Labels that do not belong to their inputs can only be learnt by heart: training improves, validation does not.
Finding by_heart(const HealthFigures& figures, const std::vector<MeasuredEvaluation>& rows) {
  const double prior = figures.run.prior_loss;
  if (rows.size() < 3 || std::isnan(prior) || !(rows.back().train_loss < 0.9 * prior)) return {};
  const double best = std::ranges::min_element(rows, {}, &MeasuredEvaluation::val_loss)->val_loss;
  if (best < 0.99 * prior) return {};
  return HealthVerdict{
      .kind = HealthKind::overfitting,
      .confidence = "high",
      .evidence = fmt::format("the training loss is {} and the validation loss was never better than {}; a "
                              "constant prediction has {}",
                              figure_text(rows.back().train_loss, 3), figure_text(best, 3), figure_text(prior, 3)),
      .remedy = "check that inputs and labels belong together; else more data, weight_decay, nn.Dropout"};
}

}  // namespace

Finding find_overfitting(const HealthFigures& figures) {
  const std::vector<MeasuredEvaluation> rows = finite_rows(figures);
  if (Finding found = by_heart(figures, rows)) return found;
  if (rows.size() < 6) return {};
  const std::size_t width = std::max<std::size_t>(rows.size() / 5, 2), last = rows.size() - width;
  std::size_t best = 0;
  for (std::size_t i = 1; i <= last; ++i) {
    if (mean_of(rows, &MeasuredEvaluation::val_loss, i, width) <
        mean_of(rows, &MeasuredEvaluation::val_loss, best, width))
      best = i;
  }
  if (last < best + width) return {};
  const double low = mean_of(rows, &MeasuredEvaluation::val_loss, best, width);
  const double now = mean_of(rows, &MeasuredEvaluation::val_loss, last, width);
  const double error = noise_of(rows, &MeasuredEvaluation::val_loss) * std::sqrt(2.0 / static_cast<double>(width));
  const double train_then = mean_of(rows, &MeasuredEvaluation::train_loss, best, width);
  const double train_now = mean_of(rows, &MeasuredEvaluation::train_loss, last, width);
  if (now - low <= 4 * error || now - low <= 0.2 * std::abs(low) || train_now >= train_then) return {};
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

Finding find_plateau(const HealthFigures& figures) {
  // A learning rate that has fallen, or will fall, already is the remedy of a plateau.
  if (figures.may_rate_fall || figures.measured.empty()) return {};
  if (figures.measured.back().rate < 0.9 * largest_rate(figures)) return {};
  const std::vector<MeasuredEvaluation> rows = finite_rows(figures);
  if (rows.size() < 40) return {};
  const std::size_t width = std::max<std::size_t>(20, rows.size() / 4), last = rows.size() - width;
  const double now = mean_of(rows, &MeasuredEvaluation::val_loss, last, width), start = start_loss(figures);
  // On a plateau, the loss in the middle of the run was no higher than now, apart from noise.
  const double then = mean_of(rows, &MeasuredEvaluation::val_loss, rows.size() / 2 - width / 2, width);
  const double error = noise_of(rows, &MeasuredEvaluation::val_loss) * std::sqrt(2.0 / static_cast<double>(width));
  const double train_then = mean_of(rows, &MeasuredEvaluation::train_loss, rows.size() / 2 - width / 2, width);
  const double train_now = mean_of(rows, &MeasuredEvaluation::train_loss, last, width);
  if (!(train_now > 0.2 * start)) return {};  // the loss is so low that nothing is left to learn
  const double worth = 0.01 * (rows.front().val_loss - now);
  const std::string setter = rate_setter(figures);
  if (then - now + 1.645 * error > std::max(worth, 1e-3 * start) || train_then - train_now > 0.02 * start) return {};
  return HealthVerdict{
      .kind = HealthKind::plateau,
      .confidence = "medium",
      .evidence = fmt::format("the validation loss was {} half of the run ago and is {}, at the same rate",
                              figure_text(then, 4), figure_text(now, 4)),
      .remedy = setter.empty() ? "schedule = sched.cosine {} or sched.plateau {}, which lower the rate; or fewer epochs"
                               : "a rate that falls in place of the one which " + setter + " sets; or fewer epochs"};
}

Finding find_one_class_chosen(const HealthFigures& figures) {
  if (!has_seen(figures, 50, 0.5) || figures.run.classes < 2 || !(figures.run.largest_share < 0.7)) return {};
  if (!(learnt(figures) < 0.2)) return {};
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

}  // namespace trainlab
