// OwnStep: models and optimizers of a fit whose training step is a function of the recipe:
// step(run, batch) → { name = scalar, … }, which does its own backward passes and optimizer steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "objective/loss_meter.h"
#include "objects/model_object.h"
#include "train/fit_plan.h"
#include "train/rules.h"
#include "train/trained.h"

namespace trainlab {

// A single member, without member axis. Not thread-safe: used on the recipe's thread.
class OwnStep final : public Trained {
 public:
  OwnStep(const FitPlan& plan, Key key);

  // Trains on one batch; set_run() comes before. The numbers that the function returns are measured as "train.NAME",
  // averaged by sample. Rates come from the schedules; an optimizer without a schedule keeps the rate that the function
  // set.
  void step(std::span<const Batch> batches, std::int64_t step, const StepInputs& inputs) override;
  bool take_back_step() override;
  void set_total(std::int64_t total_steps) override;
  void validated(double value, bool minimize) override;

  // The state of the single model; std::logic_error if there are several.
  const ModelState& state() const override;

  MetricMap metrics(std::size_t member) override;
  bool finite(std::size_t member) override;
  void reset_metrics() override { meters_.clear(); }
  Value progress(std::size_t member) override;
  void restore_progress(std::size_t member, const Value& state) override;

  NamedTensors tensors(std::size_t member) override;
  void restore(std::size_t member, const NamedTensors& tensors) override;
  NamedTensors weights(std::size_t member) const override;
  void load_weights(std::size_t member, const NamedTensors& tensors) override;

  std::optional<double> rate() const override;
  RunHandle::Objects models(std::size_t) override { return model_objects_; }
  RunHandle::Objects optimizers() const override { return optimizer_objects_; }
  void begin_evaluation() override;
  std::int64_t still_steps() const override { return has_moved_ ? 0 : steps_; }
  std::int64_t steps_on_used_gradients() const override;

 private:
  void measure(const Argument& result, std::int64_t samples);
  void remember();
  std::uint64_t writes() const;  // to the weights of all models

  const FitPlan& plan_;
  Key key_;
  std::map<std::string, std::shared_ptr<ModelObject>> models_;
  std::map<std::string, std::shared_ptr<OptimizerObject>> optimizers_;
  struct Scheduled {
    double rate;
    Schedules schedules;
  };
  std::map<std::string, Scheduled> schedules_;  // of optimizers that have one
  RunHandle::Objects model_objects_, optimizer_objects_;
  std::map<std::string, LossMeter> meters_;
  // The state before a step, by which one sees afterwards what the step has changed. Each forward pass changes the
  // statistics of a model, so a copy of them stands beside each tensor.
  struct Before {
    std::uint64_t writes = 0;
    std::map<std::string, OptimizerObject::Uses> optimizers;
    std::vector<std::pair<at::Tensor, at::Tensor>> statistics;
  } before_;
  std::int64_t steps_ = 0;  // of this process
  bool has_moved_ = false;  // whether one of them, or of those before a resume, has changed a weight
};

}  // namespace trainlab
