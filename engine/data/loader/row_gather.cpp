#include "row_gather.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/input_trace.h"

namespace trainlab {

namespace {

// Number of rows ahead whose first cache lines are prefetched: rows of a shuffled batch lie anywhere in memory, where
// the processor's own prefetcher cannot predict them.
constexpr std::size_t rows_ahead = 4;

// Inlined by order: g++ takes a function that only prefetches for one without effect and drops its calls.
[[gnu::always_inline]] inline void prefetch_row(const std::byte* row, std::size_t bytes) {
  for (std::size_t at = 0; at < std::min<std::size_t>(bytes, 1024); at += 64) __builtin_prefetch(row + at);
}

// `scale` or `shift` (undefined: `neutral`) for each element of a sample.
std::vector<double> per_element(const at::Tensor& tensor, const Shape& sample, double neutral) {
  const at::Tensor given = tensor.defined() ? tensor.to(at::kDouble) : at::full({}, neutral, at::kDouble);
  const at::Tensor wide = given.expand(sample).contiguous();
  const double* data = wide.const_data_ptr<double>();
  return {data, data + wide.numel()};
}

bool constant_in_blocks(const std::vector<double>& values, std::size_t block) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != values[i / block * block]) return false;
  return true;
}

std::vector<double> first_of_blocks(const std::vector<double>& values, std::size_t block) {
  std::vector<double> firsts;
  for (std::size_t i = 0; i < values.size(); i += block) firsts.push_back(values[i]);
  return firsts;
}

bool is_usable(const at::Tensor& values) {
  return values.device().is_cpu() && (values.size(0) == 0 || values.select(0, 0).is_contiguous());
}

}  // namespace

struct GatherKernels {
  using Rows = std::span<const std::int64_t>;

  static void same(const RowGather& g, const std::byte* base, Rows rows, std::byte* out) {
    const std::size_t bytes = g.row_bytes_;
    for (std::size_t i = 0; i < rows.size(); ++i, out += bytes) {
      if (i + rows_ahead < rows.size())
        prefetch_row(base + static_cast<std::size_t>(rows[i + rows_ahead]) * g.stride_bytes_, bytes);
      std::memcpy(out, base + static_cast<std::size_t>(rows[i]) * g.stride_bytes_, bytes);
    }
  }

  // Compiled twice below; the wider registers change the speed and no bit: each element is one product and one sum.
  template <class From, class To>
  [[gnu::always_inline]] static inline void convert(const RowGather& g, const std::byte* base, Rows rows,
                                                    std::byte* out) {
    const std::size_t elements = g.elements_;
    using Work = std::conditional_t<std::is_same_v<From, double>, double, To>;
    const auto [scales, shifts] = numbers<std::conditional_t<std::is_same_v<Work, double>, double, float>>(g);
    for (std::size_t i = 0; i < rows.size(); ++i, out += g.row_bytes_) {
      if (i + rows_ahead < rows.size())
        prefetch_row(base + static_cast<std::size_t>(rows[i + rows_ahead]) * g.stride_bytes_, elements * sizeof(From));
      const auto* __restrict from =
          reinterpret_cast<const From*>(base + static_cast<std::size_t>(rows[i]) * g.stride_bytes_);
      auto* __restrict to = reinterpret_cast<To*>(out);
      if (g.scale_.empty()) {
        for (std::size_t j = 0; j < elements; ++j) to[j] = static_cast<To>(from[j]);
      } else if (g.block_ == 1) {
        const auto* __restrict scale = scales;
        const auto* __restrict shift = shifts;
        for (std::size_t j = 0; j < elements; ++j) {
          const Work value = static_cast<Work>(from[j]) * static_cast<Work>(scale[j]) + static_cast<Work>(shift[j]);
          to[j] = static_cast<To>(value);
        }
      } else {
        for (std::size_t k = 0; k < g.scale_.size(); ++k) {
          const auto scale = static_cast<Work>(scales[k]), shift = static_cast<Work>(shifts[k]);
          const From* __restrict block = from + k * g.block_;
          To* __restrict result = to + k * g.block_;
          for (std::size_t j = 0; j < g.block_; ++j)
            result[j] = static_cast<To>(static_cast<Work>(block[j]) * scale + shift);
        }
      }
    }
  }

  // The scales and shifts in a type, of which the kernels for that type read.
  template <class Number>
  static std::pair<const Number*, const Number*> numbers(const RowGather& g) {
    if constexpr (std::is_same_v<Number, double>)
      return {g.scale_.data(), g.shift_.data()};
    else
      return {g.scale_in_float_.data(), g.shift_in_float_.data()};
  }

