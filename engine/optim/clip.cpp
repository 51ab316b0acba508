#include "optim/clip.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <vector>

namespace trainlab {
namespace {

at::Tensor clip_factor(const at::Tensor& norm, double max_norm) {
  return norm.add(1e-6).reciprocal_().mul_(max_norm).clamp_max_(1.0);
}

at::Tensor clip_all(const std::vector<at::Tensor>& gradients, double max_norm) {
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
  at::_foreach_mul_(gradients, clip_factor(norm, max_norm));
  return norm;
}

at::Tensor clip_each(const std::vector<at::Tensor>& gradients, double max_norm, std::int64_t members) {
  std::vector<at::Tensor> norms;
  norms.reserve(gradients.size());
  for (const at::Tensor& gradient : gradients)
    norms.push_back(at::linalg_vector_norm(gradient.reshape({members, -1}), 2, at::IntArrayRef{1}));
  const at::Tensor norm = at::linalg_vector_norm(at::stack(norms), 2, at::IntArrayRef{0});
  const at::Tensor factor = clip_factor(norm, max_norm);
  for (const at::Tensor& gradient : gradients) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(gradient.dim()), 1);
    shape.front() = members;
    gradient.mul_(factor.view(shape));
  }
  return norm;
}

}  // namespace

at::Tensor clip_by_norm(std::span<const at::Tensor> gradients, double max_norm, std::int64_t members) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> defined;
  defined.reserve(gradients.size());
  for (const at::Tensor& gradient : gradients)
    if (gradient.defined()) defined.push_back(gradient);
  if (defined.empty()) return members ? at::zeros({members}) : at::zeros({});
  return members ? clip_each(defined, max_norm, members) : clip_all(defined, max_norm);
}

}  // namespace trainlab
