#include "run/budget.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace trainlab::budget_test {

using trainlab::test::error_of;
using trainlab::test::TemporaryFolder;

namespace {

constexpr double search = 2.0 / 3;

Value options(const char* time, const char* reserve = nullptr) {
  Value value = Value::Map{};
  if (time) value.set("time", time);
  if (reserve) value.set("reserve", reserve);
  return value;
}

// A run whose processes are told the time. Each process begins at its first reading.
struct Clock {
  double now = 1e6;
  std::function<double()> reader() {
    return [this] { return now; };
  }
};

}  // namespace

TEST_CASE("what a recipe and the command line say of a budget") {
  CHECK(budget_terms({}, std::nullopt).seconds == 0);
  const BudgetTerms day = budget_terms(options("24 h", "6 h"), std::nullopt);
  CHECK(day.seconds == 24 * 3600);
  CHECK(day.usable() == 18 * 3600);
  CHECK(budget_terms(options("100 s"), std::nullopt).reserve == Approx(3));
  CHECK(budget_terms(options("5 s"), std::nullopt).reserve == 0.4);
  CHECK(budget_terms(options("10 min", "5%"), std::nullopt).reserve == Approx(30));
  // A machine that starts programs slowly ends them slowly, too.
  CHECK(budget_terms(options("5 s"), std::nullopt, std::nullopt, 0.5).reserve == 0.4);
  CHECK(budget_terms(options("5 s"), std::nullopt, std::nullopt, 2).reserve == Approx(0.8));
  CHECK(budget_terms(options("5 s"), std::nullopt, std::nullopt, 4).reserve == Approx(1.6));
  CHECK(budget_terms(options("100 s"), std::nullopt, std::nullopt, 4).reserve == Approx(3));
  CHECK(budget_terms(options("5 s", "0.1 s"), std::nullopt, std::nullopt, 4).reserve == Approx(0.1));

  SECTION("--within takes the place of the time, and the reserve of the recipe stays") {
    CHECK(budget_terms(options("24 h", "5%"), 60).seconds == 60);
    CHECK(budget_terms(options("24 h", "5%"), 60).reserve == Approx(3));
    CHECK(budget_terms({}, 60).usable() == Approx(58.2));
    CHECK(budget_terms(options(nullptr, "1 s"), 60).usable() == 59);
  }
  SECTION("what does not fit") {
    const auto said = [](const Value& given, std::optional<double> within = std::nullopt) {
      return error_of([&] { budget_terms(given, within); });
    };
    CHECK(said(options("5 epochs")) == R"(time: expected a time such as "10 min" or "18 h", found "5 epochs")");
    CHECK(said(options("0 s")) == R"(time: expected a time above 0, such as "10 min" or "18 h", found "0 s")");
    CHECK(said(options("1 h", "3 steps")) == R"(reserve: expected a time or a percentage, found "3 steps")");
    CHECK_THAT(said(options(nullptr, "3 s")), Catch::StartsWith("expected a time, money or flops, found none"));
    CHECK_THAT(said(options("1 h", "2 h")),
               Catch::StartsWith("expected a budget of more than its reserve of 2 h, found 1 h"));
    CHECK_THAT(said({}, 0), Catch::StartsWith("--within: expected more than 0 s, found 0 s"));
    CHECK_THAT(said({}, 0.2), Catch::StartsWith("expected a budget of more than its reserve of 0.4 s, found 0.2 s"));
  }
}

TEST_CASE("money bounds the time that it pays for, beside a time") {
  // 6 EUR for an hour.
  const PaidTime paid{
      .amount = 1, .currency = "EUR", .as_of = "today", .seconds = 600, .cost_of_seconds = [](double s) {
        return s / 600;
      }};
  CHECK(budget_terms(options(nullptr), std::nullopt, paid).seconds == 600);
  CHECK(budget_terms(options(nullptr), std::nullopt, paid).reserve == Approx(18));
  CHECK(budget_terms(options("100 s"), std::nullopt, paid).seconds == 100);
  CHECK(budget_terms(options("1 h"), std::nullopt, paid).seconds == 600);
  CHECK(budget_terms(options(nullptr), 3600, paid).seconds == 600);  // --within takes the place of the time alone
  Clock clock;
  const double begun = clock.now;
  const Budget budget(budget_terms(options(nullptr), std::nullopt, paid), {}, begun, clock.reader());
  clock.now += 150;
  CHECK(budget.summary()["money"] ==
        Value(Value::Map{{"limit", 1.0}, {"used", 0.25}, {"seconds", 600.0}, {"currency", "EUR"}, {"as_of", "today"}}));
  clock.now += 440;
  CHECK_THAT(error_of([&] { budget.check_left("stage x"); }),
             Catch::Contains("its budget of 10 min, which 1 EUR pays for, of which 18 s are reserve"));
}