  template <class From, class To>
  static void converted(const RowGather& g, const std::byte* base, Rows rows, std::byte* out) {
    convert<From, To>(g, base, rows, out);
  }

#ifdef __x86_64__
  template <class From, class To>
  __attribute__((target("avx2"))) static void converted_avx2(const RowGather& g, const std::byte* base, Rows rows,
                                                             std::byte* out) {
    convert<From, To>(g, base, rows, out);
  }
#endif

  template <class From, class To>
  static RowGather::Kernel fastest() {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") != 0) return &converted_avx2<From, To>;
#endif
    return &converted<From, To>;
  }

  template <class To>
  static RowGather::Kernel to(at::ScalarType from) {
    switch (from) {
      case at::kByte: return fastest<std::uint8_t, To>();
      case at::kChar: return fastest<std::int8_t, To>();
      case at::kShort: return fastest<std::int16_t, To>();
      case at::kInt: return fastest<std::int32_t, To>();
      case at::kLong: return fastest<std::int64_t, To>();
      case at::kFloat: return fastest<float, To>();
      case at::kDouble: return fastest<double, To>();
      default: throw std::logic_error("a data column of type " + dtype_name(from) + " cannot be converted");
    }
  }
};

RowGather::RowGather(const Column& column, at::ScalarType float_type)
    : values_(column.values), source_(column.source), type_(column.stored_type()), sample_(column.sample_shape()) {
  if (float_type != at::kFloat && float_type != at::kDouble)
    throw std::logic_error("batches have float32 or float64 columns, not " + dtype_name(float_type));
  if (!source_ && !is_usable(values_))
    throw std::logic_error("samples of column " + column.name + " must be contiguous and on the CPU");

  const at::ScalarType stored = type_;
  elements_ = static_cast<std::size_t>(element_count(sample_));
  stored_row_bytes_ = elements_ * c10::elementSize(stored);
  if (!source_) {
    stored_ = static_cast<const std::byte*>(values_.const_data_ptr());
    stride_bytes_ = static_cast<std::size_t>(values_.stride(0)) * values_.element_size();
  }
  const bool affine = column.scale.defined() || column.shift.defined();
  if (column.as_int64 && (affine || at::isFloatingType(stored)))
    throw std::logic_error("column " + column.name + " cannot be both whole numbers and floats");
  if (affine || at::isFloatingType(stored)) type_ = float_type;
  if (column.as_int64) type_ = at::kLong;
  row_bytes_ = elements_ * c10::elementSize(type_);

  if (affine) {
    scale_ = per_element(column.scale, sample_, 1);
    shift_ = per_element(column.shift, sample_, 0);
    const std::size_t channel = sample_.size() > 1 ? elements_ / static_cast<std::size_t>(sample_[0]) : 1;
    for (const std::size_t block : {elements_, channel}) {
      if (!constant_in_blocks(scale_, block) || !constant_in_blocks(shift_, block)) continue;
      block_ = block;
      scale_ = first_of_blocks(scale_, block);
      shift_ = first_of_blocks(shift_, block);
      break;
    }
    scale_in_float_.assign(scale_.begin(), scale_.end());
    shift_in_float_.assign(shift_.begin(), shift_.end());
  }

  if (!affine && type_ == stored) {
    kernel_ = &GatherKernels::same;
  } else if (type_ == at::kLong) {
    kernel_ = GatherKernels::to<std::int64_t>(stored);
  } else {
    kernel_ = type_ == at::kFloat ? GatherKernels::to<float>(stored) : GatherKernels::to<double>(stored);
  }
}

void RowGather::copy(std::span<const std::int64_t> rows, std::byte* out, const Change& change) const {
  const InputSpan span(InputStage::gather, 0);
  if (!source_ && !change) return kernel_(*this, stored_, rows, out);
  constexpr std::array<std::int64_t, 1> only{0};
  const bool in_place = kernel_ == &GatherKernels::same;
  std::vector<std::byte> scratch(in_place ? 0 : stored_row_bytes_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t row = rows[i];
    const SampleSpan sample(row);
    std::byte* const values = in_place ? out : scratch.data();
    if (source_) {
      source_->make(row, values);
    } else {
      std::memcpy(values, stored_ + static_cast<std::size_t>(row) * stride_bytes_, stored_row_bytes_);
    }
    if (change) {
      const InputSpan changing(InputStage::augment, 0);
      change(i, values);
    }
    if (!in_place) kernel_(*this, values, only, out);
    out += row_bytes_;
  }
}

}  // namespace trainlab
