// CMA-ES: a normal distribution that learns where good points lie and how parameters belong together.
//
// Hansen 2016 (The CMA Evolution Strategy: A Tutorial, arXiv 1604.00772), with negative weights for bad points; whole
// numbers have the margin of Hamano et al. 2022 (CMA-ES with Margin, arXiv 2205.13482), which keeps their distribution
// from freezing on one value. Works in the unit cube of the numbers that are always active; the rest is drawn at
// random.
//
// A generation is every λ trials that have ended, in that order, wherever they came from: with several workers some
// were drawn before the last update. Steps are therefore bounded as for injected points (Hansen 2011, arXiv 1110.4181).
#include <algorithm>
#include <cmath>
#include <eigen3/Eigen/Dense>
#include <numeric>

#include "parzen.h"
#include "samplers.h"
#include "shared_entries.h"

namespace trainlab {

namespace {

struct CmaSettings {
  std::int64_t population;  // points of a generation; 0: 3 + ⌊3 ln n⌋ of n numbers, 4 at least
  std::int64_t seed;
};

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

// The tutorial's constants suit tens of thousands of trials. Of some hundreds, as studies have, more comes with a first
// step of a seventh instead of a sixth of the range, a generation of one point less, and a covariance that learns
// faster (tools/bench/figures/bench_quality).
constexpr double first_sigma = 1.0 / 7;
constexpr double haste = 1.5;  // of the covariance's learning rates

constexpr int most_redraws = 100;  // of a point outside of the cube, before it is moved to its side

struct Weights {
  Weights(Eigen::Index n, std::int64_t lambda) : all(lambda) {
    const double d = static_cast<double>(n);
    const auto mu = lambda / 2;
    for (std::int64_t i = 0; i < lambda; ++i) {
      all[i] = std::log((static_cast<double>(lambda) + 1) / 2) - std::log(static_cast<double>(i + 1));
    }
    const auto effective = [](const auto& part) { return part.sum() * part.sum() / part.squaredNorm(); };
    mu_eff = effective(all.head(mu));
    c_sigma = (mu_eff + 2) / (d + mu_eff + 5);
    d_sigma = 1 + 2 * std::max(0.0, std::sqrt((mu_eff - 1) / (d + 1)) - 1) + c_sigma;
    c_c = (4 + mu_eff / d) / (d + 4 + 2 * mu_eff / d);
    c_1 = haste * 2 / ((d + 1.3) * (d + 1.3) + mu_eff);
    c_mu = std::min(1 - c_1 - 1e-8, haste * 2 * (mu_eff - 2 + 1 / mu_eff) / ((d + 2) * (d + 2) + mu_eff));
    const double negative = effective(all.tail(lambda - mu));
    const double most = std::min({1 + c_1 / c_mu, 1 + 2 * negative / (mu_eff + 2), (1 - c_1 - c_mu) / (d * c_mu)});
    all.head(mu) /= all.head(mu).sum();
    all.tail(lambda - mu) *= most / -all.tail(lambda - mu).sum();
    parents = mu;
  }

  Vector all;
  Eigen::Index parents = 0;
  double mu_eff = 0, c_sigma = 0, d_sigma = 0, c_c = 0, c_1 = 0, c_mu = 0;
};

class CmaEs final : public Sampler {
 public:
  CmaEs(const Space& space, const CmaSettings& settings)
      : space_(space),
        draws_(space_, Key(static_cast<std::uint64_t>(settings.seed)).fold("cma_es")),
        numbers_(numbers_of(space_)),
        n_(static_cast<Eigen::Index>(numbers_.size())),
        lambda_(settings.population > 0
                    ? settings.population
                    : std::max<std::int64_t>(
                          4, 3 + static_cast<std::int64_t>(std::floor(3 * std::log(static_cast<double>(n_)))))),
        weights_(n_, lambda_),
        mean_(Vector::Constant(n_, 0.5)),
        path_sigma_(Vector::Zero(n_)),
        path_c_(Vector::Zero(n_)),
        margin_(Vector::Ones(n_)),
        covariance_(Matrix::Identity(n_, n_)),
        axes_(Matrix::Identity(n_, n_)),
        lengths_(Vector::Ones(n_)) {
    const double d = static_cast<double>(n_);
    normal_length_ = std::sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d));
  }

  bool learns() const override { return true; }

