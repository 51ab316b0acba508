#include <fmt/format.h>

#include "find/subsets.h"

namespace trainlab {

std::string subsets_text(const FoundSubsets& found) {
  const double all = found.curve.points.back().samples;
  std::string text = fmt::format("{} by the number of training samples, with {} seeds\n\n  samples    {}\n",
                                 found.metric, found.sizes.front().values.size(), found.metric);
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
  if (found.failed > 0)
    text +=
        fmt::format("  failed   {} seeds, whose {} was not finite; they do not count\n", found.failed, found.metric);
  return text + fmt::format("  took     {:.3g} s\n", found.seconds);
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
  return Value::Map{{"kind", "plan_data"},
                    {"metric", found.metric},
                    {"goal", found.minimize ? "min" : "max"},
                    {"seeds", static_cast<std::int64_t>(found.sizes.front().values.size())},
                    {"failed", found.failed},
                    {"sizes", std::move(sizes)},
                    {"forecasts", std::move(forecasts)},
                    {"unknown", found.curve.unknown.empty() ? Value() : Value(found.curve.unknown)},
                    {"seconds", found.seconds}};
}

}  // namespace trainlab
