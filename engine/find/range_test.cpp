#include "range_test.h"

#include <cmath>
#include <memory>

#include "optim/optimizer.h"

namespace trainlab {
namespace {

// Records the loss of each step. A loss that is not finite needs nothing here, because the fit then ends by itself.
class LossRecorder final : public GradientPass {
 public:
  std::string_view name() const override { return "losses"; }
  bool may_skip() const override { return false; }
  Verdict apply(std::span<at::Tensor>, const StepFacts& facts) override {
    if (!facts.is_again) losses.push_back(facts.loss.item<double>());
    return {};
  }
  std::vector<double> losses;
};

}  // namespace

std::vector<RatePoint> range_test(Trainings& trainings, const Value& optimizer, std::int64_t steps, std::int64_t seed) {
  const double growth = std::pow(highest_rate / lowest_rate, 1 / static_cast<double>(steps - 1));
  const Options changed =
      trainings.changed({{"optim", with_rate(optimizer, lowest_rate)},
                         {"schedule", Value::Map{{"@", "sched.exponential"}, {"factor", growth}, {"every", "1 steps"}}},
                         {"epochs", Value()},
                         {"flops", Value()},
                         {"steps", steps},
                         {"seed", seed}});
  const auto recorder = std::make_shared<LossRecorder>();
  trainings.run(trainings.plan(changed), {.observers = {std::make_shared<EndsAfter>(steps)}, .passes = {recorder}});
  std::vector<double>& losses = recorder->losses;
  while (!losses.empty() && !std::isfinite(losses.back())) losses.pop_back();
  std::vector<RatePoint> curve;
  curve.reserve(losses.size());
  for (const double loss : losses)
    curve.push_back({lowest_rate * std::pow(growth, static_cast<double>(curve.size())), loss});
  return curve;
}

}  // namespace trainlab
