#include "plan/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/random/stream.h"
#include "core/statistics.h"

namespace trainlab {

namespace {

constexpr std::size_t variables = 5;
using Vector = std::array<double, variables>;

constexpr double delta = 1e-3;

double huber(double difference) {
  const double size = std::abs(difference);
  return size <= delta ? size * size / 2 : delta * (size - delta / 2);
}

// huber_sum as a function of five variables: the logarithms of the law's three terms at the middle of the runs, alpha
// and beta. With these variables the height of a term and its slope hardly depend on each other.
class Objective {
 public:
  explicit Objective(std::span<const RunPoint> points) : count_(points.size(), 1.0) {
    for (const RunPoint& point : points) {
      log_n_.push_back(std::log(point.parameters));
      log_d_.push_back(std::log(point.tokens));
      log_loss_.push_back(std::log(point.loss));
    }
    middle_n_ = centre(log_n_);
    middle_d_ = centre(log_d_);
  }

  // Sets how often each run counts.
  void count(std::vector<double> count) { count_ = std::move(count); }

  Vector variables_of(const Law& law) const {
    return {std::log(law.a) - law.alpha * middle_n_, std::log(law.b) - law.beta * middle_d_, std::log(law.e), law.alpha,
            law.beta};
  }

  Law law(const Vector& x) const {
    return {.e = std::exp(x[2]),
            .a = std::exp(x[0] + x[3] * middle_n_),
            .b = std::exp(x[1] + x[4] * middle_d_),
            .alpha = x[3],
            .beta = x[4]};
  }

  double value(const Vector& x) const {
    double sum = 0;
    for (std::size_t i = 0; i < count_.size(); ++i) {
      if (count_[i] == 0) continue;
      const double loss = std::exp(x[0] - x[3] * log_n_[i]) + std::exp(x[1] - x[4] * log_d_[i]) + std::exp(x[2]);
      sum += count_[i] * huber(std::log(loss) - log_loss_[i]);
    }
    return sum;
  }

  // The gradient, and the curvature of the weighted squares that bound Huber's function from above and touch it at each
  // run's difference.
  struct Slopes {
    Vector gradient{};
    std::array<Vector, variables> curvature{};
  };
  Slopes slopes(const Vector& x) const {
    Slopes slopes;
    const double of_e = std::exp(x[2]);
    for (std::size_t i = 0; i < count_.size(); ++i) {
      if (count_[i] == 0) continue;
      const double of_n = std::exp(x[0] - x[3] * log_n_[i]), of_d = std::exp(x[1] - x[4] * log_d_[i]);
      const double loss = of_n + of_d + of_e, difference = std::log(loss) - log_loss_[i];
      const Vector change = {of_n / loss, of_d / loss, of_e / loss, -of_n / loss * log_n_[i], -of_d / loss * log_d_[i]};
      const double weight = count_[i] * std::min(1.0, delta / std::abs(difference));
      for (std::size_t j = 0; j < variables; ++j) {
        slopes.gradient[j] += weight * difference * change[j];
        for (std::size_t k = 0; k <= j; ++k) slopes.curvature[j][k] += weight * change[j] * change[k];
      }
    }
    return slopes;
  }

 private:
  static double centre(std::vector<double>& numbers) {
    const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
    for (double& number : numbers) number -= mean;
    return mean;
  }

