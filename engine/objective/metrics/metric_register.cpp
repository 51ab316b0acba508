#include "objective/head.h"
#include "objective/metric.h"
#include "objective/metrics.h"

namespace trainlab {

void add_metric(Registry& registry, Entry entry, MetricKind kind) {
  entry.with(target_option());
  kind.make = [make = std::move(kind.make)](const Options& options, const Head& head, std::int64_t members) {
    return make(options, with_target(options, head), members);
  };
  kind.name = [name = std::move(kind.name)](const Options& options) {
    const std::string& target = options.string("target");
    return target == "y" ? name(options) : name(options) + "_" + target;
  };
  registry.add(std::move(entry), std::move(kind));
}

Value Metric::report(std::size_t) const { return {}; }

std::vector<double> read_doubles(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* first = values.const_data_ptr<double>();
  return {first, first + values.numel()};
}

}  // namespace trainlab
