#include "study/importance.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>

#include "core/files.h"
#include "core/random/stream.h"
#include "study_support.h"

namespace trainlab::importance_test {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

const char* const two_labels = R"({"a": {"@": "space.choice", "values": ["p", "q"]},
                                   "b": {"@": "space.choice", "values": ["p", "q"]}})";

}  // namespace

TEST_CASE("importances are Optuna's") {
  const auto path = std::filesystem::path(TRAINLAB_SOURCE_DIR) / "tests/golden/importance_golden.json";
  const Value golden = parse_json(read_file(path), path.string());
  const Space space = Space::from_value(golden["space"]);
  for (const Value& one : golden["cases"].list()) {
    INFO(one["name"].string());
    std::vector<double> points, losses;
    for (const Value& params : one["points"].list()) {
      const std::vector<double> point = space.point(params);
      points.insert(points.end(), point.begin(), point.end());
    }
    for (const Value& loss : one["losses"].list()) losses.push_back(loss.number());
    const Importance found = importance(space, points, losses);
    CHECK(found.trials == static_cast<std::int64_t>(losses.size()));
    for (std::size_t i = 0; i < space.size(); ++i) {
      INFO(space[i].name);
      CHECK(found.shares[i] == Approx(one["shares"][space[i].name].number()).epsilon(1e-9).margin(1e-12));
    }
  }
}

TEST_CASE("an importance by hand") {
  // Ten trials: the best has a = q, the others a = p; b is q in five, also in the best.
  const Space space = parse_space(two_labels);
  std::vector<double> points, losses;
  for (int i = 0; i < 10; ++i) {
    points.insert(points.end(), {i == 0 ? 1.0 : 0.0, i < 5 ? 1.0 : 0.0});
    losses.push_back(i);
  }
  // The density of q: the mean over a kernel for each observation and a flat one. A kernel has weight 1 for its own
  // label and 1/n for each label, where n counts the labels that were seen and the flat kernel: 3/4 of one that saw q
  // alone is at q; of those that saw both, 4/5 or 1/5.
  const auto q_of_all = [](double n) { return (n * (4.0 / 5) + (10 - n) * (1.0 / 5) + 0.5) / 11; };
  const double best = (1 * (3.0 / 4) + 0.5) / 2;
  const auto divergence = [&](double q) {
    return q * std::pow(best / q - 1, 2) + (1 - q) * std::pow((1 - best) / (1 - q) - 1, 2);
  };
  const double a = divergence(q_of_all(1)), b = divergence(q_of_all(5));
  const Importance found = importance(space, points, losses);
  CHECK(found.best == 1);
  CHECK(found.shares[0] == Approx(a / (a + b)).epsilon(1e-9));
  CHECK(found.shares[1] == Approx(b / (a + b)).epsilon(1e-9));
}

TEST_CASE("fANOVA has the shares of a sum's variance, exactly where all combinations were tried") {
  // Variances over the space: of a ½² = 0.25, of b 2, of n (0 … 3 times 2) 5, of a · n nothing is added.
  const Space space = parse_space(R"({"a": {"@": "space.choice", "values": ["p", "q"]},
                                      "b": {"@": "space.choice", "values": ["p", "q", "r"]},
                                      "n": {"@": "space.int", "low": 1, "high": 4}})");
  std::vector<double> points, losses;
  for (int i = 0; i < 24 * 12; ++i) {
    const int a = i % 2, b = i / 2 % 3, n = i / 6 % 4;
    points.insert(points.end(), {1.0 * a, 1.0 * b, 1.0 + n});
    losses.push_back(a + (b == 1 ? 3 : 0) + 2 * n);
  }
  const Importance found = fanova(space, points, losses, 1);
  const double all = 0.25 + 2 + 5;
  for (double& loss : losses) loss += 1e9;  // what all have in common does not matter
  CHECK(fanova(space, points, losses, 1).shares[2] == Approx(found.shares[2]).epsilon(1e-6));
  CHECK(found.trials == 288);
  CHECK(found.shares[0] == Approx(0.25 / all).epsilon(1e-9));
  CHECK(found.shares[1] == Approx(2 / all).epsilon(1e-9));
  CHECK(found.shares[2] == Approx(5 / all).epsilon(1e-9));
  // Where only both together matter, neither has a share.
  for (std::size_t i = 0; i < losses.size(); ++i)
    losses[i] = points[3 * i] == 0 ? points[3 * i + 2] : 5 - points[3 * i + 2];
  for (const double share : fanova(space, points, losses, 1).shares) CHECK(share == Approx(0).margin(1e-9));
}

