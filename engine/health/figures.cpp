#include "health/figures.h"

#include <algorithm>
#include <array>

namespace trainlab {
namespace {

// The members of a row of a table, in the order in which a row's list of numbers has them. A place whose member is null
// holds a number in rows of earlier versions, and null since.
using StepMember = double MeasuredStep::*;
constexpr StepMember largest_update = nullptr;
constexpr std::array measured_members{
    &MeasuredStep::step,           &MeasuredStep::rate,         &MeasuredStep::least_update,
    &MeasuredStep::median_update,  largest_update,              &MeasuredStep::gradient_norm,
    &MeasuredStep::gradient_ratio, &MeasuredStep::slope_before, &MeasuredStep::slope_after,
    &MeasuredStep::square,         &MeasuredStep::product,      &MeasuredStep::spread_ratio,
    &MeasuredStep::top_share};
constexpr std::array unit_members{&UnitFigures::dead_at_start, &UnitFigures::dead, &UnitFigures::saturated_at_start,
                                  &UnitFigures::saturated};
constexpr std::array norm_members{&BatchNormFigures::values};
constexpr std::array evaluation_members{&MeasuredEvaluation::step, &MeasuredEvaluation::train_loss,
                                        &MeasuredEvaluation::val_loss};
constexpr std::array input_members{&InputFigures::mean, &InputFigures::deviation, &InputFigures::root_mean_square};

// Fills a row from a list of numbers. JSON has null for a number that is not finite, which becomes NaN.
template <class Row, std::size_t n>
Value::List list_of(const Row& row, const std::array<double Row::*, n>& members) {
  Value::List list;
  for (const auto member : members) list.push_back(member ? Value(row.*member) : Value());
  return list;
}

template <class Row, std::size_t n>
void read_list(Row& row, const Value& value, const std::array<double Row::*, n>& members) {
  const Value::List& list = value.list();
  for (std::size_t i = 0; i < n && i < list.size(); ++i) {
    if (members[i]) row.*members[i] = list[i].is_number() ? list[i].number() : unmeasured;
  }
}

template <class Row>
void thin_out(std::vector<Row>& rows) {
  if (rows.size() < HealthFigures::most_rows) return;
  // The older half keeps every second row; the first row stays.
  std::vector<Row> kept;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % 2 == 0 || i >= rows.size() / 2) kept.push_back(rows[i]);
  }
  rows = std::move(kept);
}

}  // namespace

void HealthFigures::add(const MeasuredStep& row) {
  thin_out(measured);
  measured.push_back(row);
}

void HealthFigures::add(const MeasuredEvaluation& row) {
  thin_out(evaluations);
  evaluations.push_back(row);
}

std::int64_t HealthFigures::steps_done() const {
  const std::int64_t with_loss = first_step + losses.steps();
  return evaluations.empty() ? with_loss : std::max(with_loss, static_cast<std::int64_t>(evaluations.back().step));
}

double HealthFigures::progress() const {
  if (run.total_steps <= 0) return losses.steps() > 0 ? 0.5 : 0;
  return static_cast<double>(losses.steps()) /
         static_cast<double>(std::max<std::int64_t>(run.total_steps - first_step, 1));
}

Value to_value(const HealthFigures& figures) {
  Value::List measured, units, norms, evaluations;
  for (const MeasuredStep& row : figures.measured) measured.emplace_back(list_of(row, measured_members));
  for (const UnitFigures& unit : figures.units) {
    units.emplace_back(Value::Map{{"path", unit.path}, {"kind", unit.kind}, {"figures", list_of(unit, unit_members)}});
  }
  for (const BatchNormFigures& norm : figures.norms)
    norms.emplace_back(Value::Map{{"path", norm.path}, {"figures", list_of(norm, norm_members)}});
  for (const MeasuredEvaluation& row : figures.evaluations) evaluations.emplace_back(list_of(row, evaluation_members));
  Value value = Value::Map{{"losses", figures.losses.to_value()},
                           {"input", list_of(figures.input, input_members)},
                           {"is_normalised", figures.input.is_normalised},
                           {"measured", std::move(measured)},
                           {"units", std::move(units)},
                           {"norms", std::move(norms)},
                           {"evaluations", std::move(evaluations)},
                           {"may_rate_fall", figures.may_rate_fall}};
  if (figures.first_step != 0) value.set("first_step", figures.first_step);
  if (figures.not_finite) {
    const NotFinite& one = *figures.not_finite;
    value.set("not_finite",
              Value::Map{{"step", one.step}, {"origin", one.origin}, {"path", one.path}, {"text", one.text}});
  }
  return value;
}

void restore(HealthFigures& figures, const Value& value) {
  figures.losses = LossCurve::of_value(value["losses"]);
  figures.first_step = value["first_step"].is_integer() ? value["first_step"].integer() : 0;
  read_list(figures.input, value["input"], input_members);
  figures.input.is_normalised = value["is_normalised"].boolean();
  const auto rows = [&]<class Row>(const char* name, std::vector<Row>& all, auto&& read) {
    all.clear();
    for (const Value& one : value[name].list()) read(all.emplace_back(), one);
  };
  rows("measured", figures.measured,
       [](MeasuredStep& row, const Value& one) { read_list(row, one, measured_members); });
  rows("evaluations", figures.evaluations,
       [](MeasuredEvaluation& row, const Value& one) { read_list(row, one, evaluation_members); });
  rows("units", figures.units, [](UnitFigures& unit, const Value& one) {
    unit.path = one["path"].string();
    unit.kind = one["kind"].string();
    read_list(unit, one["figures"], unit_members);
  });
  rows("norms", figures.norms, [](BatchNormFigures& norm, const Value& one) {
    norm.path = one["path"].string();
    read_list(norm, one["figures"], norm_members);
  });
  figures.may_rate_fall = value["may_rate_fall"].is_boolean() && value["may_rate_fall"].boolean();
  const Value& lost = value["not_finite"];
  figures.not_finite.reset();
  if (lost.is_map()) {
    figures.not_finite = NotFinite{.step = lost["step"].integer(),
                                   .origin = lost["origin"].string(),
                                   .path = lost["path"].string(),
                                   .text = lost["text"].string()};
  }
}

}  // namespace trainlab
