// One registration function per file of metrics. Private to the module.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "objective/metric.h"

namespace trainlab {

void register_accuracy(Registry& registry);
void register_confusion_metrics(Registry& registry);
void register_regression_metrics(Registry& registry);
void register_correlation_metrics(Registry& registry);
void register_ranking_metrics(Registry& registry);
void register_probability_metrics(Registry& registry);
void register_report(Registry& registry);

// The option `metrics` of a fit, and what one of its elements means; place from 1.
Option metrics_option();
PlannedMetric metric_of(const Options::Element& element, std::size_t place);

// Values of a tensor on any device, as doubles (synchronises).
std::vector<double> read_doubles(const at::Tensor& tensor);

// The number of members of an accumulator: one where there is no member axis.
inline std::int64_t slots(std::int64_t members) { return members == 0 ? 1 : members; }

}  // namespace trainlab
