// The cheapest segments for a number of bytes: known costs, exhaustive search, plans simulated.
#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include "memory/segment_search.h"

namespace trainlab::segment_search_test {

namespace {

// The time of the second passes of these segments, each of which ends before what its last stage spares.
double again(const std::vector<ChainCost>& stages, const std::vector<ChainSegment>& segments) {
  double sum = 0;
  for (const ChainSegment& one : segments) {
    for (std::size_t i = one.first; i < one.first + one.count; ++i) sum += stages[i].seconds;
    sum += again(stages, one.inner) - stages[one.first + one.count - 1].spared;
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
    // In a run, a stage has its own input beside that of the run, and its output.
    for (std::size_t t = i; is_run && t < parts.back().end; ++t)
      most = std::max(most, held + (t > i ? stages[t].input : 0) + stages[t + 1].input + gradient);
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

// All sets of segments of the stages `begin` to `end`, with all sets within each if they may nest. `but_one`: without
// the sets that are one segment of all stages.
std::vector<std::vector<ChainSegment>> all_sets(std::size_t begin, std::size_t end, bool nests, bool but_one = false) {
  if (begin == end) return {{}};
  std::vector<std::vector<ChainSegment>> all = all_sets(begin + 1, end, nests);  // the first stage keeps all
  for (std::size_t to = begin + 1; to <= end; ++to) {
    if (but_one && to == end) break;
    const auto inners = nests ? all_sets(begin, to, true, true) : std::vector<std::vector<ChainSegment>>{{}};
    for (const std::vector<ChainSegment>& rest : all_sets(to, end, nests)) {
      for (const std::vector<ChainSegment>& inner : inners) {
        std::vector<ChainSegment> one{{.first = begin, .count = to - begin, .inner = inner}};
        one.insert(one.end(), rest.begin(), rest.end());
        all.push_back(std::move(one));
      }
    }
  }
  return all;
}

struct Chain {
  std::vector<ChainCost> stages;
  std::int64_t output = 0, all = 0;  // `all`: bytes in which everything is kept

  // The most bytes in a step, counted as in `peak`, with the loss as a stage behind the last one.
  std::int64_t bytes_of(const std::vector<ChainSegment>& segments) const {
    std::vector<ChainCost> ended = stages;
    ended.push_back({.input = output});
    ended.push_back({});
    return peak(ended, 0, stages.size() + 1, segments, stages.front().input, 0);
  }
  double forward() const {
    double sum = 0;
    for (const ChainCost& stage : stages) sum += stage.seconds;
    return sum;
  }
};

// Stages of which some spare all of their time at the end of a run, as products do. `unit`: the bytes of a small
// number.
Chain drawn_chain(std::mt19937& random, int least, int most, std::int64_t unit = 1) {
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Chain chain;
  const int size = draw(least, most);
  for (int i = 0; i < size; ++i) {
    const double seconds = draw(1, 9);
    chain.stages.push_back({.seconds = seconds, .spared = draw(0, 1) * seconds, .input = unit * draw(1, 5)});
  }
  chain.output = unit * draw(1, 3);
  for (std::size_t i = 0; i < chain.stages.size(); ++i)
    chain.stages[i].kept =
        unit * draw(1, 12) + (i + 1 < chain.stages.size() ? chain.stages[i + 1].input : chain.output);
  chain.all = chain.stages.front().input + chain.output;
  for (const ChainCost& stage : chain.stages) chain.all += stage.kept + stage.input;
  return chain;
}

}  // namespace

TEST_CASE("the least times of a small chain for each number of bytes") {
  // An oracle: the forward passes take 23 and the backward passes 45 in all.
  const std::vector<double> f = {3, 5, 2, 8, 4, 1};
  const std::vector<std::int64_t> x = {4, 4, 4, 2, 2, 2, 1}, kept = {10, 12, 8, 6, 8, 3}, o = {0, 1, 0, 2, 0, 0},
                                  p = {2, 2, 1, 2, 1, 1};
  std::vector<ChainCost> stages;
  for (std::size_t i = 0; i < f.size(); ++i) stages.push_back({f[i], 0, x[i], kept[i], o[i], p[i]});
  const SegmentSearch search(stages, x.back(), 60, 60, true);
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
  const bool nests = GENERATE(true, false);
  for (int i = 0; i < 20; ++i) {
    const Chain chain = drawn_chain(random, 4, 14);
    const SegmentSearch search(chain.stages, chain.output, chain.all, chain.all, nests);
    for (std::int64_t bytes = 1; bytes <= chain.all; ++bytes) {
      const auto plan = search.plan(bytes);
      if (!plan) continue;
      CHECK(chain.bytes_of(plan->segments) <= bytes);
      CHECK(again(chain.stages, plan->segments) == Approx(plan->seconds));
    }
    for (std::size_t each = 1; each < chain.stages.size(); ++each) {
      std::vector<ChainSegment> uniform;
      for (std::size_t first = 0; first + each < chain.stages.size(); first += each)
        uniform.push_back({.first = first, .count = each});
      const auto plan = search.plan(chain.bytes_of(uniform));
      REQUIRE(plan);
      CHECK(plan->seconds <= again(chain.stages, uniform) + 1e-9);
    }
  }
}

TEST_CASE("no set of segments takes less time in the same bytes") {
  std::mt19937 random(5);
  const bool nests = GENERATE(true, false);
  for (int i = 0; i < 30; ++i) {
    const Chain chain = drawn_chain(random, 2, nests ? 5 : 8);
    const SegmentSearch search(chain.stages, chain.output, chain.all, chain.all, nests);
    // The least time for each number of bytes.
    std::map<std::int64_t, double> least;
    for (const std::vector<ChainSegment>& one : all_sets(0, chain.stages.size(), nests)) {
      const auto [found, is_new] = least.emplace(chain.bytes_of(one), again(chain.stages, one));
      if (!is_new) found->second = std::min(found->second, again(chain.stages, one));
    }
    double fastest = std::numeric_limits<double>::infinity();
    for (std::int64_t bytes = 1; bytes <= chain.all; ++bytes) {
      if (const auto found = least.find(bytes); found != least.end()) fastest = std::min(fastest, found->second);
      const auto plan = search.plan(bytes);
      REQUIRE(plan.has_value() == (fastest < std::numeric_limits<double>::infinity()));
      if (plan) CHECK(plan->seconds == Approx(fastest).margin(1e-9));
    }
  }
}

TEST_CASE("rounded bytes make a step at most a tenth slower") {
  std::mt19937 random(7);
  for (int i = 0; i < 30; ++i) {
    const Chain chain = drawn_chain(random, 6, 8, 997);
    const SegmentSearch exact(chain.stages, chain.output, chain.all, chain.all, false),
        rounded(chain.stages, chain.output, chain.all, 256, false);
    for (std::int64_t percent = 30; percent <= 100; percent += 10) {
      const std::int64_t bytes = chain.all * percent / 100;
      // Each stage may be rounded up by a slot.
      const auto best = exact.plan(bytes - 10 * (chain.all / 256 + 1)), plan = rounded.plan(bytes);
      if (!best) continue;
      REQUIRE(plan);
      CHECK(3 * chain.forward() + plan->seconds <= 1.10 * (3 * chain.forward() + best->seconds));
    }
  }
}

}  // namespace trainlab::segment_search_test
