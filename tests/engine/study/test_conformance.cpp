// What every sampler, every scheduler and every pruner must keep, asked of all that are registered: a new one is tested
// by being there.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

#include "core/random/stream.h"
#include "study/pruner.h"
#include "study/study.h"
#include "study_support.h"

namespace trainlab::conformance_test {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double none = std::nan("");

// With the options that an entry cannot do without.
std::string entry(const std::string& name) {
  static const std::map<std::string, std::string> options = {{"sampler.grid", R"(, "points": 5)"},
                                                             {"sampler.nsga2", R"(, "population": 8)"},
                                                             {"pruner.percentile", R"(, "percentile": 25)"},
                                                             {"pruner.threshold", R"(, "upper": 10)"},
                                                             {"pruner.patience", R"(, "patience": 2)"},
                                                             {"pruner.hyperband", R"(, "min": 1, "max": 9)"},
                                                             {"scheduler.halving", R"(, "configurations": 9)"},
                                                             {"scheduler.hyperband", R"(, "min": 1, "max": 9)"},
                                                             {"scheduler.asha", R"(, "min": 1, "max": 9)"}};
  const auto found = options.find(name);
  return R"({"@": ")" + name + "\"" + (found == options.end() ? "" : found->second) + "}";
}

std::vector<std::string> names_of(const std::string& kind) {
  std::vector<std::string> names;
  for (const Entry* one : study_registry().of_kind(kind)) names.push_back(one->name);
  REQUIRE(names.size() > 2);
  return names;
}

const char* const mixed = R"({
  "rate": {"@": "space.log", "low": 1e-4, "high": 1},
  "share": {"@": "space.uniform", "low": -1, "high": 1, "step": 0.25},
  "width": {"@": "space.int", "low": 8, "high": 64, "log": true}, "batch": 64,
  "same": {"@": "space.int", "low": 3, "high": 3},
  "optim": {"@": "space.choice", "values": ["a", "b", "c"]},
  "momentum": {"@": "space:when", "source": {"@": "space.uniform", "low": 0, "high": 0.9},
               "parent": "optim", "values": ["b", "c"]},
  "depth": {"@": "space:when", "source": {"@": "space.int", "low": 1, "high": 4}, "parent": "optim", "values": "c"},
  "nesterov": {"@": "space:when", "source": {"@": "space.choice", "values": [true, false]},
               "parent": "depth", "values": [2, 3]}})";

bool fits(const Space& space, std::span<const double> point) {
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (space.active(i, point) != !std::isnan(point[i])) return false;
    if (!std::isnan(point[i]) && space.nearest(i, point[i]) != point[i]) return false;
  }
  return true;
}

// Some value of a point, in order of goodness by nothing simple.
double value_of(const Space& space, std::span<const double> point) {
  double sum = 0;
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (!std::isnan(point[i])) sum += std::pow(space.to_unit(i, point[i]) - 0.3, 2) * (1 + static_cast<double>(i));
  }
  return sum;
}

// What comes of trial `t`: most end well, some do not, some are hopeless.
void end(Study& study, std::int64_t t, bool mirrored) {
  const double sign = mirrored ? -1 : 1;
  const double value = sign * value_of(study.space(), study.trials().point(t));
  if (t % 7 == 3) return study.fail(t);
  if (t % 7 == 5) {
    study.report(t, {.repeat = 1, .resource = 1, .values = {t % 2 == 0 ? none : value}});
    return study.prune(t);
  }
  if (t % 11 == 6) return study.tell(t, {none});
  if (t % 11 == 8) return study.tell(t, {sign * infinity});
  study.tell(t, {value});
}

// Every sampler, alone and with every scheduler.
struct Pair {
  std::string sampler, scheduler;  // names; without a scheduler empty
};
std::vector<Pair> pairs() {
  std::vector<Pair> all;
  for (const std::string& sampler : names_of("sampler")) {
    all.push_back({.sampler = sampler, .scheduler = {}});
    for (const std::string& scheduler : names_of("scheduler")) all.push_back({sampler, scheduler});
  }
  return all;
}
Study study_of(const Pair& pair, const Space& space, StudySettings settings) {
  if (!pair.scheduler.empty()) settings.scheduler = make_scheduler(parse_entry(entry(pair.scheduler)), space, 1, 1);
  return Study(space, parse_sampler(entry(pair.sampler), space), std::move(settings));
}

