// Tasks that are watched by the rows that they log.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "watch/row_watch.h"

namespace trainlab::row_watch_test {

namespace {

// A training loss in each step, and a validation loss in each tenth, which is least after 80 steps.
std::map<std::string, double> row_of(std::int64_t step) {
  std::map<std::string, double> row{{"train.loss", 2 / (1 + static_cast<double>(step) / 40)}, {"other", 1}};
  const double part = static_cast<double>(step) / 80;
  if (step % 10 == 0) row["val.loss"] = part < 1 ? 2 - part : part;
  return row;
}

void log(RowWatch& watch, std::int64_t from, std::int64_t to) {
  for (std::int64_t step = from; step <= to; ++step) {
    const std::map<std::string, double> values = row_of(step);
    watch.logged({.step = step, .values = values});
  }
}

std::string health_of(RowWatch& watch) {
  Value summary = Value::Map{};
  watch.add_to(summary);
  return to_json(summary["health"]);
}

}  // namespace

TEST_CASE("rows that say nothing of losses, and those of a training that goes well, give no verdict") {
  RowWatch watch(nullptr);
  CHECK(health_of(watch) == "[]");
  const std::map<std::string, double> other{{"reward", std::nan("")}};
  for (int step = 1; step <= 100; ++step) watch.logged({.step = step, .values = other});
  CHECK(health_of(watch) == "[]");
  RowWatch learning(nullptr);
  log(learning, 1, 80);
  CHECK(health_of(learning) == "[]");
}

TEST_CASE("a loop that does not count its steps shows no course") {
  for (const std::int64_t fixed : {0, 7}) {
    RowWatch watch(nullptr);
    for (std::int64_t step = 1; step <= 320; ++step) {
      const std::map<std::string, double> values = row_of(step);
      watch.logged({.step = fixed, .values = values});
    }
    CHECK(health_of(watch) == "[]");
  }
}

TEST_CASE("overfitting of a loop is told once, with a remedy for loops, and with a resume as without") {
  std::vector<std::string> said;
  RowWatch whole([&](const std::string& line) { said.push_back(line); });
  log(whole, 1, 320);
  const Value verdicts = parse_json(health_of(whole), "test");
  REQUIRE(verdicts.list().size() == 1);
  CHECK(verdicts.list().front()["kind"] == Value("overfitting"));
  CHECK_THAT(verdicts.list().front()["remedy"].string(), Catch::Contains("ctx:save") && !Catch::Contains("stop ="));
  REQUIRE(said.size() == 1);
  CHECK_THAT(said.front(), Catch::StartsWith("health: overfitting ("));
  for (const std::int64_t at : {15, 105, 315}) {
    INFO("resumed at step " << at);
    RowWatch before(nullptr), after(nullptr);
    log(before, 1, at);
    after.part().restore(*before.part().state(), {});
    log(after, at + 1, 320);
    CHECK(health_of(after) == health_of(whole));
  }
}

TEST_CASE("a validation in the first step of a loop does not hide its overfitting") {
  RowWatch watch(nullptr);
  const std::map<std::string, double> first{{"train.loss", 2}, {"val.loss", 2}};
  watch.logged({.step = 1, .values = first});
  log(watch, 2, 320);
  const Value verdicts = parse_json(health_of(watch), "test");
  REQUIRE(verdicts.list().size() == 1);
  CHECK(verdicts.list().front()["kind"] == Value("overfitting"));
}

TEST_CASE("a loss of a loop that is not finite is told with its step") {
  RowWatch watch(nullptr);
  log(watch, 1, 40);
  const std::map<std::string, double> lost{{"train.loss", std::nan("")}};
  for (int step = 41; step < 50; ++step) watch.logged({.step = step, .values = lost});
  const Value verdicts = parse_json(health_of(watch), "test");
  REQUIRE(verdicts.list().size() == 1);
  CHECK(verdicts.list().front()["kind"] == Value("not_finite"));
  CHECK(verdicts.list().front()["evidence"] == Value("step 41: train.loss is nan"));
  CHECK(verdicts.list().front()["step"] == Value(40));
}

}  // namespace trainlab::row_watch_test
