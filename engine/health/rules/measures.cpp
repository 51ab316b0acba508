#include "measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/statistics.h"

namespace trainlab {
namespace {

std::vector<const MeasuredStep*> warm_rows(const HealthFigures& figures) {
  const double largest = largest_rate(figures);
  std::vector<const MeasuredStep*> rows;
  for (const MeasuredStep& row : figures.measured) {
    if (row.rate >= largest / 2 || std::isnan(row.rate)) rows.push_back(&row);
  }
  return rows;
}

// A fit that fails in its warm-up has failed at a smaller rate than lr.
double advised_lr(const HealthFigures& figures, double factor) {
  const double now = figures.run.lr, largest = largest_rate(figures);
  const bool warms_up = largest > 0 && largest < now && figures.measured.back().rate == largest;
  return (warms_up && factor < 1 ? largest : now) * factor;
}

}  // namespace

bool has_seen(const HealthFigures& figures, std::int64_t steps, double share) {
  return figures.losses.steps() >= steps && figures.progress() >= share;
}

double start_loss(const HealthFigures& figures) {
  const double first = figures.losses.first(), prior = figures.run.prior_loss;
  return std::isnan(prior) ? first : std::max(first, prior);
}

bool is_start_unknown(const HealthFigures& figures) {
  return figures.run.begins_trained && std::isnan(figures.run.prior_loss);
}

double learnt(const HealthFigures& figures) {
  if (is_start_unknown(figures)) return unmeasured;
  const double start = start_loss(figures);
  return start > 0 ? 1 - figures.losses.mean(0.8, 1) / start : unmeasured;
}

double late_share(const HealthFigures& figures) {
  const double now = figures.losses.mean(0.9, 1), fall = start_loss(figures) - now;
  return fall > 0 ? (figures.losses.mean(0.4, 0.5) - now) / fall : unmeasured;
}

std::vector<double> column(const HealthFigures& figures, double MeasuredStep::*member, double first) {
  std::vector<double> values;
  for (const MeasuredStep& row : figures.measured) {
    if (row.step >= first && !std::isnan(row.*member)) values.push_back(row.*member);
  }
  return values;
}

double typical_update(const HealthFigures& figures) {
  std::vector<double> values;
  for (const MeasuredStep* row : warm_rows(figures)) values.push_back(row->median_update);
  return upper_median(std::move(values));
}

double largest_rate(const HealthFigures& figures) {
  double largest = 0;
  for (const MeasuredStep& row : figures.measured) largest = std::max(largest, row.rate);
  return largest;
}

double typical_overshoot(const HealthFigures& figures) {
  double before = 0, after = 0;
  int rows = 0;
  for (const MeasuredStep* row : warm_rows(figures)) {
    if (!std::isfinite(row->slope_before) || !std::isfinite(row->slope_after)) continue;
    before += row->slope_before;
    after += row->slope_after;
    ++rows;
  }
  return rows >= 5 && before > 0 ? -after / before : unmeasured;
}

bool loss_rose(const HealthFigures& figures) {
  const double start = start_loss(figures);
  return start > 0 && figures.losses.worst() > 1.5 * start;
}

bool was_rate_high(const HealthFigures& figures) {
  const std::vector<double> updates = column(figures, &MeasuredStep::median_update, 1);
  const double largest = updates.empty() ? 0 : *std::ranges::max_element(updates);
  // Adam's first step has the same length for a small gradient as for a large one, so the first update shows the rate.
  const bool began_high = !figures.measured.empty() && figures.measured.front().median_update > 0.3;
  return began_high || largest > 0.1 || (largest > 1e-2 && loss_rose(figures));
}

double common_share(const HealthFigures& figures) {
  double squares = 0, products = 0;
  int rows = 0;
  for (const MeasuredStep& row : figures.measured) {
    if (!std::isfinite(row.square) || !std::isfinite(row.product)) continue;
    squares += row.square;
    products += row.product;
    ++rows;
  }
  return rows >= 8 && squares > 0 ? products / squares : unmeasured;
}

bool are_gradients_noise(const HealthFigures& figures) {
  return common_share(figures) < 0.5 && typical_overshoot(figures) > -0.35;
}

double most_change(const HealthFigures& figures) {
  return typical_update(figures) * static_cast<double>(figures.losses.steps()) / figures.progress();
}

bool drowns_in_noise(const HealthFigures& figures) {
  return are_gradients_noise(figures) && most_change(figures) > 0.5;
}

std::string rate_setter(const HealthFigures& figures) {
  if (std::isnan(figures.set_rate)) return {};
  return figures.set_at.empty() ? "run:set_lr" : figures.set_at;
}

double rate_to_change(const HealthFigures& figures) {
  return rate_setter(figures).empty() ? figures.run.lr : figures.set_rate;
}

std::string lr_text(const HealthFigures& figures, double factor) {
  const std::string setter = rate_setter(figures);
  const double now = rate_to_change(figures);
  if (!(now > 0)) return setter.empty() ? "lr above 0" : "a rate above 0, which " + setter + " sets to 0";
  if (!setter.empty())
    return fmt::format("a rate of {:.2g} in place of {:.4g}, which {} sets", now * factor, now, setter);
  return fmt::format("lr = {:.2g} in place of {:.4g}", advised_lr(figures, factor), now);
}

std::optional<Cure> lr_cure(const HealthFigures& figures, double factor, std::int64_t good_until) {
  if (!rate_setter(figures).empty() || !(figures.run.lr > 0)) return std::nullopt;
  return Cure{.option = FixedOption::lr,
              .value = std::stod(fmt::format("{:.2g}", advised_lr(figures, factor))),
              .good_until = good_until};
}

Cure init_cure(const HealthFigures& figures) {
  const bool is_bounded = std::ranges::any_of(
      figures.units, [](const UnitFigures& unit) { return unit.kind == "Tanh" || unit.kind == "Sigmoid"; });
  return {.option = FixedOption::init, .value = is_bounded ? "init.xavier_normal" : "init.kaiming_normal"};
}

}  // namespace trainlab
