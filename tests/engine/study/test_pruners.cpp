// Pruners on curves that were written down: who goes on, and that a pruner says the same of the mirrored problem.
#include "study/pruner.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <map>

#include "study_support.h"

using namespace trainlab;

namespace {

// Trials of one repeat with these curves; the last one is under way.
Trials trials_of(const std::vector<std::vector<double>>& curves, bool maximize = false) {
  Trials trials(0, 1);
  for (const auto& curve : curves) {
    const std::int64_t trial = trials.add(TrialState::running, {});
    const double sign = maximize ? -1 : 1;
    for (std::size_t i = 0; i < curve.size(); ++i) {
      trials.report(trial, {.repeat = 1, .resource = static_cast<std::int64_t>(i + 1), .value = sign * curve[i]});
    }
    if (&curve == &curves.back()) break;
    const double last = sign * curve.back();
    trials.finish(trial, TrialState::complete, {&last, 1});
  }
  return trials;
}

// For both directions.
bool prunes(const std::string& pruner, const std::vector<std::vector<double>>& curves) {
  const auto made = make_pruner(parse_entry(pruner));
  bool answers[2];
  for (const bool maximize : {false, true}) {
    const Trials trials = trials_of(curves, maximize);
    answers[maximize] = made->prunes(Curves(trials, maximize, INT64_MAX), trials.size() - 1);
  }
  CHECK(answers[0] == answers[1]);
  return answers[0];
}

const double none = std::nan("");

}  // namespace

TEST_CASE("the median compares the best so far with complete trials at the same validation") {
  const std::string median = R"({"@": "pruner.median", "startup": 3})";
  const std::vector<std::vector<double>> others = {{5, 4, 3}, {6, 5, 4}, {7, 6, 5}};
  const auto with = [&](std::vector<double> last) {
    auto all = others;
    all.push_back(std::move(last));
    return all;
  };
  CHECK(prunes(median, with({6.5})));
  CHECK_FALSE(prunes(median, with({6})));
  CHECK_FALSE(prunes(median, with({4, 9})));  // its best so far is good
  CHECK(prunes(median, with({none})));
  CHECK_FALSE(prunes(R"({"@": "pruner.median", "startup": 4})", with({9})));
  CHECK_FALSE(prunes(R"({"@": "pruner.median", "startup": 3, "warmup": 1})", with({9})));
  CHECK_FALSE(prunes(R"({"@": "pruner.median", "startup": 3, "interval": 2})", with({9, 9})));
  CHECK(prunes(R"({"@": "pruner.percentile", "percentile": 25, "startup": 3})", with({5.6})));
  CHECK_FALSE(prunes(R"({"@": "pruner.percentile", "percentile": 25, "startup": 3})", with({5.4})));
}

TEST_CASE("a threshold and patience look at one trial") {
  const auto upper = make_pruner(parse_entry(R"({"@": "pruner.threshold", "upper": 10})"));
  const auto says = [&](std::vector<double> curve) {
    const Trials trials = trials_of({curve});
    return upper->prunes(Curves(trials, false, INT64_MAX), 0);
  };
  CHECK_FALSE(says({9, 10}));
  CHECK(says({9, 10.1}));
  CHECK(says({none}));
  CHECK_THROWS_WITH(make_pruner(parse_entry(R"({"@": "pruner.threshold"})")), Catch::Contains("lower, upper, or both"));
  const std::string patience = R"({"@": "pruner.patience", "patience": 2, "min_delta": 0.1})";
  CHECK_FALSE(prunes(patience, {{5, 4}}));
  CHECK(prunes(patience, {{4, 4, 3.95}}));
  CHECK_FALSE(prunes(patience, {{4, 4, 3.8}}));
  CHECK(prunes(patience, {{4, none, none}}));
}

TEST_CASE("ASHA lets the best third of those at a rung go on, and nobody is asked between rungs") {
  const std::string asha = R"({"@": "pruner.asha", "min": 2, "reduction": 3})";
  CHECK_FALSE(prunes(asha, {{9, 9}}));  // the first to come
  CHECK(prunes(asha, {{1, 1}, {9, 9}}));
  CHECK_FALSE(prunes(asha, {{1, 1}, {9}}));
  CHECK_FALSE(prunes(asha, {{1, 1}, {9, 9, 9}}));
  CHECK_FALSE(prunes(asha, {{5, 5}, {6, 6}, {7, 7}, {8, 8}, {9, 9}, {5, 5.5}}));  // second of six
  CHECK(prunes(asha, {{5, 5}, {6, 6}, {7, 7}, {8, 8}, {9, 9}, {6, 6.5}}));
  CHECK(prunes(asha, {{none, none}, {none, none}}));
}

TEST_CASE("Hyperband's brackets have the shares and first rungs of its formula") {
  // min 1, max 9, η 3: s_max 2; shares ⌈3/1⌉, ⌈9/2⌉, ⌈27/3⌉ = 3, 5, 9; first rungs 9, 3, 1.
  const auto hyperband = make_pruner(parse_entry(R"({"@": "pruner.hyperband", "max": 9})"));
  std::map<std::int64_t, int> first;
  for (std::int64_t trial = 0; trial < 34; ++trial) {
    for (const std::int64_t length : {1, 3, 9}) {
      Trials trials(0, 1);
      for (std::int64_t t = 0; t <= trial; ++t) trials.add(TrialState::running, {});
      for (std::int64_t at = 1; at <= length; ++at) trials.report(trial, {.repeat = 1, .resource = at, .value = none});
      if (!hyperband->prunes(Curves(trials, false, INT64_MAX), trial)) continue;
      ++first[length];
      break;
    }
  }
  CHECK(first == std::map<std::int64_t, int>{{1, 18}, {3, 10}, {9, 6}});
}

TEST_CASE("Wilcoxon's test gives up a configuration whose seeds are all worse") {
  const auto wilcoxon = make_pruner(parse_entry(R"({"@": "pruner.wilcoxon", "p": 0.07})"));
  const auto says = [&](const std::vector<double>& best, const std::vector<double>& seeds) {
    Trials trials(0, 1);
    for (const auto* values : {&best, &seeds}) {
      const std::int64_t trial = trials.add(TrialState::running, {});
      for (std::size_t i = 0; i < values->size(); ++i) {
        trials.report(trial, {.repeat = static_cast<std::int64_t>(i + 1), .resource = 1, .value = (*values)[i]});
      }
      const double zero = 0;
      if (trial == 0) trials.finish(trial, TrialState::complete, {&zero, 1});
    }
    return wilcoxon->prunes(Curves(trials, false, INT64_MAX), 1);
  };
  const std::vector<double> best = {1, 2, 3, 4, 5};
  CHECK_FALSE(says(best, {2, 3, 4}));   // too few
  CHECK(says(best, {2, 3.5, 4, 5.2}));  // p = 1/16 = 0.0625
  CHECK_FALSE(says(best, {2, 3.5, 4, 3.9}));
  CHECK_FALSE(says(best, {0, 1, 2, 3, 4}));
}

TEST_CASE("trials that a deterministic study may not see are not compared with") {
  const auto asha = make_pruner(parse_entry(R"({"@": "pruner.asha"})"));
  const Trials trials = trials_of({{1}, {1}, {9}});
  CHECK(asha->prunes(Curves(trials, false, INT64_MAX), 2));
  CHECK_FALSE(asha->prunes(Curves(trials, false, 0), 2));
}
