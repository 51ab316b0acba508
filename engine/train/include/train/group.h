// Group: the arithmetic of M ≥ 1 members that train together, and their evaluation. No folders, no callbacks.
//
// A plain fit is a group of one without a member axis; stacked trials have one. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/loader.h"
#include "optim/optimizer.h"
#include "train/fit_plan.h"
#include "train/trained.h"

namespace trainlab {

// Mean of a loss over samples (or class weights), per member. On a CPU each value is read as it comes, at the cost of
// a load; on other devices it is summed there in float64 and read when asked for.
class LossMeter {
 public:
  explicit LossMeter(std::int64_t members) : sums_(members ? members : 1), weights_(sums_.size()) {}

  void add(const LossValue& loss, std::int64_t samples);
  // NaN before anything was added. Synchronises.
  double mean(std::size_t member);
  // False when a loss that was added is NaN or infinite. On a CPU at no cost, elsewhere it synchronises.
  bool finite(std::size_t member);
  void reset();

  Value state();  // for checkpoints: exact
  void restore(const Value& state);

 private:
  void fetch();

  std::vector<double> sums_, weights_;
  at::Tensor device_sums_, device_weights_;
};

// Runs a part through the model without gradients.
class Evaluator {
 public:
  // Names are `prefix` + ".loss", ".accuracy" …; members 0: no member axis.
  Evaluator(const FitPlan& plan, const Part& part, std::string prefix, std::int64_t members);
  // Metrics of each member.
  std::vector<MetricMap> run(const ModelState& state);

 private:
  const FitPlan& plan_;
  std::string prefix_;
  std::int64_t members_;
  Loader loader_;
  LossMeter meter_;
  std::vector<std::unique_ptr<Metric>> metrics_;
};

class Group final : public Trained {
 public:
  // One key and one optimizer spec per member; axis = false for a plain fit (then there is one of each).
  Group(const FitPlan& plan, std::span<const Key> keys, std::span<const Options> optimizers, bool axis);

  void step(const Batch& batch, std::int64_t step, std::span<const double> rates,
            std::span<const std::uint8_t> active = {}) override;

  const ModelState& state() const override { return state_; }
  LossMeter& train_loss() { return train_loss_; }
  bool axis() const { return state_.members > 0; }

  MetricMap metrics(std::size_t member) override { return {{"train.loss", train_loss_.mean(member)}}; }
  bool finite(std::size_t member) override { return train_loss_.finite(member); }
  void reset_metrics() override { train_loss_.reset(); }
  Value metrics_state() override { return train_loss_.state(); }
  void restore_metrics(const Value& state) override { train_loss_.restore(state); }

  NamedTensors tensors(std::size_t member) override;
  void restore(std::size_t member, const NamedTensors& tensors) override;
  NamedTensors weights(std::size_t member) const override;
  void load_weights(std::size_t member, const NamedTensors& tensors) override;

 private:
  std::int64_t slice(std::size_t member) const { return axis() ? static_cast<std::int64_t>(member) : -1; }

  const FitPlan& plan_;
  std::vector<Key> keys_;
  ModelState state_;
  std::unique_ptr<Optimizer> optimizer_;
  LossMeter train_loss_;
  std::vector<Key> pass_keys_;          // reused each step
  std::vector<at::Tensor> gradients_;   // reused each step
};

}  // namespace trainlab
