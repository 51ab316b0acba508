// Pruners on curves that were written down: who goes on, and that a pruner says the same of the mirrored problem.
#include "pruners/pruners.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>

#include "core/random/stream.h"
#include "study/study_object.h"
#include "study_support.h"

namespace trainlab::pruners_test {

namespace {

// Trials of one repeat with these curves; the last one is under way.
Trials trials_of(const std::vector<std::vector<double>>& curves, bool maximize = false) {
  Trials trials(0, 1);
  for (const auto& curve : curves) {
    const std::int64_t trial = trials.add(TrialState::running, {});
    const double sign = maximize ? -1 : 1;
    for (std::size_t i = 0; i < curve.size(); ++i) {
      trials.report(trial, {.repeat = 1, .resource = static_cast<std::int64_t>(i + 1), .values = {sign * curve[i]}});
    }
    if (&curve == &curves.back()) break;
    const double last = sign * curve.back();
    trials.finish(trial, TrialState::complete, {&last, 1});
  }
  return trials;
}

// For both directions.
bool prunes(const std::string& pruner, const std::vector<std::vector<double>>& curves) {
  const auto made = make_pruner(parse_entry(pruner), 1);
  bool answers[2];
  for (const bool maximize : {false, true}) {
    const Trials trials = trials_of(curves, maximize);
    answers[maximize] = made->prunes(Curves(trials, {maximize}, INT64_MAX), trials.size() - 1);
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

TEST_CASE("the median of values that are infinite or not numbers is one of them") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto says = [](const std::vector<double>& others, double own, int percentile = 50) {
    std::vector<std::vector<double>> curves;
    for (const double x : others) curves.push_back({x});
    curves.push_back({own});
    return prunes(R"({"@": "pruner.percentile", "startup": 4, "percentile": )" + std::to_string(percentile) + "}",
                  curves);
  };
  // Infinitely good ones: everything finite is worse, unless it is better than half of the others.
  CHECK(says({-infinity, -infinity, -infinity, 3}, 5));
  CHECK(says({-infinity, -infinity, -infinity, 3}, -1e300, 25));
  CHECK(says({-infinity, -infinity, 3, 4}, 5));
  CHECK_FALSE(says({-infinity, -infinity, 3, 4}, 2));
  CHECK_FALSE(says({-infinity, -infinity, 3, 4}, -infinity));
  // Infinitely bad ones, and NaN counts as such.
  for (const double bad : {infinity, none}) {
    CHECK_FALSE(says({bad, bad, bad, bad}, 5));
    CHECK_FALSE(says({1, 2, bad, bad}, 5));
    CHECK(says({1, 2, 3, bad}, 5));
    CHECK(says({1, 2, 3, 4}, bad));
    CHECK_FALSE(says({1, bad, bad, -infinity}, 5));
  }
  CHECK_FALSE(says({infinity, infinity, infinity, infinity}, infinity));
  // A trial that has reported nothing but NaN does not continue, whatever the others have.
  CHECK(says({infinity, infinity, infinity, infinity}, none));
  CHECK(says({none, none, none, none}, none));
}

TEST_CASE("a threshold and patience look at one trial") {
  const auto upper = make_pruner(parse_entry(R"({"@": "pruner.threshold", "upper": 10})"), 1);
  const auto says = [&](std::vector<double> curve) {
    const Trials trials = trials_of({curve});
    return upper->prunes(Curves(trials, {false}, INT64_MAX), 0);
  };
  CHECK_FALSE(says({9, 10}));
  CHECK(says({9, 10.1}));
  CHECK(says({none}));
  CHECK_THROWS_WITH(make_pruner(parse_entry(R"({"@": "pruner.threshold"})"), 1),
                    Catch::Contains("lower, upper, or both"));
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
  // min 1, max 9, η 3: s_max 2; shares ⌈3/1⌉, ⌈9/2⌉, ⌈27/3⌉ = 3, 5, 9; first rungs 9, 3, 1, of which 9 is the end of a
  // trial, where nobody is dropped.
  const auto hyperband = make_pruner(parse_entry(R"({"@": "pruner.hyperband", "min": 1, "max": 9})"), 1);
  std::map<std::int64_t, int> first;
  for (std::int64_t trial = 0; trial < 34; ++trial) {
    Trials trials(0, 1);
    for (std::int64_t t = 0; t <= trial; ++t) trials.add(TrialState::running, {});
    std::int64_t at = 1;
    for (; at <= 12; ++at) {
      trials.report(trial, {.repeat = 1, .resource = at, .values = {none}});
      if (hyperband->prunes(Curves(trials, {false}, INT64_MAX), trial)) break;
    }
    ++first[at];
  }
  CHECK(first == std::map<std::int64_t, int>{{1, 18}, {3, 10}, {13, 6}});
  // One bracket: nothing to compare.
  CHECK_FALSE(prunes(R"({"@": "pruner.hyperband", "min": 1, "max": 2})", {{1, 1}, {9, 9}}));
}

TEST_CASE("a rung is met by the first report at or beyond it") {
  const auto asha = make_pruner(parse_entry(R"({"@": "pruner.asha", "min": 2, "reduction": 3})"), 1);
  Trials trials(0, 1);
  const auto report = [&](std::int64_t trial, std::int64_t repeat, std::int64_t resource, double value) {
    trials.report(trial, {.repeat = repeat, .resource = resource, .values = {value}});
    return asha->prunes(Curves(trials, {false}, INT64_MAX), trial);
  };
  for (int t = 0; t < 3; ++t) trials.add(TrialState::running, {});
  for (const std::int64_t resource : {5, 10, 15, 20, 25})
    CHECK_FALSE(report(0, 1, resource, 10.0 / static_cast<double>(resource)));
  CHECK(report(1, 1, 5, 3));           // rung 2: after 5 the first had 2
  CHECK(report(1, 1, 5, 3));           // said again, asked again
  CHECK_FALSE(report(1, 1, 5, 1));     // better there
  CHECK_FALSE(report(1, 1, 10, 0.6));  // rung 6
  CHECK_FALSE(report(1, 1, 15, 9));    // no rung between 10 and 15
  CHECK(report(1, 1, 20, 0.6));        // rung 18: after 20 the first had 0.5
  // Each repeat brings its own first report: means of 2 and these.
  CHECK(report(0, 2, 4, 0.5));
  CHECK_FALSE(report(0, 2, 4, -0.5));
  // Two rungs at once, where the others had 0.75 and 1, 1 and 0.6.
  CHECK(report(2, 1, 7, 0.8));
  CHECK(report(2, 1, 7, 0.7));
  CHECK_FALSE(report(2, 1, 7, 0.55));
}

TEST_CASE("a rung judges what is delivered there: the best weights, or the last") {
  const auto prunes_third = [](Delivery::Weights weights, std::vector<double> third) {
    const auto asha =
        make_pruner(parse_entry(R"({"@": "pruner.asha", "min": 3, "reduction": 3})"), 1, {.weights = weights});
    const Trials trials = trials_of({{5, 2, 6}, {5, 4, 3}, std::move(third)});
    return asha->prunes(Curves(trials, {false}, INT64_MAX), 2);
  };
  using Weights = Delivery::Weights;
  // The best weights of the first trial have 2, its last 6; the second has 3.
  CHECK(prunes_third(Weights::best, {9, 9, 2.5}));
  CHECK_FALSE(prunes_third(Weights::last, {9, 9, 2.5}));
  CHECK_FALSE(prunes_third(Weights::best, {1, 9, 9}));
  CHECK(prunes_third(Weights::last, {1, 9, 9}));
  CHECK(prunes_third(Weights::unknown, {1, 9, 9}));
  CHECK_FALSE(prunes_third(Weights::best, {9, 9, 1.5}));
  // NaN is no best, and a training that has come to it does not go on.
  CHECK(prunes_third(Weights::best, {1, 1, none}));
  CHECK_FALSE(prunes_third(Weights::best, {none, 1, 7}));

  SECTION("of several objectives the report that is best in the first") {
    Trials trials(0, 2);
    trials.add(TrialState::running, {});
    const std::vector<std::vector<double>> reports = {{3, 1}, {2, 8}, {2, 7}, {4, 0}};
    for (std::size_t i = 0; i < reports.size(); ++i)
      trials.report(0, {.repeat = 1, .resource = static_cast<std::int64_t>(i + 1), .values = reports[i]});
    const Curves curves(trials, {false, false}, INT64_MAX);
    CHECK(curves.best_until(0, 4) == std::vector<double>{2, 8});
    CHECK(curves.best_until(0, 1) == std::vector<double>{3, 1});
    CHECK(curves.best_until(0, 5).empty());
    CHECK(Curves(trials, {true, false}, INT64_MAX).best_until(0, 4) == std::vector<double>{-4, 0});
  }
}

TEST_CASE("the first rung of a pruner suits the weights that trainings deliver") {
  // The second trial is worse at each validation: it ends at the first rung.
  const auto first_rung = [](const std::string& pruner, Delivery delivery) {
    const auto made = make_pruner(parse_entry(pruner), 1, delivery);
    Trials trials(0, 1);
    for (std::int64_t t = 0; t < 2; ++t) {
      trials.add(TrialState::running, {});
      for (std::int64_t resource = 1; resource <= 100; ++resource) {
        trials.report(t, {.repeat = 1, .resource = resource, .values = {static_cast<double>(t)}});
        if (made->prunes(Curves(trials, {false}, INT64_MAX), t)) return resource;
      }
    }
    return std::int64_t{0};
  };
  using Weights = Delivery::Weights;
  const std::string asha = R"({"@": "pruner.asha"})";
  CHECK(first_rung(asha, {}) == 1);
  CHECK(first_rung(asha, {.weights = Weights::best, .validations = 81}) == 3);
  CHECK(first_rung(asha, {.weights = Weights::last, .validations = 81}) == 27);
  CHECK(first_rung(asha, {.weights = Weights::unknown, .validations = 81}) == 27);
  CHECK(first_rung(R"({"@": "pruner.asha", "min": 2})", {.weights = Weights::last, .validations = 81}) == 2);
}

TEST_CASE("a rung is judged also where the pruner is asked less often than the trial reports") {
  const auto study_with = [](const std::string& pruner) {
    return StudyObject(parse_entry(R"({"@": "study", "space": {"x": {"@": "space.uniform", "low": 0, "high": 1}},
                                       "sampler": {"@": "sampler.random"}, "pruner": )" +
                                   pruner + "}"),
                       1);
  };
  const auto report = [](StudyObject& study, std::int64_t trial, std::int64_t from, std::int64_t to, double value) {
    for (std::int64_t at = from; at <= to; ++at) study.report(trial, {.repeat = 1, .resource = at, .values = {value}});
    return study.should_prune(trial);
  };
  // With one rung within five reports the same trials are stopped, whether they ask after each report or at the end.
  for (const char* pruner : {R"({"@": "pruner.asha", "min": 2, "reduction": 3})",
                             R"({"@": "pruner.hyperband", "min": 2, "max": 6, "reduction": 3})"}) {
    INFO(pruner);
    std::vector<std::int64_t> stopped[2];
    for (const bool is_rare : {false, true}) {
      StudyObject often_or_not = study_with(pruner);
      for (std::int64_t trial = 0; trial < 20; ++trial) {
        often_or_not.ask();
        const std::int64_t every = is_rare ? 5 : 1;
        for (std::int64_t to = every; to <= 5; to += every) {
          if (!report(often_or_not, trial, to - every + 1, to, static_cast<double>(trial * 7 % 20))) continue;
          stopped[is_rare].push_back(trial);
          break;
        }
      }
    }
    CHECK(stopped[0].size() > 5);
    CHECK(stopped[0] == stopped[1]);
  }
  StudyObject study = study_with(R"({"@": "pruner.asha", "min": 2, "reduction": 2})");
  for (int t = 0; t < 2; ++t) study.ask();
  for (const std::int64_t at : {3, 6, 9}) CHECK_FALSE(report(study, 0, at, at, 1));
  CHECK_FALSE(report(study, 1, 1, 3, 0.5));  // rung 2
  CHECK_FALSE(report(study, 1, 4, 4, 0.5));  // rung 4, where the other had 1
  CHECK_FALSE(report(study, 1, 5, 7, 2));    // no rung
  CHECK(report(study, 1, 8, 9, 2));          // rung 8, met before the last report
  CHECK_FALSE(report(study, 1, 3, 3, 2));    // again from 3 on: rung 2 was judged by what came before
  CHECK(report(study, 1, 4, 6, 2));

  StudyObject median = study_with(R"({"@": "pruner.median", "startup": 1, "interval": 10})");
  for (int t = 0; t < 2; ++t) median.ask();
  report(median, 0, 1, 30, 1);
  median.tell(0, TrialState::complete, std::vector{1.0});
  CHECK(report(median, 1, 1, 5, 2));         // the look of 1 … 10 was due
  CHECK_FALSE(report(median, 1, 6, 10, 2));  // and that was it
  CHECK(report(median, 1, 11, 15, 2));
}

TEST_CASE("a rung that went by while the trial improved is judged when the trial does not improve") {
  for (const char* base : {R"({"@": "pruner.asha", "min": 2, "reduction": 3})",
                           R"({"@": "pruner.median", "startup": 1, "interval": 50})"}) {
    INFO(base);
    const std::string patience = std::string(R"({"@": "pruner.patience", "patience": 2, "base": )") + base + "}";
    CHECK_FALSE(prunes(patience, {{1, 1, 1, 1}, {9, 8, 7}}));
    CHECK_FALSE(prunes(patience, {{1, 1, 1, 1}, {9, 8, 8}}));
    CHECK(prunes(patience, {{1, 1, 1, 1}, {9, 8, 8, 8}}));
    CHECK_FALSE(prunes(patience, {{9, 9, 9, 9}, {9, 8, 8, 8}}));
  }
}

TEST_CASE("a pruner is asked as quickly far on as near") {
  for (const char* pruner :
       {R"({"@": "pruner.median", "startup": 1})", R"({"@": "pruner.patience", "patience": 3})",
        R"({"@": "pruner.asha"})", R"({"@": "pruner.hyperband", "min": 1, "max": 4000000000000000})",
        R"({"@": "pruner.asha", "reduction": 4000000000000000})"}) {
    INFO(pruner);
    const auto made = make_pruner(parse_entry(pruner), 1);
    Trials trials(0, 1);
    for (const std::int64_t trial : {0, 1}) {
      trials.add(TrialState::running, {});
      const double value = 1;
      trials.report(trial, {.repeat = 1'000'000'000, .resource = 1, .values = {value}});
      trials.report(trial, {.repeat = 1'000'000'000, .resource = 1'000'000'000'000'000, .values = {value}});
      if (trial == 0) trials.finish(trial, TrialState::complete, {&value, 1});
    }
    CHECK_NOTHROW(made->prunes(Curves(trials, {false}, INT64_MAX), 1));
  }
}

TEST_CASE("a look is due with the first report of each interval") {
  const auto median =
      make_pruner(parse_entry(R"({"@": "pruner.median", "startup": 1, "warmup": 2, "interval": 3})"), 1);
  Trials trials(0, 1);
  trials.add(TrialState::running, {});
  for (std::int64_t at = 2; at <= 20; at += 2) trials.report(0, {.repeat = 1, .resource = at, .values = {0}});
  const double zero = 0;
  trials.finish(0, TrialState::complete, {&zero, 1});
  trials.add(TrialState::running, {});
  std::vector<std::int64_t> asked;
  for (std::int64_t at = 2; at <= 20; at += 2) {
    trials.report(1, {.repeat = 1, .resource = at, .values = {1}});
    if (median->prunes(Curves(trials, {false}, INT64_MAX), 1)) asked.push_back(at);
  }
  CHECK(asked == std::vector<std::int64_t>{4, 6, 10, 12, 16, 18});  // intervals begin at 3, 6, 9, 12, 15, 18
}

TEST_CASE("Wilcoxon's test gives up a configuration whose seeds are all worse") {
  const auto wilcoxon = make_pruner(parse_entry(R"({"@": "pruner.wilcoxon", "p": 0.07})"), 1);
  const auto says = [&](const std::vector<double>& best, const std::vector<double>& seeds) {
    Trials trials(0, 1);
    for (const auto* values : {&best, &seeds}) {
      const std::int64_t trial = trials.add(TrialState::running, {});
      for (std::size_t i = 0; i < values->size(); ++i) {
        trials.report(trial, {.repeat = static_cast<std::int64_t>(i + 1), .resource = 1, .values = {(*values)[i]}});
      }
      const double zero = 0;
      if (trial == 0) trials.finish(trial, TrialState::complete, {&zero, 1});
    }
    return wilcoxon->prunes(Curves(trials, {false}, INT64_MAX), 1);
  };
  const std::vector<double> best = {1, 2, 3, 4, 5};
  CHECK_FALSE(says(best, {2, 3, 4}));   // too few
  CHECK(says(best, {2, 3.5, 4, 5.2}));  // p = 1/16 = 0.0625
  CHECK_FALSE(says(best, {2, 3.5, 4, 3.9}));
  CHECK_FALSE(says(best, {0, 1, 2, 3, 4}));

  // Infinite differences share the highest rank, and those of opposite sign cancel each other in the mean.
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(says({1, 2, 3, 4}, {infinity, infinity, infinity, infinity}));  // p = 1/16
  CHECK_FALSE(says({1, 2, 3, 4}, {-infinity, 3, 4, 5}));
  const std::vector<double> unsteady = {infinity, 1, 1, 1, 1, 1, 1};
  // The seed that is better has rank 5.5 of 7 (four infinite differences have ranks 4 to 7), p = 11/128.
  CHECK_FALSE(says(unsteady, {9, 2, 3, 4, infinity, infinity, infinity}));
  // Ranks 1 to 7 are alike (p = 8/128), as if all differences were finite and of equal size.
  CHECK(says(unsteady, {9, infinity, infinity, infinity, infinity, infinity, infinity}));
  CHECK(says({9, 1, 1, 1, 1, 1, 1}, {1, 9, 9, 9, 9, 9, 9}));
  // As many infinite differences for as against: the finite ones decide whose mean is better.
  const std::vector<double> one_worst = {infinity, 1, 1, 1, 1, 1, 1, 1, 1};
  CHECK(says(one_worst, {9, infinity, 2, 3, 4, 5, 6, 7, 8}));
  CHECK_FALSE(says(one_worst, {9, infinity, 0, -1, -2, -3, -4, -5, -6}));
}

TEST_CASE("Wilcoxon's test compares a seed with the best one's same seed as far on") {
  const auto wilcoxon = make_pruner(parse_entry(R"({"@": "pruner.wilcoxon", "p": 0.07})"), 1);
  Trials trials(0, 1);
  // `offset` above a curve that falls from 10 by 1 with each validation.
  const auto report = [&](std::int64_t trial, std::int64_t seed, std::int64_t validations, double offset) {
    for (std::int64_t at = 1; at <= validations; ++at) {
      const double value = 10 - static_cast<double>(at) + offset + 0.1 * static_cast<double>(seed);
      trials.report(trial, {.repeat = seed, .resource = at, .values = {value}});
    }
    return wilcoxon->prunes(Curves(trials, {false}, INT64_MAX), trial);
  };
  trials.add(TrialState::running, {});
  for (std::int64_t seed = 1; seed <= 6; ++seed) report(0, seed, 9, 0);
  const double best = 1.35;
  trials.finish(0, TrialState::complete, {&best, 1});
  // Better all along: after 3 validations its values are above the best one's final ones, and say nothing bad.
  trials.add(TrialState::running, {});
  for (std::int64_t seed = 1; seed <= 6; ++seed) CHECK_FALSE(report(1, seed, 3, -0.5));
  // Worse all along, by its fourth seed (p = 1/16).
  trials.add(TrialState::running, {});
  for (std::int64_t seed = 1; seed <= 3; ++seed) CHECK_FALSE(report(2, seed, 3, 0.5));
  CHECK(report(2, 4, 3, 0.5));
  // Seeds that the best one has not, and validations that it did not come to, are no differences.
  trials.add(TrialState::running, {});
  for (std::int64_t seed = 4; seed <= 9; ++seed) CHECK_FALSE(report(3, seed, 3, 0.5));
  CHECK_FALSE(report(3, 1, 10, 20));
  CHECK(report(3, 2, 9, 20));
}

TEST_CASE("several objectives are ranked by fronts, and within a front by crowding") {
  // Front 0: (0, 9), (9, 0), (3, 3), (4, 2.5), the last the most crowded; front 1: (4, 4); front 2: (9, 9) and, with
  // NaN the worst, (NaN, 5).
  const std::vector<double> points = {0, 9, 4, 4, 3, 3, 9, 0, 9, 9, 4, 2.5, none, 5};
  CHECK(losses(points, 2) == std::vector<double>{0, 4, 2, 0, 5, 3, 5});
  CHECK(losses({3, 1, 2}, 1) == std::vector<double>{3, 1, 2});
}

namespace {

// After one report each, of two objectives; the last trial is asked for. Earlier ones are complete.
bool prunes_last(const std::string& pruner, const std::vector<std::vector<double>>& reports) {
  const auto made = make_pruner(parse_entry(pruner), 2);
  Trials trials(0, 2);
  for (const auto& values : reports) {
    const std::int64_t trial = trials.add(TrialState::running, {});
    trials.report(trial, {.repeat = 1, .resource = 1, .values = values});
    if (&values != &reports.back()) trials.finish(trial, TrialState::complete, values);
  }
  return made->prunes(Curves(trials, {false, false}, INT64_MAX), trials.size() - 1);
}

}  // namespace

TEST_CASE("who is the best in one objective goes on, who is dominated does not") {
  const std::vector<std::vector<double>> others = {{1, 5}, {2, 6}, {3, 7}, {4, 8}, {5, 9}, {6, 9.5}};
  const auto with = [&](std::vector<double> last) {
    auto all = others;
    all.push_back(std::move(last));
    return all;
  };
  for (const char* pruner :
       {R"({"@": "pruner.asha"})", R"({"@": "pruner.median"})", R"({"@": "pruner.percentile", "percentile": 25})"}) {
    INFO(pruner);
    CHECK_FALSE(prunes_last(pruner, with({9, 1})));  // the worst of all by the first objective alone
    CHECK_FALSE(prunes_last(pruner, with({0.5, 20})));
    CHECK(prunes_last(pruner, with({4.5, 8.5})));  // four are better in both
    CHECK(prunes_last(pruner, with({9, none})));
  }
  // Both ends of a front go on, also where one of three does; of equal trials the first does.
  CHECK_FALSE(prunes_last(R"({"@": "pruner.asha"})", {{1, 5}, {5, 1}}));
  CHECK(prunes_last(R"({"@": "pruner.asha"})", {{1, 5}, {1, 5}}));
  CHECK(prunes_last(R"({"@": "pruner.threshold", "upper": 5})", {{6, 0}}));
  CHECK_FALSE(prunes_last(R"({"@": "pruner.threshold", "upper": 5})", {{4, 9}}));
}

TEST_CASE("with several objectives patience ends where nothing new is equalled by what was before") {
  const auto patience = make_pruner(parse_entry(R"({"@": "pruner.patience", "patience": 2, "min_delta": 0.1})"), 2);
  const auto says = [&](const std::vector<std::vector<double>>& curve) {
    Trials trials(0, 2);
    trials.add(TrialState::running, {});
    for (std::size_t i = 0; i < curve.size(); ++i) {
      trials.report(0, {.repeat = 1, .resource = static_cast<std::int64_t>(i + 1), .values = curve[i]});
    }
    return patience->prunes(Curves(trials, {false, true}, INT64_MAX), 0);
  };
  CHECK(says({{1, 5}, {2, 6}, {1, 5}, {2, 6.05}}));         // of the second more is better, but by min_delta
  CHECK_FALSE(says({{1, 5}, {2, 6}, {2, 6.2}, {9, 0}}));    // better in the second
  CHECK_FALSE(says({{1, 5}, {2, 6}, {9, 0}, {1.5, 5.5}}));  // between two before: neither is as good in both
  CHECK(says({{1, 5}, {none, none}, {9, 0}, {1, none}}));
}

TEST_CASE("reports are found as they were made, whatever came in between") {
  Trials trials(0, 2);
  trials.add(TrialState::running, {});
  std::map<std::int64_t, std::map<std::int64_t, std::vector<double>>> kept;  // by repeat and resource
  Stream random{Key(3)};
  const auto draw = [&](std::uint64_t below) { return static_cast<std::int64_t>(random.below(below)); };
  const auto mean = [&](std::int64_t resource, bool or_beyond) {
    std::vector<double> sum;
    double count = 0;
    for (const auto& [repeat, reports] : kept) {
      const auto found = reports.lower_bound(resource);
      if (found == reports.end() || (!or_beyond && found->first != resource)) continue;
      sum.resize(2);
      for (std::size_t k = 0; k < 2; ++k) sum[k] += found->second[k];
      ++count;
    }
    for (double& x : sum) x /= count;
    return sum;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t repeat = draw(4) + 1;
    auto& own = kept[repeat];
    if (draw(20) == 0) {
      const std::int64_t from = draw(60);
      trials.forget(0, repeat, from);
      own.erase(own.upper_bound(from), own.end());
      continue;
    }
    const std::int64_t before = own.empty() ? 0 : own.rbegin()->first;
    const std::int64_t resource =
        draw(15) == 0 ? draw(static_cast<std::uint64_t>(before + 1)) + 1 : before + draw(3) + 1;
    own.erase(own.lower_bound(resource), own.end());
    const std::int64_t previous = own.empty() ? 0 : own.rbegin()->first;
    own[resource] = {random.uniform(), random.uniform()};
    trials.report(0, {.repeat = repeat, .resource = resource, .values = own[resource]});
    REQUIRE(trials.last_resource(0) == resource);
    REQUIRE(trials.previous_resource(0) == previous);
    const std::int64_t asked = draw(80);
    REQUIRE(trials.mean_at(0, asked) == mean(asked, false));
    REQUIRE(trials.mean_from(0, asked) == mean(asked, true));
    std::set<std::int64_t> walked, expected;
    for (const auto& [_, reports] : kept) {
      for (const auto& [at, values] : reports) expected.insert(at);
    }
    trials.walk(0, [&](std::int64_t at, std::span<const double> means) {
      if (!walked.empty()) REQUIRE(at > *walked.rbegin());
      walked.insert(at);
      REQUIRE(std::vector(means.begin(), means.end()) == mean(at, false));
    });
    REQUIRE(walked == expected);
  }
}

TEST_CASE("trials that a deterministic study may not see are not compared with") {
  const auto asha = make_pruner(parse_entry(R"({"@": "pruner.asha"})"), 1);
  const Trials trials = trials_of({{1}, {1}, {9}});
  CHECK(asha->prunes(Curves(trials, {false}, INT64_MAX), 2));
  CHECK_FALSE(asha->prunes(Curves(trials, {false}, 0), 2));
}

}  // namespace trainlab::pruners_test
