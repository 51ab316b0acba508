#include "train/evaluator.h"

#include <ATen/ops/concat.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "batch_view.h"
#include "core/trace.h"
#include "tensor/memory.h"

namespace trainlab {
namespace {

// Evaluation holds no gradients, so its batches may be larger than training's: at most this many samples, as long as
// the memory that a training step would keep for them (more than evaluation needs) fits into this many bytes. The size
// is the same for a single model and for any number of members, whose results must not differ in bits.
constexpr std::int64_t evaluation_batch = 256;
constexpr double evaluation_bytes = 1 << 30;

LoaderOptions evaluation_loader(const FitPlan& plan) {
  double sample = plan.model ? plan.model->kept_bytes(plan.precision.compute) : 0;
  for (const FitPlan::StepModel& one : plan.step_models)
    if (!plan.model) sample += one.model->kept_bytes(plan.precision.compute);
  constexpr auto most = static_cast<double>(evaluation_batch);
  const double fitting = std::clamp(evaluation_bytes / std::max(sample, 1.0), 1.0, most);
  LoaderOptions options = plan.loader;
  options.batch = std::max(options.batch, static_cast<std::int64_t>(fitting));
  options.shuffle = false;
  options.drop_last = false;
  options.listener = nullptr;  // a listener is meant to hear the batches of the training
  return options;
}

std::size_t key_count(std::int64_t members) { return static_cast<std::size_t>(members ? members : 1); }

}  // namespace

std::vector<std::int64_t> evaluation_buffers(const FitPlan& plan, const Part& part) {
  return Loader(part, evaluation_loader(plan), std::vector<Key>{Key(0)}, false).buffer_bytes();
}

Evaluator::Evaluator(const FitPlan& plan, const Part& part, std::string prefix, std::int64_t members)
    : plan_(plan),
      prefix_(std::move(prefix)),
      members_(members),
      key_(Key(static_cast<std::uint64_t>(plan.seed)).fold("evaluation").fold(prefix_)),
      loader_(part, evaluation_loader(plan), std::vector<Key>(key_count(members), Key(0)), members > 0),
      meter_(members, plan.loss->parts()) {
  for (const PlannedMetric& metric : plan.metrics) metrics_.push_back(metric.make(plan.head, members));
}

void Evaluator::each(const Each& function) {
  const c10::InferenceMode no_gradients;
  // The loader runs in order without end: each evaluation takes one epoch, and batches prefetched beyond its end begin
  // the next evaluation.
  std::vector<at::Tensor> moved;
  for (std::int64_t i = 0; i < loader_.batches_per_epoch(); ++i) {
    const Batch batch = next_batch(plan_, loader_);
    const BatchView view = view_of(plan_, batch, members_, key_.fold(static_cast<std::uint64_t>(i)), run_, moved);
    function(view, model_inputs(plan_, view));
  }
}

at::Tensor Evaluator::forward(std::span<const at::Tensor> inputs, const Pass& pass) {
  const std::int64_t samples = members_ > 0 ? 1 : 0, size = inputs.front().size(samples);
  while (true) {
    const std::int64_t most = most_ > 0 ? std::min(most_, size) : size;
    try {
      if (most == size) return plan_.model->forward(inputs, pass);
      std::vector<at::Tensor> outputs;
      for (std::int64_t first = 0; first < size; first += most) {
        std::vector<at::Tensor> part;
        for (const at::Tensor& input : inputs)
          part.push_back(input.narrow(samples, first, std::min(most, size - first)));
        outputs.push_back(plan_.model->forward(part, pass));
      }
      return at::concat(outputs, samples);
    } catch (const TensorMemoryLimit&) {
      if (most == 1) throw;
    }
    most_ = (most + 1) / 2;
  }
}

std::vector<MetricMap> Evaluator::run(const ModelState& state) {
  const Pass pass{.state = state, .training = false, .keys = {}};
  return run([&](std::span<const at::Tensor> inputs) { return forward(inputs, pass); });
}

std::vector<MetricMap> Evaluator::run(const Forward& forward) {
  const Span span(Phase::validate, prefix_);
  meter_.reset();
  for (const auto& metric : metrics_) metric->reset();
  each([&](const BatchView& view, std::span<const at::Tensor> inputs) {
    const at::Tensor out = forward(inputs);
    meter_.add(loss_of(plan_, [&] { return (*plan_.loss)(out, view); }), view.size);
    const Span measured(Phase::metrics);
    for (const auto& metric : metrics_) metric->update(out, view);
  });
  const Span measured(Phase::metrics);
  std::vector<MetricMap> results(key_count(members_));
  for (std::size_t m = 0; m < results.size(); ++m) results[m] = meter_.metrics(prefix_, m);
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (!plan_.metrics[i].is_number) continue;
    const std::vector<double> values = metrics_[i]->compute();
    for (std::size_t m = 0; m < results.size(); ++m) results[m][prefix_ + "." + plan_.metrics[i].name] = values[m];
  }
  return results;
}

Value Evaluator::reports(std::size_t member) const {
  Value all;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    Value report = metrics_[i]->report(member);
    if (!report.is_nil()) all.set(prefix_ + "." + plan_.metrics[i].name, std::move(report));
  }
  return all;
}

}  // namespace trainlab
