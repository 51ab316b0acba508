// Plans of stages that are made of several trainings: how long they take in turn, side by side and together, and what
// is known where some of them may end early.
#include <catch2/catch.hpp>
#include <limits>

#include "measured_fit.h"

namespace trainlab::recipe_trainings_test {

using trainlab::test::measured_fit;

namespace {

// 64 trainings of 20.5 s each.
MeasuredStageFacts search() {
  MeasuredStageFacts facts = measured_fit();
  facts.kind = "sweep";
  facts.waves = {{.trials = 64}};
  return facts;
}

Value::List at_most(const MeasuredStageFacts& facts) { return to_value(facts, plan_of(facts))["at_most"].list(); }

}  // namespace

TEST_CASE("a stage of several trainings ends when those that begin within its own time have ended") {
  MeasuredStageFacts facts = search();
  facts.stage_time = 200;
  const RecipePlan plan = plan_of(facts);
  CHECK(plan.training->median == Approx(20.5));
  CHECK(plan.whole->median == Approx(205));
  CHECK(plan.whole->low == 200);
  CHECK(plan.whole->high == Approx(200 + plan.training->high));
  CHECK(plan.ends_by_time);
  CHECK(*plan.fits.trainings == 10);
  CHECK(*plan.flops == Approx(10 * 2000e9));
  SECTION("as many as the time allows") {
    facts.waves.clear();
    CHECK(plan_of(facts).whole->median == Approx(205));
    CHECK(*plan_of(facts).fits.trainings == 10);
    CHECK(*plan_of(facts).flops == Approx(10 * 2000e9));
  }
  SECTION("or all of them") {
    facts.waves = {{.trials = 9}};
    CHECK(plan_of(facts).whole->median == Approx(9 * 20.5));
    CHECK_FALSE(plan_of(facts).ends_by_time);
    CHECK(*plan_of(facts).flops == Approx(9 * 2000e9));
  }
  SECTION("of which a trial has several") {
    facts.repeats = 4;
    CHECK(plan_of(facts).whole->median == Approx(3 * 4 * 20.5));
    CHECK(*plan_of(facts).fits.trainings == 12);
  }
  SECTION("which is not known of loops by hand") {
    facts.steps = 0;
    facts.is_task = true;
    CHECK_FALSE(plan_of(facts).whole);
  }
  SECTION("within a budget that the last of them do not fit into") {
    facts.within = 205;  // 203 after the start
    CHECK(plan_of(facts).ends_first == EndsFirst::budget);
    CHECK(*plan_of(facts).fits.trainings == 9);
  }
  SECTION("before a larger budget") {
    facts.within = 3600;
    CHECK(plan_of(facts).ends_first == EndsFirst::length);
    CHECK(*plan_of(facts).fits.trainings == 10);
  }
  SECTION("after a smaller budget") {
    facts.within = 110;
    CHECK(plan_of(facts).ends_first == EndsFirst::budget);
    CHECK(*plan_of(facts).fits.trainings == 5);
  }
}

TEST_CASE("more trainings than can be counted") {
  MeasuredStageFacts facts = measured_fit();
  facts.waves = {{.trials = std::numeric_limits<std::int64_t>::max()}};
  CHECK(*plan_of(facts).flops == Approx(2e12 * 9.223372036854775807e18));
  facts.step = {.median = 1e-12, .low = 1e-12, .high = 1e-12};
  facts.wall = 1e-12;
  facts.once = 0;
  facts.within = 1e12;
  CHECK(*plan_of(facts).fits.trainings > 0);
}

TEST_CASE("a search that other stages follow has two thirds of what is left") {
  MeasuredStageFacts facts = search();
  facts.share = 2.0 / 3;
  facts.within = 302;
  facts.reserve = 0;
  const RecipePlan plan = plan_of(facts);
  CHECK(*plan.usable == Approx(200));
  CHECK(plan.whole->median == Approx(64 * 20.5));
  CHECK(*plan.fits.trainings == 9);
  CHECK(plan.ends_first == EndsFirst::budget);
}

TEST_CASE("workers whose threads have cores of their own divide the time") {
  MeasuredStageFacts facts = search();
  facts.workers = 8;
  facts.at_once = 8;
  facts.within = 300;
  facts.watts = 40;
  const RecipePlan plan = plan_of(facts);
  CHECK(plan.training->median == Approx(20.5));
  CHECK(plan.whole->median == Approx(8 * 20.5));
  CHECK(*plan.flops == Approx(64 * 2000e9));
  CHECK(plan.ends_first == EndsFirst::length);  // one after the other they take 22 min
  CHECK(*plan.fits.trainings == 8 * 14);
  CHECK(*plan.largest_parameters == Approx(1e6 * 298 / (8 * 20.5)));
  CHECK_FALSE(plan.joules);  // of one training the power was measured
  CHECK(to_value(facts, plan)["workers"] == Value(8));
  CHECK(at_most(facts).empty());
  SECTION("and share the cores where there are too few") {
    facts.at_once = 2;
    const RecipePlan shared = plan_of(facts);
    CHECK(shared.whole->median == Approx(32 * 20.5));
    CHECK(shared.ends_first == EndsFirst::budget);
    CHECK(*shared.fits.trainings == 2 * 14);
    facts.at_once = 1;
    CHECK(plan_of(facts).whole->median == Approx(64 * 20.5));
    CHECK(*plan_of(facts).joules == Approx(40 * 64 * 20.5));
  }
  SECTION("and wait for the last one") {
    facts.waves = {{.trials = 9}};
    CHECK(plan_of(facts).whole->median == Approx(2 * 20.5));
  }
  SECTION("within the stage's own time") {
    facts.stage_time = 42;
    CHECK(plan_of(facts).whole->median == Approx(3 * 20.5));
    CHECK(*plan_of(facts).flops == Approx(8 * 3 * 2000e9));
    CHECK(*plan_of(facts).fits.trainings == 24);
    facts.at_once = 2;  // a round of 8 takes four times as long
    CHECK(plan_of(facts).whole->median == Approx(4 * 20.5));
    CHECK(*plan_of(facts).fits.trainings == 8);
  }
}

TEST_CASE("a worker trains whole trials, and those that follow all trials wait for the last of them") {
  MeasuredStageFacts facts = search();
  facts.workers = 4;
  facts.at_once = 4;
  facts.waves = {{.trials = 5}};
  facts.repeats = 3;
  CHECK(plan_of(facts).whole->median == Approx(2 * 3 * 20.5));  // 2 trials of one worker, while 15 / 4 is less than 4
  facts.at_end = 6;
  CHECK(plan_of(facts).whole->median == Approx((2 * 3 + 2) * 20.5));
  facts.at_once = 1;
  CHECK(plan_of(facts).whole->median == Approx(21 * 20.5));
}

TEST_CASE("an ensemble predicts when its members have ended, for which it keeps a part of its time") {
  MeasuredStageFacts facts = search();
  facts.kind = "ensemble";
  facts.waves = {{.trials = 10}};
  facts.after = 3;
  facts.trainings_share = 0.95;
  facts.within = 217;  // 215 after the start, of which the members have 204.25
  const RecipePlan plan = plan_of(facts);
  CHECK(plan.whole->median == Approx(208));
  CHECK(*plan.usable == Approx(215));
  CHECK(*plan.fits.trainings == 9);
  CHECK(plan.ends_first == EndsFirst::budget);
  facts.within = 218;
  CHECK(*plan_of(facts).fits.trainings == 10);
  CHECK(plan_of(facts).ends_first == EndsFirst::length);
}

TEST_CASE("trainings that may end early take at most what all of them take") {
  MeasuredStageFacts facts = search();
  facts.may_be_fewer = true;
  facts.within = 302;
  CHECK(plan_of(facts).whole->median == Approx(64 * 20.5));
  CHECK(plan_of(facts).ends_first == EndsFirst::unknown);
  CHECK_FALSE(plan_of(facts).largest_parameters);
  CHECK(plan_of(facts).largest_by.empty());
  CHECK(at_most(facts) == Value::List{"seconds", "flops"});
  SECTION("which a larger budget holds") {
    facts.within = 2000;
    CHECK(plan_of(facts).ends_first == EndsFirst::length);
  }
  SECTION("with their energy and their cost") {
    facts.watts = 40;
    facts.cost = PlannedCost{.amount = 1, .currency = "EUR", .as_of = "2026-11-01"};
    CHECK(at_most(facts) == Value::List{"seconds", "joules", "cost", "flops"});
  }
  SECTION("also of a budget of FLOPs") {
    facts.within = 0;
    facts.most_flops = 1e12;
    CHECK(plan_of(facts).ends_first == EndsFirst::unknown);
    CHECK_FALSE(plan_of(facts).largest_parameters);
    facts.most_flops = 1e15;
    CHECK(plan_of(facts).ends_first == EndsFirst::length);
  }
  SECTION("while the memory is known") {
    facts.model_memory = 100;
    facts.room = 110;
    facts.within = 2000;
    CHECK(*plan_of(facts).largest_parameters == Approx(1.1e6));
    CHECK(plan_of(facts).largest_by == "memory");
  }
  SECTION("and as many as begin within their own time take this time at least") {
    facts.waves.clear();
    facts.stage_time = 205;
    CHECK(plan_of(facts).whole->median == Approx(205 + 20.5));  // the last may begin at its end
    CHECK(*plan_of(facts).flops == Approx(11 * 2000e9));
    CHECK(at_most(facts) == Value::List{"seconds", "flops"});
    CHECK(plan_of(facts).ends_first == EndsFirst::length);
    facts.within = 202;
    CHECK(plan_of(facts).ends_first == EndsFirst::budget);
    facts.may_end_early = true;
    CHECK(plan_of(facts).ends_first == EndsFirst::unknown);
  }
}

TEST_CASE("trainings that go together take at most the time that they take in turn, and the same FLOPs") {
  MeasuredStageFacts facts = search();
  facts.together = 4;
  facts.within = 602;
  CHECK(plan_of(facts).whole->median == Approx(64 * 20.5));
  CHECK(plan_of(facts).ends_first == EndsFirst::unknown);  // from 328 to 1312 s, of 600
  CHECK(at_most(facts) == Value::List{"seconds"});
  facts.within = 2000;
  CHECK(plan_of(facts).ends_first == EndsFirst::length);
  facts.within = 302;  // less than a fourth
  CHECK(plan_of(facts).ends_first == EndsFirst::budget);
  facts.waves = {{.trials = 2}};  // of which none is shorter for the other
  facts.within = 18;
  CHECK(plan_of(facts).ends_first == EndsFirst::budget);
  facts.waves = {{.trials = 64}};
  facts.within = 0;
  facts.most_flops = 1e12;
  CHECK(plan_of(facts).ends_first == EndsFirst::budget);
  SECTION("of which nobody knows how many fit into the stage's own time") {
    facts.stage_time = 205;
    CHECK(plan_of(facts).whole->median == Approx(205 + 4 * 20.5));
    CHECK_FALSE(plan_of(facts).flops);
    CHECK(plan_of(facts).ends_first == EndsFirst::unknown);
  }
}

TEST_CASE("trainings that a scheduler divides take the time of their segments") {
  MeasuredStageFacts facts = search();  // 27 validations, the last of which comes 50 steps after the one before
  facts.validate_every = 75;
  facts.waves = {{.trials = 27, .validations = 1},
                 {.trials = 9, .validations = 2},
                 {.trials = 3, .validations = 6},
                 {.trials = 1, .validations = 18}};
  // 81 validations of 0.75 s, and 40 ends of 0.5 s.
  CHECK(facts.trainings() == 40);
  CHECK(facts.whole_trainings() == Approx(81 * 75 / 2000.0));
  CHECK(plan_of(facts).whole->median == Approx(81 * 0.75 + 40 * 0.5));
  CHECK(*plan_of(facts).flops == Approx(81 * 75 * 1e9));
  CHECK(at_most(facts).empty());
  SECTION("in waves, each of which waits for the one before") {
    facts.workers = 4;
    facts.at_once = 4;
    CHECK(plan_of(facts).whole->median == Approx(7 * 1.25 + 3 * 2 + 1 * 5 + 1 * 14));
    facts.waves = {{.trials = 8, .validations = 1, .times = 3}};
    CHECK(plan_of(facts).whole->median == Approx(3 * 2 * 1.25));
  }
  SECTION("which are whole ones where they come to the end") {
    facts.waves = {{.trials = 2, .validations = 27}};
    CHECK_FALSE(facts.has_segments());
    CHECK(plan_of(facts).whole->median == Approx(2 * plan_of(facts).training->median));
  }
  SECTION("with whole ones at the end") {
    facts.at_end = 2;
    CHECK(plan_of(facts).whole->median == Approx(81 * 0.75 + 40 * 0.5 + 2 * 20.5));
  }
  SECTION("so that it is known what ends first, and which model is the largest") {
    facts.within = 102;
    CHECK(plan_of(facts).ends_first == EndsFirst::length);
    CHECK(*plan_of(facts).largest_parameters == Approx(1e6 * 100 / 80.75));
    facts.within = 82;
    CHECK(plan_of(facts).ends_first == EndsFirst::budget);
  }
  SECTION("of which nobody knows what begins within the stage's own time") {
    facts.stage_time = 30;
    CHECK(plan_of(facts).whole->median == Approx(30 + 20.5));
    CHECK(at_most(facts) == Value::List{"seconds", "flops"});
    facts.within = 42;
    CHECK(plan_of(facts).ends_first == EndsFirst::unknown);
    facts.within = 22;
    CHECK(plan_of(facts).ends_first == EndsFirst::budget);
  }
}

TEST_CASE("nobody knows when a stage ends whose length nobody knows") {
  MeasuredStageFacts facts = search();
  facts.within = 302;
  SECTION("because its trainings are not counted") {
    facts.waves.clear();
    CHECK(plan_of(facts).ends_first == EndsFirst::unknown);
  }
  SECTION("because they are loops by hand") {
    facts.steps = 0;
    facts.is_task = true;
    CHECK(plan_of(facts).ends_first == EndsFirst::unknown);
  }
}

}  // namespace trainlab::recipe_trainings_test
