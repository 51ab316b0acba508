#include "study/ranking.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "study/spread.h"

namespace trainlab::ranking_test {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<StoredTrial> trials(const std::vector<std::vector<double>>& values) {
  std::vector<StoredTrial> all;
  for (const auto& each : values) {
    StoredTrial& trial = all.emplace_back();
    trial.number = static_cast<std::int64_t>(all.size()) - 1;
    trial.state = TrialState::complete;
    trial.values = each;
  }
  return all;
}

using Places = std::vector<std::size_t>;

}  // namespace

TEST_CASE("the leaderboard: complete trials, the earlier of equal ones first") {
  auto all = trials({{3}, {1}, {infinity}, {1}, {0}, {-infinity}, {std::nan("")}});
  all[4].state = TrialState::pruned;
  CHECK(leaderboard(all, false) == Places{5, 1, 3, 0, 2});
  CHECK(leaderboard(all, true) == Places{2, 0, 1, 3, 5});
  CHECK(leaderboard({}, true).empty());
}

TEST_CASE("with a scheduler trials that have trained longer come first") {
  auto all = trials({{1}, {2}, {5}, {4}, {0}});
  const std::vector<std::int64_t> lengths = {1, 3, 9, 9, 3};
  for (std::size_t i = 0; i < all.size(); ++i) all[i].segment = Segment{.parent = {}, .until = lengths[i]};
  all[4].state = TrialState::pruned;
  CHECK(leaderboard(all, false) == Places{3, 2, 1, 0});
  CHECK(leaderboard(all, true) == Places{2, 3, 1, 0});
}

TEST_CASE("the Pareto front in the order of the first objective") {
  // The fourth equals the second, the fifth is beaten by it, the sixth failed.
  auto all = trials({{1, 9}, {3, 4}, {5, 1}, {3, 4}, {4, 4}, {0, 0}});
  all[5].state = TrialState::failed;
  CHECK(pareto_front(all, {false, false}) == Places{0, 1, 3, 2});
  CHECK(pareto_front(all, {true, false}) == Places{2});
  CHECK(pareto_front(all, {false, true}) == Places{0});
  CHECK(pareto_front(all, {true, true}) == Places{2, 4, 0});
  CHECK(pareto_front({}, {true, true}).empty());
}

TEST_CASE("the largest of several normal values") {
  // Royston 1982, expected normal order statistics.
  CHECK(expected_maximum(1) == Approx(0).margin(1e-12));
  CHECK(expected_maximum(2) == Approx(std::numbers::inv_sqrtpi).epsilon(1e-12));
  CHECK(expected_maximum(3) == Approx(1.5 * std::numbers::inv_sqrtpi).epsilon(1e-12));
  CHECK(expected_maximum(20) == Approx(1.86748).epsilon(1e-4));
  CHECK(expected_maximum(100) == Approx(2.50759).epsilon(1e-4));
}

TEST_CASE("the spread of repeats") {
  const Spread three = spread(std::vector<double>{1, 2, 6, std::nan("")});
  CHECK(three.count == 3);
  CHECK(three.mean == 3);
  CHECK(three.deviation == Approx(std::sqrt(7.0)));
  CHECK(three.interval == Approx(4.302652729911275 * std::sqrt(7.0 / 3)));  // t(0.975) with two degrees of freedom
  const Spread one = spread(std::vector<double>{2});
  CHECK(one.mean == 2);
  CHECK(std::isnan(one.deviation));
  CHECK(std::isnan(one.interval));
  CHECK(std::isnan(spread({}).mean));

  const Spread two = spread(std::vector<double>{0, 4}), wide = spread(std::vector<double>{0, 4000});
  CHECK(usual_deviation(std::vector<Spread>{three, one, two}) == Approx((std::sqrt(7.0) + std::sqrt(8.0)) / 2));
  CHECK(usual_deviation(std::vector<Spread>{wide, three, two}) == Approx(std::sqrt(8.0)));
  CHECK(std::isnan(usual_deviation(std::vector<Spread>{one})));
}

}  // namespace trainlab::ranking_test