  void observe(const Observation& trial) override {
    if (trial.values.empty()) return;
    Member member{.x = Vector(n_), .value = trial.values[0]};
    for (Eigen::Index j = 0; j < n_; ++j) {
      const std::size_t i = numbers_[static_cast<std::size_t>(j)];
      if (std::isnan(trial.point[i])) return;
      member.x[j] = space_.to_unit(i, trial.point[i]);
    }
    generation_.push_back(std::move(member));
    if (static_cast<std::int64_t>(generation_.size()) == lambda_) update();
  }

  bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>>,
              std::span<double> point) override {
    Stream random = draws_.stream(trial, attempt);
    Vector x(n_);
    for (int redraw = 0; redraw < most_redraws; ++redraw) {
      Vector z(n_);
      for (double& one : z) one = random.normal();
      x = mean_ + sigma_ * margin_.cwiseProduct(axes_ * lengths_.cwiseProduct(z));
      if (x.minCoeff() >= 0 && x.maxCoeff() < 1) break;
    }
    for (Eigen::Index j = 0; j < n_; ++j) {
      const std::size_t i = numbers_[static_cast<std::size_t>(j)];
      if (std::isnan(point[i])) point[i] = space_.from_unit(i, std::clamp(x[j], 0.0, 1 - 1e-12));
    }
    choose_open(space_, point, draws_.units(trial, attempt));
    return true;
  }

 private:
  struct Member {
    Vector x;
    double value;
  };

  static std::vector<std::size_t> numbers_of(const Space& space) {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < space.size(); ++i) {
      const SpaceParameter& p = space[i];
      if (p.kind != SpaceParameter::Kind::choice && p.conditions.empty() && p.count() != 1) numbers.push_back(i);
    }
    return numbers;
  }

  void update() {
    std::stable_sort(generation_.begin(), generation_.end(),
                     [](const Member& a, const Member& b) { return a.value < b.value; });
    const double d = static_cast<double>(n_);
    const Matrix whitening = axes_ * lengths_.cwiseInverse().asDiagonal() * axes_.transpose();
    // A point as a step from the mean, in the distribution's own units; no longer than one that was drawn would be.
    const double longest = std::sqrt(d) + 2 * d / (d + 2);
    Matrix steps(n_, lambda_), white(n_, lambda_);
    for (Eigen::Index k = 0; k < lambda_; ++k) {
      Vector y = (generation_[static_cast<std::size_t>(k)].x - mean_).cwiseQuotient(margin_) / sigma_;
      Vector z = whitening * y;
      const double shrink = std::min(1.0, longest / std::max(z.norm(), 1e-300));
      steps.col(k) = shrink * y;
      white.col(k) = shrink * z;
    }
    generation_.clear();
    ++generations_;

    const Eigen::Index mu = weights_.parents;
    const Vector step = steps.leftCols(mu) * weights_.all.head(mu);
    mean_ += sigma_ * margin_.cwiseProduct(step);
    mean_ = mean_.cwiseMax(0.0).cwiseMin(1.0);

    const double c_s = weights_.c_sigma;
    path_sigma_ = (1 - c_s) * path_sigma_ + std::sqrt(c_s * (2 - c_s) * weights_.mu_eff) * (whitening * step);
    const double length = path_sigma_.norm();
    const double settled = std::sqrt(1 - std::pow(1 - c_s, 2.0 * static_cast<double>(generations_)));
    const bool stalls = length / settled >= (1.4 + 2 / (d + 1)) * normal_length_;
    const double c_c = weights_.c_c;
    path_c_ *= 1 - c_c;
    if (!stalls) path_c_ += std::sqrt(c_c * (2 - c_c) * weights_.mu_eff) * step;

    Vector scaled = weights_.all;
    for (Eigen::Index k = mu; k < lambda_; ++k) scaled[k] *= d / std::max(white.col(k).squaredNorm(), 1e-12);
    const double missing = stalls ? c_c * (2 - c_c) : 0;
    covariance_ = (1 + weights_.c_1 * missing - weights_.c_1 - weights_.c_mu * weights_.all.sum()) * covariance_ +
                  weights_.c_1 * path_c_ * path_c_.transpose() +
                  weights_.c_mu * steps * scaled.asDiagonal() * steps.transpose();
    sigma_ *= std::exp(std::min(1.0, c_s / weights_.d_sigma * (length / normal_length_ - 1)));
    sigma_ = std::clamp(sigma_, 1e-12, 1.0);
    decompose();
    keep_margin();
  }

  void decompose() {
    covariance_ = 0.5 * (covariance_ + covariance_.transpose().eval());
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(covariance_);
    axes_ = solver.eigenvectors();
    lengths_ = solver.eigenvalues().cwiseMax(1e-16).cwiseSqrt();
  }

  // Section 4 of Hamano et al.: of each whole number the chance of another value than the mean's is at least 1 / (n λ).
  void keep_margin() {
    const double alpha = 1 / (static_cast<double>(n_) * static_cast<double>(lambda_));
    for (Eigen::Index j = 0; j < n_; ++j) {
      const std::size_t i = numbers_[static_cast<std::size_t>(j)];
      const std::int64_t count = space_[i].count();
      if (count == 0) continue;
      const double spread = sigma_ * margin_[j] * std::sqrt(covariance_(j, j));
      // Borders between the mean's value and its neighbours, where the space puts them.
      const auto place = static_cast<std::int64_t>(
          std::round((space_.from_unit(i, std::min(mean_[j], 1 - 1e-12)) - space_[i].low) / space_[i].step));
      const double below = border(i, place), above = border(i, place + 1);
      if (place == 0 || place == count - 1) {
        const double close = place == 0 ? above : below;
        const double escapes = std::max(alpha, normal_cdf(-std::abs(mean_[j] - close) / spread));
        const double reach = spread * normal_quantile(1 - std::min(escapes, 0.5));
        mean_[j] = std::clamp(close + (mean_[j] < close ? -reach : reach), 0.0, 1.0);
        continue;
      }
      const double low = normal_cdf((below - mean_[j]) / spread), up = normal_cdf((mean_[j] - above) / spread);
      const double middle = 1 - low - up;
      const double low_least = std::max(alpha / 2, low), up_least = std::max(alpha / 2, up);
      const double over = 1 - low_least - up_least - middle;
      const double room = low_least + up_least + middle - 1.5 * alpha;
      const double low_kept = low_least + (room > 0 ? over * (low_least - alpha / 2) / room : 0);
      const double up_kept = up_least + (room > 0 ? over * (up_least - alpha / 2) / room : 0);
      const double at_low = normal_quantile(1 - low_kept), at_up = normal_quantile(1 - up_kept);
      if (!(at_low + at_up > 0)) continue;
      mean_[j] = (below * at_up + above * at_low) / (at_low + at_up);
      margin_[j] = (above - below) / (sigma_ * std::sqrt(covariance_(j, j)) * (at_low + at_up));
    }
  }

  // In the unit cube, where the value of number `place` begins.
  double border(std::size_t i, std::int64_t place) const {
    const SpaceParameter& p = space_[i];
    if (!p.log) return static_cast<double>(place) / static_cast<double>(p.count());
    return space_.to_unit(i, p.low + p.step * (static_cast<double>(place) - 0.5));
  }

  const Space space_;
  ParameterDraws draws_;
  std::vector<std::size_t> numbers_;  // parameters that it searches
  Eigen::Index n_;
  std::int64_t lambda_;
  Weights weights_;
  Vector mean_, path_sigma_, path_c_, margin_;
  Matrix covariance_, axes_;
  Vector lengths_;  // of the axes
  double sigma_ = first_sigma, normal_length_ = 1;
  std::int64_t generations_ = 0;
  std::vector<Member> generation_;  // the one under way
};

