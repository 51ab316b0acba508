#include <catch2/catch.hpp>
#include <cmath>
#include <tuple>
#include <utility>

#include "compare/looks.h"
#include "core/statistics.h"

namespace trainlab::looks_test {

using namespace trainlab::compare;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

TEST_CASE("the planned looks have the limits of linear alpha spending") {
  const Looks looks = Looks::planned();
  CHECK(looks.most() == 20);
  for (const auto& [pairs, t, level] :
       {std::tuple(5, 4.30, 0.0127), {8, 3.51, 0.0099}, {12, 2.92, 0.0140}, {20, 2.41, 0.0266}}) {
    CHECK(looks.is_look(pairs));
    CHECK_THAT(looks.critical_t(pairs), WithinRel(t, 1e-9));
    // At the limit the p value is 0.05, whatever the level of the look alone.
    CHECK_THAT(looks.p_value(t, pairs), WithinAbs(0.05, 1e-9));
    CHECK_THAT(looks.p_value(-t, pairs), WithinAbs(0.05, 1e-9));
    CHECK(looks.p_value(t * 1.01, pairs) < 0.05);
    CHECK_THAT(looks.p_value(0, pairs), WithinAbs(1, 1e-12));
    // The levels are published with t rounded to 0.01.
    CHECK_THAT(0.05 / looks.p_value(5, pairs) * Looks::fixed(pairs).p_value(5, pairs), WithinAbs(level, 4e-4));
  }
  for (const int pairs : {1, 4, 6, 11, 13, 19, 21}) CHECK_FALSE(looks.is_look(pairs));
  CHECK(looks.next(0) == 5);
  CHECK(looks.next(5) == 8);
  CHECK(looks.next(19) == 20);
}

TEST_CASE("where no look is planned no mean is large enough") {
  for (const int pairs : {1, 2, 3, 4, 6, 11, 13, 19, 21}) {
    CHECK(std::isinf(Looks::planned().critical_t(pairs)));
    CHECK(Looks::planned().p_value(100, pairs) == 1);
  }
  for (const int pairs : {3, 9, 11}) {
    CHECK(std::isinf(Looks::fixed(10).critical_t(pairs)));
    CHECK(Looks::fixed(10).p_value(100, pairs) == 1);
  }
}

TEST_CASE("looks are counted until a number of pairs") {
  const Looks planned = Looks::planned();
  CHECK(planned.count() == 4);
  CHECK(planned.until(4) == 0);
  CHECK(planned.until(5) == 1);
  CHECK(planned.until(11) == 2);
  CHECK(planned.until(20) == 4);
  CHECK(Looks::any_time().count() == 0);
  CHECK(Looks::any_time().until(9) == 0);
}

TEST_CASE("a single look is Student's test") {
  CHECK_THAT(Looks::fixed(5).critical_t(5), WithinAbs(2.77645, 1e-5));
  CHECK_THAT(Looks::fixed(10).critical_t(10), WithinAbs(2.26216, 1e-5));
  // Differences .012 .008 .015 .004 .011: their t, and its p value.
  CHECK_THAT(Looks::fixed(5).p_value(5.3452, 5), WithinAbs(0.00590, 5e-6));
  CHECK(Looks::fixed(10).most() == 10);
}

TEST_CASE("e-values of a t") {
  CHECK_THAT(e_value(5.3452, 5), WithinAbs(10.877, 1e-3));
  CHECK_THAT(e_value(3, 5), WithinAbs(3.5065, 1e-4));
  CHECK_THAT(e_value(4.604, 5), WithinAbs(8.3540, 1e-4));
  CHECK_THAT(e_value(2.5, 10), WithinAbs(3.1010, 1e-4));
  CHECK_THAT(e_value(5, 8), WithinAbs(38.240, 1e-3));
  CHECK_THAT(e_value(-3, 20), WithinAbs(8.4346, 1e-4));
  CHECK_THAT(e_value(INFINITY, 5), WithinRel(std::pow(6, 2.5) / std::sqrt(6), 1e-12));
}

TEST_CASE("at any time the limit is an e-value of 20") {
  const Looks looks = Looks::any_time();
  CHECK(looks.most() == 0);
  CHECK(looks.is_look(7));
  for (const int pairs : {3, 4}) CHECK(std::isinf(looks.critical_t(pairs)));
  for (const auto& [pairs, t] :
       {std::pair(5, 8.45), {6, 5.45}, {8, 4.25}, {10, 3.87}, {15, 3.54}, {20, 3.42}, {30, 3.35}}) {
    CHECK_THAT(looks.critical_t(pairs), WithinAbs(t, 6e-3));
    CHECK_THAT(e_value(looks.critical_t(pairs), pairs), WithinRel(20, 1e-9));
    CHECK_THAT(looks.p_value(looks.critical_t(pairs), pairs), WithinAbs(0.05, 1e-9));
  }
}

TEST_CASE("pairs that find an effect with a probability of 80 %") {
  for (const auto& [effect, pairs] : {std::pair(0.3, 90),
                                      {0.4, 52},
                                      {0.5, 34},
                                      {0.6, 24},
                                      {0.75, 16},
                                      {1.0, 10},
                                      {1.25, 8},
                                      {1.5, 6},
                                      {2.0, 5},
                                      {3.0, 4},
                                      {100.0, 3}}) {
    CHECK(pairs_needed(effect, 1000) == pairs);
    CHECK(pairs_needed(-effect, 1000) == pairs);
  }
  CHECK(pairs_needed(0, 1000) == 1000);
  CHECK(pairs_needed(NAN, 1000) == 1000);
  CHECK(pairs_needed(0.01, 1000) == 1000);
  CHECK(pairs_needed(0.3, 50) == 50);
}

TEST_CASE("the pairs that a comparison needs are those of a look that probably shows the effect") {
  const auto power = [](const Looks& looks, double effect, int pairs) {
    return student_power(looks.critical_t(pairs), pairs - 1, effect * std::sqrt(pairs));
  };
  for (const Looks& looks : {Looks::planned(), Looks::any_time()}) {
    for (const double effect : {0.8, 1.0, 1.5, 3.0}) {
      const int pairs = looks.pairs_needed(effect, 3, 1000);
      INFO(effect << " " << pairs);
      REQUIRE(looks.is_look(pairs));
      CHECK(power(looks, effect, pairs) >= 0.8);
      for (int before = 4; before < pairs; ++before)
        if (looks.is_look(before)) CHECK_FALSE(power(looks, effect, before) >= 0.8);
      CHECK(looks.pairs_needed(-effect, 3, 1000) == pairs);
    }
    CHECK(looks.pairs_needed(0, 3, 1000) == 1000);
  }
  // Looks at any time pay for that freedom.
  CHECK(Looks::any_time().pairs_needed(1, 3, 1000) > pairs_needed(1, 1000));
  // No planned look shows a small effect, or comes after the last one: a new comparison with one look would.
  CHECK(Looks::planned().pairs_needed(0.3, 5, 1000) == pairs_needed(0.3, 1000));
  CHECK(Looks::planned().pairs_needed(2, 20, 1000) == 21);
  CHECK(Looks::fixed(10).pairs_needed(3, 4, 1000) == 10);
}

TEST_CASE("Fisher's exact test of two counts") {
  CHECK_THAT(fisher_p(0, 5, 10), WithinAbs(2 * 252.0 / 15504, 1e-12));
  CHECK_THAT(fisher_p(5, 0, 10), WithinAbs(2 * 252.0 / 15504, 1e-12));
  CHECK_THAT(fisher_p(3, 3, 10), WithinAbs(1, 1e-12));
  CHECK_THAT(fisher_p(0, 0, 10), WithinAbs(1, 1e-12));
  CHECK_THAT(fisher_p(0, 3, 3), WithinAbs(0.1, 1e-12));
}

}  // namespace trainlab::looks_test
