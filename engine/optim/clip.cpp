#include "optim/clip.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels.h"

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

// On the CPU the operators above cost ten times the arithmetic for small tensors.
bool is_plain(const at::Tensor& gradient) {
  return gradient.is_cpu() && gradient.is_contiguous() &&
         (gradient.scalar_type() == at::kFloat || gradient.scalar_type() == at::kDouble);
}

template <class T>
void clip_plain(const std::vector<at::Tensor>& gradients, double max_norm, std::span<T> norms) {
  const auto rows = static_cast<std::int64_t>(norms.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (const at::Tensor& gradient : gradients) {
      const std::int64_t n = gradient.numel() / rows;
      sum += sum_of_squares(gradient.const_data_ptr<T>() + row * n, n);
    }
    const double norm = std::sqrt(sum);
    norms[static_cast<std::size_t>(row)] = static_cast<T>(norm);
    if (norm + 1e-6 <= max_norm) continue;
    for (const at::Tensor& gradient : gradients) {
      const std::int64_t n = gradient.numel() / rows;
      scale(gradient.mutable_data_ptr<T>() + row * n, n, max_norm / (norm + 1e-6));
    }
  }
}

at::Tensor clip_plain(const std::vector<at::Tensor>& gradients, double max_norm, std::int64_t members) {
  const auto rows = static_cast<std::size_t>(members ? members : 1);
  const auto options = at::TensorOptions().dtype(gradients.front().scalar_type());
  const at::Tensor norms = members ? at::empty({members}, options) : at::empty({}, options);
  if (norms.scalar_type() == at::kFloat) {
    clip_plain<float>(gradients, max_norm, std::span(norms.mutable_data_ptr<float>(), rows));
  } else {
    clip_plain<double>(gradients, max_norm, std::span(norms.mutable_data_ptr<double>(), rows));
  }
  return norms;
}

}  // namespace

at::Tensor clip_by_norm(std::span<const at::Tensor> gradients, double max_norm, std::int64_t members) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> defined;
  defined.reserve(gradients.size());
  for (const at::Tensor& gradient : gradients)
    if (gradient.defined()) defined.push_back(gradient);
  if (defined.empty()) return members ? at::zeros({members}) : at::zeros({});
  const auto is_alike = [&](const at::Tensor& g) { return is_plain(g) && g.scalar_type() == defined[0].scalar_type(); };
  if (std::ranges::all_of(defined, is_alike)) return clip_plain(defined, max_norm, members);
  return members ? clip_each(defined, max_norm, members) : clip_all(defined, max_norm);
}

Option clip_option() {
  return Option("clip", "largest joint L2 norm of the gradients; or bounds by name")
      .number()
      .more_than(0)
      .fields(
          {Option("norm", "largest joint L2 norm").number().more_than(0),
           Option("value", "largest absolute value of each gradient; applied before the norm").number().more_than(0)});
}

Clip clip_of(const Options& table, const std::string& name) {
  Clip clip;
  if (!table.given(name)) return clip;
  if (table.get(name).is_number()) {
    clip.norm = table.number(name);
    return clip;
  }
  const Options bounds = table.child(name);
  if (!bounds.given("norm") && !bounds.given("value"))
    throw bounds.error("", "expected a bound of the norm or of the values, found neither")
        .hint("clip = { value = 0.5 }");
  if (bounds.given("norm")) clip.norm = bounds.number("norm");
  if (bounds.given("value")) clip.value = bounds.number("value");
  return clip;
}

void clip_by_value(std::span<const at::Tensor> gradients, double bound) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    if (!is_plain(gradient)) {
      gradient.clamp_(-bound, bound);
    } else if (gradient.scalar_type() == at::kFloat) {
      limit(gradient.mutable_data_ptr<float>(), gradient.numel(), bound);
    } else {
      limit(gradient.mutable_data_ptr<double>(), gradient.numel(), bound);
    }
  }
}

}  // namespace trainlab
