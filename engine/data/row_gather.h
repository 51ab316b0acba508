// RowGather: rows of one column, copied to a place in memory and converted on the way.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace trainlab {

class RowGather {
 public:
  // float_type (float32 or float64) is the type in which columns of numbers are given: those with a scale or shift,
  // and those stored as floats. Whole numbers are int64 where the column says so, else of their stored type.
  // std::logic_error for a dtype that no source makes.
  RowGather(const Column& column, at::ScalarType float_type);

  at::ScalarType type() const { return type_; }
  const Shape& sample_shape() const { return sample_; }
  // Bytes of one converted row.
  std::size_t row_bytes() const { return row_bytes_; }

  // out receives rows.size() × row_bytes(). Thread-safe. Rows must be within the column.
  void copy(std::span<const std::int64_t> rows, std::byte* out) const { kernel_(*this, rows, out); }

 private:
  friend struct GatherKernels;
  using Kernel = void (*)(const RowGather&, std::span<const std::int64_t>, std::byte*);

  at::Tensor values_;  // keeps the source alive
  const std::byte* source_ = nullptr;
  std::size_t source_row_bytes_ = 0;  // from one row to the next
  at::ScalarType type_;
  Shape sample_;
  std::size_t elements_ = 1, row_bytes_ = 0;
  // out = value · scale + shift; entry k serves the elements k · block_ … (k + 1) · block_ − 1 of a sample.
  std::vector<float> scale_, shift_;
  std::size_t block_ = 1;
  Kernel kernel_ = nullptr;
};

}  // namespace trainlab
