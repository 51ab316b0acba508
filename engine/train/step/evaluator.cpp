#include "train/evaluator.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "batch_view.h"
#include "core/trace.h"
#include "micro_batches.h"
#include "plan/needed_batches.h"
#include "tensor/memory.h"

namespace trainlab {
namespace {

// Evaluation holds no gradients, so its batches may be larger than training's: at most this many samples, as long as
// the memory that a training step would keep for them (more than evaluation needs) fits into this many bytes. The size
// is the same for a single model and for any number of members, whose results must not differ in bits.
constexpr std::int64_t usual_batch = 256;
constexpr double evaluation_bytes = 1 << 30;

LoaderOptions evaluation_loader(const FitPlan& plan, const Part& part, std::int64_t runs) {
  double sample = plan.model ? plan.model->kept_bytes(plan.precision.compute) : 0;
  for (const FitPlan::StepModel& one : plan.step_models)
    if (!plan.model) sample += one.model->kept_bytes(plan.precision.compute);
  constexpr auto most = static_cast<double>(usual_batch);
  const double fitting = std::clamp(evaluation_bytes / std::max(sample, 1.0), 1.0, most);
  LoaderOptions options = plan.loader;
  options.batch = std::max(options.batch, static_cast<std::int64_t>(fitting));
  options.shuffle = false;
  options.drop_last = false;
  options.needed = needed_batches(runs, (part.size() + options.batch - 1) / options.batch);
  options.listener = nullptr;  // a listener is meant to hear the batches of the training
  return options;
}

std::size_t key_count(std::int64_t members) { return static_cast<std::size_t>(members ? members : 1); }

}  // namespace

std::int64_t validations_of(const FitPlan& plan) {
  const bool is_known = plan.length.total_steps > 0 && plan.validate_every > 0;
  return is_known ? plan.length.total_steps / plan.validate_every + 1 : 0;
}

std::int64_t evaluation_batch(const FitPlan& plan, const Part& part) {
  return std::min(evaluation_loader(plan, part, 1).batch, part.size());
}

std::vector<std::int64_t> evaluation_buffers(const FitPlan& plan, const Part& part, std::int64_t runs) {
  return Loader(part, evaluation_loader(plan, part, runs), std::vector<Key>{Key(0)}, false).buffer_bytes();
}

Evaluator::Evaluator(const FitPlan& plan, const Part& part, std::string prefix, std::int64_t members, std::int64_t runs)
    : plan_(plan),
      prefix_(std::move(prefix)),
      members_(members),
      key_(Key(static_cast<std::uint64_t>(plan.seed)).fold("evaluation").fold(prefix_)),
      loader_(part, evaluation_loader(plan, part, runs), std::vector<Key>(key_count(members), Key(0)), members > 0),
      meter_(members, plan.loss->parts()) {
  for (const PlannedMetric& metric : plan.metrics) metrics_.push_back(metric.make(plan.head, members));
}

// The loader runs in order without end: each evaluation takes one epoch, and batches prefetched beyond its end begin
// the next evaluation.
template <class Visit>
void Evaluator::each_batch(const Visit& visit) {
  const c10::InferenceMode no_gradients;
  for (std::int64_t i = 0; i < loader_.batches_per_epoch(); ++i)
    visit(next_batch(plan_, loader_), key_.fold(static_cast<std::uint64_t>(i)));
}

void Evaluator::each(const Each& function) {
  std::vector<at::Tensor> moved;
  each_batch([&](const Batch& batch, Key key) {
    const BatchView view = view_of(plan_, batch, members_, key, run_, moved);
    function(view, model_inputs(plan_, view));
  });
}

void Evaluator::measure(const Batch& batch, Key key, const Forward& forward) {
  std::vector<at::Tensor> moved;
  for (std::int64_t first = 0; first < batch.size;) {
    const std::int64_t left = batch.size - first, count = most_ > 0 ? std::min(most_, left) : left;
    const bool is_whole = count == batch.size;
    const Batch part = is_whole ? batch : part_of(batch, first, count, members_ > 0);
    const Key own = is_whole ? key : key.fold(static_cast<std::uint64_t>(first));
    const BatchView view = view_of(plan_, part, members_, own, run_, moved);
    at::Tensor out;
    LossValue loss;
    try {
      out = forward(model_inputs(plan_, view));
      loss = loss_of(plan_, [&] { return (*plan_.loss)(out, view); });
    } catch (const Error& error) {
      if (!lacks_room(error) || count == 1) throw;
      most_ = (count + 1) / 2;
      continue;
    }
    meter_.add(loss, view.size);
    const Span measured(Phase::metrics);
    for (const auto& metric : metrics_) metric->update(out, view);
    first += count;
  }
}

std::vector<MetricMap> Evaluator::run(const ModelState& state) {
  const Pass pass{.state = state, .training = false, .keys = {}};
  return run([&](std::span<const at::Tensor> inputs) { return plan_.model->forward(inputs, pass); });
}

std::vector<MetricMap> Evaluator::run(const Forward& forward) {
  const Span span(Phase::validate, prefix_);
  meter_.reset();
  for (const auto& metric : metrics_) metric->reset();
  each_batch([&](const Batch& batch, Key key) { measure(batch, key, forward); });
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
