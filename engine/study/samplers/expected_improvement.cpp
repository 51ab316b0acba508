#include "expected_improvement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "minimize.h"

namespace trainlab {

namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr std::size_t scatter = 1024;  // points of which the best are climbed from
constexpr std::size_t climbs = 6;
constexpr int climb_evaluations = 40;
constexpr int rounds = 3;               // of climbing and stepping
constexpr std::size_t most_used = 400;  // points, half of them the best: the work grows with their third power

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

bool is_choice(const SpaceParameter& p) { return p.kind == SpaceParameter::Kind::choice; }

std::vector<char> choices_of(const Space& space) {
  std::vector<char> choices;
  for (const SpaceParameter& p : space.parameters()) {
    if (p.count() != 1) choices.push_back(is_choice(p));
  }
  return choices;
}

// Values that are further above the median than the best is below it come closer, by their logarithm: a few that are
// very bad say little of where the good ones are, and would set the process's scale.
void shorten_tail(Vector& values) {
  std::vector<double> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double reach = *middle - values.minCoeff(), from = *middle + reach;
  if (!(reach > 0)) return;
  for (double& value : values) {
    if (value > from) value = from + reach * std::log1p((value - from) / reach);
  }
}

double inside(double u) { return std::clamp(u, 0.0, 1 - 1e-12); }

}  // namespace

ExpectedImprovement::ExpectedImprovement(const Space& space)
    : space_(space), is_parent_(space_.size()), process_(choices_of(space_)) {
  for (std::size_t i = 0; i < space_.size(); ++i) {
    if (space_[i].count() != 1) parameters_.push_back(i);
    for (const auto& condition : space_[i].conditions) is_parent_[condition.parent] = 1;
  }
}

void ExpectedImprovement::add(std::span<const double> point, double value) {
  points_.emplace_back(point.begin(), point.end());
  values_.push_back(value);
}

std::int64_t ExpectedImprovement::fitted(std::int64_t count) {
  std::int64_t length = std::min<std::int64_t>(count, 40);
  while (length + length / 10 <= count && length >= 40) length += length / 10;
  return length;
}

// Numbers lie in the unit cube, choices are given by their index; an inactive number has the middle, an inactive choice
// an extra label.
Vector ExpectedImprovement::place(std::span<const double> point) const {
  Vector x(static_cast<Eigen::Index>(parameters_.size()));
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const std::size_t i = parameters_[k];
    const bool choice = is_choice(space_[i]);
    x[static_cast<Eigen::Index>(k)] = std::isnan(point[i]) ? (choice ? -1 : 0.5)
                                      : choice             ? point[i]
                                                           : space_.to_unit(i, point[i]);
  }
  return x;
}

// The points among the first `count` that the process uses: the latest and the best.
std::vector<std::size_t> ExpectedImprovement::used(std::int64_t count) const {
  std::vector<std::size_t> used(static_cast<std::size_t>(count));
  std::iota(used.begin(), used.end(), 0);
  if (used.size() <= most_used) return used;
  const auto half = static_cast<std::ptrdiff_t>(most_used / 2);
  std::stable_sort(used.begin(), used.end() - half,
                   [&](std::size_t a, std::size_t b) { return values_[a] < values_[b]; });
  used.erase(used.begin() + half, used.end() - half);
  return used;
}

void ExpectedImprovement::gather(std::int64_t count, Matrix& points, Vector& values) const {
  const std::vector<std::size_t> rows = used(count);
  points.resize(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(parameters_.size()));
  values.resize(points.rows());
  double worst = -std::numeric_limits<double>::infinity(), best = std::numeric_limits<double>::infinity();
  for (const std::size_t row : rows) {
    if (!std::isfinite(values_[row])) continue;
    worst = std::max(worst, values_[row]);
    best = std::min(best, values_[row]);
  }
  if (!std::isfinite(worst)) worst = best = 0;
  for (Eigen::Index at = 0; at < points.rows(); ++at) {
    const std::size_t row = rows[static_cast<std::size_t>(at)];
    points.row(at) = place(points_[row]).transpose();
    values[at] = std::clamp(values_[row], best, worst);
  }
  shorten_tail(values);
}

void ExpectedImprovement::settle() {
  Matrix points;
  Vector values;
  if (const std::int64_t wanted = fitted(count()); wanted != fitted_) {
    gather(wanted, points, values);
    process_.fit(std::move(points), values);
    fitted_ = conditioned_ = wanted;
  }
  if (conditioned_ == count()) return;
  gather(count(), points, values);
  process_.condition(std::move(points), values);
  conditioned_ = count();
}

// A draw from the space, or near the best point so far.
ExpectedImprovement::Place ExpectedImprovement::scattered(Stream& random, bool near,
                                                          std::span<const double> given) const {
  const auto& known =
      points_[static_cast<std::size_t>(std::min_element(values_.begin(), values_.end()) - values_.begin())];
  const double reach = 0.2 * std::pow(10.0, -3 * random.uniform());
  Place at{.point = std::vector(given.begin(), given.end()), .x = {}};
  for (const std::size_t i : space_.order()) {
    if (!std::isnan(at.point[i]) || !space_.active(i, at.point)) continue;
    const double u = random.uniform();
    double from = u;
    if (near && !std::isnan(known[i])) {
      if (is_choice(space_[i])) {
        if (random.uniform() < 0.8) {
          at.point[i] = known[i];
          continue;
        }
      } else {
        from = space_.to_unit(i, known[i]) + reach * random.normal();
      }
    }
    at.point[i] = space_.from_unit(i, inside(from));
  }
  at.x = place(at.point);
  return at;
}

