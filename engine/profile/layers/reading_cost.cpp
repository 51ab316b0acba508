#include "reading_cost.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sum.h>

#include <algorithm>

#include "recording.h"

namespace trainlab {
namespace {

constexpr double cold_caches = 4;  // times as long as the least

void timed_step(Recording& recording, const at::Tensor& x, const at::Tensor& weight) {
  recording.began(Phase::step, {});
  weight.mutable_grad().reset();
  at::Tensor out = x;
  for (const char* layer : {"first", "second", "third", "fourth"}) {
    recording.began(Phase::layer, layer);
    out = at::relu(at::linear(out, weight));
    recording.ended(Phase::layer, layer);
  }
  recording.began(Phase::backward, {});
  out.sum().backward();
  recording.ended(Phase::backward, {});
  recording.ended(Phase::step, {});
}

double most_of(const TimedSteps& steps, double plain) {
  const double readings = static_cast<double>(steps.readings) / static_cast<double>(steps.seconds.size());
  return cold_caches * std::max(std::ranges::min(steps.seconds) - plain, 0.0) / readings;
}

}  // namespace

ReadingCost most_of_a_reading() {
  const at::AutoGradMode with_gradients(true);
  const at::Tensor x = at::full({1, 1}, 1.0);
  const at::Tensor weight = at::full({1, 1}, 1.0).requires_grad_(true);
  Recording recording({.first = 5, .count = 50});
  recording.run_began();
  while (!recording.is_done()) timed_step(recording, x, weight);
  const double plain = std::ranges::min(recording.plain());
  return {.in_row_steps = most_of(recording.row_steps(), plain),
          .in_operator_steps = most_of(recording.operator_steps(), plain)};
}

}  // namespace trainlab
