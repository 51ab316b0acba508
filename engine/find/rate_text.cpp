#include <fmt/format.h>

#include <cmath>

#include "core/number_or_nil.h"
#include "find/rate.h"

namespace trainlab {

std::string rate_text(const FoundRate& found) {
  const RateChoice& choice = found.choice;
  std::string text = fmt::format("lr = {:.2g}", choice.suggestion);
  if (choice.low < choice.high) {
    text += fmt::format(", the middle of the rates from {:.2g} to {:.2g}, which the probe cannot tell from the best",
                        choice.low, choice.high);
  }
  text += "\n";
  text += fmt::format("\nrange test over {} seeds, {} steps each\n", found.seeds, found.range_steps);
  text += fmt::format("  a quarter of the least loss's rate  {:.2g}\n", found.rules.quarter_of_least);
  text += fmt::format("  valley                              {:.2g}\n", found.rules.valley);
  text += fmt::format("  steepest                            {:.2g}\n", found.rules.steepest);
  text += fmt::format("\nprobe: {} after {} steps of the fit's {}, with its schedule in them, mean over the seeds\n",
                      found.metric, found.probe_steps, found.steps);
  for (const ProbedRate& one : found.probes) {
    text += fmt::format("  lr = {:<8.2g}  ", one.rate);
    if (std::isnan(one.loss)) {
      text += "not finite\n";
    } else if (one.error > 0) {
      text += fmt::format("{:.4g}, the difference from the best ± {:.2g}\n", one.loss, one.error);
    } else {
      text += fmt::format("{:.4g}\n", one.loss);
    }
  }
  const bool is_open_below = choice.low == found.probes.front().rate,
             is_open_above = choice.high == found.probes.back().rate;
  if (is_open_below || is_open_above) {
    const char* which = !is_open_above ? "smaller" : !is_open_below ? "larger" : "smaller and larger";
    text += fmt::format("{} rates may be better still\n", which);
  }
  return text;
}

Value to_value(const FoundRate& found) {
  Value::List curve, probes;
  for (const RatePoint& point : found.curve)
    curve.push_back(Value::Map{{"lr", point.rate}, {"loss", finite_or_nil(point.loss)}});
  for (const ProbedRate& one : found.probes) {
    probes.push_back(
        Value::Map{{"lr", one.rate}, {"loss", finite_or_nil(one.loss)}, {"error", finite_or_nil(one.error)}});
  }
  Value::Map value{{"kind", "finder"},
                   {"lr", Value::Map{{"suggestion", found.choice.suggestion},
                                     {"low", finite_or_nil(found.choice.low)},
                                     {"high", finite_or_nil(found.choice.high)},
                                     {"is_bounded", found.choice.is_bounded},
                                     {"start", finite_or_nil(found.start)},
                                     {"valley", finite_or_nil(found.rules.valley)},
                                     {"steepest", finite_or_nil(found.rules.steepest)}}},
                   {"metric", found.metric.empty() ? Value() : Value(found.metric)},
                   {"steps", found.probe_steps},
                   {"probes", std::move(probes)},
                   {"curve", std::move(curve)}};
  value.merge(end_of_search(found.stopped));
  return value;
}

}  // namespace trainlab
