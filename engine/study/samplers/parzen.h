// A Parzen estimator over a group of parameters: a mixture of one kernel for each observed point and a wide one, the
// prior. Multivariate: a kernel is a product over the parameters, so that values that are good together stay together.
// Bergstra et al. 2011; Falkner, Klein and Hutter 2018 (BOHB). A kernel is as wide as the larger of the gaps to its two
// neighbours (Bergstra et al., section 4.1), so that it becomes narrow where points lie close together; it is never
// narrower than the range divided by a little more than the number of points, nor than a hundredth of the range.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random/stream.h"
#include "study/space.h"

namespace trainlab {

// The axis of one parameter, which all its kernels share. Numbers are placed by their distribution: by logarithm if the
// space says so; a whole number fills half a step on either side.
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

// The observed points, by column, on their axes.
class ParzenData {
 public:
  explicit ParzenData(std::size_t axes) : columns_(axes), orders_(axes) {}
  void add(std::span<const double> places);  // the next row
  void remove_last();
  std::uint32_t rows() const { return rows_; }
  const std::vector<double>& column(std::size_t axis) const { return columns_[axis]; }
  // Rows in order of their place on an axis; among equal places the older row comes first.
  const std::vector<std::uint32_t>& order(std::size_t axis) const { return orders_[axis]; }

 private:
  std::uint32_t rows_ = 0;
  std::vector<std::vector<double>> columns_;        // [axis][row]
  std::vector<std::vector<std::uint32_t>> orders_;  // [axis]
};

class Parzen {
 public:
  // The kernels of the points `rows` of the data (in order of their age, the oldest first) and the prior, whose weight
  // is 1. `weights`: weights of the rows; without them, older points count less if there are more than 25 points.
  Parzen(const std::vector<ParzenAxis>& axes, const ParzenData& data, std::span<const std::uint32_t> rows,
         std::span<const double> weights = {});

  // A draw, on the axes. `keep`: the probability of each continuous axis to stay at the centre of the drawn kernel; at
  // least one axis moves. With 0, draws follow the density.
  void draw(Stream& random, double keep, std::span<double> out) const;
  // The logarithm of the density of points [count, axes] (of the probability, for choices and whole numbers).
  void log_density(std::span<const double> points, std::span<double> out) const;

 private:
  void set_widths(std::size_t axis, const std::vector<std::uint32_t>& order, std::span<const std::int32_t> kernel_of);

  const std::vector<ParzenAxis>& axes_;
  std::size_t kernels_;                          // the prior is the last
  std::vector<double> weights_, cumulative_;     // by kernel
  std::vector<double> log_weights_;              // of the kernel, less the logarithm of what its product is divided by
  std::vector<std::vector<double>> centres_;     // [axis][kernel]; of a choice its label, −1 for the prior
  std::vector<std::vector<double>> sigmas_;      // [axis][kernel]; of a number
  std::vector<std::vector<double>> narrowness_;  // 1 / (√2 σ) of those on continuous axes
  std::vector<double> hit_, miss_;  // by axis of a choice: log probability of the kernel's own and another label
};

// The distribution function of the standard normal distribution, from a table: to 1e-7.
double normal_cdf(double x);
// The inverse, to 1e-9 (Acklam's rational approximation and a step of Newton's method).
double normal_quantile(double p);

}  // namespace trainlab
