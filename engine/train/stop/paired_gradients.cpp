#include "paired_gradients.h"

#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <string>

namespace trainlab {

void PairedGradients::add(std::int64_t step, std::span<const at::Tensor> gradients, const at::Tensor& found_inf) {
  std::vector<at::Tensor> second(gradients.begin(), gradients.end());
  if (step % 2 == 0) {
    if (first_.empty()) {
      for (const at::Tensor& gradient : gradients) first_.push_back(gradient.clone());
    } else {
      at::_foreach_copy_(first_, second);
    }
    first_lost_ = found_inf;
    first_step_ = step;
    return;
  }
  if (first_step_ != step - 1) return;
  first_step_ = -1;
  if (squares_.empty()) {
    for (const at::Tensor& one : first_) {
      squares_.push_back(at::zeros(one.sizes(), one.options()));
      differences_.push_back(at::zeros(one.sizes(), one.options()));
    }
  }
  if (found_inf.defined()) {
    const at::Tensor lost = first_lost_.defined() ? found_inf.add(first_lost_) : found_inf;
    const at::Tensor counts = lost.eq(0).reshape({});
    for (at::Tensor& one : first_) one = at::where(counts, one, 0);
    for (at::Tensor& one : second) one = at::where(counts, one, 0);
  }
  at::_foreach_addcmul_(squares_, first_, first_);
  at::_foreach_addcmul_(squares_, second, second);
  at::_foreach_sub_(first_, second);
  at::_foreach_addcmul_(differences_, first_, first_);
}

double PairedGradients::noise_share() const {
  if (squares_.empty()) return std::nan("");
  std::vector<at::Tensor> shares, counts;
  for (std::size_t i = 0; i < squares_.size(); ++i) {
    const at::Tensor counted = squares_[i].ne(0);
    shares.push_back(at::where(counted, differences_[i].div(squares_[i]), 0).sum(at::kDouble));
    counts.push_back(counted.sum(at::kDouble));
  }
  const at::Tensor sums = at::stack({at::stack(shares).sum(), at::stack(counts).sum()}).cpu();
  const double* const found = sums.const_data_ptr<double>();
  return found[1] > 0 ? found[0] / found[1] : std::nan("");
}

NamedTensors PairedGradients::tensors() const {
  NamedTensors all;
  const auto add_list = [&](const std::string& name, const std::vector<at::Tensor>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) all.emplace(name + "." + std::to_string(i), list[i]);
  };
  add_list("squares", squares_);
  add_list("differences", differences_);
  if (first_step_ < 0) return all;
  add_list("first", first_);
  all.emplace("first_step", at::full({1}, first_step_, at::kLong));
  if (first_lost_.defined()) all.emplace("first_lost", first_lost_);
  return all;
}

void PairedGradients::restore(const NamedTensors& tensors) {
  const auto found = [&](const std::string& name) {
    const auto one = tensors.find(name);
    return one == tensors.end() ? at::Tensor() : one->second;
  };
  const auto list_of = [&](const std::string& name) {
    std::vector<at::Tensor> list;
    for (at::Tensor one = found(name + ".0"); one.defined(); one = found(name + "." + std::to_string(list.size())))
      list.push_back(one);
    return list;
  };
  squares_ = list_of("squares");
  differences_ = list_of("differences");
  first_ = list_of("first");
  first_lost_ = found("first_lost");
  const at::Tensor step = found("first_step");
  first_step_ = step.defined() ? step.item<std::int64_t>() : -1;
}

}  // namespace trainlab
