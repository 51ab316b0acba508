// A Parzen estimator over a group of parameters: a mixture of one kernel for each observed point and a wide one, the
// prior. Multivariate: a kernel is a product over the parameters, so that what is good together stays together.
// Bergstra et al. 2011; Falkner, Klein and Hutter 2018 (BOHB); bandwidths by Scott's rule as there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"
#include "study/space.h"

namespace trainlab {

// What all kernels of one parameter share. Numbers live on the axis of their distribution: the logarithm where the
// space says so; whole ones fill half a step on either side.
struct ParzenAxis {
  ParzenAxis(const Space& space, std::size_t parameter);

  std::size_t parameter;
  std::int64_t labels = 0;   // of a choice, else 0
  double low = 0, high = 0;  // of a number, on its axis
  bool log = false;
  double step = 0;  // 0: continuous

  double place(double value) const;  // of a value on the axis
  double value(double place) const;  // and back
};

// The observed points, by column, on their axes; kept while trials come in.
struct ParzenData {
  std::vector<std::vector<double>> columns;  // [axis][point]
};

class Parzen {
 public:
  // The kernels of the points `rows` of the data (in order of their age, the oldest first) and the prior, whose weight
  // is 1. `weights`: of the rows; without them older points count less where there are more than 25.
  Parzen(const std::vector<ParzenAxis>& axes, const ParzenData& data, std::span<const std::uint32_t> rows,
         std::span<const double> weights = {});

  // A draw, on the axes.
  void draw(Stream& random, std::span<double> out) const;
  // The logarithm of the density of points [count, axes] (of the probability, for choices and whole numbers).
  void log_density(std::span<const double> points, std::span<double> out) const;

 private:
  double sigma(std::size_t axis, std::size_t kernel) const {
    return kernel + 1 < kernels_ ? sigma_[axis] : prior_sigma_[axis];
  }

  const std::vector<ParzenAxis>& axes_;
  std::size_t kernels_;                       // the prior is the last
  std::vector<double> weights_, cumulative_;  // by kernel
  std::vector<double> log_weights_;           // of the kernel, less the logarithm of its mass within the ranges
  std::vector<std::vector<double>> centres_;  // [axis][kernel]; of a choice its label, −1 for the prior
  std::vector<double> sigma_, prior_sigma_;   // by axis
  std::vector<double> hit_, miss_;  // by axis of a choice: log probability of the kernel's own and another label
};

// Of the standard normal distribution, from a table: to 1e-7.
double normal_cdf(double x);
// The inverse, to 1e-9 (Acklam's rational approximation and a step of Newton's method).
double normal_quantile(double p);

}  // namespace trainlab
