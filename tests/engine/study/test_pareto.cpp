// Several objectives: fronts and volumes against their definitions, and a search that finds a front.
#include "analysis/pareto.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "core/random/stream.h"
#include "samplers/good_trials.h"
#include "study/study.h"
#include "study_support.h"

namespace trainlab::pareto_test {

TEST_CASE("fronts are those of the definition, in two objectives and in three") {
  for (const std::size_t objectives : {2U, 3U}) {
    Stream random{Key(objectives)};
    std::vector<double> points(60 * objectives);
    for (double& x : points) x = static_cast<double>(random.below(8));  // with ties
    const auto at = [&](std::size_t i) { return std::span<const double>(points).subspan(i * objectives, objectives); };
    std::set<std::uint32_t> left;
    for (std::uint32_t i = 0; i < 60; ++i) left.insert(i);
    for (const auto& front : pareto_fronts(points, objectives, 60)) {
      std::vector<std::uint32_t> expected;
      for (const std::uint32_t i : left) {
        if (std::none_of(left.begin(), left.end(), [&](std::uint32_t other) { return dominates(at(other), at(i)); }))
          expected.push_back(i);
      }
      CHECK(front == expected);
      for (const std::uint32_t i : front) left.erase(i);
    }
    CHECK(left.empty());
    CHECK(pareto_fronts(points, objectives, 1).size() == 1);
  }
}

TEST_CASE("a volume is the share of random points that are dominated") {
  for (const std::size_t objectives : {2U, 3U, 4U}) {
    Stream random{Key(objectives)};
    std::vector<std::vector<double>> points(7, std::vector<double>(objectives));
    for (auto& point : points) {
      for (double& x : point) x = 1.2 * random.uniform();  // some beyond the reference
    }
    const std::vector<double> reference(objectives, 1.0);
    int inside = 0;
    constexpr int draws = 200'000;
    for (int i = 0; i < draws; ++i) {
      std::vector<double> x(objectives);
      for (double& one : x) one = random.uniform();
      inside +=
          std::any_of(points.begin(), points.end(), [&](const auto& point) { return dominates(point, x); }) ? 1 : 0;
    }
    CHECK(hypervolume(points, reference) == Approx(static_cast<double>(inside) / draws).margin(5e-3));
  }
}

TEST_CASE("those that dominate most are chosen one after the other, in two objectives as in more") {
  for (const std::size_t objectives : {2U, 3U, 4U}) {
    // A front: on the sphere's part where all values are positive, seen from far away.
    Stream random{Key(7 + objectives)};
    std::vector<double> points;
    for (int i = 0; i < 12; ++i) {
      std::vector<double> x(objectives);
      double length = 0;
      for (double& one : x) {
        one = random.uniform();
        length += one * one;
      }
      for (const double one : x) points.push_back(1 - one / std::sqrt(length));
    }
    const std::vector<double> reference(objectives, 1.1);
    const auto row = [&](std::uint32_t i) {
      const auto begin = points.begin() + static_cast<std::ptrdiff_t>(i * objectives);
      return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(objectives));
    };
    const std::vector<std::uint32_t> chosen = most_volume(points, reference, 4);
    REQUIRE(chosen.size() == 4);
    std::vector<std::vector<double>> kept;
    for (const std::uint32_t next : chosen) {
      auto with = kept;
      with.push_back(row(next));
      const double volume = hypervolume(with, reference);
      for (std::uint32_t other = 0; other < 12; ++other) {
        auto instead = kept;
        instead.push_back(row(other));
        CHECK(hypervolume(instead, reference) <= volume + 1e-12);
      }
      kept = with;
    }
    const std::vector<double> shares = volume_shares(points, reference);
    for (std::uint32_t i = 0; i < 12; ++i) CHECK(shares[i] > 0);
    std::vector<double> more = points;
    for (std::size_t k = 0; k < objectives; ++k) more.push_back(1.05);
    CHECK(volume_shares(more, reference).back() == Approx(0).margin(1e-12));
  }
}

TEST_CASE("an infinite value does not make the good trials one-sided") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& odd : {std::vector{infinity, -1.0}, {-infinity, 300.0}, {infinity, infinity}}) {
    INFO(odd[0] << " " << odd[1]);
    GoodTrials trials(2);
    const auto observe = [&](const std::vector<double>& values) {
      trials.observe(
          {.trial = trials.count(), .state = TrialState::complete, .point = {}, .values = values, .resource = 0});
    };
    observe(odd);
    for (int k = 0; k < 99; ++k) observe({1.0 * k, 99 - std::sqrt(99.0 * k)});  // a front
    const GoodTrials::Choice choice = trials.choose();
    CHECK(std::ranges::count(choice.is_good, 1) == 12);  // none twice
    int low = 0, high = 0;
    for (std::size_t k = 1; k < 100; ++k) {
      low += choice.is_good[k] != 0 && k <= 33 ? 1 : 0;
      high += choice.is_good[k] != 0 && k > 66 ? 1 : 0;
      if (choice.is_good[k]) CHECK(choice.weights[k] > 0);
    }
    CHECK(low >= 2);
    CHECK(high >= 2);
  }
}

