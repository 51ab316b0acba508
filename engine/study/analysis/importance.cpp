#include "study/importance.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace trainlab {

namespace {

constexpr double best_share = 0.1;
constexpr std::size_t finest_grid = 50;
constexpr std::size_t fewest_active = 2;  // trials, for a density

double normal_mass(double low, double high) {
  return 0.5 * (std::erf(high / std::numbers::sqrt2) - std::erf(low / std::numbers::sqrt2));
}

// A parameter's values as cells of a grid; a choice has one for each label.
class Grid {
 public:
  explicit Grid(const SpaceParameter& p) : is_choice_(p.kind == SpaceParameter::Kind::choice), log_(p.log) {
    low_ = log_ ? std::log(p.low) : p.low;
    high_ = log_ ? std::log(p.high) : p.high;
    if (is_choice_) {
      cells_ = p.labels.size();
    } else if (p.log && p.step > 0) {
      // Whole numbers that lie apart at the low end leave cells of an even grid empty: one for each doubling.
      const double doublings = std::ceil(std::log2(p.high - p.low + 1)) + 1;
      cells_ = std::min(static_cast<std::size_t>(doublings), finest_grid);
    } else {
      const auto count = static_cast<std::size_t>(p.count());
      cells_ = count > 0 ? std::min(count, finest_grid) : finest_grid;
    }
  }

  std::size_t cells() const { return cells_; }
  bool is_choice() const { return is_choice_; }

  std::size_t cell(double value) const {
    if (is_choice_) return static_cast<std::size_t>(value);
    const double place = ((log_ ? std::log(value) : value) - low_) / (high_ - low_) * static_cast<double>(cells_ - 1);
    return static_cast<std::size_t>(std::clamp(std::ceil(place - 0.5), 0.0, static_cast<double>(cells_ - 1)));
  }

 private:
  bool is_choice_, log_;
  double low_, high_;
  std::size_t cells_ = 0;
};

// Bandwidth in cells by Scott's rule (Scott 1992, section 3.2), with the quartiles where they are closer than the
// standard deviation says; at least so wide that a kernel keeps 90 % of its mass in its own cell.
double bandwidth(const std::vector<double>& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) mean += counts[i] * static_cast<double>(i) / total;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    squares += counts[i] * (static_cast<double>(i) - mean) * (static_cast<double>(i) - mean);
  }
  const double deviation = std::sqrt(squares / std::max(1.0, total - 1));
  // The cells that hold the first observation from a quarter and after three quarters of all.
  double below = 0, first = -1, third = 0;
  bool is_past = false;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    below += counts[i];
    if (first < 0 && below >= std::floor(total / 4)) first = static_cast<double>(i);
    if (!is_past) third = static_cast<double>(i);
    is_past = is_past || below > std::floor(total * 3 / 4);
  }
  const double scale = std::min((third - first) / 1.34, deviation);
  return std::max(1.059 * scale * std::pow(total, -0.2), 0.5 / 1.64);
}

// The probability of each cell: a kernel for each observation and a flat one, the prior, that counts as much as one.
std::vector<double> density(const Grid& grid, const std::vector<double>& values) {
  const std::size_t cells = grid.cells();
  std::vector<double> counts(cells);
  for (const double value : values) ++counts[grid.cell(value)];
  const double weight = 1 / (static_cast<double>(values.size()) + 1);
  std::vector<double> result(cells);

  if (grid.is_choice()) {
    const auto kernels =
        static_cast<double>(std::count_if(counts.begin(), counts.end(), [](double n) { return n > 0; }) + 1);
    const auto labels = static_cast<double>(cells);
    const double miss = 1 / (labels + kernels), hit = (kernels + 1) / (labels + kernels);
    for (std::size_t i = 0; i < cells; ++i) {
      const double others = static_cast<double>(values.size()) - counts[i];
      result[i] = weight * (counts[i] * hit + others * miss + 1 / labels);
    }
    return result;
  }

  const auto end = static_cast<double>(cells) - 0.5;
  const auto add = [&](double centre, double sigma, double share) {
    const double inside = normal_mass((-0.5 - centre) / sigma, (end - centre) / sigma);
    for (std::size_t i = 0; i < cells; ++i) {
      const double at = static_cast<double>(i) - centre;
      result[i] += share * normal_mass((at - 0.5) / sigma, (at + 0.5) / sigma) / inside;
    }
  };
  const double sigma = bandwidth(counts);
  for (std::size_t i = 0; i < cells; ++i) {
    if (counts[i] > 0) add(static_cast<double>(i), sigma, counts[i] * weight);
  }
  add(static_cast<double>(cells - 1) / 2, static_cast<double>(cells), weight);
  return result;
}

// Pearson's divergence of the best trials' density from that of all, on the grid.
double divergence(const Grid& grid, const std::vector<double>& best, const std::vector<double>& all) {
  constexpr double tiny = 1e-12;
  const std::vector<double> p = density(grid, best), q = density(grid, all);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double ratio = (p[i] + tiny) / (q[i] + tiny);
    sum += (q[i] + tiny) * (ratio - 1) * (ratio - 1);
  }
  return sum;
}

}  // namespace

Importance importance(const Space& space, std::span<const double> points, std::span<const double> losses) {
  Importance result;
  result.shares.assign(space.size(), 0);
  std::vector<std::size_t> rows;
  std::vector<double> sorted;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (!std::isfinite(losses[i])) continue;
    rows.push_back(i);
    sorted.push_back(losses[i]);
  }
  result.trials = static_cast<std::int64_t>(rows.size());
  if (rows.empty()) return result;
  const auto count = static_cast<double>(rows.size());
  const auto last = static_cast<std::ptrdiff_t>(std::ceil(best_share * count)) - 1;
  std::nth_element(sorted.begin(), sorted.begin() + last, sorted.end());
  const double cutoff = sorted[static_cast<std::size_t>(last)];
  result.best = std::count_if(rows.begin(), rows.end(), [&](std::size_t i) { return losses[i] <= cutoff; });

  for (std::size_t j = 0; j < space.size(); ++j) {
    const Grid grid(space[j]);
    if (grid.cells() < 2) continue;
    std::vector<double> best, all;
    for (const std::size_t i : rows) {
      const double value = points[i * space.size() + j];
      if (std::isnan(value)) continue;
      all.push_back(value);
      if (losses[i] <= cutoff) best.push_back(value);
    }
    if (all.size() < fewest_active || best.empty()) continue;
    const double active_best = static_cast<double>(best.size()) / static_cast<double>(result.best);
    const double active = static_cast<double>(all.size()) / count;
    result.shares[j] = active_best * active_best / active * divergence(grid, best, all);
  }
  const double sum = std::accumulate(result.shares.begin(), result.shares.end(), 0.0);
  if (sum > 0) {
    for (double& share : result.shares) share /= sum;
  }
  return result;
}

}  // namespace trainlab
