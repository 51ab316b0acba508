// How much a trial is expected to add to the volume that trials dominate (the expected hypervolume improvement), when
// its objectives are normally distributed and independent of each other. The region that no trial dominates is cut into
// boxes; within a box the expectation is a product over the objectives, so that the sum is exact (Emmerich, Deutz and
// Klinkenberg 2011; Daulton, Balandat and Bakshy 2020, arXiv 2006.05078, equation 1). With one objective there is one
// box, and the expectation is the expected improvement over the best trial. Smaller values are better.
//
// The result is a logarithm, which has a slope also where nearly nothing is expected (Ament et al. 2023, arXiv
// 2310.20708).
#pragma once

#include <eigen3/Eigen/Core>
#include <span>
#include <vector>

namespace trainlab {

struct FreeBox {
  std::vector<double> low, high;  // by objective; `low` may be −∞
  bool operator<(const FreeBox& other) const { return low != other.low ? low < other.low : high < other.high; }
};

// Cuts the region below the reference that none of the points dominates into boxes without overlap. Two objectives: a
// box more than points that matter; three: up to twice as many.
std::vector<FreeBox> free_boxes(std::vector<std::vector<double>> points, std::span<const double> reference);

class ExpectedVolume {
 public:
  // Values below `ideal` count as the ideal ones; without it there is no such bound.
  ExpectedVolume(std::vector<std::vector<double>> points, std::span<const double> reference,
                 std::span<const double> ideal = {});

  // The logarithm of the expected volume for objectives with these means and deviations (positive), with its
  // derivatives by each mean and deviation if they are asked for.
  struct Slope {
    Eigen::VectorXd by_mean, by_deviation;
  };
  double log_gain(const Eigen::VectorXd& means, const Eigen::VectorXd& deviations, Slope* slope = nullptr) const;

 private:
  struct Bound {
    Eigen::Index objective;
    double at;
    bool operator==(const Bound& other) const { return objective == other.objective && at == other.at; }
    bool operator<(const Bound& other) const {
      return objective != other.objective ? objective < other.objective : at < other.at;
    }
  };
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct Side {
    std::size_t low, high;  // places in bounds_; `low` is `none` for −∞
  };
  std::size_t objectives_;
  std::vector<Bound> bounds_;  // the finite bounds of all boxes, each once
  std::vector<Side> sides_;    // [box, objective]
};

}  // namespace trainlab
