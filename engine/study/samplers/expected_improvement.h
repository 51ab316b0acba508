// What a Gaussian process makes of a study so far: where in the space the next trial promises the largest improvement
// over the best one, and how much that is. Jones, Schonlau and Welch 1998 (Efficient Global Optimization); in its
// logarithm, which has a slope everywhere: Ament et al. 2023 (arXiv 2310.20708).
//
// All parameters of the space are searched. Where one is inactive its coordinate has a value of its own, so that trials
// are compared by what is active in both.
#pragma once

#include <eigen3/Eigen/Core>
#include <functional>
#include <span>
#include <vector>

#include "core/random.h"
#include "gaussian_process.h"
#include "study/space.h"

namespace trainlab {

class ExpectedImprovement {
 public:
  explicit ExpectedImprovement(const Space& space);

  // Smaller values are better; an infinite one counts as the worst finite one.
  void add(std::span<const double> point, double value);
  std::int64_t count() const { return static_cast<std::int64_t>(values_.size()); }
  // Whether the space has anything to search.
  bool searches() const { return !parameters_.empty(); }

  struct Best {
    std::vector<double> point;  // of the space; what was given is as it was
    double improvement = 0;     // expected, in the values' unit
  };
  // `given`: parameters that are not NaN stay; `running`: points of which the value is not known yet; `allowed`: the
  // point is one of these, where any is found. Depends on what was added (in that order), on the arguments, and on
  // nothing else. At least two points were added.
  using Allowed = std::function<bool(std::span<const double>)>;
  Best best(Stream random, std::span<const std::span<const double>> running, std::span<const double> given,
            const Allowed& allowed = {});

  // The scales of the process are those that fit the first so many of `count` points: all of few, then the last of
  // lengths that grow by a tenth.
  static std::int64_t fitted(std::int64_t count);

 private:
  // A point of the search: as the space has it, and as the process does.
  struct Place {
    std::vector<double> point;
    Eigen::VectorXd x;
    double loss = 0;  // minus the logarithm of the expected improvement, standardised
  };

  void settle();
  std::vector<std::size_t> used(std::int64_t count) const;
  void gather(std::int64_t count, Eigen::MatrixXd& points, Eigen::VectorXd& values) const;
  Eigen::VectorXd place(std::span<const double> point) const;
  Place scattered(Stream& random, bool near, std::span<const double> given) const;
  void climb(const GaussianProcess& process, std::span<const double> given, Place& at) const;
  bool step(const GaussianProcess& process, std::span<const double> given, Place& at) const;

  const Space space_;
  std::vector<std::size_t> parameters_;  // those of more than one value
  std::vector<char> is_parent_;          // by parameter of the space
  GaussianProcess process_;
  std::vector<std::vector<double>> points_;
  std::vector<double> values_;
  std::int64_t fitted_ = 0, conditioned_ = 0;  // points that the process has its scales from, and its knowledge
};

}  // namespace trainlab
