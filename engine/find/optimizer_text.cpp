#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/number_or_nil.h"
#include "find/optimizer.h"

namespace trainlab {
namespace {

// "17 % above the best", or "31 times the best".
std::string above(double loss, double least) {
  const double share = (loss - least) / std::abs(least);
  return least > 0 && share > 9 ? fmt::format("{:.3g} times the best", loss / least)
                                : fmt::format("{:.0f} % above the best", 100 * share);
}

std::string name_in_table(const TunedOptimizer& one) { return one.name + (one.is_own ? " (the recipe's)" : ""); }

std::string row(const TunedOptimizer& one, std::size_t width) {
  const std::string name = name_in_table(one);
  if (std::isnan(one.loss)) return fmt::format("{:<{}}  no rate keeps the loss finite\n", name, width);
  const std::string loss = fmt::format("{:.4g} ± {:.2g}", one.loss, one.error);
  const std::string good = fmt::format("{:.2g} to {:.2g} ({}{:.1f} octaves)", one.good.low, one.good.high,
                                       one.good.is_open ? "≥ " : "", one.good.octaves());
  const std::string usual = std::isnan(one.usual_loss) ? fmt::format("not finite at {:g}", one.usual_rate)
                                                       : fmt::format("{:.4g} at {:g}", one.usual_loss, one.usual_rate);
  return fmt::format("{:<{}}  {:>8.2g}  {:<18}  {:<34}  {}\n", name, width, one.rate, loss, good, usual);
}

}  // namespace

std::string optimizer_text(const FoundOptimizer& found) {
  const TunedOptimizer& best = found.all[found.suggestion];
  const double least = found.least();
  std::size_t width = 9;
  for (const TunedOptimizer& one : found.all) width = std::max(width, name_in_table(one).size());
  std::string text = fmt::format("optimizer = {}, lr = {:.2g}\n", best.name, best.rate);
  text += "\n";
  text += fmt::format("{:<{}}  {:>8}  {:<18}  {:<34}  {}\n", "optimizer", width, "tuned lr", found.metric,
                      "rates within 10 % of the best", "usual rate");
  for (const TunedOptimizer& one : found.all) text += row(one, width);
  text += fmt::format(
      "\n{} seeds of {} steps at three rates and at the usual one; the range of rates from one seed of {} steps each\n",
      found.seeds, found.steps, found.steps / 3);
  text += fmt::format("tuned, the worst optimizer is {}\n", above(found.most(), least));
  for (const TunedOptimizer& one : found.all) {
    const char* const its = one.is_own ? "the recipe's" : "its usual";
    if (!std::isnan(one.usual_loss))
      text += fmt::format("{} at {} rate is {}\n", one.name, its, above(one.usual_loss, least));
    if (!one.has_other_default()) continue;
    text += fmt::format(
        "{} at its default rate {:g} {}\n", one.name, one.default_rate,
        std::isnan(one.default_loss) ? "does not keep the loss finite" : "is " + above(one.default_loss, least));
  }
  return text;
}

Value to_value(const FoundOptimizer& found) {
  Value::List all;
  for (const TunedOptimizer& one : found.all) {
    Value::List curve;
    for (const RatePoint& point : one.curve)
      curve.push_back(Value::Map{{"lr", point.rate}, {"loss", finite_or_nil(point.loss)}});
    const bool is_found = std::isfinite(one.loss);
    all.push_back(Value::Map{
        {"name", one.name},
        {"own", one.is_own},
        {"lr", is_found ? Value(one.rate) : Value()},
        {"loss", finite_or_nil(one.loss)},
        {"error", finite_or_nil(one.error)},
        {"good", Value::Map{{"low", finite_or_nil(one.good.low)},
                            {"high", finite_or_nil(one.good.high)},
                            {"octaves", finite_or_nil(one.good.octaves())},
                            {"is_open", one.good.is_open}}},
        {"usual", Value::Map{{"lr", one.usual_rate}, {"loss", finite_or_nil(one.usual_loss)}}},
        {"default", one.has_other_default()
                        ? Value(Value::Map{{"lr", one.default_rate}, {"loss", finite_or_nil(one.default_loss)}})
                        : Value()},
        {"curve", std::move(curve)}});
  }
  const TunedOptimizer& best = found.all[found.suggestion];
  Value::Map value{
      {"kind", "finder"},
      {"metric", found.metric.empty() ? Value() : Value(found.metric)},
      {"optimizer",
       Value::Map{{"suggestion", best.name}, {"lr", best.rate}, {"octaves", finite_or_nil(best.good.octaves())}}},
      {"optimizers", std::move(all)},
      {"spread", finite_or_nil((found.most() - found.least()) / std::abs(found.least()))},
      {"seeds", found.seeds},
      {"steps", found.steps}};
  value.merge(end_of_search(found.stopped));
  return value;
}

}  // namespace trainlab
