// The arithmetic of philox4x32() (core/random/stream.h), from which all draws come.
//
// constexpr, because kernels of a device call such functions like their own.
#pragma once

#include <array>
#include <cstdint>

namespace trainlab::philox {

inline constexpr std::uint32_t multiply0 = 0xD2511F53, multiply1 = 0xCD9E8D57;
inline constexpr std::uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
inline constexpr int rounds = 10;

constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

// 128 random bits for (counter, key).
constexpr std::array<std::uint32_t, 4> block(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{multiply0} * counter[0], p1 = std::uint64_t{multiply1} * counter[2];
    counter = {high(p1) ^ counter[1] ^ key[0], low(p1), high(p0) ^ counter[3] ^ key[1], low(p0)};
    key[0] += weyl0;
    key[1] += weyl1;
  }
  return counter;
}

// Words 4 · number … 4 · number + 3 of the stream of a key, which is given by its bits.
constexpr std::array<std::uint32_t, 4> words(std::uint64_t key, std::uint64_t number) {
  return block({low(number), high(number), 0, 0}, {low(key), high(key)});
}

}  // namespace trainlab::philox
