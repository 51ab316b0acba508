// Plans of trainings whose steps were measured: lengths, what a budget holds, and what ends first.
#include "plan/recipe_plan.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "measured_fit.h"
#include "support/error_of.h"

namespace trainlab::recipe_plan_test {

using trainlab::test::error_of;
using trainlab::test::measured_fit;

TEST_CASE("without a budget a plan says how long the stage takes") {
  const RecipePlan plan = plan_of(measured_fit());
  CHECK(plan.step.median == Approx(0.01));
  CHECK(plan.step.low == Approx(0.009));
  CHECK(plan.step.high == Approx(0.009 * 1.03 + 0.001));  // at least ±3 %
  CHECK(plan.epoch->median == Approx(1));
  CHECK(plan.training->median == Approx(20.5));
  CHECK(plan.whole->median == Approx(20.5));
  CHECK_FALSE(plan.usable);
  CHECK_FALSE(plan.fits.epochs);
  CHECK(plan.ends_first == EndsFirst::unknown);
}

TEST_CASE("slow steps that are rare count, though the median of blocks does not know them") {
  MeasuredStageFacts facts = measured_fit();
  facts.wall = 0.0125;  // the mean of steps is 2.5 ms above their median
  const RecipePlan plan = plan_of(facts);
  CHECK(plan.step.median == Approx(0.0125));
  CHECK(plan.step.low == Approx(0.0115));
  CHECK(plan.step.high == Approx(0.0125 + 0.03 * 0.009));
  CHECK(plan.training->median == Approx(2000 * 0.0125 + 0.5));
}

TEST_CASE("the last validation of a training counts once") {
  MeasuredStageFacts facts = measured_fit();
  facts.validation = 30;
  facts.validate_every = 1000;
  facts.wall = 0.01 + 30.0 / 1000;  // a step has its share
  CHECK(plan_of(facts).training->median == Approx(2000 * 0.01 + 2 * 30 + 0.5));
  facts.validate_every = 1500;  // the second comes after 500 steps
  facts.wall = 0.01 + 30.0 / 1500;
  CHECK(plan_of(facts).training->median == Approx(2000 * 0.01 + 2 * 30 + 0.5));
  facts.validate_every = 4000;  // the only one comes at the end
  facts.wall = 0.01 + 30.0 / 4000;
  CHECK(plan_of(facts).training->median == Approx(2000 * 0.01 + 30 + 0.5));
  SECTION("of one that a time ends, whose last step nobody knows, in full") {
    facts.training_time = 45.5;
    CHECK(*plan_of(facts).fits.steps == Approx(15 / facts.wall).margin(1));
  }
}

TEST_CASE("the energy of a stage is the power during the measured steps, for its length") {
  MeasuredStageFacts facts = measured_fit();
  CHECK_FALSE(plan_of(facts).joules);
  CHECK(to_value(facts, plan_of(facts))["watts"].is_nil());
  facts.watts = 40;
  CHECK(*plan_of(facts).joules == Approx(40 * 20.5));
  CHECK(to_value(facts, plan_of(facts))["joules"].number() == Approx(820));
  facts.steps = 0;  // it has no length
  CHECK_FALSE(plan_of(facts).joules);
}

TEST_CASE("the rate of a stage, and its share of the machine's peak where that is known") {
  MeasuredStageFacts facts = measured_fit();
  CHECK(*plan_of(facts).rate == Approx(1e11));
  CHECK_FALSE(plan_of(facts).mfu);
  facts.peak = 4e11;
  CHECK(*plan_of(facts).mfu == Approx(0.25));
  const Value value = to_value(facts, plan_of(facts));
  CHECK(value["rate"].number() == Approx(1e11));
  CHECK(value["mfu"].number() == Approx(0.25));
  CHECK(value["seconds"].number() == Approx(20.5));
  CHECK(value["seconds_low"].number() < 20.5);
  CHECK(value["seconds_high"].number() > 20.5);
}

TEST_CASE("more than four passes over unchanged data are data-inefficient") {
  MeasuredStageFacts facts = measured_fit();
  facts.step_passes = 0.01;
  CHECK(plan_of(facts).passes == Approx(20));
  CHECK(to_value(facts, plan_of(facts))["flags"] == Value(Value::List{"data_inefficient"}));
  facts.within = 6;  // ends the fit after about 350 steps
  facts.reserve = 0.1;
  CHECK(plan_of(facts).ends_first == EndsFirst::budget);
  CHECK(to_value(facts, plan_of(facts))["flags"] == Value(Value::List{}));
  facts.step_passes = 0;  // data that each pass changes
  facts.within = 0;
  CHECK(to_value(facts, plan_of(facts))["flags"] == Value(Value::List{}));
}

TEST_CASE("what a budget holds of a fit") {
  MeasuredStageFacts facts = measured_fit();
  facts.within = 100;
  facts.reserve = 3;
  const RecipePlan plan = plan_of(facts);
  CHECK(*plan.usable == Approx(95));  // less the start
  CHECK(*plan.fits.steps == Approx(9450));
  CHECK(*plan.fits.epochs == Approx(94.5));
  CHECK(*plan.fits.trainings == 4);
  CHECK(plan.ends_first == EndsFirst::length);
  CHECK(*plan.largest_parameters == Approx(1e6 * 95 / 20.5));
  CHECK(plan.largest_by == "time");

  SECTION("whose memory ends first") {
    facts.model_memory = 100;
    facts.room = 300;
    const RecipePlan full = plan_of(facts);
    CHECK(*full.largest_parameters == Approx(3e6));
    CHECK(full.largest_by == "memory");
    facts.within = 0;
    CHECK(*plan_of(facts).largest_parameters == Approx(3e6));  // without a budget, too
    facts.room = 1e6;
    facts.within = 100;
    CHECK(plan_of(facts).largest_by == "time");
  }
  SECTION("that ends before its length") {
    facts.within = 15;
    const RecipePlan cut = plan_of(facts);
    CHECK(cut.ends_first == EndsFirst::budget);
    CHECK(*cut.fits.trainings == 0);
    CHECK(*cut.largest_parameters < 1e6);
  }
  SECTION("into which nothing fits") {
    facts.within = 4;
    const RecipePlan none = plan_of(facts);
    CHECK(*none.usable <= 0);
    CHECK_FALSE(none.largest_parameters);
    CHECK(*none.fits.steps == 0);
  }
  SECTION("that has no length") {
    facts.steps = 0;
    const RecipePlan open = plan_of(facts);
    CHECK_FALSE(open.training);
    CHECK(open.ends_first == EndsFirst::budget);
    CHECK_FALSE(open.largest_parameters);
  }
}

TEST_CASE("a training that its own time ends") {
  MeasuredStageFacts facts = measured_fit();
  facts.training_time = 10;
  SECTION("before its length, without a budget") {
    const RecipePlan plan = plan_of(facts);
    CHECK(plan.whole->median == Approx(10));
    CHECK(*plan.fits.steps == Approx(950));
    CHECK(*plan.fits.epochs == Approx(9.5));
    CHECK(*plan.flops == Approx(950e9));
    CHECK(plan.ends_first == EndsFirst::unknown);
    CHECK_FALSE(plan.largest_parameters);
  }
  SECTION("and that has no other length") {
    facts.steps = 0;
    CHECK(plan_of(facts).whole->median == Approx(10));
    CHECK(*plan_of(facts).fits.steps == Approx(950));
  }
  SECTION("before a larger budget") {
    facts.within = 3600;
    const RecipePlan plan = plan_of(facts);
    CHECK(plan.ends_first == EndsFirst::length);
    CHECK(*plan.fits.epochs == Approx(9.5));  // not those of an hour
    CHECK(*plan.fits.trainings == 359);
  }
  SECTION("after a smaller budget") {
    facts.within = 7;
    const RecipePlan plan = plan_of(facts);
    CHECK(plan.ends_first == EndsFirst::budget);
    CHECK(*plan.fits.steps == Approx(450));
  }
  SECTION("after its length") {
    facts.training_time = 100;
    CHECK(plan_of(facts).whole->median == Approx(20.5));
    CHECK(*plan_of(facts).flops == Approx(2000e9));
  }
}

TEST_CASE("what a budget of FLOPs holds") {
  MeasuredStageFacts facts = measured_fit();  // 2e12 FLOPs
  facts.most_flops = 5e11;
  const RecipePlan plan = plan_of(facts);
  CHECK(plan.ends_first == EndsFirst::budget);
  CHECK(*plan.fits.steps == Approx(500));
  CHECK(*plan.fits.epochs == Approx(5));
  CHECK(*plan.fits.trainings == 0);
  CHECK(*plan.largest_parameters == Approx(2.5e5));
  CHECK_FALSE(plan.usable);
  CHECK(to_value(facts, plan)["flops_budget"].number() == Approx(5e11));
  SECTION("that is larger than the training") {
    facts.most_flops = 1e13;
    CHECK(plan_of(facts).ends_first == EndsFirst::length);
    CHECK(*plan_of(facts).fits.trainings == 5);
  }
  SECTION("beside a time that ends first") {
    facts.most_flops = 1e13;
    facts.within = 15;
    CHECK(plan_of(facts).ends_first == EndsFirst::budget);
    CHECK(*plan_of(facts).fits.steps == Approx(1250));
  }
  SECTION("that ends before the time") {
    facts.within = 3600;
    CHECK(plan_of(facts).ends_first == EndsFirst::budget);
    CHECK(*plan_of(facts).fits.steps == Approx(500));
  }
}

TEST_CASE("the last step of an epoch may have fewer FLOPs than the others") {
  MeasuredStageFacts facts = measured_fit();
  facts.full_step_flops = 1e9;
  facts.epoch_flops = 99.25e9;
  facts.flops = facts.epoch_flops / 100;
  CHECK(*plan_of(facts).flops == 20 * 99.25e9);
  facts.steps = 150;
  CHECK(*plan_of(facts).flops == 149.25e9);
  facts.steps = 20000;
  for (const auto& [flops, steps] : {std::pair(198.5e9, 200), {198.4e9, 199}, {199.4e9, 200}, {50e9, 50}}) {
    facts.most_flops = flops;
    CHECK(*plan_of(facts).fits.steps == steps);
  }
}

TEST_CASE("a law judges what a training of the recipe reaches") {
  MeasuredStageFacts facts = measured_fit();
  KnownLaw law = known_law("besiroglu");
  law.samples = {law.law, law.law};
  law.deviation = 0.01;
  // 2e12 FLOPs of 1e6 parameters.
  const Allocation chosen{1e6, 2e12 / 6e6};
  const auto by_law = [&] { return plan_of(facts, law).by_law.value(); };
  CHECK(by_law().chosen.tokens == Approx(chosen.tokens));
  CHECK(by_law().loss == Approx(loss_of(law.law, chosen)));
  const Value value = to_value(facts, plan_of(facts, law));
  CHECK(value["loss"].number() == Approx(by_law().loss));
  CHECK(value["loss_low"].number() < value["loss_high"].number());
  CHECK(value["approaches"].list().size() == 3);
  CHECK(value["approaches"].list().back()["parameters"].number() ==
        Approx(best_allocation(law.law, 2e12).parameters).epsilon(0.02));
  CHECK(value["compute_share"].number() == judged(law.law, chosen).compute_share);
  CHECK(value["parameters"].number() == 1e6);
  CHECK(value["seconds"].number() == Approx(20.5));
  SECTION("with the flags of a plan") {
    CHECK(judged(law.law, chosen).is_compute_inefficient());
    CHECK(value["flags"] == Value(Value::List{"compute_inefficient"}));
    facts.parameters = 1e4;
    CHECK(to_value(facts, plan_of(facts, law))["flags"] ==
          Value(Value::List{"compute_inefficient", "data_inefficient"}));
    facts.parameters = best_allocation(law.law, 2e12).parameters;
    CHECK(to_value(facts, plan_of(facts, law))["flags"] == Value(Value::List{}));
  }
  SECTION("where data that come back are worth less") {
    facts.step_passes = 0.01;  // 20 passes
    CHECK(by_law().judgement.epochs == Approx(20));
    CHECK(by_law().loss == Approx(loss_of(law.law, chosen, chosen.tokens / 20)));
    facts.step_passes = 0.0001;
    CHECK(by_law().loss == Approx(loss_of(law.law, chosen)));
  }
  SECTION("as far as the budget lets it come") {
    facts.most_flops = 1e12;
    CHECK(by_law().chosen.tokens == Approx(chosen.tokens / 2));
  }
  SECTION("which is unknown where nobody knows its FLOPs") {
    facts.flops = 0;
    CHECK_FALSE(plan_of(facts, law).by_law);
    CHECK(to_value(facts, plan_of(facts, law))["loss"].is_nil());
  }
}

TEST_CASE("a plan of a recipe as data, and the engine's facts") {
  const Value sent = parse_json(R"({"stage": "f", "kind": "task", "step": {"median": 0.01, "low": 0.01, "high": 0.01},
    "wall": 0.01, "once": 0.0, "start": 1.0, "validation": 0.0, "validate_every": 0, "steps_per_epoch": 0, "steps": 0,
    "is_task": true, "waves": [{"trials": 1, "validations": 0, "times": 1}], "repeats": 1, "at_end": 0,
    "may_be_fewer": false, "may_end_early": false,
    "together": 1, "workers": 1, "at_once": 1.0, "after": 0.0, "is_on_gpu": false, "parameters": 0.0, "flops": 0.0,
    "full_step_flops": 0.0, "epoch_flops": 0.0, "within": 10.0, "reserve": 1.0, "share": 1.0, "trainings_share": 1.0,
    "training_time": 0.0, "stage_time": 0.0, "most_flops": 0.0, "model_memory": 0.0, "room": 0.0,
    "step_passes": 0.0, "peak": 0.0, "watts": 0.0})",
                                "test");
  const MeasuredStageFacts facts = facts_from(sent);
  const Value value = to_value(facts, plan_of(facts));
  CHECK(value["kind"] == Value("plan"));
  CHECK(value["usable"].number() == Approx(8));
  CHECK(value["steps"].number() == Approx(800));
  CHECK(value["ends_first"] == Value("unknown"));  // the function of the task may end it
  CHECK(value["flags"] == Value(Value::List{}));
  CHECK(value["workers"] == Value(1));
  CHECK(value["at_most"] == Value(Value::List{}));
  for (const char* unknown : {"seconds", "seconds_low", "seconds_high", "epochs", "parameters", "flops_per_step",
                              "trainings", "rate", "mfu", "passes", "approaches", "loss", "law", "compute_share"}) {
    INFO(unknown);
    CHECK(value[unknown].is_nil());
  }
  CHECK_THAT(error_of([] { facts_from(Value::Map{{"stage", "f"}}); }), Catch::Contains("from the same build"));
}

}  // namespace trainlab::recipe_plan_test
