#include "tensor/random.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/random/stream.h"
#include "host_random.h"
#include "tensor/device.h"
#include "tensor/drawn_values.h"

namespace trainlab {

namespace {

// The number of words that are drawn at a time: few enough for the first-level cache, and a multiple of 4, as
// philox_fill requires.
constexpr std::int64_t piece = 2048;
using Words = std::array<std::uint32_t, piece>;

bool is_drawn(at::ScalarType type) { return type == at::kFloat || type == at::kDouble; }

void check_target(const at::Tensor& out, const char* function) {
  if (!out.is_contiguous() || !is_drawn(out.scalar_type()))
    throw std::logic_error(std::string(function) + ": expected a contiguous float32 or float64 tensor");
}

void check_dropout(at::IntArrayRef shape, at::ScalarType type, std::size_t probabilities, std::size_t slices) {
  const auto expected = [](const std::string& what) {
    throw std::logic_error("dropout_multipliers: expected " + what);
  };
  if (!is_drawn(type)) expected("float32 or float64");
  if (slices == 0) expected("a key, found none");
  if (probabilities != 1 && probabilities != slices) expected("one probability, or one for each key");
  if (slices > 1 && (shape.empty() || shape[0] != static_cast<std::int64_t>(slices))) {
    expected("a leading axis of " + std::to_string(slices) + " (one slice per key), found a tensor of shape " +
             std::to_string(shape.empty() ? 1 : shape[0]));
  }
}

// Calls use(begin, words, n) for pieces of n ≤ elements_per_piece elements, each of which takes `taken` words.
template <int taken, class Use>
void for_words(Key key, std::int64_t count, Use&& use) {
  Words words;
  constexpr std::int64_t step = piece / taken;
  for (std::int64_t begin = 0; begin < count; begin += step) {
    const std::int64_t n = std::min(step, count - begin);
    philox_fill(key, static_cast<std::uint64_t>(begin * taken),
                std::span(words).first(static_cast<std::size_t>(n * taken)));
    use(begin, words.data(), n);
  }
}

template <class T>
void uniform_values(T* out, std::int64_t count, Key key, const UniformRange<T>& range) {
  for_words<words_each<T>>(key, count, [&](std::int64_t begin, const std::uint32_t* words, std::int64_t n) {
    const UniformRange<T> own = range;
    for (std::int64_t i = 0; i < n; ++i) out[begin + i] = uniform_value<T>(words + words_each<T> * i, own);
  });
}

template <class T>
void normal_values(T* out, std::int64_t count, Key key, double mean, double deviation) {
  const std::int64_t pairs = (count + 1) / 2;  // an odd last element is the first of its pair
  for_words<2 * words_each<T>>(key, pairs, [&](std::int64_t begin, const std::uint32_t* words, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto [first, second] = normal_pair<T>(words + 2 * words_each<T> * i, mean, deviation);
      const std::int64_t at = 2 * (begin + i);
      out[at] = first;
      if (at + 1 < count) out[at + 1] = second;
    }
  });
}

template <class T>
void dropout_values(T* out, std::int64_t count, Key key, double p) {
  const DropoutRate<T> rate(p);
  for_words<1>(key, (count + 1) / 2, [&](std::int64_t begin, const std::uint32_t* words, std::int64_t n) {
    // Local copies: the compiler cannot rule out that stores through `to` change members, and so would not vectorise
    // the loop.
    T* const to = out + 2 * begin;
    const DropoutRate<T> own = rate;
    const std::int64_t left = count - 2 * begin;
    const std::int64_t pairs = std::min(n, left / 2);
    for (std::int64_t i = 0; i < pairs; ++i) {
      const auto [lower, upper] = dropout_pair<T>(words[i], own);
      to[2 * i] = lower;
      to[2 * i + 1] = upper;
    }
    if (pairs < n) to[2 * pairs] = dropout_pair<T>(words[pairs], own)[0];
  });
}

}  // namespace

namespace host {

void fill_uniform(const at::Tensor& out, Key key, double low, double high) {
  if (out.scalar_type() == at::kFloat) {
    uniform_values<float>(out.data_ptr<float>(), out.numel(), key, {low, high});
  } else {
    uniform_values<double>(out.data_ptr<double>(), out.numel(), key, {low, high});
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
  const auto slices = static_cast<std::int64_t>(keys.size());
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
  const at::ScalarType scalar = c10::typeMetaToScalarType(type.dtype());
  check_dropout(shape, scalar, p.size(), keys.size());
  return device_at(type.device()).dropout_multipliers(shape, scalar, p, keys);
}

}  // namespace trainlab
