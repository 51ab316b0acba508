#include "study/space.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

namespace trainlab {

namespace {

constexpr double inactive = std::numeric_limits<double>::quiet_NaN();

// Ends of the range in which a number is uniform: a whole number has half a step of it on either side where it is drawn
// by its logarithm.
struct Ends {
  double low, high;
};
Ends log_ends(const SpaceParameter& p) {
  const double half = p.kind == SpaceParameter::Kind::integer ? 0.5 * p.step : 0;
  return {std::log(p.low - half), std::log(p.high + half)};
}

Value condition_value(const SpaceParameter::Condition& condition) {
  return Value::Map{{"parent", static_cast<std::int64_t>(condition.parent)},
                    {"values", Value::List(condition.values.begin(), condition.values.end())}};
}

}  // namespace

std::int64_t SpaceParameter::count() const {
  if (kind == Kind::choice) return static_cast<std::int64_t>(labels.size());
  if (step == 0) return low == high ? 1 : 0;
  return static_cast<std::int64_t>(std::floor((high - low) / step + 1e-9)) + 1;
}

double SpaceParameter::nearest(double value) const {
  if (kind == Kind::choice) return std::clamp(std::round(value), 0.0, static_cast<double>(labels.size() - 1));
  if (step > 0) return low + step * std::clamp(std::round((value - low) / step), 0.0, static_cast<double>(count() - 1));
  return std::clamp(value, low, high);
}

std::optional<double> SpaceParameter::find(const Value& written) const {
  if (kind == Kind::choice) {
    const auto label = std::ranges::find_if(labels, [&](const Value& one) { return same_label(one, written); });
    if (label == labels.end()) return std::nullopt;
    return static_cast<double>(label - labels.begin());
  }
  if (!written.is_number()) return std::nullopt;
  const double value = nearest(written.number());
  const double rounding = 1e-9 * std::max(std::abs(written.number()), step);
  return std::abs(value - written.number()) <= rounding ? std::optional(value) : std::nullopt;
}

std::string SpaceParameter::expected(const Value& written) const {
  if (kind == Kind::choice) {
    std::string text = "one of";
    for (const Value& label : labels) text += (&label == &labels.front() ? " " : ", ") + label.brief();
    return text;
  }
  std::string text = kind == Kind::integer ? "an integer" : "a number";
  text += " in " + number_text(low) + " … " + number_text(high);
  if (!written.is_number() || step == 0 || !(written.number() > low && written.number() < high)) return text;
  const double below = low + step * std::floor((written.number() - low) / step);
  return text + ", near it " + figure_text(below) + " or " + figure_text(below + step);
}

bool same_label(const Value& a, const Value& b) {
  return a == b || (a.is_number() && b.is_number() && a.number() == b.number());
}

bool same_point(std::span<const double> a, std::span<const double> b) {
  return std::ranges::equal(a, b, [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

std::size_t PointHash::operator()(std::span<const double> point) const {
  std::uint64_t hash = 0;
  for (const double x : point) {
    // Equal values get equal bits: zeros of both signs, and inactive parameters.
    const std::uint64_t bits = std::isnan(x) ? 1 : std::bit_cast<std::uint64_t>(x == 0 ? 0.0 : x);
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
  }
  return hash;
}

Space::Space(std::vector<SpaceParameter> parameters) : parameters_(std::move(parameters)) { arrange(); }

void Space::arrange() {
  std::vector<char> placed(size(), 0);
  while (order_.size() < size()) {
    const std::size_t before = order_.size();
    for (std::size_t i = 0; i < size(); ++i) {
      const auto& conditions = parameters_[i].conditions;
      const bool ready = std::all_of(conditions.begin(), conditions.end(),
                                     [&](const auto& condition) { return placed[condition.parent] != 0; });
      if (placed[i] || !ready) continue;
      placed[i] = 1;
      order_.push_back(i);
    }
    if (order_.size() > before) continue;
    const auto left = std::find(placed.begin(), placed.end(), 0) - placed.begin();
    throw recipe_error("its condition leads back to itself").in(parameters_[static_cast<std::size_t>(left)].name);
  }
  // By what they depend on, their parents' conditions included.
  std::map<std::string, std::size_t> group_of;
  std::vector<std::string> signature(size());
  for (const std::size_t i : order_) {
    for (const auto& condition : parameters_[i].conditions) {
      signature[i] += signature[condition.parent] + to_json(condition_value(condition));
    }
    const auto [found, is_new] = group_of.emplace(signature[i], groups_.size());
    if (is_new) groups_.emplace_back();
    groups_[found->second].push_back(i);
  }
}

bool Space::active(std::size_t i, std::span<const double> point) const {
  const auto& conditions = parameters_[i].conditions;
  return std::all_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
    const double value = point[condition.parent];
    return std::find(condition.values.begin(), condition.values.end(), value) != condition.values.end();
  });
}

bool Space::is_whole(std::span<const double> point) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (std::isnan(point[i]) && active(i, point)) return false;
  }
  return true;
}

