// Measures what the complete trainer adds to a bare ATen loop of the same arithmetic (MLP 784-128-10, batch 64, AdamW).
//
// Both run in one process and alternate: the fit calls a native function after each step, which now and then runs a
// stretch of the bare loop and keeps the clocks apart. The bare loop has its batches ready in memory. A stretch is long
// beside the 16 batches that the loader may gather ahead while the bare loop runs.
//
//   bench_overhead MNIST-FOLDER        prints {"trainer_us", "bare_us", "ratio"}: medians over the pairs
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cstdio>

#include "core/callable.h"
#include "core/clock.h"
#include "core/statistics.h"
#include "data/loader.h"
#include "support/fit_support.h"
#include "tensor/random.h"

using namespace trainlab;

namespace {

constexpr int stretch = 250, pairs = 60, warm_up = 4;

class BareLoop {
 public:
  explicit BareLoop(const Part& part) {
    for (std::int64_t b = 0; b < 100; ++b) {
      std::vector<std::int64_t> rows(64);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = b * 64 + static_cast<std::int64_t>(i);
      const Batch batch = gather(part, rows);
      x_.push_back(batch.columns[0].view({64, 784}));
      y_.push_back(batch.columns[1]);
    }
    const Shape shapes[] = {{128, 784}, {128}, {10, 128}, {10}};
    for (std::size_t i = 0; i < 4; ++i) {
      weights_.push_back(at::zeros(shapes[i]));
      fill_uniform(weights_.back(), Key(i), -0.05, 0.05);
      weights_.back().requires_grad_();
      average_.push_back(at::zeros(shapes[i]));
      square_.push_back(at::zeros(shapes[i]));
      steps_.push_back(at::zeros({}));
    }
  }

  void step() {
    const std::size_t b = next_++ % x_.size();
    const auto hidden = at::relu(at::linear(x_[b], weights_[0], weights_[1]));
    const auto loss = at::cross_entropy_loss(at::linear(hidden, weights_[2], weights_[3]), y_[b]);
    loss.backward();
    std::vector<at::Tensor> gradients;
    for (auto& weight : weights_) {
      gradients.push_back(weight.grad());
      weight.mutable_grad().reset();
    }
    const at::NoGradGuard no_gradients;
    for (auto& count : steps_) count.add_(1);
    at::_fused_adamw_(weights_, gradients, average_, square_, {}, steps_, 1e-3, 0.9, 0.999, 0.01, 1e-8, false, false);
  }

 private:
  std::vector<at::Tensor> x_, y_, weights_, average_, square_, steps_;
  std::size_t next_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_overhead MNIST-FOLDER\n");
    return 2;
  }
  const std::string fit = R"({"@": "fit", "name": "overhead",
    "data": {"@": "data.mnist", "path": ")" +
                          std::string(argv[1]) + R"("},
    "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 128},
              {"@": "nn.ReLU"}, {"@": "nn.Linear", "out_features": 10}]},
    "loss": "cross_entropy", "optim": {"@": "optim.AdamW", "lr": 0.001}, "batch": 64, "steps": 100000,
    "validate": "100000 steps", "loader": {"drop_last": true}, "on": {"step": {"@": "function", "index": 0}}})";

  prepare_arithmetic(1);
  std::unique_ptr<BareLoop> bare;
  std::vector<double> ours, theirs;
  double begin = 0;
  std::int64_t steps = 0;
  const auto after_step = test::native([&](std::span<const Argument>) -> std::vector<Argument> {
    if (++steps % stretch != 0) return {};
    const double middle = steady_seconds();
    if (begin > 0) {
      for (int i = 0; i < stretch; ++i) bare->step();
      ours.push_back(middle - begin);
      theirs.push_back(steady_seconds() - middle);
      if (ours.size() == pairs + warm_up) request_stop();
    }
    begin = steady_seconds();
    return {};
  });
  const Options options = test::parse_options(fit, {after_step});
  bare = std::make_unique<BareLoop>(open_data(options.child("data"), {}).train);
  const test::TemporaryFolder folder;
  test::run_one(options, folder.path());

  std::vector<double> ratios;
  for (std::size_t i = warm_up; i < ours.size(); ++i) ratios.push_back(ours[i] / theirs[i]);
  ours.erase(ours.begin(), ours.begin() + warm_up);
  theirs.erase(theirs.begin(), theirs.begin() + warm_up);
  std::printf("{\"trainer_us\": %.2f, \"bare_us\": %.2f, \"ratio\": %.4f}\n", upper_median(ours) / stretch * 1e6,
              upper_median(theirs) / stretch * 1e6, upper_median(ratios));
  return 0;
}