// The points that come when at most `open` trials run at a time.
std::vector<std::vector<double>> search(const Pair& pair, std::size_t open, bool mirrored, bool deterministic) {
  const Space space = parse_space(mixed);
  Study study = study_of(pair, space, {.maximize = {mirrored}, .deterministic = deterministic});
  std::vector<std::int64_t> running;
  Stream random{Key(open)};
  while (study.trials().size() < 60) {
    const Study::Asked asked = running.size() < open ? study.ask() : Study::Asked{.trial = {}, .wait = true};
    if (asked.trial) running.push_back(*asked.trial);
    if (asked.trial && running.size() < open) continue;
    REQUIRE_FALSE(running.empty());
    const auto place = running.begin() + static_cast<std::ptrdiff_t>(random.below(running.size()));
    end(study, *place, mirrored);
    running.erase(place);
  }
  std::vector<std::vector<double>> points;
  for (std::int64_t t = 0; t < study.trials().size(); ++t) {
    const std::span<const double> point = study.trials().point(t);
    points.emplace_back(point.begin(), point.end());
  }
  return points;
}

// Equal also where both are NaN.
std::string text(const std::vector<std::vector<double>>& points) {
  std::string all;
  for (const auto& point : points) {
    for (const double x : point) all += number_text(x) + " ";
    all += "\n";
  }
  return all;
}

}  // namespace

TEST_CASE(
    "every sampler, alone and with every scheduler, keeps to the space, whatever it is told, and goes on alike when it "
    "is told the same") {
  const Space space = parse_space(mixed);
  for (const Pair& pair : pairs()) {
    INFO(pair.sampler << " " << pair.scheduler);
    const auto points = search(pair, 1, false, false);
    CHECK(std::all_of(points.begin(), points.end(), [&](const auto& point) { return fits(space, point); }));
    CHECK(text(search(pair, 1, false, false)) == text(points));
    const auto many = search(pair, 5, false, false);
    CHECK(std::all_of(many.begin(), many.end(), [&](const auto& point) { return fits(space, point); }));
    if (!parse_sampler(entry(pair.sampler), space)->learns() && pair.scheduler.empty()) {
      CHECK(text(many) == text(points));
    }
  }
}

TEST_CASE(
    "every sampler, alone and with every scheduler, chooses the same where more is better and all values are turned "
    "round") {
  for (const Pair& pair : pairs()) {
    INFO(pair.sampler << " " << pair.scheduler);
    CHECK(text(search(pair, 1, true, false)) == text(search(pair, 1, false, false)));
  }
}

TEST_CASE(
    "every sampler, alone and with every scheduler, chooses the same with 1, 2 and 8 workers of a deterministic "
    "study") {
  for (const Pair& pair : pairs()) {
    INFO(pair.sampler << " " << pair.scheduler);
    const std::string alone = text(search(pair, 1, false, true));
    CHECK(text(search(pair, 2, false, true)) == alone);
    CHECK(text(search(pair, 8, false, true)) == alone);
  }
}

TEST_CASE("every sampler, alone and with every scheduler, leaves what is given as it is, and chooses the rest") {
  const Space space = parse_space(mixed);
  for (const Pair& pair : pairs()) {
    INFO(pair.sampler << " " << pair.scheduler);
    Study study = study_of(pair, space, {});
    for (int i = 0; i < 20; ++i) {
      study.enqueue(space.point(Value::Map{{"optim", "c"}, {"depth", 2}, {"rate", 0.5}}));
      const std::int64_t given = *study.ask().trial;
      const Value params = space.params(study.trials().point(given));
      CHECK(params["optim"] == Value("c"));
      CHECK(params["depth"] == Value(2));
      CHECK(params["rate"] == Value(0.5));
      CHECK(fits(space, study.trials().point(given)));
      end(study, given, false);
    }
  }
}

TEST_CASE(
    "every sampler, alone and with every scheduler, can be asked for many given trials at once, or says to wait") {
  const Space space = parse_space(mixed);
  for (const Pair& pair : pairs()) {
    INFO(pair.sampler << " " << pair.scheduler);
    Study study = study_of(pair, space, {});
    for (int i = 0; i < 40; ++i) study.enqueue(space.point(Value::Map{{"optim", "b"}}));
    std::int64_t begun = 0;
    Study::Asked asked;
    while (begun < 60 && (asked = study.ask()).trial) {
      CHECK(fits(space, study.trials().point(*asked.trial)));
      ++begun;
    }
    CHECK((begun == 60 || asked.wait));
  }
}

