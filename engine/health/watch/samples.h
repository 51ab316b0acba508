// Samples of tensors, on the device of the tensor: taking one never makes the host wait for the device.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

namespace trainlab {

// At most about `most` values of the tensor, evenly spaced in memory, as float32 [n]. Their places depend on the shape
// and the strides only. The spacing has no common factor with the length of the last axis, so that all columns occur.
at::Tensor sample_of(const at::Tensor& tensor, std::int64_t most);
// The most values of such a sample of a tensor with this number of values: fewer than two times `most`.
std::int64_t sampled_values(std::int64_t values, std::int64_t most);

// Some values of a tensor as float32 [rows, units]: `every` has the spacing of the values along each axis, and `axis`
// is the axis of the units, from 0.
at::Tensor sample_rows(const at::Tensor& tensor, std::int64_t axis, const std::vector<std::int64_t>& every);

// At most about 128 rows and 512 units of an activation, as float32 [rows, units]; where samples have places, as images
// do, at most 16 samples and some of their places. `axis`: the axis of the units, from 0.
at::Tensor sample_units(const at::Tensor& activation, std::int64_t axis);
// The number of values of such a sample of an activation of this shape.
std::int64_t sampled_unit_values(at::IntArrayRef shape, std::int64_t axis);

// The sample on the host. A sample that is there already is returned without a call of an operator.
at::Tensor on_host(const at::Tensor& sample);
// The values of a sample, which is on the host.
inline std::span<const float> values_of(const at::Tensor& sample) {
  return {sample.const_data_ptr<float>(), static_cast<std::size_t>(sample.numel())};
}
// The number at `place` of a tensor on the host that has one axis or none. Of float32 it is read without a call of an
// operator.
double host_number(const at::Tensor& numbers, std::int64_t place = 0);

}  // namespace trainlab
