// Plans: budgets of each kind, what is left open, time, cost, and questions without an answer.
#include "plan/plan.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/files.h"
#include "support/error_of.h"

namespace trainlab::plan_test {

using Catch::Contains;
using trainlab::test::error_of;

namespace {

std::string refusal(const PlanQuestion& question) {
  return error_of([&] { make_plan(question); });
}

void write_prices() {
  write_atomic("prices.toml",
               "[H200]\nprice = \"4 EUR/h\"\nas_of = \"2026-11-01\"\nbilled = \"1 h\"\n"
               "[abacus]\nprice = \"1 USD/h\"\nas_of = \"2026-11-01\"\nminimum = \"2 h\"\n");
}

}  // namespace

TEST_CASE("a budget in FLOPs") {
  const Plan plan = make_plan({.flops = 1e21});
  CHECK(plan.flops == Approx(1e21));
  CHECK(plan.chosen.parameters == Approx(best_allocation(known_law("besiroglu").law, 1e21).parameters));
  CHECK(plan.answers.size() == 3);
  for (const Answer& one : plan.answers) CHECK(one.loss >= plan.loss - 1e-12);
  CHECK_FALSE(plan.is_given);
  CHECK_FALSE(plan.seconds);
  CHECK_FALSE(plan.cost);
  CHECK_FALSE(plan.speed.mfu());
}

TEST_CASE("a plan beyond the runs behind its law is an extrapolation") {
  const auto extrapolated = [](double flops, const std::string& law) {
    return make_plan({.flops = flops, .law = law_named(law)}).is_extrapolated().value();
  };
  CHECK_FALSE(extrapolated(1e21, "besiroglu"));
  CHECK(extrapolated(1e24, "besiroglu"));
  CHECK(extrapolated(1e18, "besiroglu"));
  // The runs on C4 had 1e19 to 1e21 FLOPs.
  CHECK_FALSE(extrapolated(1e20, "muennighoff"));
  CHECK(extrapolated(5e21, "muennighoff"));
  CHECK(extrapolated(5e18, "muennighoff"));
  // The runs of the first law had models of 44 million to 16 billion parameters.
  const auto of_choice = [](double parameters, double tokens) {
    return make_plan({.parameters = parameters, .tokens = tokens}).is_extrapolated().value();
  };
  CHECK(of_choice(1e6, 1e14));
  CHECK(of_choice(1e11, 1e9));
  CHECK_FALSE(of_choice(1e9, 1e11));
  // A training that leaves some of its budget lies within the runs, and the budget does not.
  CHECK(*make_plan({.flops = 1e24, .parameters = 1e9, .tokens = 2e10}).is_extrapolated());
}

TEST_CASE("budgets in hours, time and money are FLOPs at a rate") {
  write_prices();
  const double rate = 0.4 * 989e12;
  const Plan hours = make_plan({.gpu_hours = 10, .mfu = 0.4, .device_name = "H200"});
  CHECK(hours.flops == Approx(36000 * rate));
  CHECK(*hours.seconds == Approx(36000));
  CHECK(*hours.speed.mfu() == Approx(0.4));
  CHECK(make_plan({.gpu_hours = 10, .peak = 1e15, .mfu = 0.5}).flops == Approx(36000 * 0.5e15));
  CHECK(make_plan({.within_seconds = 86400, .usable_seconds = 64800, .rate = 1e15}).flops == Approx(64800 * 1e15));
  CHECK(make_plan({.within_seconds = 86400, .rate = 1e15}).flops == Approx(0.97 * 86400 * 1e15));

  // 500 EUR pay for 125 begun hours.
  const Plan money = make_plan({.money = "500 EUR", .mfu = 0.4, .device_name = "H200", .prices = "prices.toml"});
  CHECK(money.flops == Approx(125 * 3600 * rate));
  CHECK(*money.cost == Approx(500));
  const Plan begun =
      make_plan({.flops = 1.5 * 3600 * rate, .mfu = 0.4, .device_name = "H200", .prices = "prices.toml"});
  CHECK(*begun.cost == Approx(8));
}

TEST_CASE("the use of the device is known where rate and peak are") {
  CHECK(*make_plan({.flops = 1e21, .rate = 1e14, .device_name = "A100"}).speed.mfu() == Approx(1e14 / 312e12));
  const Plan unknown = make_plan({.flops = 1e21, .rate = 1e14, .device_name = "abacus"});
  CHECK_FALSE(unknown.speed.mfu());
  CHECK(to_value(unknown)["mfu"].is_nil());
  CHECK(*unknown.seconds == Approx(1e7));
}

TEST_CASE("what is given is judged, and what is not given follows") {
  const Plan both = make_plan({.parameters = 1e9, .tokens = 2e12});
  CHECK(both.flops == Approx(1.2e22));
  CHECK(to_value(both)["flags"] == Value(Value::List{"compute_inefficient", "data_inefficient"}));
  CHECK(to_value(make_plan({.parameters = 175e9, .tokens = 300e9}))["flags"] ==
        Value(Value::List{"compute_inefficient"}));
  CHECK(to_value(make_plan({.flops = 1e21}))["flags"] == Value(Value::List{}));

  CHECK(to_value(both)["ends_first"] == Value("unknown"));
  CHECK(to_value(make_plan({.flops = 2e22, .parameters = 1e9, .tokens = 2e12}))["ends_first"] == Value("length"));
  for (const PlanQuestion& question : {PlanQuestion{.flops = 1e21}, PlanQuestion{.flops = 6e21, .parameters = 1e9},
                                       PlanQuestion{.flops = 1e21, .unique_tokens = 5e9}})
    CHECK(to_value(make_plan(question))["ends_first"] == Value("budget"));
  CHECK(to_value(both)["epochs"].is_nil());

  CHECK(make_plan({.flops = 6e21, .parameters = 1e9}).chosen.tokens == Approx(1e12));
  CHECK(make_plan({.flops = 6e21, .tokens = 1e12}).chosen.parameters == Approx(1e9));

  // Without a budget each approach says how many tokens, and FLOPs, are best for the model.
  const Plan model = make_plan({.parameters = 10e9});
  for (const Answer& one : model.answers) CHECK(one.best.parameters == Approx(10e9));
  CHECK(model.answers[0].best.tokens == Approx(205.1e9).epsilon(0.05));
  CHECK(model.answers[0].flops == Approx(1.23e22).epsilon(0.05));
}

TEST_CASE("a transformer's training is counted as the paper counts it") {
  const Transformer shape{10, 640, 10, 2560, 32000, 2048};
  const Plan plan = make_plan({.tokens = 2048e6, .transformer = shape});
  CHECK(plan.flops == Approx(929877196800 * 1e6));
  CHECK(plan.flops / plan.flops_6nd() == Approx(1.025).epsilon(0.001));
  CHECK(make_plan({.flops = plan.flops, .transformer = shape}).chosen.tokens == Approx(2048e6));
}

TEST_CASE("data that repeat") {
  const Plan plan = make_plan({.flops = 1e21, .unique_tokens = 5e9});
  CHECK(plan.loss > make_plan({.flops = 1e21}).loss);
  CHECK(plan.judgement.epochs == Approx(plan.chosen.tokens / 5e9));
  CHECK(to_value(plan)["epochs"] == Value(plan.judgement.epochs));
  CHECK(to_value(plan)["flags"] == Value(Value::List{"data_inefficient"}));
  for (const Answer& one : plan.answers) CHECK(one.loss >= plan.loss);
}

TEST_CASE("questions without an answer") {
  write_prices();
  CHECK_THAT(refusal({}), Contains("expected a budget, or parameters to judge"));
  CHECK_THAT(refusal({.tokens = 1e9}), Contains("--tokens needs --parameters or a budget"));
  CHECK_THAT(refusal({.flops = 1e20, .gpu_hours = 1}), Contains("one budget"));
  CHECK_THAT(refusal({.gpu_hours = 1}), Contains("--gpu-hours needs how fast training is"));
  CHECK_THAT(refusal({.within_seconds = 1}), Contains("--within needs how fast training is"));
  CHECK_THAT(refusal({.within_seconds = 1, .usable_seconds = 2, .rate = 1e15}), Contains("--usable is longer"));
  CHECK_THAT(refusal({.flops = 1e20, .usable_seconds = 2}), Contains("--usable is a part of --within"));
  CHECK_THAT(refusal({.money = "5 EUR", .rate = 1e15}), Contains("--money needs prices"));
  CHECK_THAT(refusal({.money = "5 GBP", .rate = 1e15, .prices = "prices.toml"}), Contains("no price in GBP"));
  CHECK_THAT(refusal({.money = "1 USD", .rate = 1e15, .prices = "prices.toml"}), Contains("nothing fits into 1 USD"));
  CHECK_THAT(refusal({.flops = 1e20, .device_name = "H200", .prices = "prices.toml"}),
             Contains("--prices needs how fast training is"));
  CHECK_THAT(refusal({.money = "1e300 USD", .rate = 1e15, .prices = "prices.toml"}),
             Contains("expected a budget of at most 1e+40 FLOPs"));
  CHECK_THAT(refusal({.flops = 5}), Contains("nothing fits into 5 FLOPs"));
  CHECK_THAT(refusal({.flops = 100}), Contains("nothing fits into 100 FLOPs"));
  CHECK_THAT(refusal({.within_seconds = 0, .rate = 1e15}), Contains("nothing fits into 0 FLOPs"));
  CHECK_THAT(refusal({.flops = 1e20, .parameters = 1e12, .tokens = 1e12}), Contains("the training needs 6e+24 FLOPs"));
  CHECK_THAT(refusal({.flops = 1e20, .mfu = 0.4}), Contains("--mfu is a share of the peak"));
  CHECK_THAT(refusal({.flops = 1e20, .mfu = 0.4, .device_name = "abacus"}),
             Contains("the peak of \"abacus\" is not known") && Contains("H200"));
  CHECK_THAT(refusal({.flops = 1e20, .rate = 1e15, .mfu = 0.4}), Contains("exclude each other"));
  CHECK_THAT(refusal({.flops = 1e20, .rate = 1e15, .peak = 1e14}), Contains("above the peak"));
  CHECK_THAT(refusal({.flops = 1e20, .peak = 1e14}), Contains("--peak needs the share"));
  CHECK_THAT(error_of([] { law_named("hoffmann"); }), Contains("rounded"));
  CHECK_THAT(refusal({.parameters = 1e9, .transformer = Transformer{1, 8, 1, 8, 8, 8}}),
             Contains("exclude each other"));
}

}  // namespace trainlab::plan_test
