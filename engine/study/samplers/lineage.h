// What the trials of a population have come to: samplers whose trials go on from others choose by it.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "study/sampler.h"

namespace trainlab {

class Lineage {
 public:
  void observe(const Observation& trial) {
    const auto number = static_cast<std::size_t>(trial.trial);
    if (ends_.size() <= number) ends_.resize(number + 1);
    End& end = ends_[number];
    end.is_final = true;
    end.point.assign(trial.point.begin(), trial.point.end());
    if (trial.state == TrialState::complete) end.value = trial.values[0];
  }

  // Whether the trials first … last − 1 have ended.
  bool has_ended(std::int64_t first, std::int64_t last) const {
    for (std::int64_t trial = first; trial < last; ++trial) {
      const auto at = static_cast<std::size_t>(trial);
      if (at >= ends_.size() || !ends_[at].is_final) return false;
    }
    return true;
  }

  // Of a trial that has ended; infinite when it has failed.
  double value(std::int64_t trial) const { return ends_[static_cast<std::size_t>(trial)].value; }
  const std::vector<double>& point(std::int64_t trial) const { return ends_[static_cast<std::size_t>(trial)].point; }

  // The trials first … last − 1, the best first; of equal ones the earlier.
  std::vector<std::int64_t> ranking(std::int64_t first, std::int64_t last) const {
    std::vector<std::int64_t> order(static_cast<std::size_t>(last - first));
    std::iota(order.begin(), order.end(), first);
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return value(a) < value(b); });
    return order;
  }

 private:
  struct End {
    bool is_final = false;
    double value = std::numeric_limits<double>::infinity();
    std::vector<double> point;
  };
  std::vector<End> ends_;  // by trial
};

}  // namespace trainlab
