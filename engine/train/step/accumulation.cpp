#include "accumulation.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>

#include "core/trace.h"
#include "tensor/operator_errors.h"

namespace trainlab {

void Accumulation::begin(const LossValue& loss) {
  std::size_t count = 1;
  for (const LossMean& part : loss.parts) term_of_.push_back(part.weight.defined() ? count++ : 0);
  terms_.resize(count);
  for (Term& term : terms_) term.gradients.resize(parameters_.size());
}

void Accumulation::add_term(Term& term, const LossMean& mean, std::int64_t samples, bool keeps_graph) {
  const Span span(Phase::backward);
  const at::Tensor weight =
      mean.weight.defined() ? mean.weight.detach() : at::full_like(mean.value.detach(), static_cast<double>(samples));
  const at::Tensor sum = mean.value.mul(weight);
  // A backward pass adds to the gradients that the parameters hold. Those in bfloat16 would lose what is added, and are
  // added here in float32.
  const auto is_coarse = [&](std::size_t i) { return parameters_[i].scalar_type() == at::kBFloat16; };
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (!is_coarse(i)) parameters_[i].mutable_grad() = std::move(term.gradients[i]);
  const at::Tensor scaled = scaler_ ? scaler_->scaled(sum) : sum;
  with_operator_errors([&] { (members_ > 0 ? scaled.sum() : scaled).backward({}, keeps_graph); });
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor gradient = std::move(parameters_[i].mutable_grad());
    parameters_[i].mutable_grad().reset();
    at::Tensor& all = term.gradients[i];
    if (!is_coarse(i)) {
      all = gradient;
    } else if (gradient.defined()) {
      all = all.defined() ? all.add_(gradient) : gradient.to(at::kFloat);
    }
  }
  term.sum = term.sum.defined() ? term.sum.add(sum.detach()) : sum.detach();
  term.total = term.total.defined() ? term.total.add(weight) : weight;
}

void Accumulation::add(const LossValue& loss, std::int64_t samples) {
  if (terms_.empty()) begin(loss);
  if (loss.parts.empty()) return add_term(terms_.front(), loss, samples, false);
  std::vector<LossMean> means(terms_.size());
  for (std::size_t i = 0; i < loss.parts.size(); ++i) {
    LossMean& mean = means[term_of_[i]];
    const LossMean& part = loss.parts[i];
    if (term_of_[i] == 0 && part.weight.defined()) {
      throw recipe_error("loss: " + parts_[i].name + " returned a count for this micro-batch and none for another")
          .hint("return a count always, or never");
    }
    const at::Tensor value = part.value.mul(parts_[i].factor);
    mean.value = mean.value.defined() ? mean.value.add(value) : value;
    mean.weight = part.weight;
  }
  const std::size_t first = means.front().value.defined() ? 0 : 1;
  for (std::size_t t = first; t < means.size(); ++t) add_term(terms_[t], means[t], samples, t + 1 < means.size());
}

at::Tensor Accumulation::finish(std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_gradients;
  at::Tensor mean;
  gradients.assign(parameters_.size(), {});
  for (Term& term : terms_) {
    if (!term.sum.defined()) continue;
    const at::Tensor total = term.total.masked_fill(term.total.eq(0), 1), value = term.sum.div(total);
    mean = mean.defined() ? mean.add(value) : value;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      at::Tensor& gradient = term.gradients[i];
      if (!gradient.defined()) continue;
      Shape shape(members_ > 0 ? static_cast<std::size_t>(gradient.dim()) : 0, 1);
      if (members_ > 0) shape.front() = members_;
      gradient.div_(total.view(shape));
      gradients[i] = gradients[i].defined() ? gradients[i].add_(gradient) : gradient;
    }
  }
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i].defined()) gradients[i] = gradients[i].to(parameters_[i].scalar_type());
  return mean;
}

}  // namespace trainlab
