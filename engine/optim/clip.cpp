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
  const at::ScalarType type = gradient.scalar_type();
  return gradient.is_cpu() && gradient.is_contiguous() &&
         (type == at::kFloat || type == at::kDouble || type == at::kBFloat16);
}

// Calls use(values) with the gradient's values of a row.
template <class Use>
auto with_row(const at::Tensor& gradient, std::int64_t row, std::int64_t rows, const Use& use) {
  const std::int64_t n = gradient.numel() / rows;
  const auto values = [&]<class T>(T* all) { return std::span<T>(all + row * n, static_cast<std::size_t>(n)); };
  void* const all = gradient.mutable_data_ptr();
  if (gradient.scalar_type() == at::kBFloat16) return use(values(static_cast<std::uint16_t*>(all)));
  if (gradient.scalar_type() == at::kDouble) return use(values(static_cast<double*>(all)));
  return use(values(static_cast<float*>(all)));
}

at::Tensor clip_plain(const std::vector<at::Tensor>& gradients, double max_norm, std::int64_t members) {
  const std::int64_t rows = members ? members : 1;
  const bool is_double = gradients.front().scalar_type() == at::kDouble;
  const auto options = at::TensorOptions().dtype(is_double ? at::kDouble : at::kFloat);
  const at::Tensor norms = members ? at::empty({members}, options) : at::empty({}, options);
  for (std::int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (const at::Tensor& gradient : gradients) {
      sum += with_row(gradient, row, rows, [](auto values) {
        return sum_of_squares(values.data(), static_cast<std::int64_t>(values.size()));
      });
    }
    const double norm = std::sqrt(sum);
    if (is_double) {
      norms.mutable_data_ptr<double>()[row] = norm;
    } else {
      norms.mutable_data_ptr<float>()[row] = static_cast<float>(norm);
    }
    if (norm + 1e-6 <= max_norm) continue;
    for (const at::Tensor& gradient : gradients) {
      with_row(gradient, row, rows, [&](auto values) {
        scale(values.data(), static_cast<std::int64_t>(values.size()), max_norm / (norm + 1e-6));
      });
    }
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
  if (std::ranges::all_of(defined, is_plain)) return clip_plain(defined, max_norm, members);
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
    if (!is_plain(gradient) || gradient.scalar_type() == at::kBFloat16) {
      gradient.clamp_(-bound, bound);
    } else if (gradient.scalar_type() == at::kFloat) {
      limit(gradient.mutable_data_ptr<float>(), gradient.numel(), bound);
    } else {
      limit(gradient.mutable_data_ptr<double>(), gradient.numel(), bound);
    }
  }
}

}  // namespace trainlab
