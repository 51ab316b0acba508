// The numbers of tensor/random.h, one at a time: how they are made from the words of a key's stream.
//
// The host's loops and the kernels of devices call these functions, which are constexpr because kernels call constexpr
// functions like their own. Numbers of uniform draws and dropout have the same bits everywhere, if the compiler does
// not contract a · b + c; normal ones may differ in the last bit of float64, because log, sin and cos are the device's.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace trainlab {

// Words for one number of type T, float or double.
template <class T>
inline constexpr int words_each = sizeof(T) / sizeof(std::uint32_t);

// [0, 1) from the words of one number, with 32 or 53 random bits; of two words the first one is low.
template <class T>
constexpr double unit_value(const std::uint32_t* words) {
  if constexpr (words_each<T> == 1) {
    return static_cast<double>(words[0]) * 0x1p-32;
  } else {
    const std::uint64_t bits = (static_cast<std::uint64_t>(words[1]) << 32) | words[0];
    return static_cast<double>(bits >> 11) * 0x1p-53;
  }
}

// A range [low, high) as uniform_value() takes it.
template <class T>
struct UniformRange {
  UniformRange(double from, double to)
      : low(from), width(to - from), last(std::nextafter(static_cast<T>(to), std::numeric_limits<T>::lowest())) {}
  double low, width;
  T last;  // rounding to T may reach `high`, which is excluded
};

template <class T>
constexpr T uniform_value(const std::uint32_t* words, const UniformRange<T>& range) {
  return std::min(static_cast<T>(range.low + range.width * unit_value<T>(words)), range.last);
}

// Two normal numbers by Box–Muller, from the words of two numbers.
template <class T>
constexpr std::array<T, 2> normal_pair(const std::uint32_t* words, double mean, double deviation) {
  const double angle_unit = unit_value<T>(words + words_each<T>);
  double radius_unit = 0;  // in (0, 1]: its logarithm is finite
  if constexpr (words_each<T> == 1) {
    radius_unit = (static_cast<double>(words[0]) + 1.0) * 0x1p-32;
  } else {
    radius_unit = 1.0 - unit_value<T>(words);
  }
  const double radius = deviation * std::sqrt(-2.0 * std::log(radius_unit));
  const double angle = 2.0 * std::numbers::pi * angle_unit;
  return {static_cast<T>(mean + radius * std::cos(angle)), static_cast<T>(mean + radius * std::sin(angle))};
}

// A probability as dropout_pair() takes it.
template <class T>
struct DropoutRate {
  explicit DropoutRate(double p)
      : threshold(static_cast<std::int32_t>(std::min(std::round(p * 0x1p16), 0x1p16 - 1.0))),
        kept(static_cast<T>(1.0 / (1.0 - p))) {}
  std::int32_t threshold;  // half a word below this drops its element
  T kept;
};

// Two multipliers, from the lower and the upper half of a word: drawing words is what dropout spends its time on.
template <class T>
constexpr std::array<T, 2> dropout_pair(std::uint32_t word, const DropoutRate<T>& rate) {
  return {static_cast<std::int32_t>(word & 0xFFFF) < rate.threshold ? T(0) : rate.kept,
          static_cast<std::int32_t>(word >> 16) < rate.threshold ? T(0) : rate.kept};
}

}  // namespace trainlab
