// Outputs, gradients and running statistics of every layer against PyTorch's (tests/golden/model_golden.py).
#include <catch2/catch.hpp>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <set>
#include <string>

#include "cases.h"
#include "support/stand_in_device.h"
#include "tensor/safetensors.h"

namespace trainlab::golden_test {

using trainlab::test::test_device;
using namespace trainlab::testing;

namespace {

const NamedTensors& golden() {
  static const NamedTensors all = [] {
    NamedTensors joined;
    for (const char* name : {"model", "layers_conv", "layers_sequence"}) {
      joined.merge(
          load_safetensors(TRAINLAB_SOURCE_DIR "/tests/golden/" + std::string(name) + "_golden.safetensors").tensors);
    }
    return joined;
  }();
  return all;
}

bool has(const std::string& name) { return golden().contains(name); }

double difference(const at::Tensor& found, const std::string& name) {
  const at::Tensor& expected = golden().at(name);
  REQUIRE(found.sizes() == expected.sizes());
  if (found.numel() == 0) return 0;
  const at::Tensor error = found.to(at::kCPU, at::kDouble).sub(expected).abs();
  return error.div(expected.abs().clamp_min(1)).max().item<double>();
}

class Parity {
 public:
  Parity(const Case& layer, at::ScalarType type, double tolerance)
      : model_(build(layer)), integers_(layer.below > 0), name_(layer.name), type_(type), tolerance_(tolerance) {
    const std::array keys = {Key(1)};
    state_ = model_.initial_state(keys, type, test_device(), false);
    const at::NoGradGuard no_grad;
    each([&](const std::string& name, const at::Tensor& tensor) { tensor.copy_(golden().at(name_ + "/p/" + name)); },
         [&](const std::string& name, const at::Tensor& tensor) { tensor.copy_(golden().at(name_ + "/b0/" + name)); });
  }

  void check() {
    pass("", true);
    each([](const std::string&, const at::Tensor&) {},
         [&](const std::string& name, const at::Tensor& tensor) { check_tensor("/b/" + name, tensor); });
    REQUIRE(has(name_ + "/eval/y") == !state_.buffers.empty());
    if (!state_.buffers.empty()) pass("/eval", false);
  }

 private:
  template <class Parameter, class Buffer>
  void each(Parameter&& parameter, Buffer&& buffer) {
    for (std::size_t i = 0; i < state_.parameters.size(); ++i)
      parameter(model_.parameters()[i].name, state_.parameters[i]);
    for (std::size_t i = 0; i < state_.buffers.size(); ++i) buffer(model_.buffers()[i].name, state_.buffers[i]);
  }

  void check_tensor(const std::string& name, const at::Tensor& found) {
    INFO(name_ << name);
    CHECK(difference(found, name_ + name) <= tolerance());
  }

  // A GPU adds float32 in another order, and LibTorch's kernels for it have constants and norms of float32 in some
  // layers of float64.
  double tolerance() const {
    if (!test_device().is_cuda()) return tolerance_;
    if (type_ == at::kFloat) return 5 * tolerance_;
    static const std::set<std::string> rounded = {"weight_norm", "weight_norm_conv", "hardsigmoid", "hardswish"};
    return rounded.contains(name_) ? 2e-7 : tolerance_;
  }

  void pass(const std::string& prefix, bool training) {
    const at::Tensor& stored = golden().at(name_ + "/x");
    const at::Tensor x =
        integers_ ? stored.to(test_device()) : stored.to(test_device(), type_).clone().requires_grad_();
    for (const at::Tensor& parameter : state_.parameters) parameter.mutable_grad() = at::Tensor();
    const at::Tensor y = model_.forward(x, {state_, training, {}});
    y.backward(golden().at(name_ + "/g").to(test_device(), type_));
    check_tensor(prefix + "/y", y.detach());
    if (!integers_) check_tensor(prefix + "/dx", x.grad());
    each([&](const std::string& name, const at::Tensor& tensor) { check_tensor(prefix + "/d/" + name, tensor.grad()); },
         [](const std::string&, const at::Tensor&) {});
  }

  Model model_;
  bool integers_;
  ModelState state_;
  std::string name_;
  at::ScalarType type_;
  double tolerance_;
};

}  // namespace

TEST_CASE("layers equal PyTorch's: float64 to 1e-10, float32 to 1e-5") {
  for (const Case& layer : cases()) {
    if (!has(layer.name + "/x")) continue;
    INFO(layer.name);
    Parity(layer, at::kDouble, 1e-10).check();
    Parity(layer, at::kFloat, 1e-5).check();
  }
}

TEST_CASE("every golden case is tested; every layer but nn.Module has one, or a case that says that there is none") {
  std::set<std::string> stored, known, covered;
  for (const auto& [name, tensor] : golden()) stored.insert(name.substr(0, name.find('/')));
  for (const Case& layer : cases()) {
    INFO(layer.name);
    CHECK(stored.contains(layer.name) == layer.has_golden);
    if (!layer.has_golden) {
      covered.insert(layer.spec["@"].string());
      continue;
    }
    known.insert(layer.name);
    for (const Entry* entry : registry().of_kind("layer")) {
      if (shows(layer.spec, entry->name)) covered.insert(entry->name);
    }
  }
  CHECK(stored == known);
  for (const Entry* entry : registry().of_kind("layer")) {
    INFO(entry->name);
    CHECK((covered.contains(entry->name) || entry->name == "nn.Module"));
  }
}

}  // namespace trainlab::golden_test
