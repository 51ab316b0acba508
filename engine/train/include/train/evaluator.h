// Evaluator: the loss and the metrics of a part of the data, without gradients. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/loader.h"
#include "objective/loss_meter.h"
#include "train/fit_plan.h"

namespace trainlab {

class Object;  // core/callable.h

// How often the validation part of a fit is evaluated; 0: not known.
std::int64_t validations_of(const FitPlan& plan);

// The most samples that an Evaluator of the part passes through the model at a time.
std::int64_t evaluation_batch(const FitPlan& plan, const Part& part);
// The bytes of each buffer of the loader of an Evaluator that runs `runs` times, which stay taken after its first run.
std::vector<std::int64_t> evaluation_buffers(const FitPlan& plan, const Part& part, std::int64_t runs);

// Runs a part through the model without gradients.
class Evaluator {
 public:
  // Metrics are named `prefix` + ".loss", ".accuracy" …; `members` = 0: no member axis. After `runs` runs no batches
  // are made ahead; 0: they always are.
  Evaluator(const FitPlan& plan, const Part& part, std::string prefix, std::int64_t members, std::int64_t runs = 1);
  // The object `run` that a recipe's losses and metrics get; it is not kept alive.
  void set_run(std::weak_ptr<Object> run) { run_ = std::move(run); }
  // Metrics of each member.
  std::vector<MetricMap> run(const ModelState& state);
  // The metrics of the outputs that `forward` gives for each batch.
  using Forward = std::function<at::Tensor(std::span<const at::Tensor> inputs)>;
  std::vector<MetricMap> run(const Forward& forward);
  // Goes through the part in order; `function` receives each batch and the columns that the model reads.
  using Each = std::function<void(const BatchView& batch, std::span<const at::Tensor> inputs)>;
  void each(const Each& function);
  // Whether anything counted for the loss in the last run.
  bool counts(std::size_t member) { return meter_.counts(member); }
  // The reports of metrics about a member in the last run, by full name; nil if there are none.
  Value reports(std::size_t member) const;

 private:
  template <class Visit>
  void each_batch(const Visit& visit);
  // Where a batch comes to tensor_memory_limit(), it is measured half by half, and again, until a part fits; the next
  // batches begin with the size of this part.
  void measure(const Batch& batch, Key key, const Forward& forward);

  const FitPlan& plan_;
  std::string prefix_;
  std::int64_t members_;
  Key key_;
  std::weak_ptr<Object> run_;
  Loader loader_;
  LossMeter meter_;
  std::vector<std::unique_ptr<Metric>> metrics_;
  std::int64_t most_ = 0;  // samples that are measured at a time; 0: those of a batch
};

}  // namespace trainlab
