// The cheapest segments for a number of bytes: known costs, exhaustive search, plans simulated.
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

#include "memory/segment_search.h"

namespace trainlab::segment_search_test {

namespace {

// The time of the second passes of these segments.
double again(const std::vector<ChainCost>& stages, const std::vector<ChainSegment>& segments) {
  double sum = 0;
  for (const ChainSegment& one : segments) {
    for (std::size_t i = one.first; i < one.first + one.count; ++i) sum += stages[i].seconds;
    sum += again(stages, one.inner);
  }
  return sum;
}

// The most bytes at a time of forward and backward passes through the stages `begin` to `end`, while `held` bytes are
// held besides, the input of the first stage among them, and the gradient of the last one's output.
std::int64_t peak(const std::vector<ChainCost>& stages, std::size_t begin, std::size_t end,
                  const std::vector<ChainSegment>& segments, std::int64_t held, std::int64_t gradient) {
  struct Part {
    std::size_t first, end;
    const ChainSegment* run;  // null: a stage that keeps all
    std::int64_t held;        // before it
  };
  std::int64_t most = held + gradient;
  std::vector<Part> parts;
  auto next = segments.begin();
  for (std::size_t i = begin; i < end;) {
    const bool is_run = next != segments.end() && next->first == i;
    parts.push_back({i, i + (is_run ? next->count : 1), is_run ? &*next : nullptr, held});
    i = parts.back().end;
    held += is_run ? stages[i].input : stages[i - 1].kept;
    most = std::max(most, held + gradient);
    if (is_run) ++next;
  }
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const std::int64_t upstream = part->end == end ? gradient : stages[part->end].input;
    most = std::max(most, part->run ? peak(stages, part->first, part->end, part->run->inner, part->held, upstream)
                                    : part->held + stages[part->first].kept + upstream);
  }
  return most;
}

}  // namespace

TEST_CASE("the least times of a small chain for each number of bytes") {
  // An oracle: the forward passes take 23 and the backward passes 45 in all.
  const std::vector<double> f = {3, 5, 2, 8, 4, 1};
  const std::vector<std::int64_t> x = {4, 4, 4, 2, 2, 2, 1}, kept = {10, 12, 8, 6, 8, 3}, o = {0, 1, 0, 2, 0, 0},
                                  p = {2, 2, 1, 2, 1, 1};
  std::vector<ChainCost> stages;
  for (std::size_t i = 0; i < f.size(); ++i) stages.push_back({f[i], x[i], kept[i], o[i], p[i]});
  const SegmentSearch search(stages, x.back(), 60, 60);
  CHECK_FALSE(search.plan(24));
  for (const auto& [bytes, time] : std::vector<std::pair<std::int64_t, double>>{
           {26, 86}, {28, 85}, {30, 81}, {34, 78}, {38, 75}, {44, 73}, {50, 70}, {54, 68}, {60, 68}}) {
    INFO(bytes);
    const auto plan = search.plan(bytes);
    REQUIRE(plan);
    CHECK(plan->seconds == Approx(time - 68));
    CHECK(again(stages, plan->segments) == Approx(plan->seconds));
  }
}

TEST_CASE("a plan holds no more than it was asked for, and is never slower than segments of one size") {
  std::mt19937 random(3);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int chain = 0; chain < 20; ++chain) {
    std::vector<ChainCost> stages;
    const int size = draw(4, 14);
    for (int i = 0; i < size; ++i) stages.push_back({.seconds = draw(1, 9) * 1.0, .input = draw(1, 5)});
    const std::int64_t output = draw(1, 3);
    for (int i = 0; i < size; ++i) {
      const auto number = static_cast<std::size_t>(i);
      stages[number].kept = draw(1, 12) + (i + 1 < size ? stages[number + 1].input : output);
    }
    std::vector<ChainCost> ended = stages;
    ended.push_back({.input = output});
    std::int64_t all = stages.front().input + output;
    for (const ChainCost& stage : stages) all += stage.kept + stage.input;
    const SegmentSearch search(stages, output, all, all);
    const std::int64_t input = stages.front().input;
    for (std::int64_t bytes = 1; bytes <= all; ++bytes) {
      const auto plan = search.plan(bytes);
      if (!plan) continue;
      CHECK(peak(ended, 0, stages.size(), plan->segments, input, 0) <= bytes);
    }
    for (std::size_t each = 1; each < stages.size(); ++each) {
      std::vector<ChainSegment> uniform;
      for (std::size_t first = 0; first + each < stages.size(); first += each)
        uniform.push_back({.first = first, .count = each});
      // The search counts the gradient's place too: as much as the largest border.
      const std::int64_t bytes = peak(ended, 0, stages.size(), uniform, input, 0) + 10;
      const auto plan = search.plan(bytes);
      REQUIRE(plan);
      CHECK(plan->seconds <= again(stages, uniform));
    }
  }
}

}  // namespace trainlab::segment_search_test
