// The three published approaches against the tables of their papers.
#include "plan/approaches.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace trainlab::approaches_test {

namespace {

struct Row {
  double parameters, flops, tokens;
};

// Hoffmann et al. 2022, table 3.
constexpr Row curves[] = {{400e6, 1.92e19, 8.0e9},   {1e9, 1.21e20, 20.2e9},   {10e9, 1.23e22, 205.1e9},
                          {67e9, 5.76e23, 1.5e12},   {175e9, 3.85e24, 3.7e12}, {280e9, 9.90e24, 5.9e12},
                          {520e9, 3.43e25, 11.0e12}, {1e12, 1.27e26, 21.2e12}, {10e12, 1.30e28, 216.2e12}};
// Table A3, approach 2.
constexpr Row profiles[] = {{400e6, 1.84e19, 7.7e9},   {1e9, 1.20e20, 20.0e9},   {10e9, 1.32e22, 219.5e9},
                            {67e9, 6.88e23, 1.7e12},   {175e9, 4.54e24, 4.3e12}, {280e9, 1.18e25, 7.1e12},
                            {520e9, 4.19e25, 13.4e12}, {1e12, 1.59e26, 26.5e12}, {10e12, 1.75e28, 292.0e12}};

void check_table(const Approach& approach, std::span<const Row> rows) {
  for (const Row& row : rows) {
    const Answer found = answer(approach, row.flops);
    INFO(approach.name << " " << row.parameters);
    // The table prints trillions with one digit after the point.
    const double rounding = row.tokens >= 1e12 ? 0.05e12 : 0.05e9;
    CHECK(std::abs(found.best.tokens - row.tokens) < 0.05 * row.tokens + rounding);
    CHECK(found.best.parameters == Approx(row.parameters).epsilon(0.05));
    CHECK(flops_for(approach, found.best.parameters) == Approx(row.flops));
  }
}

}  // namespace

TEST_CASE("approaches 1 and 2 follow the tables of the paper") {
  REQUIRE(approaches().size() == 3);
  check_table(approaches()[0], curves);
  check_table(approaches()[1], profiles);
}

TEST_CASE("approach 3 is the law that was fitted again") {
  const Approach& third = approaches()[2];
  CHECK(third.exponent == Approx(0.5126).epsilon(0.001));
  for (const double flops : {1e18, 1e21, 1e24}) {
    CHECK(answer(third, flops).best.parameters ==
          Approx(best_allocation(known_law("besiroglu").law, flops).parameters));
  }
  // The three agree at the FLOPs of the largest model of the paper: 18 to 26 tokens for each parameter.
  for (const Approach& approach : approaches()) {
    const Allocation best = answer(approach, 5.76e23).best;
    CHECK(best.tokens / best.parameters > 17);
    CHECK(best.tokens / best.parameters < 27);
  }
}

TEST_CASE("intervals are those of the exponents, turned about the pivot, with the spread there") {
  for (const Approach& approach : approaches()) {
    const Answer there = answer(approach, approach.pivot);
    CHECK(std::log(there.high / there.low) == Approx(2 * approach.spread).margin(1e-12));
    CHECK(there.low < 0.99 * there.best.parameters);  // no budget is known exactly
    CHECK(there.high > 1.01 * there.best.parameters);
    for (const double flops : {approach.pivot * 1e6, approach.pivot / 1e6}) {
      const Answer found = answer(approach, flops);
      CHECK(found.low < found.best.parameters);
      CHECK(found.best.parameters < found.high);
      const double turned = std::log(1e6) * (approach.high - approach.low);
      CHECK(std::log(found.high / found.low) >= Approx(turned));
      CHECK(std::log(found.high / found.low) <= Approx(turned + 2 * approach.spread));
    }
  }
}

TEST_CASE("the interval of approach 3 is that of a bootstrap of its runs") {
  // 10th and 90th percentile over the best, of 200 resamples of the 240 runs by fit_law.
  struct Row {
    double flops, low, high;
  };
  for (const Row& row : {Row{1e18, 0.924, 1.057}, Row{1e21, 0.904, 1.113}, Row{1e24, 0.780, 1.348}}) {
    const Answer found = answer(approaches()[2], row.flops);
    CHECK(found.low / found.best.parameters == Approx(row.low).margin(0.05));
    CHECK(found.high / found.best.parameters == Approx(row.high).margin(0.05));
  }
}

TEST_CASE("the interval of a fitted law is that of its samples") {
  KnownLaw law{.name = "fit", .source = "", .law = known_law("besiroglu").law};
  CHECK(answer(law, 1e20).low == answer(law, 1e20).best.parameters);
  for (int i = 0; i <= 10; ++i) {
    law.samples.push_back(law.law);
    law.samples.back().a *= 1 + 0.1 * i;
  }
  const Answer found = answer(law, 1e20);
  CHECK(found.low == Approx(best_allocation(law.samples[1], 1e20).parameters));
  CHECK(found.high == Approx(best_allocation(law.samples[9], 1e20).parameters));
}

}  // namespace trainlab::approaches_test