// Search along continuous coordinates.
void ExpectedImprovement::climb(const GaussianProcess& process, std::span<const double> given, Place& at) const {
  Vector low = at.x, high = at.x;
  bool moves = false;
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const std::size_t i = parameters_[k];
    if (space_[i].count() != 0 || !std::isnan(given[i]) || std::isnan(at.point[i])) continue;
    low[static_cast<Eigen::Index>(k)] = 0;
    high[static_cast<Eigen::Index>(k)] = 1;
    moves = true;
  }
  if (!moves) return;
  const double best = process.best();
  const Minimum top = minimize(
      [&](const Vector& x, Vector& gradient) {
        const auto seen = process.predict(x, true);
        const LogImprovement gain = log_improvement(best, seen.mean, seen.deviation);
        gradient = -(gain.by_mean * seen.mean_gradient + gain.by_deviation * seen.deviation_gradient);
        return -gain.value;
      },
      at.x, low, high, climb_evaluations);
  if (!(top.value < at.loss)) return;
  at.loss = top.value;
  at.x = top.x;
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const auto place = static_cast<Eigen::Index>(k);
    if (low[place] < high[place]) at.point[parameters_[k]] = space_.from_unit(parameters_[k], inside(at.x[place]));
  }
}

// Search along the other coordinates: every other label of a choice without dependent parameters, near and far values
// of a whole number. Returns whether a better point was found.
bool ExpectedImprovement::step(const GaussianProcess& process, std::span<const double> given, Place& at) const {
  bool better = false;
  const auto consider = [&](std::size_t k, double value) {
    const std::size_t i = parameters_[k];
    if (value == at.point[i]) return;
    Vector x = at.x;
    x[static_cast<Eigen::Index>(k)] = is_choice(space_[i]) ? value : space_.to_unit(i, value);
    const auto seen = process.predict(x, false);
    const double loss = -log_improvement(process.best(), seen.mean, seen.deviation).value;
    if (!(loss < at.loss)) return;
    at.loss = loss;
    at.x = std::move(x);
    at.point[i] = value;
    better = true;
  };
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const std::size_t i = parameters_[k];
    const SpaceParameter& p = space_[i];
    const std::int64_t count = p.count();
    if (count == 0 || is_parent_[i] || !std::isnan(given[i]) || std::isnan(at.point[i])) continue;
    if (is_choice(p)) {
      for (std::int64_t label = 0; label < count; ++label) consider(k, static_cast<double>(label));
      continue;
    }
    for (std::int64_t by = 1; by < count; by *= 2) {
      const double from = at.point[i];
      for (const double sign : {-1.0, 1.0}) {
        const double value = from + sign * p.step * static_cast<double>(by);
        if (value >= p.low && value <= p.high + 1e-9 * p.step) consider(k, space_.nearest(i, value));
      }
    }
  }
  return better;
}

ExpectedImprovement::Best ExpectedImprovement::best(Stream random, std::span<const std::span<const double>> running,
                                                    std::span<const double> given, const Allowed& allowed) {
  settle();
  GaussianProcess process = process_;
  for (const std::span<const double> one : running) process.believe(place(one));

  std::vector<Place> places;
  Matrix points(static_cast<Eigen::Index>(scatter), static_cast<Eigen::Index>(parameters_.size()));
  for (std::size_t s = 0; s < scatter; ++s) {
    places.push_back(scattered(random, s % 4 == 0, given));
    points.row(static_cast<Eigen::Index>(s)) = places.back().x.transpose();
  }
  const auto seen = process.predict_all(points);
  for (std::size_t s = 0; s < scatter; ++s) {
    const auto row = static_cast<Eigen::Index>(s);
    places[s].loss = -log_improvement(process.best(), seen.means[row], seen.deviations[row]).value;
  }
  const auto is_better = [](const Place& a, const Place& b) { return a.loss < b.loss; };
  std::sort(places.begin(), places.end(), is_better);
  // The best of them that are allowed, asked in that order, since it is a recipe that is asked.
  const auto is_allowed = [&](const Place& at) { return !allowed || allowed(at.point); };
  std::vector<Place> starts;
  for (auto at = places.begin(); at != places.end() && starts.size() < climbs; ++at) {
    if (is_allowed(*at)) starts.push_back(std::move(*at));
  }
  if (starts.empty()) return {.point = std::move(places.front().point), .improvement = 0};
  for (Place& start : starts) {
    for (int round = 0; round < rounds; ++round) {
      Place before = start;
      climb(process, given, start);
      const bool goes_on = step(process, given, start);
      if (!is_allowed(start)) {
        start = std::move(before);
        break;
      }
      if (!goes_on) break;
    }
  }
  Place& top = *std::min_element(starts.begin(), starts.end(), is_better);
  return {.point = std::move(top.point), .improvement = std::exp(-top.loss) * process.unit()};
}

}  // namespace trainlab