TEST_CASE("a bad trial far away does not decide which trials of a front are the good ones") {
  const auto chosen = [](bool with_far) {
    GoodTrials trials(3);
    Stream random{Key(11)};
    for (int k = 0; k < 60; ++k) {
      const double a = random.uniform(), b = random.uniform();
      const std::vector<double> values = {a * b, a * (1 - b), 1 - a};  // a front
      trials.observe(
          {.trial = trials.count(), .state = TrialState::complete, .point = {}, .values = values, .resource = 0});
    }
    const std::vector<double> last = with_far ? std::vector{1e3, 1e4, 1e5} : std::vector{1.0, 1.0, 1.0};
    trials.observe({.trial = 60, .state = TrialState::complete, .point = {}, .values = last, .resource = 0});
    return trials.choose().is_good;
  };
  CHECK(chosen(true) == chosen(false));
}

namespace {

// How likely chance alone makes ours this much larger: Mann–Whitney's test, one-sided, by its normal limit.
double chance_of(const std::vector<double>& ours, const std::vector<double>& others) {
  double wins = 0;
  for (const double a : ours) {
    for (const double b : others) wins += a > b ? 1 : a == b ? 0.5 : 0;
  }
  const auto n = static_cast<double>(ours.size()), m = static_cast<double>(others.size());
  return 0.5 * std::erfc((wins - n * m / 2 - 0.5) / std::sqrt(n * m * (n + m + 1) / 6));
}

}  // namespace

TEST_CASE("TPE finds more of a front of three and four objectives than chance does") {
  // The first parameters choose a place on the front, a part of a sphere (DTLZ2) or of a plane; all others are best at
  // ½.
  for (const std::size_t objectives : {3U, 4U}) {
    std::string text;
    for (std::size_t i = 0; i < objectives + 4; ++i) {
      text += (i == 0 ? "{\"x" : ", \"x") + std::to_string(i) + R"(": {"@": "space.uniform", "low": 0, "high": 1})";
    }
    const Space space = parse_space(text + "}");
    for (const bool is_plane : {false, true}) {
      const auto volume = [&](const char* sampler, std::int64_t seed) {
        Study study(space, make_sampler(parse_entry(sampler), space, seed, objectives),
                    {.maximize = std::vector<bool>(objectives)});
        std::vector<std::vector<double>> found;
        for (int i = 0; i < 100; ++i) {
          const std::int64_t trial = *study.ask().trial;
          const auto x = study.trials().point(trial);
          double rest = 1;
          for (const double v : x.subspan(objectives - 1)) rest += (v - 0.5) * (v - 0.5);
          std::vector<double> values;
          for (const double v : x.first(objectives - 1)) {
            constexpr double quarter = std::numbers::pi / 2;
            values.push_back(rest * (is_plane ? 1 - v : std::sin(quarter * v)));
            rest *= is_plane ? v : std::cos(quarter * v);
          }
          values.push_back(rest);
          study.tell(trial, values);
          found.push_back(values);
        }
        return hypervolume(found, std::vector(objectives, 1.1));
      };
      std::vector<double> ours, chance;
      for (std::int64_t seed = 1; seed <= 30; ++seed) {
        ours.push_back(volume(R"({"@": "sampler.tpe"})", seed));
        chance.push_back(volume(R"({"@": "sampler.random"})", seed));
      }
      INFO(objectives << " objectives, " << (is_plane ? "a plane" : "a sphere"));
      CHECK(chance_of(ours, chance) < 0.01);
    }
  }
}

TEST_CASE("NSGA-II and TPE find a front that chance does not") {
  // ZDT1 with 6 parameters: the front is at x₂ … x₆ = 0.
  const Space space = parse_space(
      R"({"a": {"@": "space.uniform", "low": 0, "high": 1}, "b": {"@": "space.uniform", "low": 0, "high": 1},
    "c": {"@": "space.uniform", "low": 0, "high": 1}, "d": {"@": "space.uniform", "low": 0, "high": 1},
    "e": {"@": "space.uniform", "low": 0, "high": 1}, "f": {"@": "space.uniform", "low": 0, "high": 1}})");
  const auto volume = [&](const char* name) {
    const Options spec = parse_entry(std::string(R"({"@": ")") + name + "\"}");
    Study study(space, make_sampler(spec, space, 1, 2), {.maximize = {false, true}});
    std::vector<std::vector<double>> found;
    for (int i = 0; i < 1000; ++i) {
      const std::int64_t trial = *study.ask().trial;
      const auto x = study.trials().point(trial);
      double g = 1;
      for (std::size_t k = 1; k < 6; ++k) g += 9.0 / 5 * x[k];
      const double first = x[0], second = g * (1 - std::sqrt(first / g));
      study.tell(trial, {first, -second});  // the second is to be large
      found.push_back({first, second});
    }
    return hypervolume(found, std::vector<double>{1.1, 1.1});
  };
  // The whole front dominates ∫₀¹ (1.1 − (1 − √x)) dx + 0.1 · 1.1.
  const double all = 0.1 + 2.0 / 3 + 0.11;
  CHECK(volume("sampler.nsga2") > 0.75 * all);
  CHECK(volume("sampler.tpe") > 0.75 * all);
  CHECK(volume("sampler.random") < 0.4 * all);
}

}  // namespace trainlab::pareto_test