double Space::from_unit(std::size_t i, double u) const {
  const SpaceParameter& p = parameters_[i];
  if (p.log) {
    const Ends ends = log_ends(p);
    return nearest(i, std::exp(ends.low + u * (ends.high - ends.low)));
  }
  if (const std::int64_t count = p.count(); count > 0) {
    const double place = std::min(std::floor(u * static_cast<double>(count)), static_cast<double>(count - 1));
    return p.kind == SpaceParameter::Kind::choice ? place : p.low + p.step * place;
  }
  return std::clamp(p.low + u * (p.high - p.low), p.low, p.high);
}

double Space::to_unit(std::size_t i, double value) const {
  const SpaceParameter& p = parameters_[i];
  if (p.log) {
    const Ends ends = log_ends(p);
    return ends.high > ends.low ? (std::log(value) - ends.low) / (ends.high - ends.low) : 0.5;
  }
  if (const std::int64_t count = p.count(); count > 0) {
    const double place = p.kind == SpaceParameter::Kind::choice ? value : p.step > 0 ? (value - p.low) / p.step : 0;
    return (place + 0.5) / static_cast<double>(count);
  }
  return (value - p.low) / (p.high - p.low);
}

Value Space::param(std::size_t i, double value) const {
  if (std::isnan(value)) return {};
  const SpaceParameter& p = parameters_[i];
  switch (p.kind) {
    case SpaceParameter::Kind::choice: return p.labels[static_cast<std::size_t>(value)];
    case SpaceParameter::Kind::integer: return static_cast<std::int64_t>(value);
    case SpaceParameter::Kind::real: break;
  }
  return value;
}

Value::Map Space::params(std::span<const double> point) const {
  Value::Map all;
  for (std::size_t i = 0; i < size(); ++i) all.emplace(parameters_[i].name, param(i, point[i]));
  return all;
}

std::vector<double> Space::point_of(const Value& given) const {
  static const Value none = Value::Map{};
  const bool is_empty = given.is_list() && given.list().empty();
  if (!given.is_map() && !is_empty) throw recipe_error("expected parameters by name, found " + given.brief());
  return point(is_empty ? none : given);
}

std::vector<double> Space::point(const Value& params) const {
  std::vector<double> point(size(), inactive);
  std::vector<std::string> names;
  for (const SpaceParameter& p : parameters_) names.push_back(p.name);
  for (const auto& [name, value] : params.map()) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      Error error = recipe_error("the space has no parameter '" + name + "'");
      const std::string close = Registry::closest(name, names);
      throw close.empty() ? error : error.hint("did you mean '" + close + "'?");
    }
    if (value.is_nil()) continue;
    const auto i = static_cast<std::size_t>(found - names.begin());
    const SpaceParameter& p = parameters_[i];
    const std::optional<double> internal = p.find(value);
    if (!internal) throw recipe_error("expected " + p.expected(value) + ", found " + value.brief()).in(name);
    point[i] = *internal;
  }
  for (const std::size_t i : order_) {
    if (std::isnan(point[i]) || active(i, point)) continue;
    const SpaceParameter& parent = parameters_[parameters_[i].conditions.front().parent];
    throw recipe_error("given although it is inactive with this value of '" + parent.name + "'")
        .in(parameters_[i].name);
  }
  return point;
}

Value Space::to_value() const {
  Value::List all;
  for (const SpaceParameter& p : parameters_) {
    Value::Map one = {{"name", p.name}};
    if (p.kind == SpaceParameter::Kind::choice) {
      one.emplace("labels", p.labels);
    } else {
      one.emplace("kind", p.kind == SpaceParameter::Kind::integer ? "integer" : "real");
      one.emplace("low", p.low);
      one.emplace("high", p.high);
      if (p.step > 0) one.emplace("step", p.step);
      if (p.log) one.emplace("log", true);
    }
    if (!p.conditions.empty()) {
      Value::List conditions;
      for (const auto& condition : p.conditions) conditions.push_back(condition_value(condition));
      one.emplace("conditions", std::move(conditions));
    }
    all.emplace_back(std::move(one));
  }
  return all;
}

Space Space::from_value(const Value& value) {
  std::vector<SpaceParameter> parameters;
  for (const Value& one : value.list()) {
    SpaceParameter p;
    p.name = one["name"].string();
    if (one["labels"].is_list()) {
      p.kind = SpaceParameter::Kind::choice;
      p.labels = one["labels"].list();
    } else {
      p.kind = one["kind"].string() == "integer" ? SpaceParameter::Kind::integer : SpaceParameter::Kind::real;
      p.low = one["low"].number();
      p.high = one["high"].number();
      if (one["step"].is_number()) p.step = one["step"].number();
      p.log = one["log"].is_boolean() && one["log"].boolean();
    }
    if (one["conditions"].is_list()) {
      for (const Value& condition : one["conditions"].list()) {
        SpaceParameter::Condition& made = p.conditions.emplace_back();
        made.parent = static_cast<std::size_t>(condition["parent"].integer());
        for (const Value& each : condition["values"].list()) made.values.push_back(each.number());
      }
    }
    parameters.push_back(std::move(p));
  }
  return Space(std::move(parameters));
}

}  // namespace trainlab
