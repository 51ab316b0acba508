// Kernels that draw numbers: one thread writes the elements that one Philox block of a key gives.
//
// The members of each struct are a kernel's arguments, and its operator() is the kernel's body, which is constexpr so
// that the host can run the same code. Element i gets the number that tensor/random.h defines.
#pragma once

#include <array>
#include <cstdint>

#include "core/random/philox.h"
#include "tensor/drawn_values.h"

namespace trainlab::cuda {

template <class T>
struct UniformBlocks {
  static constexpr int each = 4 / words_each<T>;  // elements in a block
  T* out;
  std::int64_t count;
  std::uint64_t key;
  UniformRange<T> range;

  constexpr void operator()(std::int64_t block) const {
    const std::array<std::uint32_t, 4> words = philox::words(key, static_cast<std::uint64_t>(block));
    for (int i = 0; i < each && each * block + i < count; ++i)
      out[each * block + i] = uniform_value<T>(words.data() + words_each<T> * i, range);
  }
};

template <class T>
constexpr void write_pair(T* out, std::int64_t count, std::int64_t at, const std::array<T, 2>& values) {
  if (at < count) out[at] = values[0];
  if (at + 1 < count) out[at + 1] = values[1];
}

template <class T>
struct NormalBlocks {
  static constexpr int each = 4 / words_each<T>;
  T* out;
  std::int64_t count;
  std::uint64_t key;
  double mean, deviation;

  constexpr void operator()(std::int64_t block) const {
    const std::array<std::uint32_t, 4> words = philox::words(key, static_cast<std::uint64_t>(block));
    for (int i = 0; i < each; i += 2)
      write_pair(out, count, each * block + i, normal_pair<T>(words.data() + words_each<T> * i, mean, deviation));
  }
};

template <class T>
struct DropoutBlocks {
  static constexpr int each = 8;
  T* out;
  std::int64_t count;
  std::uint64_t key;
  DropoutRate<T> rate;

  constexpr void operator()(std::int64_t block) const {
    const std::array<std::uint32_t, 4> words = philox::words(key, static_cast<std::uint64_t>(block));
    for (int i = 0; i < each; i += 2) write_pair(out, count, each * block + i, dropout_pair(words[i / 2], rate));
  }
};

}  // namespace trainlab::cuda
