// Analytic FLOPs and kept memory against what ATen does.
#include <catch2/catch.hpp>

#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include "cases.h"

namespace trainlab::accounting_test {

using namespace trainlab::testing;

namespace {

thread_local double counted = 0;

double product(at::IntArrayRef sizes) {
  double n = 1;
  for (const std::int64_t size : sizes) n *= static_cast<double>(size);
  return n;
}

// Two operations per multiply-add of the operators that do the arithmetic; those that only call them are left out.
std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& function) {
  const std::string_view name = function.name();
  const auto tensor = [&](std::size_t i) { return function.inputs()[i].toTensor(); };
  const auto matrix = [&](std::size_t i) {
    counted += 2 * product(tensor(i).sizes()) * static_cast<double>(tensor(i + 1).size(-1));
  };
  if (name == "aten::mm" || name == "aten::bmm") matrix(0);
  if (name == "aten::addmm" || name == "aten::baddbmm") matrix(1);
  if (name == "aten::convolution") {
    const at::Tensor x = tensor(0), weight = tensor(1);
    const std::vector<std::int64_t> stride = function.inputs()[3].toIntVector(),
                                    padding = function.inputs()[4].toIntVector(),
                                    dilation = function.inputs()[5].toIntVector();
    double places = static_cast<double>(x.size(0));
    const bool transposed = function.inputs()[6].toBool();
    if (transposed) places = product(x.sizes()) / static_cast<double>(x.size(1));
    for (std::size_t i = 0; i < stride.size() && !transposed; ++i) {
      const auto axis = static_cast<std::int64_t>(i + 2);
      places *= static_cast<double>(
          (x.size(axis) + 2 * padding[i] - dilation[i] * (weight.size(axis) - 1) - 1) / stride[i] + 1);
    }
    counted += 2 * places * product(weight.sizes());
  }
  if (name == "aten::convolution_backward") {
    // A kernel meets each place of the output, or of the input where it is transposed.
    const at::Tensor gradient = tensor(function.inputs()[7].toBool() ? 1 : 0), weight = tensor(2);
    const auto wanted = function.inputs().back().toBoolList();
    const double once = 2 * product(gradient.sizes()) / static_cast<double>(gradient.size(1)) * product(weight.sizes());
    counted += once * ((wanted[0] ? 1 : 0) + (wanted[1] ? 1 : 0));
  }
  // Two products with the scores forward; backward makes the scores again and takes four gradients through them.
  const auto attention = [&](std::size_t q, double products) {
    counted += products * 2 * product(tensor(q).sizes()) * static_cast<double>(tensor(q + 1).size(2));
  };
  if (name == "aten::_scaled_dot_product_flash_attention_for_cpu") attention(0, 2);
  if (name == "aten::_scaled_dot_product_flash_attention_for_cpu_backward") attention(1, 5);
  return nullptr;
}

struct Counting {
  Counting()
      : handle(at::addThreadLocalCallback(
            at::RecordFunctionCallback(count).needsInputs(true).scopes({at::RecordScope::FUNCTION}))) {
    counted = 0;
  }
  ~Counting() { at::removeCallback(handle); }
  at::CallbackHandle handle;
};

// Bytes that this thread has allocated and not freed.
class Bytes : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t change, std::size_t, std::size_t, c10::Device) override { held += change; }
  void reportOutOfMemory(std::int64_t, std::size_t, std::size_t, c10::Device) override {}
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t held = 0;
};

struct Network {
  std::string name;
  Value spec;
  Shape input;
};

std::vector<Network> networks() {
  const Value relu = nn("ReLU");
  return {
      {"mlp",
       sequential({nn("Flatten"), nn("Linear", {32}), relu, nn("Dropout", {0.1}), nn("Linear", {16}, {{"bias", false}}),
                   nn("GELU"), nn("Linear", {10})}),
       {1, 8, 8}},
      {"cnn",
       sequential({nn("Conv2d", {8, 3}, {{"padding", 1}}), nn("BatchNorm2d"), relu, nn("MaxPool2d", {2}),
                   nn("Conv2d", {6, 3}, {{"stride", 2}, {"groups", 2}}), relu, nn("AdaptiveAvgPool2d", {2}),
                   nn("Flatten"), nn("Linear", {10})}),
       {1, 28, 28}},
      {"residual",
       sequential(
           {nn("Residual", {nn("Conv2d", {4, 3}, {{"padding", 1}}), relu, nn("Conv2d", {4, 3}, {{"padding", 1}})},
               {{"shortcut", nn("Conv2d", {4, 1})}}),
            nn("Flatten"), nn("Linear", {24}), nn("Residual", {nn("LayerNorm"), nn("Linear", {24}), nn("Tanh")}),
            nn("Linear", {3})}),
       {2, 6, 6}},
      {"attention",
       sequential({nn("Linear", {8}), nn("MultiheadAttention", {2}, {{"causal", true}}),
                   nn("TransformerEncoderLayer", {2}, {{"bias", false}}),
                   nn("TransformerEncoderLayer", {2}, {{"norm_first", false}, {"dim_feedforward", 12}})}),
       {7, 8}},
      {"convolutions",
       sequential({nn("Conv1d", {4, 4}, {{"padding", "same"}}), nn("GroupNorm", {2}), nn("SiLU"),
                   nn("ConvTranspose1d", {6, 4}, {{"stride", 2}, {"groups", 2}}), nn("Conv1d", {2, 3}), nn("Flatten")}),
       {3, 12}},
      {"branches",
       sequential({nn("Concat", {nn("Linear", {5}), sequential({nn("Linear", {3}), nn("Tanh")})}),
                   nn("Shared", {"w", nn("Linear", {8})}), nn("Sum", {nn("Identity"), nn("Linear", {8})}),
                   nn("Shared", {"w", nn("Linear", {8})}), nn("Repeat", {2, nn("Linear", {8})})}),
       {6}},
      {"sequence", sequential({nn("Linear", {12}), nn("SiLU"), nn("LayerNorm"), nn("Linear", {5})}), {7, 9}},
  };
}

