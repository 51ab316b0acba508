// HealthWatch: watches a fit, and says once what is wrong with it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "health/verdict.h"
#include "journal/observer.h"
#include "journal/record.h"
#include "layer_reader.h"
#include "reading.h"
#include "train/fit_plan.h"
#include "train/gradient_pass.h"
#include "train/loop_observer.h"

namespace trainlab {

// Reads the loss of each step, and samples of layers, weights and gradients in a few steps. A device that computes by
// itself is waited for at validations only, which wait for it anyway. For a fit with a step of its own, or whose
// optimizer steps within the backward pass, there are only the validations.
class HealthWatch final : public Observer, public LoopObserver, public GradientPass {
 public:
  // `plan` outlives the object. `say` gets a line for each verdict.
  HealthWatch(const FitPlan& plan, std::function<void(const std::string&)> say);

  // The part of the watch that a checkpoint keeps.
  Resumable part();
  const std::vector<HealthVerdict>& verdicts() const { return told_; }

  void add_to(Value& summary) override;
  bool wants_step(std::int64_t step) override { return is_measured(step - 1); }
  void stepped(const StepView& view) override;
  void validated(const ValidationView& view) override;

  void started(std::int64_t step, std::size_t members) override;
  void stepped(std::int64_t step) override;
  void validated(std::int64_t step) override;
  void finished(std::int64_t step) override;

  std::string_view name() const override { return "health"; }
  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override;
  bool may_skip() const override { return false; }

 private:
  using Observer::finished;
  using Observer::started;

  // The first steps, then fewer and fewer, and every few steps: 20 times in a run, but at most each 500th step.
  bool is_measured(std::int64_t step) const;
  void take_loss(const StepFacts& facts);
  // Reads what devices have computed by now, and waits for the rest.
  void fetch();
  void look();

  const FitPlan& plan_;
  std::function<void(const std::string&)> say_;
  bool is_synchronous_;
  std::int64_t every_;
  std::vector<std::string> names_;  // of the parameters that train
  HealthFigures figures_;
  ReadingFigures reading_figures_;
  LayerReader layers_;
  std::unique_ptr<Reading> open_;    // the step whose layers are read now
  std::unique_ptr<Reading> paired_;  // the step whose weights will be compared with those of the next step
  std::deque<Reading> complete_;
  std::vector<at::Tensor> losses_;  // that were not read yet, of steps in order
  std::int64_t first_loss_ = 0;     // the step of the first of them
  std::vector<HealthVerdict> told_;
};

}  // namespace trainlab
