// Philox4x32-10: long runs of words, with several blocks side by side.
#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "core/random/philox.h"
#include "core/random/stream.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace trainlab {

namespace {

using philox::high, philox::low;

#ifdef __x86_64__
constexpr std::size_t kBlocks = 16;  // of a group
constexpr std::size_t kWords = 4 * kBlocks;

// Compilers do not find vpmuludq (32 × 32 → 64 bits, four at a time) behind portable code: three times slower.
// Each 64-bit lane holds one word of one block; what stands in its upper half is ignored by the multiplication.
__attribute__((target("avx2"))) void fill_groups(std::uint64_t key, std::uint64_t first_block, std::uint32_t* out,
                                                 std::size_t groups) {
  constexpr std::ptrdiff_t kVectors = kBlocks / 4;
  const __m256i multiply0 = _mm256_set1_epi64x(philox::multiply0), multiply1 = _mm256_set1_epi64x(philox::multiply1);
  for (std::size_t group = 0; group < groups; ++group, first_block += kBlocks, out += kWords) {
    __m256i c0[kVectors], c1[kVectors], c2[kVectors], c3[kVectors];
    for (std::ptrdiff_t v = 0; v < kVectors; ++v) {
      const __m256i first = _mm256_set1_epi64x(static_cast<long long>(first_block) + 4 * v);
      c0[v] = _mm256_add_epi64(first, _mm256_set_epi64x(3, 2, 1, 0));
      c1[v] = _mm256_srli_epi64(c0[v], 32);
      c2[v] = c3[v] = _mm256_setzero_si256();
    }
    std::uint32_t k0 = low(key), k1 = high(key);
    for (int round = 0; round < philox::rounds; ++round, k0 += philox::weyl0, k1 += philox::weyl1) {
      const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
      for (std::ptrdiff_t v = 0; v < kVectors; ++v) {
        const __m256i p0 = _mm256_mul_epu32(c0[v], multiply0), p1 = _mm256_mul_epu32(c2[v], multiply1);
        c0[v] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1[v]), key0);
        c1[v] = p1;
        c2[v] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3[v]), key1);
        c3[v] = p0;
      }
    }
    for (std::ptrdiff_t v = 0; v < kVectors; ++v) {
      const __m256i words01 = _mm256_blend_epi32(c0[v], _mm256_slli_epi64(c1[v], 32), 0xAA);
      const __m256i words23 = _mm256_blend_epi32(c2[v], _mm256_slli_epi64(c3[v], 32), 0xAA);
      const __m256i blocks02 = _mm256_unpacklo_epi64(words01, words23);
      const __m256i blocks13 = _mm256_unpackhi_epi64(words01, words23);
      auto* to = reinterpret_cast<__m256i*>(out + 16 * v);
      _mm256_storeu_si256(to, _mm256_permute2x128_si256(blocks02, blocks13, 0x20));
      _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(blocks02, blocks13, 0x31));
    }
  }
}
#endif

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  return philox::block(counter, key);
}

void philox_fill(Key key, std::uint64_t first_word, std::span<std::uint32_t> out) {
  if (first_word % 4 != 0) throw std::logic_error("philox_fill: first_word must be a multiple of 4");
  std::uint64_t number = first_word / 4;
#ifdef __x86_64__
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) {
    const std::size_t groups = out.size() / kWords;
    fill_groups(key.bits(), number, out.data(), groups);
    number += groups * kBlocks;
    out = out.subspan(groups * kWords);
  }
#endif
  while (!out.empty()) {
    const auto words = philox::words(key.bits(), number);
    const std::size_t taken = std::min(out.size(), words.size());
    std::copy_n(words.begin(), taken, out.begin());
    out = out.subspan(taken);
    ++number;
  }
}

}  // namespace trainlab
