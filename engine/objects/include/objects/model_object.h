// The objects of hand-written loops: a built model, an optimizer, a schedule (lab.build, lab.optimizer, lab.schedule;
// run.model and run.optim in a step of the recipe's own). Used by the recipe's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/callable.h"
#include "model/model.h"
#include "objects/run_handle.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace trainlab {

// The state of an object for checkpoints.
class Stateful : public Object {
 public:
  // The object's tensors under stable names; they share memory with the object.
  virtual NamedTensors tensors() const = 0;
  // These tensors, and others that the next step needs: gradients that add up over steps.
  virtual NamedTensors checkpoint() const { return tensors(); }
  // Restores the values that one of these two functions returned. Error{recipe} for a missing tensor or another shape.
  virtual void restore(const NamedTensors& tensors) = 0;
};

class ModelObject final : public Stateful {
 public:
  ModelObject(std::shared_ptr<const Model> model, ModelState state)
      : model_(std::move(model)), state_(std::move(state)) {}
  std::string_view type_name() const override { return "model"; }

  const Model& model() const { return *model_; }
  const ModelState& state() const { return state_; }
  bool training = true;  // dropout and batch statistics, as in PyTorch

  // `columns`: the columns that the model reads, each [B, sample…]. `key` is the key of the pass's random numbers, used
  // in training only.
  at::Tensor forward(std::span<const at::Tensor> columns, Key key) const;

  // The parameters that train, with the names and the decay flags that a fit's optimizer would see. They share memory
  // with the model.
  std::vector<OptimizedParameter> parameters() const;
  // Grows with each write to a parameter, frozen ones included.
  std::uint64_t writes() const;
  // "2.weight", buffers included. Tensors of parameters have the gradients that the parameters have now.
  NamedTensors tensors() const override;
  // Adds "@grad.2.weight" for each existing gradient, and "@training".
  NamedTensors checkpoint() const override;
  void restore(const NamedTensors& tensors) override;

 private:
  std::shared_ptr<const Model> model_;
  ModelState state_;
};

// How a recipe calls OptimizerObject::step() with a function.
constexpr const char* how_to_evaluate =
    "opt:step(function() opt:zero_grad(); local loss = …; loss:backward(); return loss end)";

class OptimizerObject final : public Stateful {
 public:
  // `spec`: an optimizer's entry. Parameters are leaves that require gradients.
  OptimizerObject(const Options& spec, std::vector<OptimizedParameter> parameters);
  std::string_view type_name() const override { return "optimizer"; }

  double rate;                            // learning rate of the coming steps
  double momentum = 1, weight_decay = 1;  // factors of the values in the spec
  Clip clip;
  bool maximizes = false;  // steps up the gradients

  void zero_grad();
  // Takes a step with the gradients of the parameters; a parameter without a gradient stays as it is. The gradients are
  // kept. `again` evaluates the loss anew: it deletes the gradients, computes new ones and returns the loss. Without
  // `again` the present gradients are used; Error{recipe} for an optimizer that evaluates more than once.
  void step(const std::function<at::Tensor()>& again = {});

  // A mark of all that has been done with the optimizer and its parameters, to compare two moments.
  struct Uses {
    std::int64_t steps = 0;       // taken
    std::int64_t deletions = 0;   // calls of zero_grad()
    std::uint64_t gradients = 0;  // grows with each write to a gradient; 0: there are no gradients
  };
  Uses uses() const;
  // The steps that were taken with the gradients of the step before and others added to them, as happens where
  // zero_grad() was forgotten.
  std::int64_t steps_on_used_gradients() const { return steps_on_used_gradients_; }

  const std::vector<OptimizedParameter>& parameters() const { return parameters_; }

  // Its state, and the rate as "lr".
  NamedTensors tensors() const override;
  void restore(const NamedTensors& tensors) override;

 private:
  std::string name_;
  std::vector<OptimizedParameter> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  std::int64_t steps_ = 0, deletions_ = 0, steps_on_used_gradients_ = 0;
  std::uint64_t used_gradients_ = 0;  // of Uses, after the latest step; 0 after zero_grad()
};

// run.optim in a fit that takes the optimizer's steps itself.
class FitOptimizer final : public Object {
 public:
  explicit FitOptimizer(std::shared_ptr<RunHandle> run) : run_(std::move(run)) {}
  std::string_view type_name() const override { return "optimizer"; }
  double rate() const { return run_->rate(); }
  void set_rate(RunHandle::SetRate rate) { run_->set_lr(std::move(rate)); }

 private:
  std::shared_ptr<RunHandle> run_;
};

class ScheduleObject final : public Object {
 public:
  explicit ScheduleObject(std::unique_ptr<Schedule> schedule) : schedule_(std::move(schedule)) {}
  std::string_view type_name() const override { return "schedule"; }
  double factor(std::int64_t step) { return schedule_->factor(step); }

 private:
  std::unique_ptr<Schedule> schedule_;
};

// Initial weights as a fit with this seed draws them. Error{recipe} with the layer's path where shapes do not fit.
std::shared_ptr<ModelObject> build_model(const Options& spec, Signals columns, std::int64_t seed, at::ScalarType type,
                                         at::Device device, const LayerPrecision& precision = {});

}  // namespace trainlab
