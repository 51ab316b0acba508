#include "expected_improvement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/pareto.h"
#include "core/statistics.h"
#include "expected_volume.h"
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

bool is_choice(const SpaceParameter& p) { return p.kind == SpaceParameter::Kind::choice; }

std::vector<char> choices_of(const Space& space) {
  std::vector<char> choices;
  for (const SpaceParameter& p : space.parameters()) {
    if (p.count() != 1) choices.push_back(is_choice(p));
  }
  return choices;
}

// The points of the first front, by number.
std::vector<std::uint32_t> front_of(std::span<const double> values, std::size_t objectives) {
  return pareto_fronts(values, objectives, 1).front();
}

// Values that are further above `middle` than the best is below it come closer, by their logarithm: a few that are very
// bad say little of where the good ones are, and would set the process's scale.
void shorten_tail(Eigen::Ref<Vector> values, double middle) {
  const double reach = middle - values.minCoeff(), from = middle + reach;
  if (!(reach > 0)) return;
  for (double& value : values) {
    if (value > from) value = from + reach * std::log1p((value - from) / reach);
  }
}

// The tails of the values [point, objective]. With up to two objectives the middle is the median. With three, most
// trials may have the best value of an objective, namely those at the edges of the space: the median would then lie at
// the best value, and everything else, the front too, would be pressed together. The middle is the front's worst value.
void shorten_tails(Matrix& values) {
  const Eigen::Index objectives = values.cols();
  if (objectives <= 2) {
    for (auto column : values.colwise()) shorten_tail(column, upper_median({column.begin(), column.end()}));
    return;
  }
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = values;
  const std::vector<std::uint32_t> front =
      front_of({rows.data(), static_cast<std::size_t>(rows.size())}, static_cast<std::size_t>(objectives));
  for (auto column : values.colwise()) {
    double worst = column.minCoeff();
    for (const std::uint32_t i : front) worst = std::max(worst, column[i]);
    shorten_tail(column, worst);
  }
}

// Below a reference point a tenth of the front's range beyond its worst values; where the front has no range, of the
// range of all values. An objective all of whose values are equal has the reference 1, so that the other objective
// decides. A point much farther out would let the search cling to the ends of the front, where a small gain
// in one objective counts with all the way to the reference in the others. For the same reason values below the best
// that is known or predicted are not hoped for: an objective that cannot become better than it is at an edge of the
// space is as uncertain there as anywhere else.
//
// `share`: of the front's values of an objective, those up to which the worst is looked for.
ExpectedVolume volume_of(const std::vector<GaussianProcess>& processes,
                         const std::vector<GaussianProcess::Predictions>& seen, double share) {
  const std::size_t objectives = processes.size();
  std::vector<double> values;
  for (Eigen::Index row = 0; row < processes.front().values().size(); ++row) {
    for (const GaussianProcess& process : processes) values.push_back(process.values()[row]);
  }
  std::vector<std::vector<double>> front;
  for (const std::uint32_t i : front_of(values, objectives)) {
    const auto row = std::span(values).subspan(i * objectives, objectives);
    front.emplace_back(row.begin(), row.end());
  }
  std::vector<double> reference;
  for (std::size_t k = 0; k < objectives; ++k) {
    std::vector<double> sorted;
    for (const auto& point : front) sorted.push_back(point[k]);
    std::ranges::sort(sorted);
    double best = sorted.front(), worst = lower_quantile(sorted, share);
    if (best == worst) {
      best = processes[k].values().minCoeff();
      worst = processes[k].values().maxCoeff();
    }
    reference.push_back(objectives > 1 && best == worst ? worst + 1 : worst + 0.1 * (worst - best));
  }
  std::vector<double> ideal(objectives, -std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; objectives > 1 && k < objectives; ++k)
    ideal[k] = std::min(processes[k].values().minCoeff(), seen[k].means.minCoeff());
  // One trial is the best in all objectives, and nothing better is predicted: then nothing would be hoped for anywhere.
  if (front.front() == ideal) ideal.clear();
  return {std::move(front), reference, ideal};
}

double inside(double u) { return std::clamp(u, 0.0, 1 - 1e-12); }

}  // namespace

// The processes, and the improvement that they expect of a point.
struct ExpectedImprovement::Outlook {
  std::vector<GaussianProcess> processes;
  ExpectedVolume volume;

