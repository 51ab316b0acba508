// HealthWatch: watches a fit, and reports each fault once.
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
#include "train/fit.h"
#include "train/gradient_pass.h"
#include "train/loop_observer.h"

namespace trainlab {

// Whether the steps of a plan can be watched: in a step of the recipe's own, and in a step within the backward pass,
// all gradients never exist at the same time.
inline bool watches_steps(const FitPlan& plan) { return !plan.step && !plan.fuse_step; }

// The bytes of samples that a watch holds: of each watched step samples of the activations, and of weights and
// gradients of this step and the next one. A step may hold the samples of two steps.
CompanyBytes watched_bytes(const FitPlan& plan);

// Reads the loss of each step, and samples of layers, weights and gradients in a few steps. For a device that computes
// behind the host, the values are read at validations only, which wait for the device anyway. Of a fit with a step of
// its own, or whose optimizer steps within the backward pass, only the validations are read.
class HealthWatch final : public Observer, public LoopObserver, public GradientPass {
 public:
  // `plan` outlives the object. `facts`: run_facts() of the fit. `say` gets a line for each verdict; null: the summary
  // alone has them. `fixes_with`: the settings of a fit whose faults are fixed, by FixWanted, before the step after the
  // one that has shown the fault; null: verdicts are only told. A fault that is seen at the end of the fit is only
  // told.
  HealthWatch(const FitPlan& plan, RunFacts facts, std::function<void(const std::string&)> say,
              const RunSettings* fixes_with = nullptr);

  // The part of the watch that a checkpoint keeps.
  Resumable part();
  const std::vector<HealthVerdict>& verdicts() const { return told_; }
  // The steps that were done at the checkpoint with which the watch began; -1 without one.
  std::int64_t restored_at() const { return restored_at_; }
  // The verdicts of which the recipe's function has not heard, without those that a fix may end before the next step.
  std::vector<HealthVerdict> unheard() const;
  // Marks the verdict of this kind, one of verdicts(), as one that the recipe's function has heard of.
  void hear(HealthKind kind);

  // A StackWatch tells the members of a stack the steps that were done before the first, the loss of each step, finite
  // or not, which weights are 0, and the figures of two steps. latest_rate(): the learning rate of the latest step that
  // is measured.
  void begin(std::int64_t step);
  // `origin`: where a loss that is not finite came from, where that is known. Losses after that one say nothing.
  void add_loss(std::int64_t step, double loss, std::optional<NotFinite> origin = std::nullopt);
  void add(const MeasuredStep& row) { figures_.add(row); }
  double latest_rate() const { return latest_rate_; }
  // Notes whether the weight at this place, of those that train, is 0 in this reading, and returns whether it was 0 in
  // this one or in one before.
  bool note_0(std::size_t place, bool is_0);
  // Whether samples are read in this step: in the steps 0, 1, 2, 4, 8 … and in each 20th part of the run, where the
  // distance is at least 5 and at most 500 steps.
  bool is_measured(std::int64_t step) const;

  void add_to(Value& summary) override;
  bool wants_step(std::int64_t step) override { return is_measured(step - 1); }
  void started(const FitView& view) override { run_ = view.run; }
  void stepped(const StepView& view) override;
  void validated(const ValidationView& view) override;

  void started(std::int64_t step, std::size_t members) override;
  void between_steps(bool may_go_back) override;
  void stepped(std::int64_t step) override;
  void validated(std::int64_t step) override;
  void finished(std::int64_t step) override;

  std::string_view name() const override { return "health"; }
  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override;
  bool may_skip() const override { return false; }
  bool takes_lost_steps() const override { return true; }

 private:
  using Observer::finished;

  // Whether a loss is a million times that of the beginning.
  bool is_enormous(double loss) const;
  void take_loss(const StepFacts& facts);
  // Computes the figures of all readings and losses so far; waits for the device.
  void fetch();
  void stack_losses();
  void look();
  void tell(const std::string& line) const;
  bool may_be_fixed(const HealthVerdict& verdict) const;

  const FitPlan& plan_;
  std::function<void(const std::string&)> say_;
  bool is_synchronous_;
  bool has_jumped_ = false;      // whether a loss was enormous; the batch of the first one is looked at
  bool may_lose_steps_ = false;  // whether the optimizer leaves steps out, and only the device knows which
  std::int64_t every_;
  double latest_rate_ = unmeasured;
  HealthFigures figures_;
  ReadingFigures reading_figures_;
  LayerReader layers_;
  std::unique_ptr<Reading> open_;    // the step whose layers are read now
  std::unique_ptr<Reading> paired_;  // the step whose weights will be compared with those of the next step
  std::weak_ptr<Object> run_;
  std::deque<Reading> complete_;
  // Losses that were not read yet, in the order of their steps: those of the latest steps, and before these tensors of
  // many losses each.
  std::vector<at::Tensor> losses_, stacked_;
  std::int64_t first_loss_ = 0;  // the step of the first of these losses
  std::vector<HealthVerdict> told_;
  std::int64_t restored_at_ = -1;
  std::optional<RunSettings> fixes_with_;
  // Verdicts of told_ with a cure that were not looked at for a fix yet; empty without fixes_with_.
  std::vector<HealthVerdict> unfixed_;
};

}  // namespace trainlab
