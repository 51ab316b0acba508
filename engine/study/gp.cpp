// The Gaussian process sampler: the next trial lies where the expected improvement is largest. Jones, Schonlau and
// Welch 1998; its logarithm, which has a slope everywhere: Ament et al. 2023 (arXiv 2310.20708).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "gaussian_process.h"
#include "minimize.h"
#include "samplers.h"

namespace trainlab {

namespace {

using Vector = Eigen::VectorXd;

constexpr std::size_t scattered = 1024;  // points of which the best are climbed from
constexpr std::size_t climbs = 6;
constexpr int climb_evaluations = 40;
constexpr std::int64_t most_points = 400;  // the latest and the best of them: the work grows with their third power

struct LogImprovement {
  double value = 0, by_mean = 0, by_deviation = 0;
};

// The logarithm of E[max(best − f, 0)] for f ~ N(mean, deviation²), and its derivatives.
LogImprovement log_improvement(double best, double mean, double deviation) {
  const double z = (best - mean) / deviation;
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

class Gp final : public Sampler {
 public:
  Gp(const Space& space, const GpSettings& settings)
      : space_(space),
        settings_(settings),
        draws_(space_, Key(static_cast<std::uint64_t>(settings.seed)).fold("gp")),
        process_(choices_of(space_)) {
    for (std::size_t i = 0; i < space_.size(); ++i) {
      if (searched(space_, i)) parameters_.push_back(i);
    }
  }

  bool learns() const override { return true; }

  void observe(const Observation& trial) override {
    if (trial.values.empty()) return;
    const Vector x = place(trial.point);
    if (x.hasNaN()) return;
    points_.push_back(x);
    values_.push_back(trial.values[0]);
    is_fitted_ = false;
  }

  bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>> running,
              std::span<double> point) override {
    if (static_cast<std::int64_t>(points_.size()) >= settings_.startup && !parameters_.empty()) {
      const Vector chosen = search(trial, attempt, running, place(point));
      for (std::size_t k = 0; k < parameters_.size(); ++k) {
        const std::size_t i = parameters_[k];
        if (!std::isnan(point[i])) continue;
        const double x = chosen[static_cast<Eigen::Index>(k)];
        point[i] = is_choice(i) ? x : space_.from_unit(i, std::clamp(x, 0.0, 1 - 1e-12));
      }
    }
    choose_open(space_, point, [&](std::size_t i) { return draws_.unit(i, trial, attempt); });
    return true;
  }

 private:
  static bool searched(const Space& space, std::size_t i) {
    return space[i].conditions.empty() && space[i].count() != 1;
  }
  static std::vector<char> choices_of(const Space& space) {
    std::vector<char> choices;
    for (std::size_t i = 0; i < space.size(); ++i) {
      if (searched(space, i)) choices.push_back(space[i].kind == SpaceParameter::Kind::choice);
    }
    return choices;
  }
  bool is_choice(std::size_t i) const { return space_[i].kind == SpaceParameter::Kind::choice; }

  // Numbers in the unit cube, choices by their index; NaN where open.
  Vector place(std::span<const double> point) const {
    Vector x(static_cast<Eigen::Index>(parameters_.size()));
    for (std::size_t k = 0; k < parameters_.size(); ++k) {
      const std::size_t i = parameters_[k];
      const bool as_it_is = is_choice(i) || std::isnan(point[i]);
      x[static_cast<Eigen::Index>(k)] = as_it_is ? point[i] : space_.to_unit(i, point[i]);
    }
    return x;
  }
  // The place that a coordinate of the search stands for, once it is a value of the space.
  double settled(std::size_t k, double x) const {
    const std::size_t i = parameters_[k];
    return is_choice(i) ? x : space_.to_unit(i, space_.from_unit(i, std::clamp(x, 0.0, 1 - 1e-12)));
  }

  void fit() {
    std::vector<std::size_t> used(points_.size());
    std::iota(used.begin(), used.end(), 0);
    if (static_cast<std::int64_t>(used.size()) > most_points) {
      const auto half = static_cast<std::ptrdiff_t>(most_points / 2);
      std::stable_sort(used.begin(), used.end() - half,
                       [&](std::size_t a, std::size_t b) { return values_[a] < values_[b]; });
      used.erase(used.begin() + half, used.end() - half);
    }
    Eigen::MatrixXd points(static_cast<Eigen::Index>(used.size()), static_cast<Eigen::Index>(parameters_.size()));
    Vector values(static_cast<Eigen::Index>(used.size()));
    // An infinite value counts as the worst finite one.
    double worst = -std::numeric_limits<double>::infinity(), best = std::numeric_limits<double>::infinity();
    for (const std::size_t u : used) {
      if (!std::isfinite(values_[u])) continue;
      worst = std::max(worst, values_[u]);
      best = std::min(best, values_[u]);
    }
    if (!std::isfinite(worst)) worst = best = 0;
    for (std::size_t row = 0; row < used.size(); ++row) {
      points.row(static_cast<Eigen::Index>(row)) = points_[used[row]].transpose();
      values[static_cast<Eigen::Index>(row)] = std::clamp(values_[used[row]], best, worst);
    }
    process_.fit(std::move(points), values);
    is_fitted_ = true;
  }

  Vector search(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>> running,
                const Vector& given) {
    if (!is_fitted_) fit();
    GaussianProcess process = process_;
    for (const std::span<const double> one : running) {
      const Vector x = place(one);
      if (!x.hasNaN()) process.believe(x);
    }
    const double best = process.best();
    const auto value = [&](const Vector& x) {
      const auto seen = process.predict(x, false);
      return log_improvement(best, seen.mean, seen.deviation).value;
    };
    const auto width = static_cast<Eigen::Index>(parameters_.size());
    Stream random = draws_.stream(trial, attempt);
    std::vector<std::pair<double, Vector>> starts;
    // Points everywhere, and around the best that is known.
    const auto known = std::min_element(values_.begin(), values_.end()) - values_.begin();
    for (std::size_t s = 0; s < scattered; ++s) {
      Vector x(width);
      for (Eigen::Index k = 0; k < width; ++k) {
        const std::size_t i = parameters_[static_cast<std::size_t>(k)];
        const double u = random.uniform();
        x[k] = is_choice(i) ? std::floor(u * static_cast<double>(space_[i].count())) : u;
        if (s % 4 == 0) {
          const double near = points_[static_cast<std::size_t>(known)][k];
          if (!is_choice(i))
            x[k] = std::clamp(near + 0.1 * random.normal(), 0.0, 1.0);
          else if (random.uniform() < 0.8)
            x[k] = near;
        }
        if (!std::isnan(given[k])) x[k] = given[k];
        x[k] = settled(static_cast<std::size_t>(k), x[k]);
      }
      starts.emplace_back(-value(x), std::move(x));
    }
    std::partial_sort(starts.begin(), starts.begin() + climbs, starts.end(),
                      [](const auto& a, const auto& b) { return a.first < b.first; });
    Vector low(width), high(width);
    double best_value = std::numeric_limits<double>::infinity();
    Vector chosen = starts.front().second;
    for (std::size_t c = 0; c < climbs; ++c) {
      const Vector& start = starts[c].second;
      for (Eigen::Index k = 0; k < width; ++k) {
        const std::size_t i = parameters_[static_cast<std::size_t>(k)];
        // Only numbers without steps are climbed along; the rest is tried below.
        const bool moves = space_[i].count() == 0 && std::isnan(given[k]);
        low[k] = moves ? 0 : start[k];
        high[k] = moves ? 1 : start[k];
      }
      Minimum top = minimize(
          [&](const Vector& x, Vector& gradient) {
            const auto seen = process.predict(x, true);
            const LogImprovement gain = log_improvement(best, seen.mean, seen.deviation);
            gradient = -(gain.by_mean * seen.mean_gradient + gain.by_deviation * seen.deviation_gradient);
            return -gain.value;
          },
          start, low, high, climb_evaluations);
      for (Eigen::Index k = 0; k < width; ++k) try_neighbours(static_cast<std::size_t>(k), given, value, top);
      if (top.value < best_value) {
        best_value = top.value;
        chosen = top.x;
      }
    }
    return chosen;
  }

  // Every other label of a choice, and the next values of a number with steps.
  template <class F>
  void try_neighbours(std::size_t k, const Vector& given, F&& value, Minimum& top) const {
    const auto at = static_cast<Eigen::Index>(k);
    const std::size_t i = parameters_[k];
    const std::int64_t count = space_[i].count();
    if (count == 0 || !std::isnan(given[at])) return;
    const double before = top.x[at];
    const auto consider = [&](double x) {
      Vector other = top.x;
      other[at] = x;
      if (const double there = -value(other); there < top.value) top = {other, there};
    };
    if (is_choice(i)) {
      for (std::int64_t label = 0; label < count; ++label) {
        if (static_cast<double>(label) != before) consider(static_cast<double>(label));
      }
      return;
    }
    for (const double step : {-3.0, -2.0, -1.0, 1.0, 2.0, 3.0}) {
      const double x = settled(k, before + step / static_cast<double>(count));
      if (x != before) consider(x);
    }
  }

  const Space space_;
  GpSettings settings_;
  ParameterDraws draws_;
  std::vector<std::size_t> parameters_;  // that it searches: those that are always active
  GaussianProcess process_;
  std::vector<Vector> points_;
  std::vector<double> values_;
  bool is_fitted_ = false;
};

}  // namespace

std::unique_ptr<Sampler> gp_sampler(const Space& space, const GpSettings& settings) {
  return std::make_unique<Gp>(space, settings);
}

}  // namespace trainlab