  // Minus the logarithm of the expected improvement, standardised; with its gradient if that is asked for.
  double loss(const Vector& x, Vector* gradient = nullptr) const {
    Vector means(std::ssize(processes)), deviations(std::ssize(processes));
    std::vector<GaussianProcess::Prediction> seen;
    for (const GaussianProcess& process : processes) {
      const auto at = std::ssize(seen);
      seen.push_back(process.predict(x, gradient != nullptr));
      means[at] = seen.back().mean;
      deviations[at] = seen.back().deviation;
    }
    if (!gradient) return -volume.log_gain(means, deviations);
    ExpectedVolume::Slope slope;
    const double gain = volume.log_gain(means, deviations, &slope);
    gradient->setZero(x.size());
    for (Eigen::Index k = 0; k < means.size(); ++k) {
      const GaussianProcess::Prediction& one = seen[static_cast<std::size_t>(k)];
      *gradient -= slope.by_mean[k] * one.mean_gradient + slope.by_deviation[k] * one.deviation_gradient;
    }
    return -gain;
  }
  // At many points, of which all predictions are known.
  std::vector<double> losses(const std::vector<GaussianProcess::Predictions>& seen) const {
    std::vector<double> losses;
    Vector means(std::ssize(seen)), deviations(std::ssize(seen));
    for (Eigen::Index row = 0; row < seen.front().means.size(); ++row) {
      for (std::size_t k = 0; k < seen.size(); ++k) {
        means[static_cast<Eigen::Index>(k)] = seen[k].means[row];
        deviations[static_cast<Eigen::Index>(k)] = seen[k].deviations[row];
      }
      losses.push_back(-volume.log_gain(means, deviations));
    }
    return losses;
  }
};

ExpectedImprovement::ExpectedImprovement(const Space& space, std::size_t objectives)
    : space_(space), objectives_(objectives), is_parent_(space_.size()) {
  // A process that has no points yet cannot be copied: Eigen would read what no factorisation has set.
  processes_.reserve(objectives);
  for (std::size_t k = 0; k < objectives; ++k) processes_.emplace_back(choices_of(space_));
  for (std::size_t i = 0; i < space_.size(); ++i) {
    if (space_[i].count() != 1) parameters_.push_back(i);
    for (const auto& condition : space_[i].conditions) is_parent_[condition.parent] = 1;
  }
}

