// The point of a space at which a Gaussian process, given the trials so far, expects the largest improvement over the
// best trial, and the size of that improvement. Jones, Schonlau and Welch 1998 (Efficient Global Optimization); in its
// logarithm, which has a slope everywhere: Ament et al. 2023 (arXiv 2310.20708).
//
// With several objectives each has a process of its own, and the improvement is the volume that the trials dominate
// more (expected_volume.h), measured in standardised values below a reference point: in each objective a tenth of the
// front's range beyond its worst value; with three objectives every other choice leaves out the ends of the front.
// Values better than all known and predicted ones add nothing.
//
// All parameters of the space are searched. The coordinate of an inactive parameter has a fixed value, so that trials
// are compared by the parameters that are active in both.
#pragma once

#include <eigen3/Eigen/Core>
#include <functional>
#include <span>
#include <vector>

#include "core/random/stream.h"
#include "gaussian_process.h"
#include "study/space.h"

namespace trainlab {

class ExpectedImprovement {
 public:
  explicit ExpectedImprovement(const Space& space, std::size_t objectives = 1);

  // Adds a trial with a value for each objective. Smaller values are better; an infinite value counts as the worst or
  // best finite value.
  void add(std::span<const double> point, std::span<const double> values);
  void add(std::span<const double> point, double value) { add(point, std::span(&value, 1)); }
  std::int64_t count() const { return static_cast<std::int64_t>(points_.size()); }
  // Whether the space has anything to search.
  bool searches() const { return !parameters_.empty(); }

  struct Best {
    std::vector<double> point;  // a point of the space; given parameters are unchanged
    double improvement = 0;     // expected, in the values' unit, or the product of their units
  };
  // `given`: parameters that are not NaN stay; `running`: points whose value is not known yet; `allowed`: whether a
  // point may be chosen (if no such point is found, another is returned). The result depends only on the added points,
  // in their order, and on the arguments. At least two points must have been added.
  using Allowed = std::function<bool(std::span<const double>)>;
  Best best(Stream random, std::span<const std::span<const double>> running, std::span<const double> given,
            const Allowed& allowed = {});

  // The number of first points, of `count`, to which the scales of the process are fitted: all points at first, later a
  // number that grows in steps of a tenth.
  static std::int64_t fitted(std::int64_t count);

 private:
  // A point of the search, in the coordinates of the space and of the process.
  struct Place {
    std::vector<double> point;
    Eigen::VectorXd x;
    double loss = 0;  // minus the logarithm of the expected improvement, standardised
  };

  struct Outlook;

  void settle();
  std::vector<std::uint32_t> used(std::int64_t count) const;
  // The used points, a row each, and their values [point, objective].
  void gather(std::int64_t count, Eigen::MatrixXd& points, Eigen::MatrixXd& values) const;
  Eigen::VectorXd place(std::span<const double> point) const;
  Place scattered(Stream& random, std::span<const double> near, std::span<const double> given) const;
  void climb(const Outlook& outlook, std::span<const double> given, Place& at) const;
  bool step(const Outlook& outlook, std::span<const double> given, Place& at) const;

  const Space space_;
  std::size_t objectives_;
  std::vector<std::size_t> parameters_;     // parameters with more than one value
  std::vector<char> is_parent_;             // by parameter of the space
  std::vector<GaussianProcess> processes_;  // by objective
  std::vector<std::vector<double>> points_;
  std::vector<double> values_;  // [point, objective]
  std::int64_t fitted_ = 0,
               conditioned_ =
                   0;  // number of points to which the scales are fitted, and on which the process is conditioned
};

}  // namespace trainlab
