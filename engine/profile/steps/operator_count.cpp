#include "operator_count.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sum.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/clock.h"

namespace trainlab {

struct OperatorCount::Tally {
  const Phase& phase;
  std::array<OperatorFigures, phase_count>& figures;
  int depth = 0;
  double began = 0;

  static std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction&) {
    Tally* const tally = current;
    if (!tally) return nullptr;
    tally->figures[static_cast<std::size_t>(tally->phase)].calls += 1;
    if (tally->depth++ == 0) tally->began = steady_seconds();
    return nullptr;
  }
  static void leave(const at::RecordFunction&, at::ObserverContext*) {
    Tally* const tally = current;
    // An operator that was under way when counting began is not counted.
    if (!tally || tally->depth == 0 || --tally->depth > 0) return;
    tally->figures[static_cast<std::size_t>(tally->phase)].seconds += steady_seconds() - tally->began;
  }
};

thread_local OperatorCount::Tally* OperatorCount::current = nullptr;

OperatorCount::OperatorCount(const Phase& phase, std::array<OperatorFigures, phase_count>& tally)
    : tally_(std::make_unique<Tally>(Tally{.phase = phase, .figures = tally})) {
  current = tally_.get();
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&Tally::enter, &Tally::leave).scopes({at::RecordScope::FUNCTION}));
}

OperatorCount::~OperatorCount() {
  at::removeCallback(handle_);
  current = nullptr;
}

namespace {

// The forward and backward pass of a net in which each tensor is a single number.
void small_step(const at::Tensor& x, const at::Tensor& weight) {
  weight.mutable_grad().reset();
  at::relu(at::linear(at::relu(at::linear(x, weight)), weight)).sum().backward();
}

}  // namespace

double seconds_of_a_call() {
  constexpr int series = 8, steps = 30;
  const at::AutoGradMode with_gradients(true);
  const at::Tensor x = at::full({1, 1}, 1.0);
  const at::Tensor weight = at::full({1, 1}, 1.0).requires_grad_(true);
  std::array<OperatorFigures, phase_count> tally{};
  const Phase phase = Phase::forward;
  {
    const OperatorCount count(phase, tally);
    small_step(x, weight);
  }
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < series; ++i) {
    const double begin = steady_seconds();
    for (int k = 0; k < steps; ++k) small_step(x, weight);
    fastest = std::min(fastest, (steady_seconds() - begin) / steps);
  }
  return fastest / tally[static_cast<std::size_t>(phase)].calls;
}

}  // namespace trainlab
