#include "parts_support.h"

#include <ATen/ops/tensor.h>

#include "core/callable.h"
#include "support/stand_in_device.h"

namespace trainlab::test {

const Registry& parts_registry() {
  static const Registry registry = [] {
    Registry all;
    register_objective(all);
    return all;
  }();
  return registry;
}

Options part(const std::string& json, const std::string& path) {
  Value value = parse_json(json, "test");
  value.set("@at", "recipe.lua:7");
  auto spec = std::make_shared<Spec>();
  spec->value = parts_registry().check(value, "fit." + path);
  return Options(parts_registry(), spec, "fit." + path);
}

std::unique_ptr<Loss> make_loss(const Options& options, const Head& head) {
  return parts_registry().implementation<LossKind>(options.entry()).make(options, head);
}

std::unique_ptr<Metric> make_metric(const Options& options, const Head& head, std::int64_t members) {
  return parts_registry().implementation<MetricKind>(options.entry()).make(options, head, members);
}

LossValue loss_of(const Loss& loss, const at::Tensor& out, const at::Tensor& target, std::int64_t members) {
  return loss(out.to(test_device()), TargetBatch(target.to(test_device()), out.size(members > 0 ? 1 : 0), members));
}

void update(Metric& metric, const at::Tensor& out, const at::Tensor& target, std::int64_t members) {
  metric.update(out.to(test_device()), TargetBatch(target.to(test_device()), out.size(members > 0 ? 1 : 0), members));
}

namespace {
void flatten(const Value& lists, std::size_t depth, Shape& shape, std::vector<double>& values) {
  if (!lists.is_list()) {
    values.push_back(lists.number());
    return;
  }
  if (depth == shape.size()) shape.push_back(static_cast<std::int64_t>(lists.list().size()));
  for (const Value& item : lists.list()) flatten(item, depth + 1, shape, values);
}
}  // namespace

at::Tensor tensor_of(const Value& lists, at::ScalarType type) {
  Shape shape;
  std::vector<double> values;
  flatten(lists, 0, shape, values);
  return at::tensor(values, at::TensorOptions().dtype(at::kDouble)).view(shape).to(type);
}

Head head_of(const at::Tensor& out, const at::Tensor& target, std::int64_t classes) {
  Head head;
  head.output = out.sizes().slice(1).vec();
  head.target = target.sizes().slice(1).vec();
  head.target_type = target.scalar_type();
  head.classes = classes;
  head.float_type = out.scalar_type();
  head.device = test_device();
  head.columns = {{.name = "y", .shape = head.target, .type = head.target_type}};
  return head;
}

}  // namespace trainlab::test
