// What a process expects of the next trial: it is what the posterior says, the search finds it, and a study ends by it.
#include "samplers/expected_improvement.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "core/random/stream.h"
#include "study/no_improvement.h"
#include "study/study.h"
#include "study_support.h"

namespace trainlab::expected_improvement_test {

namespace {

Space square() {
  return parse_space(
      R"({"x": {"@": "space.uniform", "low": -5, "high": 10}, "y": {"@": "space.uniform", "low": 0, "high": 15}})");
}

double bowl(std::span<const double> p) { return std::pow(p[0] - 2, 2) + 2 * std::pow(p[1] - 6, 2); }

std::vector<double> open(const Space& space) {
  return std::vector<double>(space.size(), std::numeric_limits<double>::quiet_NaN());
}

Stream stream(std::uint64_t n) { return Stream(Key(3).fold(n)); }

}  // namespace

TEST_CASE("the search comes to a point that no draw beats, keeps what is given, and turns from what is running") {
  const Space space = square();
  ExpectedImprovement improvement(space);
  Stream random{Key(1)};
  for (int i = 0; i < 25; ++i) {
    const std::vector<double> point = {space.from_unit(0, random.uniform()), space.from_unit(1, random.uniform())};
    improvement.add(point, bowl(point));
  }
  const auto best = improvement.best(stream(0), {}, open(space));
  CHECK(best.improvement > 0);
  // Another stream of draws climbs to the same height.
  for (std::uint64_t n = 1; n < 6; ++n)
    CHECK(improvement.best(stream(n), {}, open(space)).improvement == Approx(best.improvement).epsilon(1e-2));
  CHECK(std::abs(best.point[0] - 2) < 1.5);
  CHECK(std::abs(best.point[1] - 6) < 1.5);

  const auto given = improvement.best(stream(0), {}, std::vector<double>{9.5, std::nan("")});
  CHECK(given.point[0] == 9.5);
  CHECK(given.improvement < best.improvement);

  const std::vector<std::span<const double>> running = {best.point};
  const auto beside = improvement.best(stream(0), running, open(space));
  CHECK(beside.improvement < best.improvement);
  CHECK(std::hypot(beside.point[0] - best.point[0], beside.point[1] - best.point[1]) > 0.3);
}

TEST_CASE("what it chooses depends on what was added, not on when it was asked") {
  const Space space = parse_space(R"({
    "kind": {"@": "space.choice", "values": ["a", "b"]}, "n": {"@": "space.int", "low": 1, "high": 40},
    "rate": {"@": "space:when", "source": {"@": "space.log", "low": 1e-4, "high": 1},
             "parent": "kind", "values": ["b"]}})");
  const auto value = [](std::span<const double> p) {
    return std::abs(p[1] - 11) / 40 + (p[0] == 0 ? 1 : std::abs(std::log10(p[2]) + 2));
  };
  ExpectedImprovement asked(space), told(space);
  std::vector<double> last;
  std::vector<std::pair<std::vector<double>, double>> trials;
  Stream random{Key(2)};
  for (std::uint64_t t = 0; t < 50; ++t) {
    std::vector<double> point = open(space);
    if (t < 8) {
      for (const std::size_t i : space.order()) {
        if (space.active(i, point)) point[i] = space.from_unit(i, random.uniform());
      }
    } else {
      point = asked.best(stream(t), {}, point).point;
      for (std::size_t i = 0; i < space.size(); ++i) CHECK(std::isnan(point[i]) == !space.active(i, point));
    }
    asked.add(point, value(point));
    trials.emplace_back(point, value(point));
  }
  for (const auto& [point, one] : trials) told.add(point, one);
  CHECK(asked.best(stream(99), {}, open(space)).point == told.best(stream(99), {}, open(space)).point);
  // The best value of conditional parameters is found, too.
  double best = 1;
  for (const auto& trial : trials) best = std::min(best, trial.second);
  CHECK(best < 0.05);
}

TEST_CASE("an objective that is the same in all trials leaves the choice to the other") {
  const Space space = square();
  for (const std::size_t constant : {0U, 1U}) {
    ExpectedImprovement improvement(space, 2);
    Stream random{Key(1)};
    for (int i = 0; i < 25; ++i) {
      const std::vector<double> point = {space.from_unit(0, random.uniform()), space.from_unit(1, random.uniform())};
      std::vector<double> values = {bowl(point), bowl(point)};
      values[constant] = 7;
      improvement.add(point, values);
    }
    for (std::uint64_t n = 0; n < 5; ++n) {
      const std::vector<double> point = improvement.best(stream(n), {}, open(space)).point;
      INFO("objective " << constant << ", draws " << n << ": " << point[0] << ", " << point[1]);
      CHECK(std::abs(point[0] - 2) < 1.5);
      CHECK(std::abs(point[1] - 6) < 1.5);
    }
  }
}

