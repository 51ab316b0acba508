#include "health/figures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/statistics.h"

namespace trainlab {
namespace {

// A number of a row, and its name in a checkpoint.
template <class Row>
struct Figure {
  const char* name;
  double Row::*number;
};
constexpr auto measured_columns =
    std::to_array<Figure<MeasuredStep>>({{"step", &MeasuredStep::step},
                                         {"rate", &MeasuredStep::rate},
                                         {"median_update", &MeasuredStep::median_update},
                                         {"gradient_norm", &MeasuredStep::gradient_norm},
                                         {"largest_at", &MeasuredStep::largest_at},
                                         {"least_at", &MeasuredStep::least_at},
                                         {"least_gradient", &MeasuredStep::least_gradient},
                                         {"least_update", &MeasuredStep::least_update},
                                         {"slope_before", &MeasuredStep::slope_before},
                                         {"slope_after", &MeasuredStep::slope_after},
                                         {"square", &MeasuredStep::square},
                                         {"product", &MeasuredStep::product},
                                         {"top_share", &MeasuredStep::top_share}});
constexpr auto evaluation_columns =
    std::to_array<Figure<MeasuredEvaluation>>({{"step", &MeasuredEvaluation::step},
                                               {"train_loss", &MeasuredEvaluation::train_loss},
                                               {"val_loss", &MeasuredEvaluation::val_loss}});
constexpr auto unit_columns =
    std::to_array<Figure<UnitFigures>>({{"spread_at_start", &UnitFigures::spread_at_start},
                                        {"dead_at_start", &UnitFigures::dead_at_start},
                                        {"dead", &UnitFigures::dead},
                                        {"saturated_at_start", &UnitFigures::saturated_at_start},
                                        {"saturated", &UnitFigures::saturated}});
constexpr auto norm_columns = std::to_array<Figure<BatchNormFigures>>({{"values", &BatchNormFigures::values}});
constexpr auto input_columns =
    std::to_array<Figure<InputFigures>>({{"mean", &InputFigures::mean},
                                         {"deviation", &InputFigures::deviation},
                                         {"root_mean_square", &InputFigures::root_mean_square}});

// Adds the numbers of a row that were measured.
template <class Row, std::size_t n>
void add_numbers(Value::Map& map, const Row& row, const std::array<Figure<Row>, n>& columns) {
  for (const auto& [name, number] : columns)
    if (!std::isnan(row.*number)) map.emplace(name, row.*number);
}

template <class Row, std::size_t n>
void read_numbers(Row& row, const Value& value, const std::array<Figure<Row>, n>& columns) {
  for (const auto& [name, number] : columns)
    if (const Value& one = value[name]; !one.is_nil()) row.*number = one.number();
}

// Many rows as a list of numbers for each column, in which a number that was not measured is nil. A column in which
// none was measured is left out: in a stack these are most, and each trial writes them.
template <class Row, std::size_t n>
Value by_columns(const std::vector<Row>& rows, const std::array<Figure<Row>, n>& columns) {
  Value::Map all;
  for (const Figure<Row>& column : columns) {
    const auto is_measured = [&](const Row& row) { return !std::isnan(row.*column.number); };
    if (std::ranges::none_of(rows, is_measured)) continue;
    Value::List list;
    list.reserve(rows.size());
    for (const Row& row : rows) list.push_back(is_measured(row) ? Value(row.*column.number) : Value());
    all.emplace(column.name, std::move(list));
  }
  return all;
}

template <class Row, std::size_t n>
void read_columns(std::vector<Row>& rows, const Value& value, const std::array<Figure<Row>, n>& columns) {
  rows.clear();
  const Value::Map& all = value.map();
  for (const auto& [name, number] : columns) {
    const auto found = all.find(name);
    if (found == all.end()) continue;
    const Value::List& list = found->second.list();
    rows.resize(list.size());
    for (std::size_t i = 0; i < list.size(); ++i)
      if (!list[i].is_nil()) rows[i].*number = list[i].number();
  }
}

// The steps between neighbouring rows.
template <class Row>
std::vector<double> gaps_of(const std::vector<Row>& rows) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < rows.size(); ++i) gaps.push_back(rows[i].step - rows[i - 1].step);
  return gaps;
}

// Leaves out rows that are nearer than `gap` to the row before them; the first row stays.
template <class Row>
void keep_apart(std::vector<Row>& rows, double gap) {
  std::size_t kept = 0;
  for (const Row& row : rows) {
    if (kept == 0 || row.step - rows[kept - 1].step >= gap) rows[kept++] = row;
  }
  rows.resize(kept);
}

template <class Row>
void add_row(std::vector<Row>& rows, const Row& row) {
  rows.push_back(row);
  if (rows.size() <= HealthFigures::most_rows) return;
  for (std::size_t i = 0; 2 * i < rows.size(); ++i) rows[i] = rows[2 * i];
  rows.resize((rows.size() + 1) / 2);
}
// The latest row is at an even place, and stays.
static_assert(HealthFigures::most_rows % 2 == 0);

