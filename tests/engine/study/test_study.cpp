// Ask and tell: states, what NaN and infinity mean, constraints, given points, and independence from the order.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/random/stream.h"
#include "study/study.h"
#include "study_support.h"

namespace trainlab::study_test {

namespace {

const char* const line = R"({"x": {"@": "space.uniform", "low": 0, "high": 1}})";
constexpr double infinity = std::numeric_limits<double>::infinity();

Study make_study(const std::string& sampler, StudySettings settings = {}) {
  Space space = parse_space(line);
  auto made = parse_sampler(sampler, space);
  return Study(std::move(space), std::move(made), std::move(settings));
}

}  // namespace

TEST_CASE("trials count from 0 and end once") {
  Study study = make_study(R"({"@": "sampler.random"})");
  CHECK(study.ask().trial == 0);
  CHECK(study.ask().trial == 1);
  study.tell(1, {0.5});
  CHECK(study.trials().state(0) == TrialState::running);
  CHECK(study.trials().state(1) == TrialState::complete);
  CHECK_THROWS_AS(study.tell(1, {0.4}), std::logic_error);
  CHECK_THROWS_AS(study.report(1, {}), std::logic_error);
  CHECK_THROWS_AS(study.prune(1), std::logic_error);
  CHECK(study.trials().value(1) == 0.5);
}

TEST_CASE("a NaN is no value, an infinity is one") {
  for (const bool maximize : {false, true}) {
    Study study = make_study(R"({"@": "sampler.tpe", "startup": 2})", {.maximize = {maximize}});
    for (int i = 0; i < 8; ++i) study.ask();
    const double worst = maximize ? -infinity : infinity;
    study.tell(0, {std::nan("")});
    CHECK(study.trials().state(0) == TrialState::failed);
    CHECK_FALSE(study.best());
    study.tell(1, {worst});
    CHECK(study.best() == 1);
    study.tell(3, {2.0});
    study.tell(2, {2.0});
    CHECK(study.best() == 2);  // the earliest of equal ones
    study.report(4, {.repeat = 1, .resource = 3, .values = {std::nan("")}});
    study.prune(4);
    study.tell(5, {-worst});
    CHECK(study.best() == 5);
    CHECK(study.trials().count(TrialState::complete) == 4);
    CHECK(study.ask().trial == 8);  // TPE takes it all
  }
}

TEST_CASE("a pruned trial has the mean over its repeats where it ended") {
  Study study = make_study(R"({"@": "sampler.random"})", {.maximize = {false, true}});
  study.ask();
  study.report(0, {.repeat = 1, .resource = 1, .values = {9, 9}});
  study.report(0, {.repeat = 1, .resource = 2, .values = {4, 1}});
  study.report(0, {.repeat = 2, .resource = 2, .values = {1, 2}});
  study.prune(0);
  CHECK(study.trials().values(0)[0] == 2.5);
  CHECK(study.trials().values(0)[1] == 1.5);
  study.ask();
  CHECK_THROWS_AS(study.report(1, {.repeat = 1, .resource = 1, .values = {1, 2, 3}}), std::logic_error);
  CHECK_THROWS_AS(study.report(1, {.repeat = 1, .resource = 1, .values = {}}), std::logic_error);
  study.prune(1);
  CHECK(std::isnan(study.trials().values(1)[0]));
}

TEST_CASE("points that are not allowed are drawn anew, an impossible constraint is told") {
  Study study = make_study(R"({"@": "sampler.random"})", {.allowed = [](auto point) { return point[0] < 0.01; }});
  for (int i = 0; i < 20; ++i) CHECK(study.trials().point(*study.ask().trial)[0] < 0.01);
  Study impossible = make_study(R"({"@": "sampler.random"})", {.allowed = [](auto) { return false; }});
  CHECK_THROWS_WITH(impossible.ask(), Catch::Contains("constraints: none of 10000 points"));
}

TEST_CASE("a point that was given is tried although it is known, others are drawn anew") {
  const Space space = parse_space(R"({"a": {"@": "space.int", "low": 1, "high": 5}})");
  Study study(space, parse_sampler(R"({"@": "sampler.random"})", space), {.distinct = true});
  for (int i = 0; i < 2; ++i) study.enqueue(space.point(Value::Map{{"a", 3}}));
  std::multiset<double> seen;
  while (const auto trial = study.ask().trial) seen.insert(study.trials().point(*trial)[0]);
  CHECK(seen == std::multiset<double>{1, 2, 3, 3, 4, 5});
}

TEST_CASE("values that were given come again when all that goes with them is known") {
  const Space space =
      parse_space(R"({"a": {"@": "space.int", "low": 1, "high": 2}, "b": {"@": "space.int", "low": 1, "high": 2}})");
  for (const char* sampler : {"random", "grid", "gp"}) {
    INFO(sampler);
    Study study(space, parse_sampler(std::string(R"({"@": "sampler.)") + sampler + "\"}", space), {.distinct = true});
    while (const auto trial = study.ask().trial) study.tell(*trial, {0.0});
    CHECK(study.trials().size() == 4);
    study.enqueue(space.point(Value::Map{{"a", 2}}));
    study.enqueue(space.point(Value::Map{}));
    study.enqueue(space.point(Value::Map{{"a", 1}, {"b", 2}}));
    CHECK(study.trials().point(*study.ask().trial)[0] == 2);
    CHECK(study.ask().trial == 5);
    CHECK(study.trials().point(*study.ask().trial)[1] == 2);
    CHECK_FALSE(study.ask().trial);
  }
}

namespace {

// Wants one point, whatever was refused.
class Insisting final : public Sampler {
 public:
  explicit Insisting(int& asked) : asked_(asked) {}
  bool sample(std::int64_t, std::int64_t, std::span<const std::span<const double>>, std::span<double> point) override {
    ++asked_;
    point[0] = 0.5;
    return true;
  }

