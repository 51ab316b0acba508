#include "objective/metric.h"
#include "objective/metrics.h"

namespace trainlab {

Value Metric::report(std::size_t) const { return {}; }

std::vector<double> read_doubles(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* first = values.const_data_ptr<double>();
  return {first, first + values.numel()};
}

}  // namespace trainlab
