#include "gaussian_process.h"

#include <cmath>

#include "minimize.h"

namespace trainlab {

namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr double root_5 = 2.23606797749979;
constexpr int fit_evaluations = 60;
constexpr double least_noise = 1e-6;

// The kernel as a function of the squared, scaled distance r².
double matern(double square) {
  const double r = root_5 * std::sqrt(square);
  return (1 + r + r * r / 3) * std::exp(-r);
}
// Its derivative by r².
double matern_slope(double square) {
  const double r = root_5 * std::sqrt(square);
  return -5.0 / 6 * (1 + r) * std::exp(-r);
}

double coordinate_square(bool is_choice, double a, double b) {
  return is_choice ? (a == b ? 0 : 1) : (a - b) * (a - b);
}

}  // namespace

GaussianProcess::GaussianProcess(std::vector<char> is_choice) : is_choice_(std::move(is_choice)) {
  scales_.log_inverse_squares = Vector::Zero(static_cast<Eigen::Index>(is_choice_.size()));
}

void GaussianProcess::take(Matrix points, const Vector& values) {
  points_ = std::move(points);
  const double mean = values.mean();
  unit_ = std::sqrt((values.array() - mean).square().mean());
  values_ = (values.array() - mean) / (unit_ > 0 ? unit_ : 1);
}

void GaussianProcess::condition(Matrix points, const Vector& values) {
  take(std::move(points), values);
  factor();
}

void GaussianProcess::fit(Matrix points, const Vector& values) {
  take(std::move(points), values);
  const Eigen::Index n = points_.rows(), d = points_.cols();
  squares_.assign(static_cast<std::size_t>(d), Matrix(n, n));
  for (Eigen::Index k = 0; k < d; ++k) {
    const bool is_choice = is_choice_[static_cast<std::size_t>(k)] != 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < n; ++j) {
        squares_[static_cast<std::size_t>(k)](i, j) = coordinate_square(is_choice, points_(i, k), points_(j, k));
      }
    }
  }
  const Scales usual;
  Vector start(d + 2), low(d + 2), high(d + 2);
  start << Vector::Zero(d), usual.log_variance, usual.log_noise;
  low << Vector::Constant(d, std::log(1e-4)), std::log(1e-3), std::log(least_noise);
  high << Vector::Constant(d, std::log(1e5)), std::log(1e3), std::log(1.0);
  const Minimum best = minimize([this](const Vector& x, Vector& gradient) { return posterior(x, gradient); }, start,
                                low, high, fit_evaluations);
  scales_ = {best.x.head(d), best.x[d], best.x[d + 1]};
  squares_.clear();
  factor();
}

// Minus the logarithm of the posterior of the scales, up to a constant.
double GaussianProcess::posterior(const Vector& x, Vector& gradient) const {
  const Eigen::Index n = points_.rows(), d = points_.cols();
  const Vector inverse = x.head(d).array().exp();
  const double variance = std::exp(x[d]), noise = std::exp(x[d + 1]);
  Matrix square = Matrix::Zero(n, n);
  for (Eigen::Index k = 0; k < d; ++k) square += inverse[k] * squares_[static_cast<std::size_t>(k)];
  const Matrix kernel = variance * square.unaryExpr(&matern);
  Matrix whole = kernel;
  whole.diagonal().array() += noise;
  const Eigen::LLT<Matrix> factor(whole);
  if (factor.info() != Eigen::Success) return std::nan("");
  const Vector solved = factor.solve(values_);
  double value = 0.5 * values_.dot(solved) + factor.matrixLLT().diagonal().array().log().sum();
  // d value / d K = ½ (K⁻¹ − solved solvedᵀ)
  const Matrix by_kernel = 0.5 * (factor.solve(Matrix::Identity(n, n)) - solved * solved.transpose());
  gradient.resize(d + 2);
  const Matrix by_square = by_kernel.cwiseProduct(variance * square.unaryExpr(&matern_slope));
  for (Eigen::Index k = 0; k < d; ++k) {
    gradient[k] = inverse[k] * by_square.cwiseProduct(squares_[static_cast<std::size_t>(k)]).sum();
  }
  gradient[d] = by_kernel.cwiseProduct(kernel).sum();
  gradient[d + 1] = noise * by_kernel.trace();
  // Priors: scales neither very long nor very short; a variance near 1 (Γ(2, 1)); little noise (Γ(1.1, 1/30)). A scale
  // much longer than the range says that a parameter does not matter, which few trials cannot know: a search that
  // believes it never looks there again.
  for (Eigen::Index k = 0; k < d; ++k) {
    value += 1 / inverse[k] + 0.1 * inverse[k];
    gradient[k] += -1 / inverse[k] + 0.1 * inverse[k];
  }
  value += variance - x[d] + 30 * noise - 0.1 * x[d + 1];
  gradient[d] += variance - 1;
  gradient[d + 1] += 30 * noise - 0.1;
  return value;
}