TEST_CASE("FLOPs are a budget beside the time, or alone") {
  Value flops = options(nullptr);
  flops.set("flops", 1e9);
  const BudgetTerms alone = budget_terms(flops, std::nullopt);
  CHECK_FALSE(alone.bounds_time());
  CHECK_FALSE(alone.is_none());
  CHECK(budget_terms({}, std::nullopt).is_none());
  CHECK(budget_terms(flops, 60).seconds == 60);
  flops.set("reserve", "1 s");
  CHECK_THAT(error_of([&] { budget_terms(flops, std::nullopt); }), Catch::StartsWith("reserve: expected a time or"));

  Clock clock;
  const Budget budget(alone, {}, clock.now, clock.reader());
  clock.now += 1e6;
  budget.check_left("stage x", 9e8);  // time does not count
  CHECK_THAT(error_of([&] { budget.check_left("stage x", 1e9); }),
             Catch::StartsWith("the run has used 1e+09 FLOPs of its budget of 1e+09: nothing is left for stage x"));
  const Value summary = budget.summary(9e8);
  CHECK(summary["flops"] == Value(Value::Map{{"limit", 1e9}, {"used", 9e8}}));
  CHECK(summary["used"] == Value(1e6));
  CHECK(summary["seconds"].is_nil());
}

TEST_CASE("a stage ends when its share of what is left is used") {
  const BudgetTerms terms{.seconds = 100, .reserve = 10};
  CHECK(end_of_stage(terms, 0, search) == Approx(60));
  CHECK(end_of_stage(terms, 60, 0.5) == Approx(75));
  CHECK(end_of_stage(terms, 75, 1) == Approx(90));
  CHECK(end_of_stage(terms, 30, search) == Approx(70));  // the stage before ended early
  CHECK(end_of_stage(terms, 95, 1) == Approx(95));       // nothing is left
}

TEST_CASE("the time used counts in all processes of a run, and the time between them does not") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "budget.json";
  const BudgetTerms terms{.seconds = 100, .reserve = 10};
  Clock clock;
  {
    Budget first(terms, file, clock.now, clock.reader());
    clock.now += 6;  // the recipe is read and the data opened
    first.begin_stage("search", search);
    CHECK(first.seconds_left() == Approx(56));  // two thirds of 90 − 6
    clock.now += 20;
    CHECK(first.seconds_left() == Approx(36));
    first.save();
    clock.now += 1;  // lost, as nothing is saved any more
    CHECK(first.seconds_left() == Approx(35));
  }
  clock.now += 5000;  // the machine is down
  Budget second(terms, file, clock.now, clock.reader());
  CHECK(second.used() == Approx(26));
  clock.now += 2;
  second.begin_stage("search", search);
  CHECK(second.seconds_left() == Approx(34));  // to the same end as before
  clock.now += 4;
  second.begin_stage("final", 1);
  CHECK(second.used() == Approx(32));
  CHECK(second.seconds_left() == Approx(58));
  CHECK(second.summary() == Value(Value::Map{{"seconds", 100.0}, {"used", second.used()}, {"reserve", 10.0}}));

  SECTION("a longer budget moves the end of a stage that goes on") {
    Budget third({.seconds = 200, .reserve = 10}, file, clock.now, clock.reader());
    third.begin_stage("final", 1);
    CHECK(third.seconds_left() == Approx(158));
  }
  SECTION("a stage that goes on may end, one that begins or trains longer needs time") {
    clock.now += 60;
    second.begin_stage("final", 1);
    CHECK(second.seconds_left() == Approx(-2));
    const std::string expected =
        "the run has used 92 s of its budget of 100 s, of which 10 s are reserve: nothing is "
        "left for stage ";
    CHECK_THAT(error_of([&] { second.begin_stage("more", 1); }), Catch::StartsWith(expected + "more"));
    CHECK_THAT(error_of([&] { second.begin_stage("final", 1, true); }), Catch::StartsWith(expected + "final"));
  }
}

TEST_CASE("helpers learn from the file how long a stage has") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "budget.json";
  CHECK_FALSE(time_of_stage("search", file, {}, "here 1"));
  Clock clock;
  Budget budget({.seconds = 100, .reserve = 10}, file, clock.now, clock.reader(), "here 1");
  budget.begin_stage("search", search);
  const Value value = parse_json(read_file(file), "file");
  const auto after = [&](double wall, double steady, const std::string& boot) {
    return time_of_stage(
               "search", file,
               {.wall = value["wall"].number() + wall, .steady = value["steady"].number() + steady, .boot = boot},
               "here 1")
        .value();
  };
  const std::string boot = value["boot"].string();
  CHECK(after(4, 4, "another machine").left == Approx(56));
  CHECK(after(4, 4, boot).in_all == Approx(60));
  CHECK(budget.seconds_of_stage() == Approx(60));
  CHECK(after(-3600, 0, "another machine").left == Approx(60));  // the wall clock was set back
  if (!boot.empty()) {
    CHECK(after(-3600, 4, boot).left == Approx(56));
    CHECK(after(7200, 4, boot).left == Approx(56));
  }
  CHECK_FALSE(time_of_stage("final", file, present_moment(), "here 1"));
  // The pause before a resume is no time of the stage: its new supervisor has yet to begin it.
  CHECK_FALSE(time_of_stage("search", file, present_moment(), "here 2"));
}

TEST_CASE("a damaged file of a budget is named") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "budget.json";
  for (const char* text : {"", "[]", R"({"used": "many"})", R"({"used": -1, "from": 0, "until": 0, "wall": 0})",
                           R"({"used": 1, "from": 0, "until": 0, "wall": 0})"}) {
    INFO(text);
    write_atomic(file, text);
    CHECK_THAT(error_of([&] { Budget({.seconds = 9, .reserve = 1}, file, 0, [] { return 0.0; }); }),
               Catch::Contains("budget.json"));
  }
}

}  // namespace trainlab::budget_test
