#include "predict/mean_prediction.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>

#include <cmath>

#include "train/evaluator.h"

namespace trainlab {
namespace {

// Outputs of equal models, [M, B, …], as one output whose probabilities are the mean of theirs.
at::Tensor mean_output(const at::Tensor& outputs, Meaning meaning, bool classes_first) {
  const double count = static_cast<double>(outputs.size(0));
  switch (meaning) {
    case Meaning::classes: {
      const at::Tensor logs = at::log_softmax(outputs, classes_first ? 2 : -1);
      return at::logsumexp(logs, 0).sub(std::log(count));
    }
    case Meaning::binary:
    case Meaning::probabilities:
      // log p − log (1 − p): the logit of the mean.
      return at::logsumexp(at::log_sigmoid(outputs), 0).sub(at::logsumexp(at::log_sigmoid(outputs.neg()), 0));
    case Meaning::values: break;
  }
  return outputs.mean(0);
}

}  // namespace

MeanPrediction::MeanPrediction(const FitPlan& plan, const Part& part, std::string prefix, const ModelFile& outputs)
    : plan_(plan),
      part_(part),
      prefix_(std::move(prefix)),
      meaning_(outputs.meaning),
      classes_first_(outputs.classes_first) {}

void MeanPrediction::add(const Model& model, const NamedTensors& weights) {
  const at::NoGradGuard no_gradients;
  const Key key(0);  // of initial values, which are replaced
  const ModelState state = model.initial_state({&key, 1}, plan_.precision.weights, plan_.device, false);
  load_named_state(model, state, weights);
  std::vector<at::Tensor> all;
  Evaluator(plan_, part_, prefix_, 0).each([&](const BatchView&, std::span<const at::Tensor> inputs) {
    all.push_back(model.forward(inputs, Pass{.state = state, .training = false, .keys = {}}));
  });
  outputs_.push_back(std::move(all));
}

at::Tensor MeanPrediction::mean(std::span<const std::size_t> models, std::size_t batch) const {
  std::vector<at::Tensor> outputs;
  for (const std::size_t model : models) outputs.push_back(outputs_.at(model).at(batch));
  return outputs.size() == 1 ? outputs.front() : mean_output(at::stack(outputs), meaning_, classes_first_);
}

std::map<std::string, double> MeanPrediction::metrics(std::span<const std::size_t> models) const {
  const at::NoGradGuard no_gradients;
  std::size_t batch = 0;
  return Evaluator(plan_, part_, prefix_, 0)
      .run([&](std::span<const at::Tensor>) { return mean(models, batch++); })
      .front();
}

at::Tensor MeanPrediction::predictions(std::span<const std::size_t> models) const {
  const at::NoGradGuard no_gradients;
  std::vector<at::Tensor> all;
  for (std::size_t batch = 0; batch < outputs_.front().size(); ++batch) {
    const at::Tensor out = mean(models, batch);
    switch (meaning_) {
      case Meaning::classes: all.push_back(at::softmax(out, classes_first_ ? 1 : -1)); break;
      case Meaning::binary:
      case Meaning::probabilities: all.push_back(at::sigmoid(out)); break;
      case Meaning::values: all.push_back(out); break;
    }
  }
  return at::concat(all).cpu();
}

}  // namespace trainlab