std::unique_ptr<Sampler> make_cma_es(const Options& spec, const Space& space, std::int64_t seed,
                                     std::size_t objectives) {
  require_single_objective(spec, objectives);
  const auto& all = space.parameters();
  const bool has_numbers = std::any_of(all.begin(), all.end(), [](const SpaceParameter& p) {
    return p.kind != SpaceParameter::Kind::choice && p.conditions.empty() && p.count() != 1;
  });
  if (!has_numbers) {
    throw spec.error("", "expected a space with a number that is active in every trial, found none")
        .hint("lab.sampler.tpe searches choices and conditional parameters");
  }
  return std::make_unique<CmaEs>(space,
                                 CmaSettings{.population = spec.given("population") ? spec.integer("population") : 0,
                                             .seed = sampler_seed(spec, seed)});
}

}  // namespace

void register_cma_es(Registry& registry) {
  registry.add(
      Entry("sampler.cma_es", "sampler", "Covariance matrix adaptation: for some dozen numbers and hundreds of trials.")
          .with(Option("population",
                       "number of trials in a generation (default: 3 + ⌊3 ln n⌋ for n numbers, but at least 4)")
                    .integer()
                    .at_least(3))
          .with(sampler_seed_option())
          .example("sampler.cma_es()")
          .note("Hansen 2016, with learning rates for hundreds of trials rather than tens of thousands, and the margin "
                "of Hamano et al. 2022 for whole numbers. Choices and conditional parameters are drawn at random."),
      SamplerKind{.make = make_cma_es});
}

}  // namespace trainlab
