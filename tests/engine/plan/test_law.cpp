// Laws of the loss: closed forms, what repeated data are worth, and judgements of a choice.
#include "plan/law.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "plan/plan.h"
#include "support/error_of.h"

namespace trainlab::law_test {

using trainlab::test::error_of;

namespace {

const Law& refit() { return known_law("besiroglu").law; }
const Law& on_c4() { return known_law("muennighoff").law; }

double product(const Allocation& allocation) { return 6 * allocation.parameters * allocation.tokens; }

double tokens_each(const Law& law, double parameters) {
  return flops_for(law, parameters) / 6 / parameters / parameters;
}

}  // namespace

TEST_CASE("the tokens for 67 billion parameters are those that the constants of each paper want") {
  CHECK(tokens_each({.e = 1.69, .a = 406.4, .b = 410.7, .alpha = 0.34, .beta = 0.28}, 67e9) ==
        Approx(108).epsilon(0.01));
  CHECK(tokens_each({.e = 1.6934, .a = 406.4, .b = 410.7, .alpha = 0.33917084, .beta = 0.2849083}, 67e9) ==
        Approx(65).epsilon(0.01));
  CHECK(tokens_each(refit(), 67e9) == Approx(18.5).epsilon(0.01));
}

TEST_CASE("the best allocation spends the FLOPs, and its neighbours lose more") {
  for (const double flops : {1e15, 1e19, 1e21, 5.76e23, 1e26}) {
    const Allocation best = best_allocation(refit(), flops);
    CHECK(product(best) == Approx(flops));
    for (const double factor : {0.9, 1.1}) {
      CHECK(loss_of(refit(), best) < loss_of(refit(), {best.parameters * factor, best.tokens / factor}));
    }
  }
}

TEST_CASE("the least FLOPs for the loss of a best allocation are its FLOPs") {
  for (const double flops : {1e18, 1e21, 1e25}) {
    CHECK(least_flops(refit(), loss_of(refit(), best_allocation(refit(), flops))) == Approx(flops));
    CHECK(flops_for(refit(), best_allocation(refit(), flops).parameters) == Approx(flops));
  }
  CHECK(std::isinf(least_flops(refit(), 1.8)));
}

TEST_CASE("repeated data are worth what the paper says") {
  // Half of the best parameters, so that none of them is one too many.
  const auto worth = [](double epochs) { return effective(on_c4(), {1e9, epochs * 1e11}, 1e11).tokens / 1e11; };
  CHECK(worth(1) == Approx(1));
  CHECK(worth(4) == Approx(3.73).epsilon(0.002));
  CHECK(worth(16) == Approx(10.58).epsilon(0.001));
  CHECK(worth(1e6) == Approx(16.387756));
}

TEST_CASE("the law of equation 17") {
  // Rounded as the paper prints it: U_N = 0.051 U_D.
  const double unique = 1e9, parameters = 3e8, tokens = 2e10;
  const double un = 0.051 * unique, rn = parameters / un - 1, rd = tokens / unique - 1;
  const double expected = 521 / std::pow(un + 5.3 * un * (1 - std::exp(-rn / 5.3)), 0.353) +
                          1488 / std::pow(unique + 15.4 * unique * (1 - std::exp(-rd / 15.4)), 0.353) + 1.87;
  CHECK(loss_of(on_c4(), {parameters, tokens}, unique) == Approx(expected).epsilon(0.003));
}

TEST_CASE("one pass with few parameters loses what the plain law says") {
  const Allocation one_pass{1e8, 1e10};
  CHECK(loss_of(refit(), one_pass, 1e10) == Approx(loss_of(refit(), one_pass)));
  CHECK(loss_of(refit(), one_pass, 1e12) == Approx(loss_of(refit(), one_pass)));
}

TEST_CASE("the search under repeats finds the lowest loss") {
  constexpr double flops = 1e21, unique = 5e9;
  const Allocation best = best_allocation(on_c4(), flops, unique);
  CHECK(product(best) == Approx(flops));
  const double lowest = loss_of(on_c4(), best, unique);
  for (double log_n = 15; log_n < 28; log_n += 0.01) {
    const double n = std::exp(log_n);
    CHECK(loss_of(on_c4(), {n, flops / 6 / n}, unique) >= lowest - 1e-12);
  }
  // More passes than parameters are added: the paper's main advice.
  const Allocation one_pass = best_allocation(on_c4(), flops);
  CHECK(best.parameters < one_pass.parameters);
  CHECK(lowest > loss_of(on_c4(), one_pass));
  CHECK(least_flops(on_c4(), lowest, unique) == Approx(flops).epsilon(1e-4));
  // Enough data change nothing.
  CHECK(best_allocation(on_c4(), flops, 1e12).parameters == one_pass.parameters);
}

TEST_CASE("a best allocation has no fault") {
  const Judgement judgement = judged(refit(), best_allocation(refit(), 1e22));
  CHECK(judgement.compute_share == Approx(1));
  CHECK_FALSE(judgement.is_compute_inefficient());
  CHECK_FALSE(judgement.is_over_trained());
  CHECK_FALSE(judgement.is_repeated());
}

TEST_CASE("a model that is too small for its data is compute- and data-inefficient") {
  const Allocation chosen{1e9, 2e12};
  const Judgement judgement = judged(refit(), chosen);
  CHECK(judgement.is_compute_inefficient());
  CHECK(judgement.is_over_trained());
  CHECK(judgement.tokens_per_parameter == 2000);
  CHECK(judgement.tokens_per_parameter > judgement.best_tokens_per_parameter);
  CHECK(loss_of(refit(), judgement.instead) == Approx(loss_of(refit(), chosen)));
  CHECK(product(judgement.instead) == Approx(judgement.compute_share * product(chosen)));
}

TEST_CASE("a model that is too large for its data is compute-inefficient only") {
  const Judgement judgement = judged(refit(), {175e9, 300e9});
  CHECK(judgement.is_compute_inefficient());
  CHECK_FALSE(judgement.is_over_trained());
}

TEST_CASE("the border lies at nine tenths of the FLOPs") {
  // From the best allocation on, until the flag is raised for the first time.
  Allocation chosen = best_allocation(refit(), 1e21);
  Judgement before = judged(refit(), chosen), judgement = before;
  while (!judgement.is_compute_inefficient()) {
    before = judgement;
    chosen = {chosen.parameters * 1.001, chosen.tokens / 1.001};
    judgement = judged(refit(), chosen);
  }
  CHECK(before.compute_share > 0.9);
  CHECK(judgement.compute_share <= 0.9);
  CHECK(judgement.compute_share == Approx(0.9).epsilon(0.001));
}

TEST_CASE("more than four passes are data-inefficient") {
  const Allocation best = best_allocation(refit(), 1e20);
  CHECK_FALSE(judged(refit(), best, best.tokens / 4).is_repeated());
  const Judgement judgement = judged(refit(), best, best.tokens / 4.01);
  CHECK(judgement.is_repeated());
  CHECK(judgement.epochs == Approx(4.01));
}

TEST_CASE("rounded constants are refused with the reason") {
  for (const char* name : {"hoffmann", "chinchilla"}) {
    const std::string error = error_of([&] { known_law(name); });
    CHECK_THAT(error, Catch::Contains("rounded") && Catch::Contains("67 billion") && Catch::Contains("besiroglu"));
  }
  CHECK_THAT(error_of([] { known_law("kaplan"); }), Catch::Contains("found \"kaplan\""));
}

}  // namespace trainlab::law_test
