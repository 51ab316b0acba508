// Helpers that metrics share. Private to the module.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "objective/metric.h"

namespace trainlab {

// Adds the entry of a metric with the option of all metrics, `target`. The metric gets the head of this target; the
// name of a metric of another column than y ends with the column's: accuracy_mask.
void add_metric(Registry& registry, Entry entry, MetricKind kind);

// The option `metrics` of a fit, and the metric of one of its elements; `place` counts from 1.
Option metrics_option();
PlannedMetric metric_of(const Options::Element& element, std::size_t place);

// The value of a metric without a single counted sample.
constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

// Values of a tensor on any device, as doubles (synchronises).
std::vector<double> read_doubles(const at::Tensor& tensor);

// The number of members of an accumulator: one where there is no member axis.
inline std::int64_t slots(std::int64_t members) { return members == 0 ? 1 : members; }

}  // namespace trainlab