TEST_CASE("where one trial is the best in both objectives, better ones are hoped for all the same") {
  const Space space = square();
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    ExpectedImprovement improvement(space, 2);
    Stream random{Key(seed)};
    std::vector<double> point = {2, 6};
    for (int i = 0; i < 60; ++i) {
      const double value = std::sqrt(bowl(point));
      improvement.add(point, std::vector<double>{value, 2 * value});
      point = {space.from_unit(0, random.uniform()), space.from_unit(1, random.uniform())};
    }
    CHECK(improvement.best(stream(0), {}, open(space)).improvement > 0);
  }
}

TEST_CASE("a study ends when no more improvement is expected, and not before") {
  const Space space = square();
  for (const bool maximize : {false, true}) {
    INFO(maximize);
    const double sign = maximize ? -1 : 1;
    Study study(space, parse_sampler(R"({"@": "sampler.gp"})", space, 1), {.maximize = {maximize}});
    NoImprovement rule(space, 0.01);
    std::int64_t trials = 0;
    for (; trials < 120; ++trials) {
      const std::int64_t trial = *study.ask().trial;
      study.tell(trial, {sign * bowl(study.trials().point(trial))});
      const NoImprovement::Verdict& verdict = rule.judge(study.trials(), maximize, study.trials().size());
      if (study.trials().size() < NoImprovement::startup) CHECK(verdict.trials == 0);
      if (verdict.ends) break;
    }
    CHECK(trials < 60);
    CHECK(sign * study.trials().value(*study.best()) < 0.01);
    // Made anew it says the same, and of fewer trials it may see less.
    NoImprovement again(space, 0.01);
    CHECK(again.judge(study.trials(), maximize, study.trials().size()).expected ==
          rule.judge(study.trials(), maximize, study.trials().size()).expected);
    CHECK_FALSE(again.judge(study.trials(), maximize, NoImprovement::startup - 1).ends);
  }
}

TEST_CASE("whether a study ends depends on its trials, not on the order in which they ended or when it was asked") {
  const Space space = square();
  Study study(space, parse_sampler(R"({"@": "sampler.random"})", space, 1), {});
  NoImprovement rule(space);
  std::vector<std::int64_t> open;
  Stream random{Key(5)};
  std::set<double> expected;
  for (int i = 0; i < 90; ++i) {
    open.push_back(*study.ask().trial);
    if (open.size() < 6) continue;
    const auto place = open.begin() + static_cast<std::ptrdiff_t>(random.below(open.size()));
    if (*place % 9 == 4)
      study.fail(*place);
    else
      study.tell(*place, {bowl(study.trials().point(*place))});
    open.erase(place);
    const std::int64_t visible = study.trials().size() - static_cast<std::int64_t>(random.below(3));
    const NoImprovement::Verdict verdict = rule.judge(study.trials(), false, visible);
    CHECK(verdict.expected == NoImprovement(space).judge(study.trials(), false, visible).expected);
    expected.insert(verdict.expected);
  }
  CHECK(expected.size() > 10);
}

TEST_CASE("a study does not end where much is unknown, and does where nothing changes a value") {
  const Space wide = parse_space(R"({
    "a": {"@": "space.uniform", "low": 0, "high": 1}, "b": {"@": "space.uniform", "low": 0, "high": 1},
    "c": {"@": "space.uniform", "low": 0, "high": 1}, "d": {"@": "space.uniform", "low": 0, "high": 1}})");
  const auto after = [&](int count, auto&& value) {
    Study study(wide, parse_sampler(R"({"@": "sampler.random"})", wide, 1), {});
    for (int i = 0; i < count; ++i) {
      const std::int64_t trial = *study.ask().trial;
      study.tell(trial, {value(study.trials().point(trial))});
    }
    return NoImprovement(wide).judge(study.trials(), false, study.trials().size());
  };
  const auto waves = [](std::span<const double> p) {
    return std::sin(9 * p[0]) + std::cos(8 * p[1]) + std::sin(7 * p[2] + 5 * p[3]);
  };
  CHECK_FALSE(after(60, waves).ends);
  CHECK(after(60, [](std::span<const double>) { return 1.0; }).ends);
  // Half of the trials diverge.
  const auto diverging = [&](std::span<const double> p) {
    return p[0] > 0.4 ? std::numeric_limits<double>::infinity() : waves(p);
  };
  CHECK_FALSE(after(60, diverging).ends);
}

}  // namespace trainlab::expected_improvement_test
