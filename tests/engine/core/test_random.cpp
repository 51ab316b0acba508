#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "core/random/stream.h"

namespace trainlab::random_test {

namespace {

using Block = std::array<std::uint32_t, 4>;

}  // namespace

TEST_CASE("Philox4x32-10 gives Random123's known answers") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Block{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
  CHECK(philox4x32({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) == Block{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
  CHECK(philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}) ==
        Block{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});
}

// From an independent implementation: every stored run depends on these numbers staying as they are.
TEST_CASE("keys and streams stay what they are") {
  CHECK(Key(1).bits() == 0xF2FB58B8322F537B);
  const Key key = Key(7).fold("dropout").fold("model.3").fold(42);
  CHECK(key.bits() == 0xD8247FEFADF66228);
  Stream stream(key);
  CHECK(stream.next_u32() == 0xE957C908);
  CHECK(stream.next_u32() == 0xA3F25ADC);
  CHECK(stream.next_u64() == 0x4809996474C26FED);
  CHECK(stream.next_u32() == 0xEA2ACDAC);
  CHECK(Stream(key).uniform() == 0.6404167928061205);
  CHECK(Stream(key).below(10) == 6);
  Block far;
  philox_fill(key, 4 * 5000000000ULL, far);  // a block number of more than 32 bits
  CHECK(far == Block{0xAD9997BC, 0xAB870191, 0x43B06E98, 0x467F2465});
}

TEST_CASE("philox_fill gives the words of the stream, from any block and of any length") {
  const Key key = Key(3).fold("fill");
  std::vector<std::uint32_t> expected(700);
  Stream stream(key);
  for (std::uint32_t& word : expected) word = stream.next_u32();
  for (std::size_t first = 0; first < 200; first += 4) {
    for (const std::size_t length : {0, 1, 3, 4, 5, 63, 64, 65, 127, 128, 200, 333, 500}) {
      std::vector<std::uint32_t> out(length + 1, 0xDEADBEEF);
      philox_fill(key, first, std::span(out).first(length));
      CAPTURE(first, length);
      REQUIRE(std::equal(out.begin(), out.end() - 1, expected.begin() + static_cast<std::ptrdiff_t>(first)));
      REQUIRE(out.back() == 0xDEADBEEF);
    }
  }
  std::array<std::uint32_t, 4> out;
  CHECK_THROWS_AS(philox_fill(key, 2, out), std::logic_error);
}

TEST_CASE("the vectors carry block numbers over 32 bits") {
  const Key key(5);
  const std::uint64_t first_block = (1ULL << 32) - 9;
  std::vector<std::uint32_t> words(128);
  philox_fill(key, 4 * first_block, words);
  for (std::uint64_t i = 0; i < 32; ++i) {
    Block one;
    philox_fill(key, 4 * (first_block + i), one);
    REQUIRE(std::equal(one.begin(), one.end(), words.begin() + static_cast<std::ptrdiff_t>(4 * i)));
  }
}

TEST_CASE("what is folded in tells keys apart: value, order, kind and depth") {
  std::set<std::uint64_t> seen;
  std::size_t made = 0;
  const auto add = [&](Key key) {
    seen.insert(key.bits());
    ++made;
  };
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Key key(seed);
    add(key);
    for (std::uint64_t n = 0; n < 50; ++n) {
      add(key.fold(n));
      add(key.fold(std::to_string(n)));
      add(key.fold(n).fold("a"));
      add(key.fold("a").fold(n));
      add(key.fold(n << 32));
    }
  }
  add(Key(1).fold(""));
  CHECK(seen.size() == made - 50);  // 0 << 32 is 0 for each seed
  CHECK(Key(1).fold("ab").fold("c") != Key(1).fold("a").fold("bc"));
}

TEST_CASE("draws have the distribution that they promise") {
  constexpr int n = 400000;
  Stream stream(Key(11));

  // Five standard errors; the draws are always the same ones.
  double sum = 0, squares = 0;
  bool in_range = true, finite = true;
  for (int i = 0; i < n; ++i) {
    const double u = stream.uniform();
    in_range = in_range && u >= 0 && u < 1;
    sum += u;
    squares += (u - 0.5) * (u - 0.5);
  }
  CHECK(in_range);
  CHECK(sum / n == Approx(0.5).margin(5 * std::sqrt(1.0 / 12 / n)));
  CHECK(squares / n == Approx(1.0 / 12).margin(5 * std::sqrt(1.0 / 180 / n)));

  double moment[5] = {};
  for (int i = 0; i < n; ++i) {
    const double x = stream.normal();
    finite = finite && std::isfinite(x);
    for (int k = 1; k <= 4; ++k) moment[k] += std::pow(x, k) / n;
  }
  CHECK(finite);
  CHECK(moment[1] == Approx(0).margin(5 * std::sqrt(1.0 / n)));
  CHECK(moment[2] == Approx(1).margin(5 * std::sqrt(2.0 / n)));
  CHECK(moment[3] == Approx(0).margin(5 * std::sqrt(15.0 / n)));
  CHECK(moment[4] == Approx(3).margin(5 * std::sqrt(96.0 / n)));

  std::array<int, 7> counts{};
  for (int i = 0; i < n; ++i) ++counts.at(stream.below(7));
  double chi2 = 0;
  for (const int count : counts) chi2 += (count - n / 7.0) * (count - n / 7.0) / (n / 7.0);
  CHECK(chi2 < 22.5);  // 0.1 % of χ² with 6 degrees of freedom

  // A bound just above 2^63 refuses almost half of all words; without that small results would come twice as often.
  const std::uint64_t bound = (1ULL << 63) + 1;
  int low_half = 0;
  for (int i = 0; i < n; ++i) low_half += stream.below(bound) < bound / 2;
  CHECK(static_cast<double>(low_half) / n == Approx(0.5).margin(5 * std::sqrt(0.25 / n)));
  CHECK(stream.below(1) == 0);
  CHECK_THROWS_AS(stream.below(0), std::logic_error);
}

TEST_CASE("a permutation holds every index once and puts each anywhere") {
  for (const std::int64_t n : {0, 1, 2, 3, 1000}) {
    const auto order = permutation(Key(2), n);
    CHECK(std::set<std::int64_t>(order.begin(), order.end()).size() == static_cast<std::size_t>(n));
    if (n > 0) CHECK(*std::max_element(order.begin(), order.end()) == n - 1);
  }
  CHECK(permutation(Key(2), 100) == permutation(Key(2), 100));
  CHECK(permutation(Key(2), 100) != permutation(Key(3), 100));

  // All 24 orders of four things equally often.
  std::map<std::vector<std::int64_t>, int> counts;
  constexpr int n = 24000;
  for (int i = 0; i < n; ++i) ++counts[permutation(Key(9).fold(static_cast<std::uint64_t>(i)), 4)];
  REQUIRE(counts.size() == 24);
  double chi2 = 0;
  for (const auto& [order, count] : counts) chi2 += (count - n / 24.0) * (count - n / 24.0) / (n / 24.0);
  CHECK(chi2 < 49.7);  // 0.1 % of χ² with 23 degrees of freedom
}

TEST_CASE("seeds for others are positive and exact as doubles") {
  std::set<std::int64_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::int64_t seed = seed_from(Key(1).fold(i));
    REQUIRE((seed >= 1 && seed < std::int64_t{1} << 53));
    seen.insert(seed);
  }
  CHECK(seen.size() == 1000);
}

}  // namespace trainlab::random_test
