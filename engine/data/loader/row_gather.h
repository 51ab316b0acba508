// RowGather: rows of one column, copied or made at a place in memory and converted on the way.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace trainlab {

class RowGather {
 public:
  // `float_type` (float32 or float64) is the type of converted columns of numbers: columns with a scale or shift, and
  // columns stored as floats. Whole numbers are int64 if the column says so, else of their stored type.
  // std::logic_error for a dtype that no source makes.
  RowGather(const Column& column, at::ScalarType float_type);

  at::ScalarType type() const { return type_; }
  const Shape& sample_shape() const { return sample_; }
  // A converted element is value · scale + shift of the stored value.
  double scale(std::size_t element) const { return scale_.empty() ? 1 : scale_[element / block_]; }
  double shift(std::size_t element) const { return shift_.empty() ? 0 : shift_[element / block_]; }
  // Bytes of one converted row.
  std::size_t row_bytes() const { return row_bytes_; }

  // A function that changes the stored values of the i-th requested row before they are converted.
  using Change = std::function<void(std::size_t i, std::byte* values)>;

  // `out` receives rows.size() × row_bytes() bytes. Thread-safe if `change` is. Rows must be within the column.
  void copy(std::span<const std::int64_t> rows, std::byte* out, const Change& change = nullptr) const;

 private:
  friend struct GatherKernels;
  // Rows of the values that lie at `base`.
  using Kernel = void (*)(const RowGather&, const std::byte* base, std::span<const std::int64_t>, std::byte* out);

  at::Tensor values_;  // keeps the stored values alive
  const std::byte* stored_ = nullptr;
  std::size_t stride_bytes_ = 0;             // from one stored row to the next
  std::shared_ptr<const RowSource> source_;  // makes the rows where none are stored
  std::size_t stored_row_bytes_ = 0;
  at::ScalarType type_;
  Shape sample_;
  std::size_t elements_ = 1, row_bytes_ = 0;
  // out = value · scale + shift; entry k serves the elements k · block_ … (k + 1) · block_ − 1 of a sample.
  // Stored values of float64 are converted in float64, all others in the type of the batch.
  std::vector<double> scale_, shift_;
  std::vector<float> scale_in_float_, shift_in_float_;
  std::size_t block_ = 1;
  Kernel kernel_ = nullptr;
};

}  // namespace trainlab
