#include "objective/metrics.h"
#include "objective/metric.h"

namespace trainlab {

void register_metrics(Registry& registry) {
  register_accuracy(registry);
  register_confusion_metrics(registry);
  register_regression_metrics(registry);
  register_correlation_metrics(registry);
  register_ranking_metrics(registry);
  register_probability_metrics(registry);
  register_report(registry);
}

Value Metric::report(std::size_t) const { return {}; }

std::vector<double> read_doubles(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* first = values.const_data_ptr<double>();
  return {first, first + values.numel()};
}

}  // namespace trainlab
