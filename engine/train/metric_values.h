// Metrics in rows, checkpoints and summaries. Private to the module.
#pragma once

#include <cmath>

#include "core/value.h"
#include "objective/metric.h"

namespace trainlab {

inline Value to_value(const MetricMap& metrics) {
  Value::Map map;
  for (const auto& [name, value] : metrics) map.emplace(name, value);
  return map;
}

// JSON has no NaN: null reads back as one.
inline MetricMap to_metrics(const Value& value) {
  MetricMap metrics;
  for (const auto& [name, x] : value.map()) metrics[name] = x.is_nil() ? std::nan("") : x.number();
  return metrics;
}

}  // namespace trainlab
