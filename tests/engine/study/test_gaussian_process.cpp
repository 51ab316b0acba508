// The Gaussian process: gradients against differences, and what it knows at and away from its points.
#include "samplers/gaussian_process.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/random/stream.h"
#include "samplers/minimize.h"

namespace trainlab::gaussian_process_test {

namespace {

GaussianProcess fitted(int n) {
  GaussianProcess process({0, 0, 1});
  Eigen::MatrixXd points(n, 3);
  Eigen::VectorXd values(n);
  Stream random{Key(2)};
  for (int i = 0; i < n; ++i) {
    points.row(i) << random.uniform(), random.uniform(), std::floor(3 * random.uniform());
    values[i] = std::sin(6 * points(i, 0)) + 3 * points(i, 1) + (points(i, 2) == 1 ? 2 : 0);
  }
  process.fit(points, values);
  return process;
}

}  // namespace

TEST_CASE("a process goes through its points, and knows little far from them") {
  const GaussianProcess process = fitted(60);
  Stream random{Key(2)};
  for (int i = 0; i < 60; ++i) {
    Eigen::VectorXd x(3);
    x << random.uniform(), random.uniform(), std::floor(3 * random.uniform());
    const auto seen = process.predict(x, false);
    CHECK(seen.deviation < 0.1);
  }
  Eigen::VectorXd far(3);
  far << 3, -2, 7;
  CHECK(process.predict(far, false).deviation > 0.5);
}

TEST_CASE("its gradients are those of its predictions") {
  const GaussianProcess process = fitted(30);
  Eigen::VectorXd x(3);
  x << 0.31, 0.62, 1;
  const auto seen = process.predict(x, true);
  for (int k = 0; k < 2; ++k) {
    Eigen::VectorXd up = x, down = x;
    up[k] += 1e-5;
    down[k] -= 1e-5;
    const auto above = process.predict(up, false), below = process.predict(down, false);
    CHECK(seen.mean_gradient[k] == Approx((above.mean - below.mean) / 2e-5).epsilon(1e-5).margin(1e-7));
    CHECK(seen.deviation_gradient[k] == Approx((above.deviation - below.deviation) / 2e-5).epsilon(1e-4).margin(1e-7));
  }
  CHECK(seen.mean_gradient[2] == 0);
}

TEST_CASE("nothing is to be gained at a point that was believed") {
  GaussianProcess process = fitted(30);
  Eigen::VectorXd x(3);
  x << 0.95, 0.02, 2;
  const auto before = process.predict(x, false);
  process.believe(x);
  const auto after = process.predict(x, false);
  CHECK(after.mean == Approx(before.mean).margin(0.02));
  CHECK(after.deviation < 0.5 * before.deviation);
}

TEST_CASE("the minimizer goes to the bottom of a valley, and keeps to its bounds") {
  const SmoothFunction rosenbrock = [](const Eigen::VectorXd& x, Eigen::VectorXd& gradient) {
    const double a = 1 - x[0], b = x[1] - x[0] * x[0];
    gradient.resize(2);
    gradient << -2 * a - 400 * x[0] * b, 200 * b;
    return a * a + 100 * b * b;
  };
  const Eigen::Vector2d start(-1.2, 1), low(-2, -2), high(2, 2);
  const Minimum open = minimize(rosenbrock, start, low, high, 500);
  CHECK(open.x[0] == Approx(1).margin(1e-3));
  CHECK(open.value < 1e-6);
  const Minimum bound = minimize(rosenbrock, start, low, Eigen::Vector2d(0.5, 2), 500);
  CHECK(bound.x[0] == 0.5);
  CHECK(bound.x[1] == Approx(0.25).margin(1e-3));
}

}  // namespace trainlab::gaussian_process_test
