// StackWatch: reads the steps of fits that train as a stack, for the HealthWatch of each of them: the losses, and how
// far an update moves the weights. Samples of layers and gradients would cost several hundredths of a step of many
// small members, and are not read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "health_watch.h"

namespace trainlab {

// The bytes of the samples of two steps.
CompanyBytes stacked_bytes(const FitPlan& plan, std::size_t members);

// On a device that computes behind the host it reads nothing: the watches see validations alone.
class StackWatch final : public LoopObserver, public GradientPass {
 public:
  // `members`: by place (StepFacts::places). `plan` outlives the object.
  StackWatch(const FitPlan& plan, std::vector<std::shared_ptr<HealthWatch>> members);

  void started(std::int64_t step, std::size_t members) override;

  std::string_view name() const override { return "health"; }
  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override;
  bool may_skip() const override { return false; }
  bool takes_lost_steps() const override { return true; }

 private:
  // Values of the weights of one step: of each matrix [rows, values], float32.
  struct Sample {
    std::int64_t step = 0;
    std::vector<std::size_t> places;    // by row
    std::vector<std::uint8_t> changes;  // by row: 0 for a row that the step leaves as it is
    std::vector<at::Tensor> matrices;
  };
  Sample sample_of_step(const StepFacts& facts) const;
  // Gives the figures of the step `before` to the watches of the members that took this step.
  void compare(const Sample& before, const Sample& after);
  void take_losses(const StepFacts& facts);

  std::vector<std::shared_ptr<HealthWatch>> members_;
  std::vector<std::size_t> matrices_;  // places of the matrices among the parameters that train
  bool is_synchronous_;
  std::optional<Sample> before_;  // of the step before this one, where it was read
};

}  // namespace trainlab
