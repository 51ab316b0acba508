#include <fmt/format.h>

#include "core/words.h"
#include "find/model_sizes.h"

namespace trainlab {

namespace {

std::string_view verdict_of(const ModelSize& size, bool minimize) {
  if (size.low > 0) return minimize ? "worse" : "better";
  if (size.high < 0) return minimize ? "better" : "worse";
  return "unclear";
}

}  // namespace

std::string model_sizes_text(const FoundModelSizes& found) {
  std::string text =
      fmt::format("{} by the features of hidden layers, with {} seeds\n\n", found.seeded.metric, found.seeded.seeds);
  text += fmt::format("  {:<10} {:>10}  {:<20} {:<41} {}\n", "features", "parameters", found.seeded.metric,
                      "instead of the recipe's", "a training");
  for (const ModelSize& size : found.sizes) {
    const std::string difference = size.is_own()
                                       ? "the recipe's own"
                                       : fmt::format("{:+.3g} ({:+.3g} to {:+.3g}), {}", size.difference, size.low,
                                                     size.high, verdict_of(size, found.seeded.minimize));
    text += fmt::format("  {:<10} {:>10}  {:<20} {:<41} {:.3g} s\n", fmt::format("{} times", size.factor),
                        count_text(static_cast<double>(size.parameters)),
                        fmt::format("{:.4g} ± {:.2g}", size.mean, size.error), difference, size.seconds);
  }
  text += "\n";
  for (const std::string& one : found.left_out) text += "  left out " + one + "\n";
  return text + last_lines(found.seeded);
}

Value to_value(const FoundModelSizes& found) {
  Value::List sizes;
  for (const ModelSize& size : found.sizes) {
    const bool is_own = size.is_own();
    sizes.push_back(Value::Map{
        {"factor", size.factor},
        {"parameters", size.parameters},
        {"set", is_own ? Value::List() : Value::List(size.set.begin(), size.set.end())},
        {"mean", size.mean},
        {"error", size.error},
        {"values", Value::List(size.values.begin(), size.values.end())},
        {"difference",
         is_own ? Value() : Value(Value::Map{{"mean", size.difference}, {"low", size.low}, {"high", size.high}})},
        {"verdict", is_own ? Value() : Value(std::string(verdict_of(size, found.seeded.minimize)))},
        {"seconds", size.seconds}});
  }
  Value value = to_value(found.seeded);
  value.set("kind", "plan_model");
  value.set("sizes", std::move(sizes));
  value.set("left_out", Value::List(found.left_out.begin(), found.left_out.end()));
  return value;
}

}  // namespace trainlab
