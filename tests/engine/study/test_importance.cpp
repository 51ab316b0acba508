#include "study/importance.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>

#include "core/files.h"
#include "study_support.h"

using namespace trainlab;

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
