#include "core/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>

// Variants of one function for several processors, chosen when the program starts. The results do not depend on it:
// all of this is integer arithmetic. Sanitizers cannot run inside the choice, which comes before their own start.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TRAINLAB_FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define TRAINLAB_FOR_EACH_PROCESSOR
#endif

namespace trainlab {

namespace {

constexpr std::uint32_t kMultiply0 = 0xD2511F53, kMultiply1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

// Third word of the counter. A key's stream of words has 0 there, so keys never meet draws.
constexpr std::uint32_t kSeedDomain = 0x73656564, kNumberDomain = 0x6E756D62, kTextDomain = 0x74657874;

constexpr std::uint32_t low(std::uint64_t x) {
  return static_cast<std::uint32_t>(x);
}
constexpr std::uint32_t high(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32);
}
constexpr std::uint64_t join(std::uint32_t lower, std::uint32_t upper) {
  return lower | (static_cast<std::uint64_t>(upper) << 32);
}

std::array<std::uint32_t, 4> block(std::uint64_t key, std::uint64_t number, std::uint32_t domain) {
  return philox4x32({low(number), high(number), domain, 0}, {low(key), high(key)});
}

std::uint64_t derive(std::uint64_t key, std::uint64_t number, std::uint32_t domain) {
  const auto words = block(key, number, domain);
  return join(words[0], words[1]);
}

// FNV-1a, then MurmurHash3's finaliser, because FNV alone mixes the last bytes badly.
std::uint64_t text_hash(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCD;
  h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53;
  return h ^ (h >> 33);
}

// Blocks computed side by side, each word of them in an array of its own, so that the compiler uses vectors.
constexpr std::size_t kLanes = 16;

TRAINLAB_FOR_EACH_PROCESSOR
void fill_groups(std::uint64_t key, std::uint64_t first_block, std::uint32_t* out, std::size_t groups) {
  for (std::size_t group = 0; group < groups; ++group, first_block += kLanes, out += 4 * kLanes) {
    // 64-bit lanes holding 32-bit words: a multiplication's two halves need no shuffling.
    std::array<std::uint64_t, kLanes> c0, c1, c2, c3;
    for (std::size_t i = 0; i < kLanes; ++i) {
      c0[i] = (first_block + i) & 0xFFFFFFFF;
      c1[i] = (first_block + i) >> 32;
      c2[i] = 0;
      c3[i] = 0;
    }
    std::uint32_t k0 = low(key), k1 = high(key);
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        const std::uint64_t p0 = (c0[i] & 0xFFFFFFFF) * kMultiply0, p1 = (c2[i] & 0xFFFFFFFF) * kMultiply1;
        c0[i] = (p1 >> 32) ^ c1[i] ^ k0;
        c1[i] = p1;
        c2[i] = (p0 >> 32) ^ c3[i] ^ k1;
        c3[i] = p0;
      }
      k0 += kWeyl0;
      k1 += kWeyl1;
    }
    for (std::size_t i = 0; i < kLanes; ++i) {
      out[4 * i] = low(c0[i]);
      out[4 * i + 1] = low(c1[i]);
      out[4 * i + 2] = low(c2[i]);
      out[4 * i + 3] = low(c3[i]);
    }
  }
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiply0} * counter[0], p1 = std::uint64_t{kMultiply1} * counter[2];
    counter = {high(p1) ^ counter[1] ^ key[0], low(p1), high(p0) ^ counter[3] ^ key[1], low(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Key::Key(std::uint64_t seed) : bits_(derive(0, seed, kSeedDomain)) {}

Key Key::fold(std::uint64_t n) const {
  return {Raw{}, derive(bits_, n, kNumberDomain)};
}

Key Key::fold(std::string_view text) const {
  return {Raw{}, derive(bits_, text_hash(text), kTextDomain)};
}

std::uint32_t Stream::next_u32() {
  if (used_ == 4) {
    words_ = block(key_.bits(), block_++, 0);
    used_ = 0;
  }
  return words_[static_cast<std::size_t>(used_++)];
}

std::uint64_t Stream::next_u64() {
  const std::uint32_t lower = next_u32();
  return join(lower, next_u32());
}

double Stream::uniform() {
  return static_cast<double>(next_u64() >> 11) * 0x1p-53;
}

std::uint64_t Stream::below(std::uint64_t n) {
  if (n == 0) throw std::logic_error("Stream::below(0)");
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next_u64()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t refused = -n % n;  // 2^64 mod n
    while (static_cast<std::uint64_t>(product) < refused) product = static_cast<Wide>(next_u64()) * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Stream::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));  // 1 − u is never 0
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

void philox_fill(Key key, std::uint64_t first_word, std::span<std::uint32_t> out) {
  if (first_word % 4 != 0) throw std::logic_error("philox_fill: first_word must be a multiple of 4");
  const std::size_t groups = out.size() / (4 * kLanes);
  fill_groups(key.bits(), first_word / 4, out.data(), groups);
  std::uint64_t number = first_word / 4 + groups * kLanes;
  for (std::size_t done = groups * 4 * kLanes; done < out.size(); done += 4) {
    const auto words = block(key.bits(), number++, 0);
    std::copy_n(words.begin(), std::min<std::size_t>(4, out.size() - done), out.begin() + static_cast<std::ptrdiff_t>(done));
  }
}

std::vector<std::int64_t> permutation(Key key, std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Stream stream(key);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  return order;
}

std::int64_t seed_from(Key key) {
  constexpr std::uint64_t largest = (std::uint64_t{1} << 53) - 1;
  return static_cast<std::int64_t>(1 + Stream(key).below(largest));
}

}  // namespace trainlab