at::Tensor batch_of(const Shape& sample, std::int64_t batch, std::int64_t members = 0) {
  Shape shape;
  if (members > 0) shape.push_back(members);
  shape.push_back(batch);
  shape.insert(shape.end(), sample.begin(), sample.end());
  return at::empty(shape).fill_(0.5);
}

}  // namespace

TEST_CASE("analytic FLOPs are those of the operators that run, forward and backward") {
  constexpr std::int64_t batch = 6;
  const std::array keys = {Key(1), Key(2), Key(3)};
  for (const Network& network : networks()) {
    const Model model = build(network.spec, network.input);
    for (const bool group : {false, true}) {
      if (group && !model.not_stackable().empty()) continue;
      INFO(network.name << (group ? " of three members" : ""));
      const auto used = std::span(keys).first(group ? 3 : 1);
      const ModelState state = model.initial_state(used, at::kFloat, at::kCPU, group);
      const at::Tensor x = batch_of(network.input, batch, state.members);
      const double samples = batch * static_cast<double>(used.size());
      at::Tensor loss;
      {
        const Counting counting;
        loss = model.forward(x, {state, true, used}).sum();
        CHECK(counted == model.flops().forward * samples);
      }
      {
        const Counting counting;
        loss.backward();
        CHECK(counted == model.flops().backward * samples);
      }
    }
  }
}

TEST_CASE("closed forms: a multiply-add is two operations, nothing else counts") {
  const Model mlp = build(sequential({nn("Linear", {32}), nn("ReLU"), nn("Linear", {10})}), {64});
  CHECK(mlp.flops().forward == 2.0 * (64 * 32 + 32 * 10));
  CHECK(mlp.flops().backward == 2.0 * (64 * 32 + 2 * 32 * 10));
  CHECK(mlp.parameter_count() == 64 * 32 + 32 + 32 * 10 + 10);
}

TEST_CASE("kept memory is what is allocated between forward and backward") {
  constexpr std::int64_t batch = 50;
  const std::array keys = {Key(1)};
  for (const Network& network : networks()) {
    INFO(network.name);
    const Model model = build(network.spec, network.input);
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      const ModelState state = model.initial_state(keys, type, at::kCPU, false);
      const at::Tensor x = batch_of(network.input, batch).to(type);
      const auto bytes = std::make_shared<Bytes>();
      const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, bytes);
      const at::Tensor y = model.forward(x, {state, true, keys});
      // Statistics of batch norms do not grow with the batch and are not in the estimate.
      CHECK(static_cast<double>(bytes->held) == Approx(model.kept_bytes(type) * batch).epsilon(0.002));
    }
  }
}

TEST_CASE("dropout keeps no mask, and its gradient is that of what it dropped") {
  const std::array keys = {Key(1)};
  for (const char* layer : {"Dropout", "AlphaDropout"}) {
    INFO(layer);
    const Model model = build(nn(layer, {0.5}), {1000});
    const ModelState state = model.initial_state(keys, at::kFloat, at::kCPU, false);
    const at::Tensor x = drawn({8, 1000}, Key(3), at::kFloat).requires_grad_();
    const auto bytes = std::make_shared<Bytes>();
    {
      const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, bytes);
      const at::Tensor y = model.forward(x, {state, true, keys});
      CHECK(bytes->held == static_cast<std::int64_t>(y.nbytes()));
      // Both are linear in x with one factor for all elements that stay.
      y.sum().backward();
      const at::Tensor change = model.forward(x.detach().add(1), {state, true, keys}).sub(y.detach());
      CHECK(x.grad().sub(change).abs().max().item<double>() < 1e-5);
    }
  }
}

}  // namespace trainlab::accounting_test
