// Plans of recipes whose steps were measured: lengths, what a budget holds, and what ends first.
#include "plan/recipe_plan.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "support/error_of.h"

namespace trainlab::recipe_plan_test {

using trainlab::test::error_of;

namespace {

// 10 ms a step, of which 1 ms comes between steps; 100 steps an epoch, 20 epochs.
MeasuredStageFacts fit() {
  return {.stage = "f",
          .kind = "fit",
          .step = {.median = 0.009, .low = 0.008, .high = 0.0092},
          .between = 0.001,
          .once = 0.5,
          .start = 2,
          .steps_per_epoch = 100,
          .steps = 2000,
          .parameters = 1e6,
          .flops = 1e9};
}

}  // namespace

TEST_CASE("without a budget a plan says how long the stage takes") {
  const RecipePlan plan = plan_of(fit());
  CHECK(plan.step.median == Approx(0.01));
  CHECK(plan.step.low == Approx(0.009));
  CHECK(plan.step.high == Approx(0.009 * 1.03 + 0.001));  // at least ±3 %
  CHECK(plan.epoch->median == Approx(1));
  CHECK(plan.training->median == Approx(20.5));
  CHECK(plan.whole->median == Approx(20.5));
  CHECK_FALSE(plan.usable);
  CHECK_FALSE(plan.epochs);
  CHECK(plan.ends_first == EndsFirst::unknown);
}

TEST_CASE("the energy of a stage is the power during the measured steps, for its length") {
  MeasuredStageFacts facts = fit();
  CHECK_FALSE(plan_of(facts).joules);
  CHECK(to_value(facts, plan_of(facts))["watts"].is_nil());
  facts.watts = 40;
  CHECK(*plan_of(facts).joules == Approx(40 * 20.5));
  CHECK(to_value(facts, plan_of(facts))["joules"].number() == Approx(820));
  facts.steps = 0;  // its length is a time
  CHECK_FALSE(plan_of(facts).joules);
}

TEST_CASE("what a budget holds of a fit") {
  MeasuredStageFacts facts = fit();
  facts.within = 100;
  facts.reserve = 3;
  const RecipePlan plan = plan_of(facts);
  CHECK(*plan.usable == Approx(95));  // less the start
  CHECK(*plan.steps == Approx(9450));
  CHECK(*plan.epochs == Approx(94.5));
  CHECK(*plan.trainings == 4);
  CHECK(plan.ends_first == EndsFirst::length);
  CHECK(*plan.largest_parameters == Approx(1e6 * 95 / 20.5));

  SECTION("that ends before its length") {
    facts.within = 15;
    const RecipePlan cut = plan_of(facts);
    CHECK(cut.ends_first == EndsFirst::budget);
    CHECK(*cut.trainings == 0);
    CHECK(*cut.largest_parameters < 1e6);
  }
  SECTION("into which nothing fits") {
    facts.within = 4;
    const RecipePlan none = plan_of(facts);
    CHECK(*none.usable <= 0);
    CHECK(*none.steps == 0);
  }
  SECTION("whose length is a time") {
    facts.steps = 0;
    const RecipePlan open = plan_of(facts);
    CHECK_FALSE(open.training);
    CHECK(open.ends_first == EndsFirst::budget);
    CHECK_FALSE(open.largest_parameters);
  }
}

TEST_CASE("a search that other stages follow has two thirds of what is left") {
  MeasuredStageFacts facts = fit();
  facts.kind = "sweep";
  facts.trainings = 64;
  facts.share = 2.0 / 3;
  facts.within = 302;
  facts.reserve = 0;
  const RecipePlan plan = plan_of(facts);
  CHECK(*plan.usable == Approx(200));
  CHECK(plan.whole->median == Approx(64 * 20.5));
  CHECK(*plan.trainings == 9);
  CHECK(plan.ends_first == EndsFirst::budget);
}

TEST_CASE("a plan of a recipe as data, and the engine's facts") {
  const Value sent = parse_json(R"({"stage": "f", "kind": "task", "step": {"median": 0.01, "low": 0.01, "high": 0.01},
    "between": 0.0, "once": 0.0, "start": 1.0, "steps_per_epoch": 0, "steps": 0, "trainings": 1, "parameters": 0.0,
    "flops": 0.0, "within": 10.0, "reserve": 1.0, "share": 1.0, "watts": 0.0})",
                                "test");
  const MeasuredStageFacts facts = facts_from(sent);
  const Value value = to_value(facts, plan_of(facts));
  CHECK(value["kind"] == Value("plan"));
  CHECK(value["usable"].number() == Approx(8));
  CHECK(value["steps"].number() == Approx(800));
  CHECK(value["ends_first"] == Value("budget"));
  for (const char* unknown : {"seconds", "epochs", "parameters", "flops_per_step", "trainings"}) {
    INFO(unknown);
    CHECK(value[unknown].is_nil());
  }
  CHECK_THAT(error_of([] { facts_from(Value::Map{{"stage", "f"}}); }), Catch::Contains("from the same build"));
}

}  // namespace trainlab::recipe_plan_test