TEST_CASE(
    "every sampler, alone and with every scheduler, keeps to a constraint that the best points do not meet, and does "
    "not ask for each draw") {
  const Space space = parse_space(mixed);
  for (const Pair& pair : pairs()) {
    INFO(pair.sampler << " " << pair.scheduler);
    std::int64_t asked = 0;
    const auto is_allowed = [&](std::span<const double> point) { return ++asked, value_of(space, point) > 2; };
    Study study = study_of(pair, space, {.allowed = is_allowed});
    for (int i = 0; i < 60; ++i) {
      const std::int64_t trial = *study.ask().trial;
      const double value = value_of(space, study.trials().point(trial));
      CHECK(value > 2);
      study.tell(trial, {value});
    }
    CHECK(asked < 60 * 300);
  }
}

TEST_CASE("every sampler finds all points of a small space in which none comes twice, and then ends") {
  const Space space = parse_space(R"({
    "kind": {"@": "space.choice", "values": ["a", "b", "c"]}, "size": {"@": "space.int", "low": 1, "high": 4},
    "part": {"@": "space:when", "source": {"@": "space.int", "low": 1, "high": 3}, "parent": "kind", "values": "c"}})");
  for (const std::string& name : names_of("sampler")) {
    INFO(name);
    Study study(space, parse_sampler(entry(name), space), {.distinct = true});
    PointSet seen;
    while (const auto trial = study.ask().trial) {
      const std::span<const double> point = study.trials().point(*trial);
      CHECK(seen.emplace(point.begin(), point.end()).second);
      study.tell(*trial, {value_of(space, point)});
    }
    CHECK(seen.size() == 4 * (2 + 3));
  }
}

TEST_CASE("every sampler takes several objectives, or says that it cannot") {
  const Space space = parse_space(mixed);
  for (const std::string& name : names_of("sampler")) {
    INFO(name);
    std::unique_ptr<Sampler> sampler;
    try {
      sampler = make_sampler(parse_entry(entry(name)), space, 1, 2);
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Catch::Contains("expected a study of one objective, found 2"));
      continue;
    }
    Study study(space, std::move(sampler), {.maximize = {false, true}});
    for (int i = 0; i < 60; ++i) {
      const std::int64_t trial = *study.ask().trial;
      const std::span<const double> point = study.trials().point(trial);
      REQUIRE(fits(space, point));
      const double value = value_of(space, point);
      if (i % 7 == 3)
        study.prune(trial);
      else
        study.tell(trial, {i % 5 == 2 ? infinity : value, i % 9 == 4 ? -infinity : value * point[0]});
    }
  }
}

TEST_CASE("every sampler draws something else with another seed") {
  const Space space = parse_space(mixed);
  for (const std::string& name : names_of("sampler")) {
    if (sampler_ends(parse_entry(entry(name)))) continue;  // a grid has no draws unless it is shuffled
    INFO(name);
    std::vector<std::vector<double>> drawn(2, std::vector<double>(space.size(), none));
    for (const std::size_t seed : {0U, 1U}) {
      REQUIRE(parse_sampler(entry(name), space, static_cast<std::int64_t>(seed + 1))->sample(0, 0, {}, drawn[seed]));
    }
    CHECK(text({drawn[0]}) != text({drawn[1]}));
  }
}

namespace {

// Complete trials with these values at 9 steps of each of 5 repeats, and one more with `last`, which goes on.
Trials curves_of(const std::vector<double>& complete, double last, bool mirrored, int steps = 9) {
  const double sign = mirrored ? -1 : 1;
  Trials trials(0, 1);
  const auto add = [&](double value, int count) {
    const std::int64_t trial = trials.add(TrialState::running, {});
    for (int repeat = 1; repeat <= 5; ++repeat) {
      for (int step = 1; step <= count; ++step) {
        const double falling = value - 1e-3 * step - 1e-4 * repeat;
        trials.report(trial, {.repeat = repeat, .resource = step, .values = {sign * falling}});
      }
    }
    return trial;
  };
  for (const double value : complete) {
    const double result = sign * value;
    trials.finish(add(value, 9), TrialState::complete, {&result, 1});
  }
  add(last, steps);
  return trials;
}

}  // namespace