void ExpectedImprovement::add(std::span<const double> point, std::span<const double> values) {
  points_.emplace_back(point.begin(), point.end());
  values_.insert(values_.end(), values.begin(), values.end());
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
std::vector<std::uint32_t> ExpectedImprovement::used(std::int64_t count) const {
  std::vector<std::uint32_t> used(static_cast<std::size_t>(count));
  std::iota(used.begin(), used.end(), 0U);
  if (used.size() <= most_used) return used;
  constexpr std::size_t half = most_used / 2;
  const std::size_t others = used.size() - half;
  std::vector<std::uint32_t> best;
  for (const auto& front : pareto_fronts(std::span(values_).first(others * objectives_), objectives_, half))
    best.insert(best.end(), front.begin(), front.end());
  best.resize(half);
  best.insert(best.end(), used.end() - half, used.end());
  return best;
}

void ExpectedImprovement::gather(std::int64_t count, Matrix& points, Matrix& values) const {
  const std::vector<std::uint32_t> rows = used(count);
  points.resize(std::ssize(rows), std::ssize(parameters_));
  values.resize(std::ssize(rows), static_cast<Eigen::Index>(objectives_));
  for (Eigen::Index at = 0; at < points.rows(); ++at)
    points.row(at) = place(points_[rows[static_cast<std::size_t>(at)]]).transpose();
  for (std::size_t k = 0; k < objectives_; ++k) {
    double worst = -std::numeric_limits<double>::infinity(), best = std::numeric_limits<double>::infinity();
    for (const std::size_t row : rows) {
      const double value = values_[row * objectives_ + k];
      if (!std::isfinite(value)) continue;
      worst = std::max(worst, value);
      best = std::min(best, value);
    }
    if (!std::isfinite(worst)) worst = best = 0;
    auto column = values.col(static_cast<Eigen::Index>(k));
    for (Eigen::Index at = 0; at < column.size(); ++at)
      column[at] = std::clamp(values_[rows[static_cast<std::size_t>(at)] * objectives_ + k], best, worst);
  }
  shorten_tails(values);
}

void ExpectedImprovement::settle() {
  Matrix points, values;
  if (const std::int64_t wanted = fitted(count()); wanted != fitted_) {
    gather(wanted, points, values);
    for (std::size_t k = 0; k < objectives_; ++k) processes_[k].fit(points, values.col(static_cast<Eigen::Index>(k)));
    fitted_ = conditioned_ = wanted;
  }
  if (conditioned_ == count()) return;
  gather(count(), points, values);
  for (std::size_t k = 0; k < objectives_; ++k)
    processes_[k].condition(points, values.col(static_cast<Eigen::Index>(k)));
  conditioned_ = count();
}

// A draw from the space, or near a point where one is given.
ExpectedImprovement::Place ExpectedImprovement::scattered(Stream& random, std::span<const double> near,
                                                          std::span<const double> given) const {
  const double reach = 0.2 * std::pow(10.0, -3 * random.uniform());
  Place at{.point = std::vector(given.begin(), given.end()), .x = {}};
  for (const std::size_t i : space_.order()) {
    if (!std::isnan(at.point[i]) || !space_.active(i, at.point)) continue;
    const double u = random.uniform();
    double from = u;
    if (!near.empty() && !std::isnan(near[i])) {
      if (is_choice(space_[i])) {
        if (random.uniform() < 0.8) {
          at.point[i] = near[i];
          continue;
        }
      } else {
        from = space_.to_unit(i, near[i]) + reach * random.normal();
      }
    }
    at.point[i] = space_.from_unit(i, inside(from));
  }
  at.x = place(at.point);
  return at;
}

// Search along continuous coordinates.
void ExpectedImprovement::climb(const Outlook& outlook, std::span<const double> given, Place& at) const {
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
  const Minimum top = minimize([&](const Vector& x, Vector& gradient) { return outlook.loss(x, &gradient); }, at.x, low,
                               high, climb_evaluations);
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
bool ExpectedImprovement::step(const Outlook& outlook, std::span<const double> given, Place& at) const {
  bool better = false;
  const auto consider = [&](std::size_t k, double value) {
    const std::size_t i = parameters_[k];
    if (value == at.point[i]) return;
    Vector x = at.x;
    x[static_cast<Eigen::Index>(k)] = is_choice(space_[i]) ? value : space_.to_unit(i, value);
    const double loss = outlook.loss(x);
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
  std::vector<GaussianProcess> processes = processes_;
  for (const std::span<const double> one : running) {
    for (GaussianProcess& process : processes) process.believe(place(one));
  }
  // A quarter of the draws lie near one of the best trials; of equal trials of one objective near the first.
  std::vector<std::uint32_t> front = front_of(values_, objectives_);
  if (objectives_ == 1) front.resize(1);
  std::vector<Place> places;
  Matrix points(static_cast<Eigen::Index>(scatter), std::ssize(parameters_));
  for (std::size_t s = 0; s < scatter; ++s) {
    std::span<const double> near;
    if (s % 4 == 0) near = points_[front[front.size() == 1 ? 0 : random.below(front.size())]];
    places.push_back(scattered(random, near, given));
    points.row(static_cast<Eigen::Index>(s)) = places.back().x.transpose();
  }
  std::vector<GaussianProcess::Predictions> seen;
  seen.reserve(processes.size());
  for (const GaussianProcess& process : processes) seen.push_back(process.predict_all(points));
  // With three objectives many trials of the front lie at edges of the space, good in one objective or two and bad in
  // the others. Below the worst of them a search would spend its trials on the ends of the front; so every other choice
  // leaves out the worst tenth of each objective.
  const double share = objectives_ > 2 && count() % 2 == 1 ? 0.9 : 1;
  ExpectedVolume volume = volume_of(processes, seen, share);
  const Outlook outlook{.processes = std::move(processes), .volume = std::move(volume)};
  const std::vector<double> losses = outlook.losses(seen);
  for (std::size_t s = 0; s < scatter; ++s) places[s].loss = losses[s];
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
      climb(outlook, given, start);
      const bool goes_on = step(outlook, given, start);
      if (!is_allowed(start)) {
        start = std::move(before);
        break;
      }
      if (!goes_on) break;
    }
  }
  Place& top = *std::min_element(starts.begin(), starts.end(), is_better);
  double unit = 1;
  for (const GaussianProcess& process : outlook.processes) unit *= process.unit();
  return {.point = std::move(top.point), .improvement = std::exp(-top.loss) * unit};
}

}  // namespace trainlab
