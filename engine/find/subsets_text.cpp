#include <fmt/format.h>

#include "find/subsets.h"

namespace trainlab {

std::string subsets_text(const FoundSubsets& found) {
  const double all = found.curve.points.back().samples;
  std::string text = fmt::format("{} by the number of training samples, with {} seeds\n\n  samples    {}\n",
                                 found.seeded.metric, found.seeded.seeds, found.seeded.metric);
  for (const DataPoint& point : found.curve.points)
    text += fmt::format("  {:<9}  {:.4g} ± {:.2g}\n", count_text(point.samples), point.mean, point.error);
  text += "  with more data, estimates with 80 % of all values between the bounds\n";
  for (const DataForecast& one : found.curve.forecasts) {
    const std::string value =
        one.is_known ? fmt::format("{:.4g}  ({:.4g} to {:.4g})", one.value, one.low, one.high) : "unknown";
    text += fmt::format("  {:<9}  {}\n", count_text(one.factor * all), value);
  }
  text += "\n";
  if (!found.curve.unknown.empty()) text += "  unknown  " + found.curve.unknown + "\n";
  return text + last_lines(found.seeded);
}

Value to_value(const FoundSubsets& found) {
  const double all = found.curve.points.back().samples;
  Value::List sizes, forecasts;
  for (std::size_t i = 0; i < found.sizes.size(); ++i) {
    const DataPoint& point = found.curve.points[i];
    const std::vector<double>& values = found.sizes[i].values;
    sizes.push_back(Value::Map{{"samples", static_cast<std::int64_t>(point.samples)},
                               {"mean", point.mean},
                               {"error", point.error},
                               {"values", Value::List(values.begin(), values.end())}});
  }
  for (const DataForecast& one : found.curve.forecasts) {
    const auto known = [&](double number) { return one.is_known ? Value(number) : Value(); };
    forecasts.push_back(Value::Map{{"factor", one.factor},
                                   {"samples", static_cast<std::int64_t>(one.factor * all)},
                                   {"value", known(one.value)},
                                   {"low", known(one.low)},
                                   {"high", known(one.high)}});
  }
  Value value = to_value(found.seeded);
  value.set("kind", "plan_data");
  value.set("sizes", std::move(sizes));
  value.set("forecasts", std::move(forecasts));
  value.set("unknown", found.curve.unknown.empty() ? Value() : Value(found.curve.unknown));
  return value;
}

}  // namespace trainlab
