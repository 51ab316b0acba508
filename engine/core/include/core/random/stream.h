// Keyed, counter-based random numbers: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2,
// 3").
//
// All functions are thread-safe; a Stream belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random/key.h"

namespace trainlab {

// One Philox4x32-10 block: 128 random bits for (counter, key), as published (Random123's known-answer vectors).
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// Sequential draws from one key. Word i is word i % 4 of block i / 4, so a Stream and philox_fill agree.
class Stream {
 public:
  explicit Stream(Key key) : key_(key) {}
  std::uint32_t next_u32();
  std::uint64_t next_u64();
  double uniform();                      // [0, 1), 53 bits
  std::uint64_t below(std::uint64_t n);  // 0 … n − 1 without bias (Lemire 2019); n ≥ 1
  double normal();                       // mean 0, variance 1 (Box–Muller)

 private:
  Key key_;
  std::uint64_t block_ = 0;
  std::array<std::uint32_t, 4> words_{};
  int used_ = 4;
};

// out[i] = word first_word + i of the key's stream; first_word must be a multiple of 4. Vectorised.
void philox_fill(Key key, std::uint64_t first_word, std::span<std::uint32_t> out);

// A permutation of 0 … n − 1 (Fisher–Yates).
std::vector<std::int64_t> permutation(Key key, std::int64_t n);

// A seed for Lua and for peers' interfaces: 1 … 2^53 − 1, from any key.
std::int64_t seed_from(Key key);

}  // namespace trainlab
