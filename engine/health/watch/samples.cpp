#include "samples.h"

#include <ATen/EmptyTensor.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace trainlab {
namespace {

template <class T>
at::Tensor read_sample(const at::Tensor& dense, std::int64_t count, std::int64_t spacing) {
  at::Tensor out = at::detail::empty_cpu({count}, at::kFloat);
  float* to = out.mutable_data_ptr<float>();
  const T* from = dense.const_data_ptr<T>();
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i * spacing]);
  return out;
}

// The number of values that are read of `size` values at this spacing.
std::int64_t read_of(std::int64_t size, std::int64_t spacing) { return (size + spacing - 1) / spacing; }

std::int64_t least_spacing(std::int64_t values, std::int64_t most) { return std::max<std::int64_t>(values / most, 1); }

constexpr std::int64_t most_sampled_rows = 128, most_sampled_units = 512;

// The distance of the values that are read of an activation, by axis. For samples with places, such as images, at most
// 16 samples and some of their places are read.
std::vector<std::int64_t> spacings(at::IntArrayRef shape, std::int64_t axis) {
  const std::int64_t dimensions = std::ssize(shape), places = dimensions - 2;
  std::vector<std::int64_t> all;
  for (std::int64_t along = 0; along < dimensions; ++along) {
    const std::int64_t size = shape[static_cast<std::size_t>(along)];
    std::int64_t most = places == 0 ? most_sampled_rows : along == 0 ? 16 : places == 1 ? 8 : 3;
    if (along == axis) most = most_sampled_units;
    all.push_back(std::max<std::int64_t>((size + most - 1) / most, 1));
  }
  return all;
}

// Does the work of sample_rows() without operators: calling one costs more than reading these few values.
at::Tensor read_rows(const at::Tensor& tensor, std::int64_t axis, const std::vector<std::int64_t>& every) {
  struct Axis {
    std::int64_t count, stride, at = 0;
  };
  const auto read = [&](std::int64_t along) {
    const std::int64_t spacing = every[static_cast<std::size_t>(along)];
    return Axis{read_of(tensor.size(along), spacing), tensor.stride(along) * spacing};
  };
  std::vector<Axis> outer;
  std::int64_t rows = 1;
  for (std::int64_t along = 0; along < tensor.dim(); ++along) {
    if (along == axis) continue;
    outer.push_back(read(along));
    rows *= outer.back().count;
  }
  const Axis units = read(axis);
  at::Tensor out = at::detail::empty_cpu({rows, units.count}, at::kFloat);
  float* to = out.mutable_data_ptr<float>();
  const float* from = tensor.const_data_ptr<float>();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t unit = 0; unit < units.count; ++unit) *to++ = from[unit * units.stride];
    // The next row: the last axis that has one moves on, and the axes behind it begin again.
    for (auto one = outer.rbegin(); one != outer.rend(); ++one) {
      from += one->stride;
      if (++one->at < one->count) break;
      from -= one->count * one->stride;
      one->at = 0;
    }
  }
  return out;
}

}  // namespace

at::Tensor sample_of(const at::Tensor& tensor, std::int64_t most) {
  const at::Tensor dense = tensor.is_non_overlapping_and_dense() ? tensor : tensor.detach().contiguous();
  std::int64_t spacing = least_spacing(dense.numel(), most);
  while (spacing > 1 && dense.dim() > 0 && std::gcd(spacing, dense.size(-1)) > 1) ++spacing;
  const std::int64_t count = read_of(dense.numel(), spacing);
  if (dense.is_cpu() && dense.scalar_type() == at::kFloat) return read_sample<float>(dense, count, spacing);
  if (dense.is_cpu() && dense.scalar_type() == at::kDouble) return read_sample<double>(dense, count, spacing);
  return dense.detach().as_strided({count}, {spacing}).to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
}

at::Tensor sample_rows(const at::Tensor& tensor, std::int64_t axis, const std::vector<std::int64_t>& every) {
  if (tensor.is_cpu() && tensor.scalar_type() == at::kFloat) return read_rows(tensor, axis, every);
  at::Tensor part = tensor.detach();
  for (std::int64_t along = 0; along < part.dim(); ++along) {
    const std::int64_t spacing = every[static_cast<std::size_t>(along)];
    if (spacing > 1) part = part.slice(along, 0, part.size(along), spacing);
  }
  const std::int64_t units = part.size(axis);
  if (axis != part.dim() - 1) part = part.movedim(axis, -1);
  return part.reshape({-1, units}).to(at::kFloat, /*non_blocking=*/false, /*copy=*/true).contiguous();
}

at::Tensor sample_units(const at::Tensor& activation, std::int64_t axis) {
  return sample_rows(activation, axis, spacings(activation.sizes(), axis));
}

at::Tensor on_host(const at::Tensor& sample) { return sample.is_cpu() ? sample : sample.cpu(); }

std::int64_t sampled_values(std::int64_t values, std::int64_t most) {
  const std::int64_t spacing = least_spacing(values, most);
  return read_of(values, spacing);
}

std::int64_t sampled_unit_values(at::IntArrayRef shape, std::int64_t axis) {
  const std::vector<std::int64_t> every = spacings(shape, axis);
  std::int64_t product = 1;
  for (std::size_t along = 0; along < every.size(); ++along) product *= read_of(shape[along], every[along]);
  return product;
}

double host_number(const at::Tensor& numbers, std::int64_t place) {
  if (numbers.scalar_type() != at::kFloat) return numbers.flatten()[place].item<double>();
  return numbers.const_data_ptr<float>()[numbers.dim() == 0 ? 0 : place * numbers.stride(0)];
}

}  // namespace trainlab
