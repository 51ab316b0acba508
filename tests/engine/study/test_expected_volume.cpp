// The volume that a trial is expected to add: against its definition, by integration, and in searches of several
// objectives.
#include "samplers/expected_volume.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "analysis/pareto.h"
#include "core/random/stream.h"
#include "study/study.h"
#include "study_support.h"

namespace trainlab::expected_volume_test {

namespace {

std::vector<std::vector<double>> scattered_points(std::size_t objectives, int count) {
  Stream random{Key(objectives)};
  std::vector<std::vector<double>> points(static_cast<std::size_t>(count), std::vector<double>(objectives));
  for (auto& point : points) {
    for (double& x : point) x = 1.2 * random.uniform();  // some beyond the reference
  }
  points.push_back(points.front());
  return points;
}

double density(double x, double mean, double deviation) {
  const double z = (x - mean) / deviation;
  return std::exp(-0.5 * z * z) / (deviation * std::sqrt(2 * std::numbers::pi));
}

// ∫ (volume with y − volume without) density(y) dy, by midpoints within 6 deviations.
double integral(const std::vector<std::vector<double>>& points, const std::vector<double>& reference,
                const Eigen::VectorXd& means, const Eigen::VectorXd& deviations, int steps) {
  const double before = hypervolume(points, reference);
  double sum = 0;
  std::vector<double> y(reference.size());
  const auto over = [&](auto&& self, std::size_t k, double weight) -> void {
    if (k == y.size()) {
      auto more = points;
      more.push_back(y);
      sum += weight * (hypervolume(std::move(more), reference) - before);
      return;
    }
    const auto at = static_cast<Eigen::Index>(k);
    const double width = 12 * deviations[at] / steps;
    for (int i = 0; i < steps; ++i) {
      y[k] = means[at] - 6 * deviations[at] + (i + 0.5) * width;
      self(self, k + 1, weight * width * density(y[k], means[at], deviations[at]));
    }
  };
  over(over, 0, 1);
  return sum;
}

}  // namespace

TEST_CASE("free boxes hold each place that no point dominates once, and no other place") {
  for (const std::size_t objectives : {1U, 2U, 3U, 4U}) {
    INFO(objectives << " objectives");
    const auto points = scattered_points(objectives, 12);
    const std::vector<double> reference(objectives, 1.0);
    const std::vector<FreeBox> boxes = free_boxes(points, reference);
    if (objectives == 2) CHECK(boxes.size() <= points.size() + 1);
    if (objectives == 3) CHECK(boxes.size() <= 2 * points.size() + 1);
    Stream random{Key(9)};
    std::vector<double> place(objectives);
    for (int draw = 0; draw < 3000; ++draw) {
      for (double& x : place) x = 2.2 * random.uniform() - 1;
      const auto within = std::ranges::count_if(boxes, [&](const FreeBox& box) {
        for (std::size_t k = 0; k < objectives; ++k) {
          if (place[k] < box.low[k] || place[k] >= box.high[k]) return false;
        }
        return true;
      });
      const bool is_free = std::ranges::all_of(place, [](double x) { return x < 1; }) &&
                           std::ranges::none_of(points, [&](const auto& point) {
                             return std::ranges::equal(point, place, std::less_equal());
                           });
      REQUIRE(within == (is_free ? 1 : 0));
    }
  }
  CHECK(free_boxes({}, std::vector{1.0, 2.0}).size() == 1);
}

TEST_CASE("the expected volume is the integral over what a trial may be") {
  for (const std::size_t objectives : {1U, 2U, 3U}) {
    const auto points = scattered_points(objectives, 4);
    const std::vector<double> reference(objectives, 1.0);
    const ExpectedVolume volume(points, reference);
    for (const double mean : {0.1, 0.6, 1.3}) {
      if (objectives != 2 && mean > 1) continue;  // too few of its places would count
      INFO(objectives << " objectives, mean " << mean);
      Eigen::VectorXd means(static_cast<Eigen::Index>(objectives)), deviations(means.size());
      for (Eigen::Index k = 0; k < means.size(); ++k) {
        means[k] = mean + 0.1 * static_cast<double>(k);
        deviations[k] = 0.2 + 0.1 * static_cast<double>(k);
      }
      const int steps = objectives == 1 ? 4000 : objectives == 2 ? 300 : 70;
      const double expected = integral(points, reference, means, deviations, steps);
      CHECK(std::exp(volume.log_gain(means, deviations)) == Approx(expected).epsilon(5e-3));
    }
  }
}

TEST_CASE("its slopes are those of its values, also where next to nothing is expected") {
  for (const std::size_t objectives : {1U, 2U, 3U}) {
    const ExpectedVolume volume(scattered_points(objectives, 9), std::vector(objectives, 1.0));
    for (const double mean : {-2.0, 0.4, 1.5, 8.0}) {
      for (const double deviation : {0.1, 1.0}) {
        INFO(objectives << " objectives, mean " << mean << ", deviation " << deviation);
        const auto count = static_cast<Eigen::Index>(objectives);
        Eigen::VectorXd means = Eigen::VectorXd::Constant(count, mean);
        Eigen::VectorXd deviations = Eigen::VectorXd::Constant(count, deviation);
        ExpectedVolume::Slope slope;
        REQUIRE(std::isfinite(volume.log_gain(means, deviations, &slope)));
        constexpr double step = 1e-6;
        for (Eigen::Index k = 0; k < count; ++k) {
          for (const bool by_mean : {true, false}) {
            double& at = by_mean ? means[k] : deviations[k];
            const double from = at;
            at = from + step;
            const double above = volume.log_gain(means, deviations);
            at = from - step;
            const double below = volume.log_gain(means, deviations);
            at = from;
            CHECK((by_mean ? slope.by_mean : slope.by_deviation)[k] ==
                  Approx((above - below) / (2 * step)).epsilon(1e-3).margin(1e-6));  // an asymptote far out
          }
        }
        CHECK(slope.by_mean.maxCoeff() < 0);
      }
    }
  }
}

namespace {

// Zitzler, Deb and Thiele 2000, the first.
std::vector<double> zdt1(std::span<const double> x) {
  double g = 1;
  for (const double v : x.subspan(1)) g += 9 * v / static_cast<double>(x.size() - 1);
  return {x[0], g * (1 - std::sqrt(x[0] / g))};
}

double radius_of(std::span<const double> x) {
  double radius = 1;
  for (const double v : x) radius += (v - 0.5) * (v - 0.5);
  return radius;
}

// Deb, Thiele, Laumanns and Zitzler 2005, the second: with two objectives and with three.
constexpr double quarter = std::numbers::pi / 2;
std::vector<double> dtlz2(std::span<const double> x) {
  const double radius = radius_of(x.subspan(1));
  return {radius * std::sin(quarter * x[0]), radius * std::cos(quarter * x[0])};
}
std::vector<double> dtlz2_3(std::span<const double> x) {
  const double radius = radius_of(x.subspan(2)), rest = radius * std::cos(quarter * x[0]);
  return {radius * std::sin(quarter * x[0]), rest * std::sin(quarter * x[1]), rest * std::cos(quarter * x[1])};
}

// The front is the part of the plane Σ values = 1 where all of them are positive.
std::vector<double> plane_3(std::span<const double> x) {
  const double radius = radius_of(x.subspan(2)), rest = radius * x[0];
  return {radius * (1 - x[0]), rest * (1 - x[1]), rest * x[1]};
}

}  // namespace

TEST_CASE("a Gaussian process finds more of a front of two or three objectives than TPE and chance do") {
  struct Problem {
    const char* name;
    std::vector<double> (*value)(std::span<const double>);
    std::size_t parameters;
    std::vector<double> reference;
    bool is_like_tpe = false;  // no worse than TPE, as many more seeds than are tried here show
  };
  for (const Problem& problem : {Problem{"ZDT1", zdt1, 5, {1.1, 6}}, Problem{"DTLZ2", dtlz2, 6, {1.1, 1.1}},
                                 Problem{"a plane", plane_3, 7, {1.1, 1.1, 1.1}},
                                 Problem{"DTLZ2 of three", dtlz2_3, 7, {1.1, 1.1, 1.1}, true}}) {
    std::string text;
    for (std::size_t i = 0; i < problem.parameters; ++i) {
      text += (i == 0 ? "{\"x" : ", \"x") + std::to_string(i) + R"(": {"@": "space.uniform", "low": 0, "high": 1})";
    }
    const Space space = parse_space(text + "}");
    const std::size_t objectives = problem.reference.size();
    const auto volume = [&](const char* sampler, std::int64_t seed) {
      // The last objective is to be large.
      std::vector<bool> maximize(objectives);
      maximize.back() = true;
      Study study(space, make_sampler(parse_entry(sampler), space, seed, objectives), {.maximize = maximize});
      std::vector<std::vector<double>> found;
      for (int i = 0; i < 60; ++i) {
        const std::int64_t trial = *study.ask().trial;
        std::vector<double> values = problem.value(study.trials().point(trial));
        found.push_back(values);
        values.back() = -values.back();
        study.tell(trial, values);
      }
      return hypervolume(found, problem.reference);
    };
    const auto median = [&](const char* sampler) {
      std::vector<double> volumes;
      for (std::int64_t seed = 1; seed <= 5; ++seed) volumes.push_back(volume(sampler, seed));
      std::ranges::sort(volumes);
      return volumes[2];
    };
    INFO(problem.name);
    const double gp = median(R"({"@": "sampler.gp"})");
    if (!problem.is_like_tpe) CHECK(gp > median(R"({"@": "sampler.tpe"})"));
    CHECK(gp > median(R"({"@": "sampler.random"})"));
  }
}

TEST_CASE("a Gaussian process says how many objectives it takes") {
  const Space space = parse_space(R"({"x": {"@": "space.uniform", "low": 0, "high": 1}})");
  CHECK_THROWS_WITH(make_sampler(parse_entry(R"({"@": "sampler.gp"})"), space, 1, 4),
                    Catch::Contains("expected a study of at most 3 objectives, found 4"));
}

}  // namespace trainlab::expected_volume_test