  std::vector<double> log_n_, log_d_, log_loss_, count_;
  double middle_n_ = 0, middle_d_ = 0;
};

// The range of each variable. No term and no exponent vanishes, since a term without change could not be told from E.
constexpr Vector lowest = {-60, -60, -60, 0.01, 0.01}, highest = {60, 60, 60, 5, 5};

// The step to the minimum of the squares, by a Cholesky factorisation of the curvature, whose diagonal is increased by
// the share `damping`. A variable that the gradient pushes out of its range keeps its value.
Vector step_down(Objective::Slopes slopes, const Vector& x, double damping) {
  auto& [gradient, factor] = slopes;
  for (std::size_t j = 0; j < variables; ++j) {
    const bool is_held = (x[j] <= lowest[j] && gradient[j] > 0) || (x[j] >= highest[j] && gradient[j] < 0);
    factor[j][j] = is_held ? 1e30 : factor[j][j] * (1 + damping) + 1e-30;
  }
  for (std::size_t j = 0; j < variables; ++j) {
    for (std::size_t k = 0; k <= j; ++k) {
      double rest = factor[j][k];
      for (std::size_t m = 0; m < k; ++m) rest -= factor[j][m] * factor[k][m];
      factor[j][k] = j == k ? std::sqrt(std::max(rest, 1e-30)) : rest / factor[k][k];
    }
  }
  Vector step{};
  for (std::size_t j = 0; j < variables; ++j) {
    double rest = -gradient[j];
    for (std::size_t m = 0; m < j; ++m) rest -= factor[j][m] * step[m];
    step[j] = rest / factor[j][j];
  }
  for (std::size_t j = variables; j-- > 0;) {
    double rest = step[j];
    for (std::size_t m = j + 1; m < variables; ++m) rest -= factor[m][j] * step[m];
    step[j] = rest / factor[j][j];
  }
  return step;
}

struct Bottom {
  Vector x{};
  double value = 0;
};

// Descends from x by Levenberg–Marquardt steps (Nocedal and Wright 2006, section 10.3) on the weighted squares, until
// no step gains a relevant amount or `most` steps are done.
Bottom descended(const Objective& objective, Vector x, int most) {
  constexpr double least_gain = 1e-11, most_damping = 1e12;
  for (std::size_t j = 0; j < variables; ++j) x[j] = std::clamp(x[j], lowest[j], highest[j]);
  Bottom bottom{x, objective.value(x)};
  double damping = 1e-3;
  for (int steps = 0; steps < most; ++steps) {
    const Objective::Slopes slopes = objective.slopes(bottom.x);
    double gain = -1;
    for (; damping < most_damping && gain < 0; damping *= 4) {
      const Vector step = step_down(slopes, bottom.x, damping);
      Vector next{};
      for (std::size_t j = 0; j < variables; ++j) next[j] = std::clamp(bottom.x[j] + step[j], lowest[j], highest[j]);
      const double value = objective.value(next);
      if (!(value <= bottom.value)) continue;
      gain = bottom.value - value;
      bottom = {next, value};
    }
    damping = std::max(damping / 20, 1e-12);
    if (gain <= least_gain * bottom.value) break;
  }
  return bottom;
}

constexpr int long_descent = 1000;

// The least minimum found from the grid of starts of Besiroglu et al. 2024. A few steps from each start show which
// starts are worth a long descent.
Bottom least_of_many(const Objective& objective) {
  constexpr int short_descent = 12;
  constexpr std::size_t kept = 24;
  std::vector<Bottom> reached;
  for (const double alpha : {0.0, 0.5, 1.0, 1.5, 2.0}) {
    for (const double beta : {0.0, 0.5, 1.0, 1.5, 2.0}) {
      for (const double log_e : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
        for (const double log_a : {0.0, 5.0, 10.0, 15.0, 20.0, 25.0}) {
          for (const double log_b : {0.0, 5.0, 10.0, 15.0, 20.0, 25.0}) {
            const Law start{std::exp(log_e), std::exp(log_a), std::exp(log_b), alpha, beta};
            reached.push_back(descended(objective, objective.variables_of(start), short_descent));
          }
        }
      }
    }
  }
  std::ranges::sort(reached, {}, &Bottom::value);
  reached.resize(kept);
  for (Bottom& one : reached) one = descended(objective, one.x, long_descent);
  return *std::ranges::min_element(reached, {}, &Bottom::value);
}

std::vector<double> drawn_anew(std::size_t runs, std::uint64_t number) {
  Stream stream(Key(1).fold("plan fit").fold(number));
  std::vector<double> count(runs, 0.0);
  for (std::size_t i = 0; i < runs; ++i) count[static_cast<std::size_t>(stream.below(runs))] += 1;
  return count;
}

// Pearson's correlation of the logarithms of parameters and tokens.
double correlation(std::span<const RunPoint> points) {
  const auto n = static_cast<double>(points.size());
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (const RunPoint& point : points) {
    const double p = std::log(point.parameters), t = std::log(point.tokens);
    x += p, y += t, xx += p * p, yy += t * t, xy += p * t;
  }
  return (xy - x * y / n) / std::sqrt((xx - x * x / n) * (yy - y * y / n));
}

// Why the runs do not determine a law.
std::optional<Error> lack_of(std::span<const RunPoint> points) {
  constexpr std::size_t least_runs = 6, least_sizes = 3;
  if (points.size() < least_runs) {
    return recipe_error("a law of five constants needs at least 6 runs, found " + std::to_string(points.size()));
  }
  std::set<double> models, data;
  for (const RunPoint& point : points) models.insert(point.parameters), data.insert(point.tokens);
  for (const auto& [sizes, name] : {std::pair(&models, "parameters"), std::pair(&data, "tokens")}) {
    if (sizes->size() >= least_sizes) continue;
    return recipe_error("the runs have " + std::to_string(sizes->size()) + " different numbers of " + name +
                        "; at least 3 are needed");
  }
  const auto [least, most] = std::ranges::minmax(points, {}, &RunPoint::loss);
  if (least.loss == most.loss) {
    return recipe_error("all " + std::to_string(points.size()) + " runs have the same loss, " +
                        number_text(least.loss) + ", so that neither parameters nor tokens show an effect on it")
        .hint("models and data that differ more, or longer trainings");
  }
  constexpr double in_proportion = 0.999;
  if (std::abs(correlation(points)) > in_proportion) {
    return recipe_error(
               "the tokens follow from the parameters in all runs, so that nobody can tell which of the two "
               "changes the loss")
        .hint("train some models on more data than the others");
  }
  return std::nullopt;
}

double log_difference(const Law& law, const RunPoint& point) {
  return std::log(loss_of(law, point.allocation())) - std::log(point.loss);
}

double deviation_of(const Law& law, std::span<const RunPoint> points) {
  double squares = 0;
  for (const RunPoint& point : points) squares += std::pow(log_difference(law, point), 2);
  return std::sqrt(squares / static_cast<double>(points.size()));
}

RunRange run_range(std::span<const RunPoint> points, const auto& count) {
  const auto [least, most] = std::ranges::minmax(points, {}, count);
  return {std::invoke(count, least), std::invoke(count, most)};
}

// Why these runs show no law: over their range, one of its terms changes the loss by less than chance may.
std::optional<Error> without_effect(const LawFit& fit, std::span<const RunPoint> points) {
  constexpr double normal = 1.4826;  // standard deviations in a median of absolute values
  std::vector<double> losses, misses;
  for (const RunPoint& point : points) {
    losses.push_back(point.loss);
    misses.push_back(std::abs(log_difference(fit.law, point)));
  }
  const auto rest = static_cast<double>(points.size() - variables);  // at least one, with the fewest runs
  const double loss = upper_median(std::move(losses));
  const double miss = normal * upper_median(std::move(misses)), chance = miss / std::sqrt(rest);
  const auto fall = [loss](double size, double exponent, const RunRange& range) {
    return size * (std::pow(range.least, -exponent) - std::pow(range.most, -exponent)) / loss;
  };
  for (const auto& [share, name] : {std::pair(fall(fit.law.a, fit.law.alpha, fit.parameters), "parameters"),
                                    std::pair(fall(fit.law.b, fit.law.beta, fit.tokens), "tokens")}) {
    if (share > chance) continue;
    return recipe_error(std::string("the runs do not show that the loss falls with the ") + name +
                        ": from the fewest to the most, the law falls by " + figure_text(100 * share, 2) +
                        " % of a loss, and a run usually differs from the law by " + figure_text(100 * miss, 2) + " %")
        .hint("models and data that differ more, or longer trainings");
  }
  return std::nullopt;
}

// LawFit::drift: the slope of the line through the origin that is nearest to the misses over the doublings of FLOPs
// beyond the shorter runs.
std::optional<double> drift_of(std::span<const RunPoint> points, double most_flops) {
  constexpr double rung = 1.9;  // a little less than the double budget that makes the next rung of a ladder
  std::vector<RunPoint> shorter;
  double most_of_shorter = 0;
  for (const RunPoint& point : points) {
    if (point.flops() > most_flops / rung) continue;
    shorter.push_back(point);
    most_of_shorter = std::max(most_of_shorter, point.flops());
  }
  if (lack_of(shorter)) return std::nullopt;
  const Objective objective(shorter);
  const Law before = objective.law(least_of_many(objective).x);
  double products = 0, squares = 0;
  for (const RunPoint& point : points) {
    if (point.flops() <= most_flops / rung) continue;
    const double doublings = std::log2(point.flops() / most_of_shorter);
    products += log_difference(before, point) * doublings;
    squares += doublings * doublings;
  }
  return products / squares;
}

}  // namespace

double huber_sum(const Law& law, std::span<const RunPoint> points) {
  double sum = 0;
  for (const RunPoint& point : points) sum += huber(log_difference(law, point));
  return sum;
}

LawFit fit_law(std::span<const RunPoint> points) {
  if (const std::optional<Error> lack = lack_of(points)) throw Error(*lack);
  constexpr std::uint64_t resamples = 200;
  Objective objective(points);
  const Bottom least = least_of_many(objective);
  const Law law = objective.law(least.x);
  LawFit fit{.law = law,
             .samples = {},
             .runs = points.size(),
             .objective = huber_sum(law, points),
             .deviation = deviation_of(law, points),
             .flops = run_range(points, &RunPoint::flops),
             .parameters = run_range(points, &RunPoint::parameters),
             .tokens = run_range(points, &RunPoint::tokens),
             .drift = {}};
  if (const std::optional<Error> lack = without_effect(fit, points)) throw Error(*lack);
  fit.drift = drift_of(points, fit.flops.most);
  for (std::uint64_t i = 0; i < resamples; ++i) {
    objective.count(drawn_anew(points.size(), i));
    fit.samples.push_back(objective.law(descended(objective, least.x, long_descent).x));
  }
  return fit;
}

}  // namespace trainlab
