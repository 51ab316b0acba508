#include "tensor/random.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "host_random.h"
#include "tensor/device.h"

namespace trainlab {

namespace {

// Words are drawn in pieces that stay in the first-level cache; a multiple of 4, as philox_fill wants.
constexpr std::int64_t piece = 2048;
using Words = std::array<std::uint32_t, piece>;

void check_target(const at::Tensor& out, const char* function) {
  if (!out.is_contiguous() || (out.scalar_type() != at::kFloat && out.scalar_type() != at::kDouble))
    throw std::logic_error(std::string(function) + ": expected a contiguous float32 or float64 tensor");
}

// Calls use(begin, words, n) for pieces of n ≤ elements_per_piece elements, each taking `words_each` words.
template <int words_each, class Use>
void for_words(Key key, std::int64_t count, Use&& use) {
  Words words;
  constexpr std::int64_t step = piece / words_each;
  for (std::int64_t begin = 0; begin < count; begin += step) {
    const std::int64_t n = std::min(step, count - begin);
    philox_fill(key, static_cast<std::uint64_t>(begin * words_each),
                std::span(words).first(static_cast<std::size_t>(n * words_each)));
    use(begin, words.data(), n);
  }
}

// [0, 1) with 53 random bits from two words, the first one low.
double unit_double(const std::uint32_t* words) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(words[1]) << 32) | words[0];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

template <class T>
void uniform_values(T* out, std::int64_t count, Key key, double low, double high) {
  const double width = high - low;
  // Rounding to T may reach `high`, which is excluded.
  const T last = std::nextafter(static_cast<T>(high), std::numeric_limits<T>::lowest());
  constexpr int words_each = sizeof(T) / sizeof(std::uint32_t);
  for_words<words_each>(key, count, [=](std::int64_t begin, const std::uint32_t* words, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      double unit;
      if constexpr (words_each == 1) {
        unit = static_cast<double>(words[i]) * 0x1p-32;
      } else {
        unit = unit_double(words + 2 * i);
      }
      out[begin + i] = std::min(static_cast<T>(low + width * unit), last);
    }
  });
}

template <class T>
void normal_values(T* out, std::int64_t count, Key key, double mean, double deviation) {
  constexpr int words_each = sizeof(T) / sizeof(std::uint32_t);
  const std::int64_t pairs = (count + 1) / 2;  // an odd last element is the first of its pair
  for_words<2 * words_each>(key, pairs, [&](std::int64_t begin, const std::uint32_t* words, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      double radius_unit, angle_unit;
      if constexpr (words_each == 1) {
        radius_unit = (static_cast<double>(words[2 * i]) + 1.0) * 0x1p-32;
        angle_unit = static_cast<double>(words[2 * i + 1]) * 0x1p-32;
      } else {
        radius_unit = 1.0 - unit_double(words + 4 * i);  // (0, 1]: its logarithm is finite
        angle_unit = unit_double(words + 4 * i + 2);
      }
      const double radius = deviation * std::sqrt(-2.0 * std::log(radius_unit));
      const double angle = 2.0 * std::numbers::pi * angle_unit;
      const std::int64_t at = 2 * (begin + i);
      out[at] = static_cast<T>(mean + radius * std::cos(angle));
      if (at + 1 < count) out[at + 1] = static_cast<T>(mean + radius * std::sin(angle));
    }
  });
}

// Half a word for each element: drawing words is what dropout spends its time on.
template <class T>
void dropout_values(T* out, std::int64_t count, Key key, double p) {
  const auto threshold = static_cast<std::int32_t>(std::min(std::round(p * 0x1p16), 0x1p16 - 1.0));
  const T scale = static_cast<T>(1.0 / (1.0 - p));
  for_words<1>(key, (count + 1) / 2, [=](std::int64_t begin, const std::uint32_t* words, std::int64_t n) {
    // Locals, because stores through `to` could otherwise change what the loop reads, and it would not be vectorised.
    T* const to = out + 2 * begin;
    const std::int32_t limit = threshold;
    const T kept = scale;
    const std::int64_t left = count - 2 * begin;
    const std::int64_t pairs = std::min(n, left / 2);
    for (std::int64_t i = 0; i < pairs; ++i) {
      to[2 * i] = static_cast<std::int32_t>(words[i] & 0xFFFF) < limit ? T(0) : kept;
      to[2 * i + 1] = static_cast<std::int32_t>(words[i] >> 16) < limit ? T(0) : kept;
    }
    if (pairs < n) to[2 * pairs] = static_cast<std::int32_t>(words[pairs] & 0xFFFF) < limit ? T(0) : kept;
  });
}

}  // namespace

namespace host {

void fill_uniform(const at::Tensor& out, Key key, double low, double high) {
  if (out.scalar_type() == at::kFloat) {
    uniform_values(out.data_ptr<float>(), out.numel(), key, low, high);
  } else {
    uniform_values(out.data_ptr<double>(), out.numel(), key, low, high);
  }
}

void fill_normal(const at::Tensor& out, Key key, double mean, double deviation) {
  if (out.scalar_type() == at::kFloat) {
    normal_values(out.data_ptr<float>(), out.numel(), key, mean, deviation);
  } else {
    normal_values(out.data_ptr<double>(), out.numel(), key, mean, deviation);
  }
}

at::Tensor dropout_multipliers(at::IntArrayRef shape, at::ScalarType type, std::span<const double> p,
                               std::span<const Key> keys) {
  const at::Tensor out = at::empty(shape, type);
  check_target(out, "dropout_multipliers");
  if (keys.empty()) throw std::logic_error("dropout_multipliers: expected a key, found none");
  if (p.size() != 1 && p.size() != keys.size())
    throw std::logic_error("dropout_multipliers: expected one probability, or one for each key");
  const auto slices = static_cast<std::int64_t>(keys.size());
  if (slices > 1 && (shape.empty() || shape[0] != slices)) {
    throw std::logic_error("dropout_multipliers: expected a leading axis of " + std::to_string(slices) +
                           " (one slice per key), found a tensor of shape " +
                           std::to_string(shape.empty() ? 1 : shape[0]));
  }
  const std::int64_t each = out.numel() / slices;
  for (std::int64_t m = 0; m < slices; ++m) {
    const Key key = keys[static_cast<std::size_t>(m)];
    const double own = p.size() == 1 ? p.front() : p[static_cast<std::size_t>(m)];
    if (out.scalar_type() == at::kFloat) {
      dropout_values(out.data_ptr<float>() + m * each, each, key, own);
    } else {
      dropout_values(out.data_ptr<double>() + m * each, each, key, own);
    }
  }
  return out;
}

}  // namespace host

void fill_uniform(const at::Tensor& out, Key key, double low, double high) {
  check_target(out, "fill_uniform");
  if (!(low < high)) throw std::logic_error("fill_uniform: expected low < high");
  device_at(out.device()).fill_uniform(out, key, low, high);
}

void fill_normal(const at::Tensor& out, Key key, double mean, double deviation) {
  check_target(out, "fill_normal");
  device_at(out.device()).fill_normal(out, key, mean, deviation);
}

at::Tensor dropout_multipliers(at::IntArrayRef shape, const at::TensorOptions& type, std::span<const double> p,
                               std::span<const Key> keys) {
  return device_at(type.device()).dropout_multipliers(shape, c10::typeMetaToScalarType(type.dtype()), p, keys);
}

}  // namespace trainlab