// The sum of scaled squares [a, b] for all pairs of points [a, coordinates] and [b, coordinates].
Matrix GaussianProcess::scaled_squares(const Matrix& points, const Matrix& others) const {
  Matrix square = Matrix::Zero(points.rows(), others.rows());
  for (Eigen::Index k = 0; k < points.cols(); ++k) {
    const double inverse = std::exp(scales_.log_inverse_squares[k]);
    const bool is_choice = is_choice_[static_cast<std::size_t>(k)] != 0;
    for (Eigen::Index j = 0; j < others.rows(); ++j) {
      const double other = others(j, k);
      if (is_choice) {
        square.col(j).array() += inverse * (points.col(k).array() != other).cast<double>();
      } else {
        square.col(j).array() += inverse * (points.col(k).array() - other).square();
      }
    }
  }
  return square;
}

void GaussianProcess::factor() {
  Matrix whole = std::exp(scales_.log_variance) * scaled_squares(points_, points_).unaryExpr(&matern);
  whole.diagonal().array() += std::exp(scales_.log_noise);
  factor_.compute(whole);
  solved_ = factor_.solve(values_);
}

void GaussianProcess::believe(const Vector& point) {
  const double mean = predict(point, false).mean;
  const Eigen::Index n = points_.rows();
  points_.conservativeResize(n + 1, Eigen::NoChange);
  points_.row(n) = point.transpose();
  values_.conservativeResize(n + 1);
  values_[n] = mean;
  factor();
}

GaussianProcess::Predictions GaussianProcess::predict_all(const Matrix& points) const {
  const double variance = std::exp(scales_.log_variance);
  // One matrix, [trial, point], holds the distances, the kernel and the solution in turn, because fresh memory for each
  // of them costs time: the system clears its pages.
  Matrix kernel = scaled_squares(points_, points);
  kernel = variance * kernel.unaryExpr(&matern);
  Predictions seen{.means = kernel.transpose() * solved_, .deviations = {}};
  factor_.matrixL().solveInPlace(kernel);
  seen.deviations = (variance - kernel.colwise().squaredNorm().array()).max(1e-12).sqrt().matrix().transpose();
  return seen;
}

GaussianProcess::Prediction GaussianProcess::predict(const Vector& point, bool gradients) const {
  const Eigen::Index n = points_.rows(), d = points_.cols();
  const Vector inverse = scales_.log_inverse_squares.array().exp();
  const double variance = std::exp(scales_.log_variance);
  Vector square = Vector::Zero(n);
  for (Eigen::Index k = 0; k < d; ++k) {
    const bool is_choice = is_choice_[static_cast<std::size_t>(k)] != 0;
    for (Eigen::Index i = 0; i < n; ++i)
      square[i] += inverse[k] * coordinate_square(is_choice, points_(i, k), point[k]);
  }
  const Vector kernel = variance * square.unaryExpr(&matern);
  const Vector half = factor_.matrixL().solve(kernel);
  Prediction out;
  out.mean = kernel.dot(solved_);
  out.deviation = std::sqrt(std::max(variance - half.squaredNorm(), 1e-12));
  if (!gradients) return out;
  const Vector slope = variance * square.unaryExpr(&matern_slope);
  const Vector back = factor_.matrixU().solve(half);
  out.mean_gradient = Vector::Zero(d);
  out.deviation_gradient = Vector::Zero(d);
  for (Eigen::Index k = 0; k < d; ++k) {
    if (is_choice_[static_cast<std::size_t>(k)]) continue;
    const Vector by_point = 2 * inverse[k] * slope.cwiseProduct((point[k] - points_.col(k).array()).matrix());
    out.mean_gradient[k] = by_point.dot(solved_);
    out.deviation_gradient[k] = -by_point.dot(back) / out.deviation;
  }
  return out;
}

}  // namespace trainlab