TEST_CASE("every pruner says the same of the mirrored problem, and nothing of trials that it may not see") {
  for (const std::string& name : names_of("pruner")) {
    INFO(name);
    // Bounds are of values, not of their goodness.
    if (name == "pruner.threshold") continue;
    const auto pruner = make_pruner(parse_entry(entry(name)), 1);
    for (const double last : {0.5, 3.5, 9.0, none}) {
      for (int steps = 1; steps <= 9; ++steps) {
        const Trials plain = curves_of({1, 2, 3, 4, 5, 6}, last, false, steps);
        const Trials mirror = curves_of({1, 2, 3, 4, 5, 6}, last, true, steps);
        CHECK(pruner->prunes(Curves(plain, {false}, INT64_MAX), 6) ==
              pruner->prunes(Curves(mirror, {true}, INT64_MAX), 6));
        // With the later ones hidden it is as if they were not there, but for the trial's own number.
        const Trials other = curves_of({1, 2, 3, none, -9, 100}, last, false, steps);
        CHECK(pruner->prunes(Curves(plain, {false}, 3), 6) == pruner->prunes(Curves(other, {false}, 3), 6));
      }
    }
  }
}

TEST_CASE("every pruner lets the best go on, and who does not compare looks at nobody else") {
  for (const std::string& name : names_of("pruner")) {
    INFO(name);
    const auto pruner = make_pruner(parse_entry(entry(name)), 1);
    for (int steps = 1; steps <= 9; ++steps) {
      const Trials best = curves_of({1, 2, 3, 4, 5, 6}, -2, false, steps);
      if (pruner->compares()) {
        CHECK_FALSE(pruner->prunes(Curves(best, {false}, INT64_MAX), 6));
        CHECK_FALSE(pruner->prunes(Curves(curves_of({}, 5, false, steps), {false}, INT64_MAX), 0));  // the first of all
        continue;
      }
      for (const double last : {-2.0, 3.5, 20.0}) {
        const bool alone = pruner->prunes(Curves(curves_of({}, last, false, steps), {false}, INT64_MAX), 0);
        CHECK(pruner->prunes(Curves(curves_of({1, 2, 3, 4, 5, 6}, last, false, steps), {false}, INT64_MAX), 6) ==
              alone);
      }
    }
  }
}

TEST_CASE("every pruner takes several objectives, or says that it cannot") {
  // Who is better in the one is worse in the other: complete trials, and one under way at a point of its own.
  const auto says = [](const Pruner& pruner, double first, double second, const std::vector<bool>& maximize) {
    Trials trials(0, 2);
    bool pruned = false;
    for (int t = 0; t <= 8; ++t) {
      const std::int64_t trial = trials.add(TrialState::running, {});
      const double a = (maximize[0] ? -1 : 1) * (t < 8 ? t : first),
                   b = (maximize[1] ? -1 : 1) * (t < 8 ? 7 - t : second);
      for (int step = 1; step <= 9; ++step) {
        const double slope = 1e-3 * step;
        trials.report(trial, {.repeat = 1,
                              .resource = step,
                              .values = {a - (maximize[0] ? -slope : slope), b - (maximize[1] ? -slope : slope)}});
        pruned = pruned || (t == 8 && pruner.prunes(Curves(trials, maximize, INT64_MAX), trial));
      }
      if (t < 8) trials.finish(trial, TrialState::complete, std::vector<double>{a, b});
    }
    return pruned;
  };
  for (const std::string& name : names_of("pruner")) {
    INFO(name);
    std::unique_ptr<Pruner> pruner;
    try {
      pruner = make_pruner(parse_entry(entry(name)), 2);
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Catch::Contains("expected a study of one objective, found 2"));
      continue;
    }
    for (const auto& maximize : std::vector<std::vector<bool>>{{false, false}, {true, false}, {true, true}}) {
      if (name == "pruner.threshold" && maximize[0]) continue;
      CHECK_FALSE(says(*pruner, 9, -1, maximize));  // the best in the second objective, the worst in the first
      CHECK_FALSE(says(*pruner, -1, 9, maximize));
      CHECK_FALSE(says(*pruner, -1, -1, maximize));
      if (pruner->compares()) {
        CHECK(says(*pruner, 9, 9, maximize));
        CHECK(says(*pruner, none, none, maximize));
      }
    }
  }
}

}  // namespace trainlab::conformance_test
