#include <algorithm>
#include <cmath>
#include <set>

#include "plan/approaches.h"
#include "plan/fit.h"

namespace trainlab {

namespace {

Value constants_drawn(const LawFit& fit) {
  Value::List constants;
  for (const FittedConstant& one : fitted_constants(fit)) {
    const auto is_unknown = [&](double x) { return one.name == "E" && x < unknown_limit; };
    constants.push_back(Value::Map{{"name", one.name},
                                   {"value", is_unknown(one.value) ? Value() : Value(one.value)},
                                   {"low", is_unknown(one.high) ? Value() : Value(is_unknown(one.low) ? 0 : one.low)},
                                   {"high", is_unknown(one.high) ? Value() : Value(one.high)}});
  }
  return constants;
}

Value runs_drawn(std::span<const RunPoint> points) {
  std::vector<RunPoint> all(points.begin(), points.end());
  std::ranges::sort(all, {}, &RunPoint::flops);
  Value::List runs;
  for (const RunPoint& run : all) {
    runs.push_back(
        Value::Map{{"parameters", run.parameters}, {"tokens", run.tokens}, {"flops", run.flops()}, {"loss", run.loss}});
  }
  return runs;
}

Value curve_of(const LawFit& fit, double parameters) {
  constexpr int steps = 24;
  const RunRange& tokens = fit.tokens;
  Value::List curve;
  for (int i = 0; i <= steps; ++i) {
    const double count = tokens.least * std::pow(tokens.most / tokens.least, static_cast<double>(i) / steps);
    curve.push_back(Value::Map{{"tokens", count}, {"loss", loss_of(fit.law, {parameters, count})}});
  }
  return curve;
}

Value models_drawn(const LawFit& fit, std::span<const RunPoint> points) {
  constexpr std::size_t most = 6;
  std::set<double> different;
  for (const RunPoint& run : points) different.insert(run.parameters);
  const std::vector<double> sizes(different.begin(), different.end());
  const std::size_t count = std::min(most, sizes.size());
  Value::List models;
  for (std::size_t i = 0; i < count; ++i) {
    const double parameters = sizes[i * (sizes.size() - 1) / (count - 1)];
    models.push_back(Value::Map{{"parameters", parameters}, {"curve", curve_of(fit, parameters)}});
  }
  return models;
}

Value best_for(const KnownLaw& law, double flops) {
  const Answer best = answer(law, flops);
  const std::optional<LossInterval> interval = interval_of(law, best.best);
  return Value::Map{{"flops", flops},
                    {"parameters", best.best.parameters},
                    {"low", best.low},
                    {"high", best.high},
                    {"tokens", best.best.tokens},
                    {"loss", loss_of(law.law, best.best)},
                    {"loss_low", interval ? Value(interval->low) : Value()},
                    {"loss_high", interval ? Value(interval->high) : Value()}};
}

}  // namespace

Value page_value(const LawFit& fit, std::span<const RunPoint> points) {
  constexpr int steps = 40;
  constexpr double farthest = 100;
  const Value whole = to_value(fit);
  const KnownLaw law = law_in(whole, "these runs");
  Value::List best, budgets;
  for (int i = 0; i <= steps; ++i) {
    const double share = static_cast<double>(i) / steps;
    best.push_back(best_for(law, fit.flops.least * std::pow(farthest * fit.flops.most / fit.flops.least, share)));
  }
  for (const double times : {1.0, 10.0, farthest}) budgets.push_back(best_for(law, times * fit.flops.most));
  Value value = Value::Map{{"constants", constants_drawn(fit)},
                           {"points", runs_drawn(points)},
                           {"models", models_drawn(fit, points)},
                           {"best", std::move(best)},
                           {"budgets", std::move(budgets)}};
  for (const char* name : {"runs", "deviation", "drift", "most_flops"}) value.set(name, whole[name]);
  return value;
}

}  // namespace trainlab
