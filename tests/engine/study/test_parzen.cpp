// The density behind TPE: it is one (its mass is 1), and draws follow it.
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "core/random/stream.h"
#include "samplers/parzen.h"
#include "study_support.h"

namespace trainlab::parzen_test {

namespace {

struct Estimate {
  Estimate(const Space& space, const std::vector<std::vector<double>>& points) {
    for (std::size_t i = 0; i < space.size(); ++i) axes.emplace_back(space, i);
    ParzenData data(axes.size());
    std::vector<std::uint32_t> rows;
    for (const auto& point : points) {
      rows.push_back(data.rows());
      std::vector<double> places;
      for (std::size_t axis = 0; axis < axes.size(); ++axis) places.push_back(axes[axis].place(point[axis]));
      data.add(places);
    }
    parzen = std::make_unique<Parzen>(axes, data, rows);
  }
  double density(std::vector<double> at) const {
    double log_density = 0;
    parzen->log_density(at, {&log_density, 1});
    return std::exp(log_density);
  }
  std::vector<ParzenAxis> axes;
  std::unique_ptr<Parzen> parzen;
};

}  // namespace

TEST_CASE("the normal distribution and its inverse") {
  for (double x = -7.5; x < 7.5; x += 0.137) {
    CHECK(normal_cdf(x) == Approx(0.5 * std::erfc(-x / std::numbers::sqrt2)).margin(1e-7));
    if (x < 5) CHECK(normal_quantile(0.5 * std::erfc(-x / std::numbers::sqrt2)) == Approx(x).margin(1e-8));
  }
}

TEST_CASE("densities have mass 1, in one dimension and in two, with choices and whole numbers") {
  const Space line = parse_space(R"({"x": {"@": "space.uniform", "low": -1, "high": 2}})");
  const Estimate one(line, {{-1.0}, {0.5}, {0.6}, {2.0}});
  double mass = 0;
  constexpr int steps = 3000;
  for (int i = 0; i < steps; ++i) mass += one.density({-1 + 3 * (i + 0.5) / steps}) * 3 / steps;
  CHECK(mass == Approx(1).epsilon(1e-4));

  const Space mixed = parse_space(R"({"c": {"@": "space.choice", "values": ["a", "b", "c"]},
                                      "n": {"@": "space.int", "low": 1, "high": 8, "log": true},
                                      "x": {"@": "space.log", "low": 0.01, "high": 1}})");
  const Estimate three(mixed, {{0, 2, 0.1}, {2, 8, 0.02}, {2, 7, 1.0}});
  mass = 0;
  const double low = std::log(0.01);
  for (int c = 0; c < 3; ++c) {
    for (int n = 1; n <= 8; ++n) {
      for (int i = 0; i < 400; ++i)
        mass += three.density({double(c), std::log(n), low - low * (i + 0.5) / 400}) * -low / 400;
    }
  }
  CHECK(mass == Approx(1).epsilon(1e-3));
}

TEST_CASE("draws follow the density") {
  const Space space = parse_space(R"({"c": {"@": "space.choice", "values": ["a", "b", "c"]},
                                      "x": {"@": "space.uniform", "low": 0, "high": 1}})");
  const Estimate estimate(space, {{0, 0.9}, {0, 0.8}, {1, 0.0}});
  constexpr int draws = 40'000, bins = 10;
  std::vector<double> found(3 * bins);
  Stream random{Key(1)};
  std::vector<double> at(2);
  for (int i = 0; i < draws; ++i) {
    estimate.parzen->draw(random, 0, at);
    REQUIRE(at[1] >= 0);
    REQUIRE(at[1] <= 1);
    found[static_cast<std::size_t>(at[0]) * bins +
          std::min<std::size_t>(static_cast<std::size_t>(at[1] * bins), bins - 1)] += 1;
  }
  // χ² of 30 cells.
  double chi = 0;
  for (int c = 0; c < 3; ++c) {
    for (int bin = 0; bin < bins; ++bin) {
      double expected = 0;
      for (int k = 0; k < 50; ++k)
        expected += estimate.density({double(c), (bin + (k + 0.5) / 50) / bins}) * draws / bins / 50;
      const double difference = found[static_cast<std::size_t>(c * bins + bin)] - expected;
      chi += difference * difference / expected;
    }
  }
  CHECK(chi < 58);  // 0.999 of 29 degrees of freedom
}

TEST_CASE("a draw that keeps leaves centres as they are on continuous axes but one, and moves all else") {
  const Space space = parse_space(R"({"c": {"@": "space.choice", "values": ["a", "b", "c"]},
                                      "x": {"@": "space.uniform", "low": 0, "high": 1},
                                      "y": {"@": "space.uniform", "low": 0, "high": 1}})");
  const Estimate estimate(space, {{0, 0.25, 0.75}});
  Stream random{Key(1)};
  std::vector<double> at(3);
  int kept = 0, others = 0;
  for (int i = 0; i < 2000; ++i) {
    estimate.parzen->draw(random, 1, at);
    CHECK((at[1] != 0.25 || at[2] != 0.75));
    kept += at[1] == 0.25 || at[2] == 0.75 ? 1 : 0;
    others += at[0] != 0 ? 1 : 0;
  }
  CHECK(kept > 900);  // all that come from the point's kernel: a half
  CHECK(kept < 1100);
  CHECK(others > 500);
}

TEST_CASE("points come and go in the order of their places") {
  ParzenData data(1);
  for (const double place : {0.5, 0.1, 0.9, 0.5}) data.add(std::vector{place});
  CHECK(data.order(0) == std::vector<std::uint32_t>{1, 0, 3, 2});
  data.remove_last();
  data.remove_last();
  CHECK(data.order(0) == std::vector<std::uint32_t>{1, 0});
  CHECK(data.column(0) == std::vector{0.5, 0.1});
}

}  // namespace trainlab::parzen_test
