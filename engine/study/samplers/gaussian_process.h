// A Gaussian process over the unit cube: an estimate of a function from a few dozen noisy values.
//
// Matérn kernel with ν = 5/2 and a length scale of its own for each coordinate (Rasmussen and Williams 2006, equation
// 4.17); coordinates that are choices count 1 where they differ. Values are standardised inside. Scales and noise
// maximise the posterior, with priors that keep them within reason.
#pragma once

#include <eigen3/Eigen/Cholesky>
#include <eigen3/Eigen/Core>
#include <vector>

namespace trainlab {

class GaussianProcess {
 public:
  struct Scales {
    Eigen::VectorXd log_inverse_squares;  // of the length scales
    double log_variance = 0, log_noise = -7;
  };

  // `is_choice` by coordinate.
  explicit GaussianProcess(std::vector<char> is_choice);

  // Fits scales and noise to points [n, coordinates] and values [n], in some dozens of steps of O(n³).
  void fit(Eigen::MatrixXd points, const Eigen::VectorXd& values);
  // Like fit(), but keeps the scales. O(n³).
  void condition(Eigen::MatrixXd points, const Eigen::VectorXd& values);
  // Adds a point with its predicted mean as its value, so that no improvement is expected there any more. Keeps the
  // scales.
  void believe(const Eigen::VectorXd& point);

  // The prediction at a point, standardised; with gradients by coordinate if they are asked for.
  struct Prediction {
    double mean = 0, deviation = 0;
    Eigen::VectorXd mean_gradient, deviation_gradient;
  };
  Prediction predict(const Eigen::VectorXd& point, bool gradients) const;
  // Predictions at many points [count, coordinates].
  struct Predictions {
    Eigen::VectorXd means, deviations;
  };
  Predictions predict_all(const Eigen::MatrixXd& points) const;
  const Eigen::VectorXd& values() const { return values_; }  // standardised, in the order of the points
  double unit() const { return unit_; }                      // of standardised values; 0 when all are equal

 private:
  void take(Eigen::MatrixXd points, const Eigen::VectorXd& values);
  double posterior(const Eigen::VectorXd& scales, Eigen::VectorXd& gradient) const;
  Eigen::MatrixXd scaled_squares(const Eigen::MatrixXd& points, const Eigen::MatrixXd& others) const;
  void factor();

  std::vector<char> is_choice_;
  Eigen::MatrixXd points_;
  Eigen::VectorXd values_;                // standardised
  std::vector<Eigen::MatrixXd> squares_;  // by coordinate: squared distances of all pairs, during a fit
  Scales scales_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  Eigen::VectorXd solved_;  // (K + noise)⁻¹ values
  double unit_ = 1;
};

}  // namespace trainlab
