// Losses of 100 steps held against PyTorch's, from the same weights and batches (tests/golden/train_golden.py).
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdint>

#include "core/files.h"
#include "support/fit_support.h"
#include "train/group.h"

namespace trainlab::parity_test {

using namespace test;

namespace {

constexpr int steps = 100;
constexpr std::int64_t batch = 32;

const char* model_json(const std::string& name) {
  if (name == "mlp") {
    return R"({"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 32},
      {"@": "nn.ReLU"}, {"@": "nn.Linear", "out_features": 10}]})";
  }
  if (name == "cnn") {
    return R"({"@": "nn.Sequential", "layers": [{"@": "nn.Conv2d", "out_channels": 6, "kernel_size": 3, "padding": 1},
      {"@": "nn.ReLU"}, {"@": "nn.MaxPool2d", "kernel_size": 2},
      {"@": "nn.Conv2d", "out_channels": 8, "kernel_size": 3},
      {"@": "nn.Tanh"}, {"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10}]})";
  }
  return R"({"@": "nn.Sequential", "layers": [{"@": "nn.Conv2d", "out_channels": 6, "kernel_size": 3, "padding": 1},
    {"@": "nn.BatchNorm2d"}, {"@": "nn.ReLU"}, {"@": "nn.AvgPool2d", "kernel_size": 2}, {"@": "nn.Flatten"},
    {"@": "nn.Linear", "out_features": 10}]})";
}

// The weights of the golden script: integers scaled to fractions. Norms keep their ones and zeros.
void fill(const Model& model, const ModelState& state) {
  const at::NoGradGuard no_gradients;
  for (std::size_t j = 0; j < state.parameters.size(); ++j) {
    const ParameterInfo& info = model.parameters()[j];
    const bool bias = info.name.ends_with("bias");
    const bool of_norm = info.shape.size() == 1 && (!bias || model.parameters()[j - 1].shape.size() == 1);
    if (of_norm) continue;
    std::int64_t count = 1, fan_in = 1;
    for (std::size_t d = 0; d < info.shape.size(); ++d) {
      count *= info.shape[d];
      if (d > 0) fan_in *= info.shape[d];
    }
    if (bias) fan_in = count;
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t word = (static_cast<std::uint64_t>(i) * 2654435761ULL + (j + 1) * 40503ULL) % (1ULL << 32);
      values.push_back((static_cast<double>(word) / 4294967296.0 - 0.5) * 2 / std::sqrt(static_cast<double>(fan_in)));
    }
    state.parameters[j].copy_(at::tensor(values, at::kDouble).view(state.parameters[j].sizes()));
  }
}

std::vector<double> losses(const std::string& model, const std::string& optimizer, const std::string& precision) {
  const Options fit = parse_options(R"({"@": "fit", "name": "parity", "data": {"@": "data.digits"}, "model": )" +
                                    std::string(model_json(model)) + R"(, "loss": "cross_entropy", "optim": )" +
                                    optimizer + R"(, "steps": 100, "batch": 32, "precision": ")" + precision + "\"}");
  const FitPlan plan = plan_fit(fit, test_settings());
  const Key key(1);
  const std::vector<Options> optim{fit.child("optim")};
  Group group(plan, {&key, 1}, optim, false);
  fill(*plan.model, group.state());
  const std::vector<double> rate{optim.front().number("lr")};
  std::vector<double> result;
  for (std::int64_t t = 0; t < steps; ++t) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < batch; ++i) rows.push_back((i * 7 + t * batch) % plan.data.train.size());
    group.train_loss().reset();
    const Batch rows_of_step = gather(plan.data.train, rows, plan.precision.batches);
    group.step({&rows_of_step, 1}, t, {.rates = rate});
    result.push_back(group.train_loss().mean(0));
  }
  return result;
}

}  // namespace

TEST_CASE("losses over 100 steps equal PyTorch's") {
  prepare_arithmetic(1);
  const Value golden =
      parse_json(read_file(TRAINLAB_SOURCE_DIR "/tests/golden/train_golden.json"), "train_golden.json");
  for (const auto& [key, expected] : golden["losses"].map()) {
    const auto first = key.find('/'), second = key.rfind('/');
    const std::string model = key.substr(0, first), name = key.substr(first + 1, second - first - 1);
    const std::string precision = key.substr(second + 1);
    Value optimizer = golden["optimizers"][name];
    optimizer.set("@", "optim." + name.substr(0, name.find('_')));
    const std::vector<double> found = losses(model, to_json(optimizer), precision);
    const bool exact = precision == "float64";
    // In float32 a net with batch normalisation amplifies rounding: PyTorch's own kernels differ beyond 20 steps.
    const std::size_t count = !exact && model == "cnn_bn" ? 20 : steps;
    double worst = 0;
    for (std::size_t t = 0; t < count; ++t) {
      const double want = expected.list().at(t).number();
      worst = std::max(worst, std::abs(found[t] - want) / std::max(1.0, std::abs(want)));
    }
    INFO(key << ": largest difference " << worst);
    CHECK(worst <= (exact ? 1e-10 : 1e-5));
  }
}

}  // namespace trainlab::parity_test
