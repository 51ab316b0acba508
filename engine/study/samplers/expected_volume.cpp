#include "expected_volume.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>

namespace trainlab {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

// A logarithm and its derivatives by the mean and the deviation of a normal distribution.
struct LogTerm {
  double value = -unbounded, by_mean = 0, by_deviation = 0;
};

// The logarithm of E[max(bound − f, 0)] for f ~ N(mean, deviation²).
LogTerm log_below(double bound, double mean, double deviation) {
  const double z = (bound - mean) / deviation;
  const double log_phi = -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi);
  double log_h = 0, phi_by_h = 0, cdf_by_h = 0;  // h = φ(z) + z Φ(z)
  if (z > -1) {
    const double cdf = 0.5 * std::erfc(-z / std::numbers::sqrt2), phi = std::exp(log_phi), h = phi + z * cdf;
    log_h = std::log(h);
    phi_by_h = phi / h;
    cdf_by_h = cdf / h;
  } else if (z > -30) {
    const double t = -z / std::numbers::sqrt2;
    const double ratio = std::sqrt(std::numbers::pi / 2) * std::exp(t * t) * std::erfc(t);  // Φ(z) / φ(z)
    const double rest = 1 + z * ratio;
    log_h = log_phi + std::log(rest);
    phi_by_h = 1 / rest;
    cdf_by_h = ratio / rest;
  } else {
    log_h = log_phi - 2 * std::log(-z);
    phi_by_h = z * z;
    cdf_by_h = -z;
  }
  return {.value = std::log(deviation) + log_h, .by_mean = -cdf_by_h / deviation, .by_deviation = phi_by_h / deviation};
}

// The logarithm of the expected length of the part of an interval that lies above f: of the difference of two terms.
LogTerm log_between(const LogTerm& low, const LogTerm& high) {
  const double ratio = std::exp(low.value - high.value), rest = 1 - ratio;
  if (!(rest > 0)) return {};  // an interval too short for its bounds to differ
  return {.value = high.value + std::log1p(-ratio),
          .by_mean = (high.by_mean - ratio * low.by_mean) / rest,
          .by_deviation = (high.by_deviation - ratio * low.by_deviation) / rest};
}

}  // namespace

std::vector<FreeBox> free_boxes(std::vector<std::vector<double>> points, std::span<const double> reference) {
  const std::size_t last = reference.size() - 1;
  std::erase_if(points, [&](const auto& point) { return !std::ranges::equal(point, reference, std::less()); });
  if (last == 0) {
    double best = reference[0];
    for (const auto& point : points) best = std::min(best, point[0]);
    return {{.low = {-unbounded}, .high = {best}}};
  }
  // Slabs of the last objective, from point to point. A box of the other objectives that the next point leaves whole
  // goes on in the next slab.
  std::ranges::sort(points, {}, [&](const auto& point) { return point[last]; });
  std::vector<FreeBox> boxes;
  std::map<FreeBox, double> open;  // boxes of the other objectives, with the beginning of each
  std::vector<std::vector<double>> before;
  const auto close = [&](double at) {
    for (const auto& [side, from] : open) {
      if (!(from < at)) continue;
      boxes.push_back(side);
      boxes.back().low.push_back(from);
      boxes.back().high.push_back(at);
    }
  };
  const auto advance = [&](double at) {
    std::map<FreeBox, double> next;
    for (FreeBox& box : free_boxes(before, reference.first(last))) {
      const auto known = open.find(box);
      const double from = known == open.end() ? at : known->second;
      if (known != open.end()) open.erase(known);
      next.emplace(std::move(box), from);
    }
    close(at);
    open = std::move(next);
  };
  advance(-unbounded);
  for (const auto& point : points) {
    const auto others = std::span(point).first(last);
    const auto hides = [](const auto& one, const auto& other) {
      return std::ranges::equal(one, other, std::less_equal());
    };
    if (std::ranges::any_of(before, [&](const auto& one) { return hides(one, others); })) continue;
    std::erase_if(before, [&](const auto& one) { return hides(others, one); });
    before.emplace_back(others.begin(), others.end());
    advance(point[last]);
  }
  close(reference[last]);
  return boxes;
}

ExpectedVolume::ExpectedVolume(std::vector<std::vector<double>> points, std::span<const double> reference,
                               std::span<const double> ideal)
    : objectives_(reference.size()) {
  std::vector<FreeBox> boxes = free_boxes(std::move(points), reference);
  if (!ideal.empty()) {
    for (FreeBox& box : boxes) std::ranges::transform(box.low, ideal, box.low.begin(), std::ranges::max);
  }
  for (const FreeBox& box : boxes) {
    for (std::size_t k = 0; k < objectives_; ++k) {
      for (const double at : {box.low[k], box.high[k]}) {
        if (at != -unbounded) bounds_.push_back({.objective = static_cast<Eigen::Index>(k), .at = at});
      }
    }
  }
  std::sort(bounds_.begin(), bounds_.end());
  bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
  const auto place = [&](std::size_t objective, double at) {
    const Bound bound{.objective = static_cast<Eigen::Index>(objective), .at = at};
    return static_cast<std::size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), bound) - bounds_.begin());
  };
  for (const FreeBox& box : boxes) {
    for (std::size_t k = 0; k < objectives_; ++k)
      sides_.push_back({.low = box.low[k] == -unbounded ? none : place(k, box.low[k]), .high = place(k, box.high[k])});
  }
}

double ExpectedVolume::log_gain(const Eigen::VectorXd& means, const Eigen::VectorXd& deviations, Slope* slope) const {
  std::vector<LogTerm> below;  // each bound
  below.reserve(bounds_.size());
  for (const Bound& bound : bounds_)
    below.push_back(log_below(bound.at, means[bound.objective], deviations[bound.objective]));
  std::vector<LogTerm> terms;  // [box, objective]
  std::vector<double> logs;    // by box
  terms.reserve(sides_.size());
  logs.reserve(sides_.size() / objectives_);
  for (std::size_t i = 0; i < sides_.size(); i += objectives_) {
    double sum = 0;
    for (const Side& side : std::span(sides_).subspan(i, objectives_)) {
      const LogTerm& high = below[side.high];
      terms.push_back(side.low == none ? high : log_between(below[side.low], high));
      sum += terms.back().value;
    }
    logs.push_back(sum);
  }
  const double top = *std::ranges::max_element(logs);
  double total = 0;
  for (double& one : logs) total += one = std::exp(one - top);
  if (slope) {
    slope->by_mean.setZero(static_cast<Eigen::Index>(objectives_));
    slope->by_deviation.setZero(static_cast<Eigen::Index>(objectives_));
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i % objectives_);
      const double share = logs[i / objectives_] / total;
      slope->by_mean[at] += share * terms[i].by_mean;
      slope->by_deviation[at] += share * terms[i].by_deviation;
    }
  }
  return top + std::log(total);
}

}  // namespace trainlab