 private:
  int& asked_;
};

}  // namespace

TEST_CASE("a sampler that insists on what is not allowed gives way to chance, which depends on the seed alone") {
  std::map<std::int64_t, std::set<double>> chosen;
  for (const std::int64_t seed : {1, 1, 2}) {
    int asked = 0;
    Study study(parse_space(line), std::make_unique<Insisting>(asked),
                {.allowed = [](auto point) { return point[0] < 0.4; }, .seed = seed});
    for (int i = 0; i < 5; ++i) {
      const double x = study.trials().point(*study.ask().trial)[0];
      CHECK(x < 0.4);
      chosen[seed].insert(x);
    }
    CHECK(asked == 5 * 16);
    study.enqueue(std::vector<double>{0.25});
    study.ask();
    CHECK(asked == 5 * 16);  // nothing to choose, nobody to be asked
  }
  CHECK(chosen[1].size() == 5);
  CHECK(chosen[2].size() == 5);
  CHECK(chosen[1] != chosen[2]);
}

TEST_CASE("given values that do not meet the constraints are told") {
  const Space space =
      parse_space(R"({"a": {"@": "space.int", "low": 1, "high": 9}, "b": {"@": "space.int", "low": 1, "high": 9}})");
  for (const char* sampler : {"random", "grid"}) {
    int asked = 0;
    const auto allowed = [&](auto point) { return ++asked, point[0] < 5; };
    const auto study_with = [&](const Value::Map& given) {
      Study study(space, parse_sampler(std::string(R"({"@": "sampler.)") + sampler + "\"}", space),
                  {.allowed = allowed});
      study.enqueue(space.point(given));
      return study;
    };
    Study whole = study_with({{"a", 7}, {"b", 1}});
    CHECK_THROWS_WITH(whole.ask(), Catch::Contains("constraints: the values given for trial 0 do not meet"));
    CHECK(asked < 100);
    Study part = study_with({{"a", 8}});
    CHECK_THROWS_WITH(part.ask(), Catch::Contains("constraints: the values given for trial 0 do not meet"));
    Study good = study_with({{"a", 4}});
    CHECK(good.trials().point(*good.ask().trial)[0] == 4);
  }
}

TEST_CASE("trials that are given come first, and their open values are chosen") {
  const Space space = parse_space(
      R"({"a": {"@": "space.int", "low": 1, "high": 9}, "b": {"@": "space.uniform", "low": 0, "high": 1}})");
  Study study(space, parse_sampler(R"({"@": "sampler.random"})", space), {});
  study.enqueue(space.point(Value::Map{{"a", 7}}));
  study.enqueue(space.point(Value::Map{{"a", 3}, {"b", 0.25}}));
  CHECK(study.trials().state(1) == TrialState::waiting);
  const auto first = study.ask().trial, second = study.ask().trial, third = study.ask().trial;
  CHECK(first == 0);
  CHECK(study.trials().point(*first)[0] == 7);
  CHECK(study.trials().point(*first)[1] > 0);
  CHECK(study.trials().point(*second)[1] == 0.25);
  CHECK(third == 2);
}

TEST_CASE("a deterministic study chooses the same trials with 1, 2 and 8 workers") {
  const auto value = [](double x) { return (x - 0.3) * (x - 0.3); };
  std::map<std::size_t, std::vector<double>> chosen;
  for (const std::size_t workers : {1U, 2U, 8U}) {
    Study study = make_study(R"({"@": "sampler.tpe"})", {.deterministic = true});
    std::vector<std::int64_t> busy;
    Stream random{Key(workers)};
    while (study.trials().size() < 60 || !busy.empty()) {
      bool waits = busy.size() == workers || study.trials().size() == 60;
      if (!waits) {
        const Study::Asked asked = study.ask();
        if (asked.trial) busy.push_back(*asked.trial);
        waits = asked.wait;
      }
      if (!waits || busy.empty()) continue;
      // Any of them ends next.
      const auto place = static_cast<std::ptrdiff_t>(random.below(busy.size()));
      const std::int64_t trial = busy[static_cast<std::size_t>(place)];
      busy.erase(busy.begin() + place);
      study.tell(trial, {value(study.trials().point(trial)[0])});
    }
    for (std::int64_t t = 0; t < 60; ++t) chosen[workers].push_back(study.trials().point(t)[0]);
  }
  CHECK(chosen[1] == chosen[2]);
  CHECK(chosen[1] == chosen[8]);
}

}  // namespace trainlab::study_test
