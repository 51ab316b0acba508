#include "core/random/stream.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "core/value.h"

namespace trainlab {

namespace {

// Third word of the counter. A key's stream of words has 0 there, so keys never meet draws.
constexpr std::uint32_t kSeedDomain = 0x73656564, kNumberDomain = 0x6E756D62, kTextDomain = 0x74657874;

constexpr std::uint64_t join(std::uint32_t lower, std::uint32_t upper) {
  return lower | (static_cast<std::uint64_t>(upper) << 32);
}

std::array<std::uint32_t, 4> block(std::uint64_t key, std::uint64_t number, std::uint32_t domain) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  return philox4x32({low(number), low(number >> 32), domain, 0}, {low(key), low(key >> 32)});
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

}  // namespace

Key::Key(std::uint64_t seed) : bits_(derive(0, seed, kSeedDomain)) {}

Key Key::fold(std::uint64_t n) const { return {Raw{}, derive(bits_, n, kNumberDomain)}; }

Key Key::fold(std::string_view text) const { return {Raw{}, derive(bits_, text_hash(text), kTextDomain)}; }

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

double Stream::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

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

std::vector<std::int64_t> permutation(Key key, std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Stream stream(key);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  return order;
}

std::int64_t seed_from(Key key) { return static_cast<std::int64_t>(1 + Stream(key).below(largest_exact - 1)); }

}  // namespace trainlab