// The distance of the numbers of evaluations that are kept, where `count` were added: the least power of two for which
// most_rows are enough.
std::int64_t stride_of(std::int64_t count) {
  std::int64_t stride = 1;
  while (stride * (std::int64_t{HealthFigures::most_rows} - 1) < count - 1) stride *= 2;
  return stride;
}

Value to_value(const NotFinite& one) {
  return Value::Map{{"step", one.step}, {"origin", one.origin}, {"path", one.path}, {"text", one.text}};
}

std::optional<NotFinite> origin_of(const Value& value) {
  if (!value.is_map()) return std::nullopt;
  return NotFinite{.step = value["step"].integer(),
                   .origin = value["origin"].string(),
                   .path = value["path"].string(),
                   .text = value["text"].string()};
}

}  // namespace

void HealthFigures::add(const MeasuredStep& row) {
  // The first steps are read more often than later ones, which no longer matters once there are many rows. A row may be
  // missing where a run was interrupted, so the usual gap counts.
  if (measured.size() > most_rows / 2) keep_apart(measured, upper_median(gaps_of(measured)));
  add_row(measured, row);
}

void HealthFigures::add(const MeasuredEvaluation& row) {
  // Evaluations are kept by their numbers, from 0, because their steps may be uneven: a run may have ended between two
  // of them, and a task may log a loss that is not a number. The latest one is kept until the next comes.
  if (evaluated > 0 && (evaluated - 1) % stride_of(evaluated) != 0) evaluations.pop_back();
  ++evaluated;
  add_row(evaluations, row);
}

std::int64_t HealthFigures::steps_done() const {
  const std::int64_t with_loss = first_step + losses.steps();
  return evaluations.empty() ? with_loss : std::max(with_loss, static_cast<std::int64_t>(evaluations.back().step));
}

double HealthFigures::progress() const {
  if (run.total_steps <= 0) return 0;
  return static_cast<double>(losses.steps()) /
         static_cast<double>(std::max<std::int64_t>(run.total_steps - first_step, 1));
}

Value to_value(const HealthFigures& figures) {
  Value::Map input{{"is_normalised", figures.input.is_normalised}};
  add_numbers(input, figures.input, input_columns);
  Value::List units, norms;
  for (const UnitFigures& unit : figures.units) {
    Value::Map one{{"path", unit.path}, {"kind", unit.kind}};
    add_numbers(one, unit, unit_columns);
    units.emplace_back(std::move(one));
  }
  for (const BatchNormFigures& norm : figures.norms) {
    Value::Map one{{"path", norm.path}};
    add_numbers(one, norm, norm_columns);
    norms.emplace_back(std::move(one));
  }
  Value value = Value::Map{{"first_step", figures.first_step}, {"may_rate_fall", figures.may_rate_fall}};
  value.set("losses", figures.losses.to_value());
  value.set("input", std::move(input));
  value.set("measured", by_columns(figures.measured, measured_columns));
  Value::List began_at_0;
  for (const std::size_t place : figures.began_at_0) began_at_0.push_back(static_cast<std::int64_t>(place));
  value.set("began_at_0", std::move(began_at_0));
  value.set("units", std::move(units));
  value.set("norms", std::move(norms));
  value.set("evaluations", by_columns(figures.evaluations, evaluation_columns));
  value.set("evaluated", figures.evaluated);
  if (figures.not_finite) value.set("not_finite", to_value(*figures.not_finite));
  if (figures.outliers) value.set("outliers", to_value(*figures.outliers));
  return value;
}

void restore(HealthFigures& figures, const Value& value) {
  figures.first_step = value["first_step"].integer();
  figures.may_rate_fall = value["may_rate_fall"].boolean();
  figures.losses = LossCurve::of_value(value["losses"]);
  figures.input = {.is_normalised = value["input"]["is_normalised"].boolean()};
  read_numbers(figures.input, value["input"], input_columns);
  read_columns(figures.measured, value["measured"], measured_columns);
  read_columns(figures.evaluations, value["evaluations"], evaluation_columns);
  const Value& evaluated = value["evaluated"];
  // An earlier version kept no number. Of many evaluations it may have left out some, and nobody knows which.
  if (!evaluated.is_integer() && figures.evaluations.size() > HealthFigures::most_rows / 2) figures.evaluations.clear();
  figures.evaluated = evaluated.is_integer() ? evaluated.integer() : std::ssize(figures.evaluations);
  figures.began_at_0.clear();
  if (const Value& places = value["began_at_0"]; places.is_list()) {  // an earlier version kept none
    for (const Value& place : places.list()) figures.began_at_0.insert(static_cast<std::size_t>(place.integer()));
  }
  figures.units.clear();
  for (const Value& one : value["units"].list()) {
    figures.units.push_back({.path = one["path"].string(), .kind = one["kind"].string()});
    read_numbers(figures.units.back(), one, unit_columns);
  }
  figures.norms.clear();
  for (const Value& one : value["norms"].list()) {
    figures.norms.push_back({.path = one["path"].string()});
    read_numbers(figures.norms.back(), one, norm_columns);
  }
  figures.not_finite = origin_of(value["not_finite"]);
  figures.outliers = origin_of(value["outliers"]);
}

}  // namespace trainlab
