// Samplers that do not learn: random and grid.
#include <cmath>
#include <limits>

#include "samplers.h"

namespace trainlab {

ParameterDraws::ParameterDraws(const Space& space, Key key) : key_(key) {
  for (const SpaceParameter& p : space.parameters()) names_.push_back(Key(0).fold(p.name).bits());
}

double ParameterDraws::unit(std::size_t parameter, std::int64_t trial, std::int64_t attempt) const {
  return Stream(key_of(trial, attempt).fold(names_[parameter])).uniform();
}

namespace {

class Random final : public Sampler {
 public:
  Random(const Space& space, std::int64_t seed)
      : space_(space), draws_(space, Key(static_cast<std::uint64_t>(seed)).fold("random")) {}

  bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>>,
              std::span<double> point) override {
    choose_open(space_, point, [&](std::size_t i) { return draws_.unit(i, trial, attempt); });
    return true;
  }

 private:
  const Space space_;
  ParameterDraws draws_;
};

// Counts through the values of all parameters, the last one fastest; of an inactive parameter only its first value
// counts, so that no point comes twice. Points are numbered among those that are left.
class Grid final : public Sampler {
 public:
  Grid(const Space& space, std::vector<std::vector<double>> values, bool shuffle, std::int64_t seed)
      : space_(space), values_(std::move(values)) {
    std::vector<double> point(space_.size(), std::numeric_limits<double>::quiet_NaN());
    add(0, point);
    if (!shuffle) return;
    const std::size_t width = space_.size();
    const std::vector<std::int64_t> order = permutation(Key(static_cast<std::uint64_t>(seed)).fold("grid"), count());
    std::vector<double> shuffled;
    shuffled.reserve(points_.size());
    for (const std::int64_t at : order) {
      const auto begin = points_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(at) * width);
      shuffled.insert(shuffled.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
    }
    points_ = std::move(shuffled);
  }

  void set_allowed(std::function<bool(std::span<const double>)> allowed) override { allowed_ = std::move(allowed); }

  bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>>,
              std::span<double> point) override {
    if (allowed_) leave_out();
    // Refused now can only be a point of which some was given.
    if (attempt > 0 || trial >= count()) return false;
    const double* const chosen = points_.data() + static_cast<std::size_t>(trial) * space_.size();
    for (const std::size_t i : space_.order()) {
      if (!std::isnan(point[i]) || !space_.active(i, point)) continue;
      // What is given may make active what is not in this point of the grid.
      point[i] = std::isnan(chosen[i]) ? values_[i].front() : chosen[i];
    }
    return true;
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(points_.size() / space_.size()); }

  // At the first use: functions of a recipe are called when it asks for a trial, not before.
  void leave_out() {
    std::vector<double> kept;
    for (std::size_t at = 0; at < points_.size(); at += space_.size()) {
      const std::span<const double> point(points_.data() + at, space_.size());
      if (allowed_(point)) kept.insert(kept.end(), point.begin(), point.end());
    }
    if (kept.empty()) {
      throw recipe_error("none of the " + std::to_string(count()) + " points of the grid meets the constraints")
          .in("constraints");
    }
    points_ = std::move(kept);
    allowed_ = nullptr;
  }

  void add(std::size_t depth, std::vector<double>& point) {
    if (depth == space_.size()) {
      points_.insert(points_.end(), point.begin(), point.end());
      return;
    }
    const std::size_t i = space_.order()[depth];
    if (!space_.active(i, point)) {
      add(depth + 1, point);
      return;
    }
    for (const double value : values_[i]) {
      point[i] = value;
      add(depth + 1, point);
    }
    point[i] = std::numeric_limits<double>::quiet_NaN();
  }

  const Space space_;
  std::vector<std::vector<double>> values_;
  std::vector<double> points_;  // [point, parameter]
  std::function<bool(std::span<const double>)> allowed_;  // until it was asked
};

}  // namespace

std::unique_ptr<Sampler> random_sampler(const Space& space, std::int64_t seed) {
  return std::make_unique<Random>(space, seed);
}

std::unique_ptr<Sampler> grid_sampler(const Space& space, std::vector<std::vector<double>> values, bool shuffle,
                                      std::int64_t seed) {
  return std::make_unique<Grid>(space, std::move(values), shuffle, seed);
}

}  // namespace trainlab
