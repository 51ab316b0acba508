// Copies of samples, within the training part and between the parts, in data of which not all can be remembered.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "health/verdict.h"
#include "watch/sample_facts.h"

namespace trainlab::sample_facts_test {

namespace {

Part part_of(at::Tensor samples) {
  Dataset data;
  data.size = samples.size(0);
  data.columns.emplace_back();
  data.columns.back().name = "x";
  data.columns.back().values = std::move(samples);
  return {.data = std::make_shared<const Dataset>(std::move(data)), .rows = nullptr};
}

SampleFacts facts_of(at::Tensor train, at::Tensor val) {
  DataParts parts;
  parts.train = part_of(std::move(train));
  parts.val = part_of(std::move(val));
  return sample_facts(parts);
}

bool is_leak(const SampleFacts& facts) {
  HealthFigures figures;
  figures.run.shared = facts.shared;
  figures.run.repeated = facts.repeated;
  const std::vector<HealthVerdict> found = judge(figures);
  return !found.empty() && found.front().kind == HealthKind::leakage;
}

// Images of bytes that are drawn; each 400th, from the seventh on, is blank.
at::Tensor images(std::int64_t count, std::uint64_t seed) {
  constexpr std::int64_t bytes = 3'136;
  const at::Tensor all = at::empty({count, bytes}, at::kByte);
  auto* const to = all.mutable_data_ptr<std::uint8_t>();
  std::mt19937_64 draw(seed);
  for (std::int64_t at = 0; at < count * bytes; at += 8) {
    const std::uint64_t eight = draw();
    std::memcpy(to + at, &eight, sizeof eight);
  }
  for (std::int64_t i = 7; i < count; i += 400) std::memset(to + i * bytes, 0, bytes);
  return all;
}

// A row of two numbers for each of these.
at::Tensor table(const std::vector<std::int64_t>& numbers) {
  const at::Tensor all = at::empty({std::ssize(numbers), 2}, at::kFloat);
  auto* to = all.mutable_data_ptr<float>();
  for (const std::int64_t number : numbers) {
    *to++ = static_cast<float>(number);
    *to++ = static_cast<float>(number) / 2;
  }
  return all;
}

// The numbers from `from` on, `count` of them, each as often as `copies` says, in an order that is drawn.
std::vector<std::int64_t> numbers(std::int64_t from, std::int64_t count, std::int64_t copies = 1) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count * copies; ++i) all.push_back(from + i % count);
  std::ranges::shuffle(all, std::mt19937_64(1));
  return all;
}

}  // namespace

TEST_CASE("a few blank images are no leak, and are counted as they are") {
  const SampleFacts facts = facts_of(images(12'000, 1), images(4'000, 2));
  CHECK(facts.shared == Approx(0.0025));
  CHECK(facts.repeated == Approx(0.0025));
  REQUIRE(facts.alike.size() == 1);
  CHECK(facts.alike.front().size() == 30);
  CHECK_FALSE(is_leak(facts));
}

TEST_CASE("rows of a table that are there often by nature are no leak") {
  const std::vector<std::int64_t> train = numbers(0, 30'000, 10);
  const SampleFacts facts = facts_of(table(train), table(numbers(0, 30'000)));
  CHECK(facts.shared == 1);
  CHECK(facts.repeated == 1);
  CHECK_FALSE(is_leak(facts));
  // About half of the rows are compared, with all of their copies.
  CHECK((facts.alike.size() > 14'000 && facts.alike.size() < 16'000));
  for (const std::vector<std::int64_t>& places : facts.alike) {
    REQUIRE(places.size() == 10);
    const std::int64_t first = train[static_cast<std::size_t>(places.front())];
    REQUIRE(std::ranges::all_of(places,
                                [&](std::int64_t place) { return train[static_cast<std::size_t>(place)] == first; }));
  }
}

TEST_CASE("copies of training samples in the validation part of a large table are a leak") {
  std::vector<std::int64_t> val = numbers(1'000'000, 27'000);
  for (const std::int64_t copy : numbers(0, 3'000)) val.push_back(copy);
  const SampleFacts facts = facts_of(table(numbers(0, 300'000)), table(val));
  CHECK(facts.shared == Approx(0.1).margin(0.01));
  CHECK(facts.repeated == 0);
  CHECK(is_leak(facts));
}

TEST_CASE("copies of training samples in the test part are a leak too, which names this part") {
  DataParts parts;
  parts.train = part_of(table(numbers(0, 1'000)));
  parts.val = part_of(table(numbers(2'000, 200)));
  parts.test = part_of(table(numbers(980, 100)));
  const SampleFacts facts = sample_facts(parts);
  CHECK(facts.shared == 0);
  CHECK(facts.shared_by_test == Approx(0.2));
  HealthFigures figures;
  figures.run.shared = facts.shared;
  figures.run.shared_by_test = facts.shared_by_test;
  figures.run.repeated = facts.repeated;
  const std::vector<HealthVerdict> found = judge(figures);
  REQUIRE(found.size() == 1);
  CHECK(found.front().kind == HealthKind::leakage);
  CHECK_THAT(found.front().evidence, Catch::StartsWith("20 % of the test samples are training samples too"));
  // A test part that is too large is left out, and the others are compared all the same.
  parts.test = part_of(at::empty({1'100, std::int64_t{1} << 20}, at::kByte));
  CHECK(sample_facts(parts).shared == 0);
  CHECK(std::isnan(sample_facts(parts).shared_by_test));
}

TEST_CASE("of more samples than are read nothing is known") {
  const SampleFacts facts = facts_of(at::empty({1'100, std::int64_t{1} << 20}, at::kByte), table(numbers(0, 100)));
  CHECK(std::isnan(facts.shared));
  CHECK(std::isnan(facts.repeated));
  CHECK(facts.alike.empty());
}

}  // namespace trainlab::sample_facts_test