TEST_CASE("fANOVA estimates the shares of a function of numbers from trials at random, the same for the same seed") {
  const Space space = parse_space(R"({"lr": {"@": "space.log", "low": 1e-4, "high": 1},
                                      "x": {"@": "space.uniform", "low": -1, "high": 1},
                                      "y": {"@": "space.uniform", "low": 0, "high": 1},
                                      "z": {"@": "space.uniform", "low": 0, "high": 1}})");
  Stream random{Key(5)};
  std::vector<double> points, losses;
  for (int i = 0; i < 1500; ++i) {
    for (std::size_t j = 0; j < 4; ++j) points.push_back(space.from_unit(j, random.uniform()));
    const std::span<const double> p = std::span(points).last(4);
    losses.push_back(std::log10(p[0]) + 3 * p[1] * p[1] + 2 * p[2]);
  }
  losses[7] = infinity;  // left out
  // Variances: of log₁₀ lr 4² / 12, of 3 x² 9 · 4 / 45, of 2 y 4 / 12.
  const double lr = 16.0 / 12, x = 9 * 4.0 / 45, y = 4.0 / 12, all = lr + x + y;
  const Importance found = fanova(space, points, losses, 3);
  CHECK(found.trials == 1499);
  CHECK(found.shares[0] == Approx(lr / all).margin(0.03));
  CHECK(found.shares[1] == Approx(x / all).margin(0.03));
  CHECK(found.shares[2] == Approx(y / all).margin(0.03));
  CHECK(found.shares[3] < 0.01);
  CHECK(fanova(space, points, losses, 3).shares == found.shares);
  CHECK(fanova(space, points, losses, 4).shares != found.shares);
}

TEST_CASE("fANOVA takes parameters that are not always active, and trials that tell nothing") {
  const Space space = parse_space(R"({"kind": {"@": "space.choice", "values": ["p", "q"]},
      "only_q": {"@": "space:when", "source": {"@": "space.uniform", "low": 0, "high": 1}, "parent": "kind",
                 "values": ["q"]},
      "x": {"@": "space.uniform", "low": 0, "high": 1}})");
  Stream random{Key(6)};
  std::vector<double> points, losses;
  for (int i = 0; i < 600; ++i) {
    const double kind = static_cast<double>(random.below(2)), only_q = random.uniform();
    points.insert(points.end(), {kind, kind == 1 ? only_q : std::nan(""), random.uniform()});
    losses.push_back(kind == 1 ? 4 * only_q : 2);
  }
  // The kinds have the same mean. Averaged over them, only_q varies by 2: half of the variance, 1/3 of 2/3.
  const Importance found = fanova(space, points, losses, 1);
  CHECK(found.shares[0] < 0.02);
  CHECK(found.shares[1] == Approx(0.5).margin(0.05));
  CHECK(found.shares[2] < 0.02);
  CHECK(fanova(space, {}, {}, 1).shares == std::vector<double>{0, 0, 0});
  const std::vector<double> same(losses.size(), 2.5);
  CHECK(fanova(space, points, same, 1).shares == std::vector<double>{0, 0, 0});
}

TEST_CASE("importances where there is little to tell") {
  const Space space = parse_space(two_labels);
  CHECK(importance(space, {}, {}).shares == std::vector<double>{0, 0});
  // Values that are not finite are left out; equal ones are all the best, and nothing tells them apart.
  const std::vector<double> points = {0, 0, 1, 1, 0, 1, 1, 0};
  const Importance found = importance(space, points, std::vector<double>{1, infinity, 1, std::nan("")});
  CHECK(found.trials == 2);
  CHECK(found.best == 2);
  CHECK(found.shares == std::vector<double>{0, 0});
  // A parameter that never varies has none.
  const Space fixed =
      parse_space(R"({"a": {"@": "space.fixed", "value": 3}, "x": {"@": "space.int", "low": 1, "high": 8}})");
  std::vector<double> more, losses;
  for (int i = 0; i < 20; ++i) {
    more.insert(more.end(), {0, static_cast<double>(1 + i % 8)});
    losses.push_back(i % 8);
  }
  CHECK(importance(fixed, more, losses).shares == std::vector<double>{0, 1});
}

}  // namespace trainlab::importance_test
