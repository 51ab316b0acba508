#include "families.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/value.h"
#include "forecast/golden_section.h"

namespace trainlab {
namespace {

// A family is a limit plus b times a basis, a function that falls to 0 and has up to two parameters of its own. For
// given parameters of the basis, the limit and b follow by linear least squares, so that only the basis's parameters
// are searched for.
struct Line {
  double limit = 0, slope = 0;
  double squares = std::numeric_limits<double>::infinity();
};

class Fit {
 public:
  Fit(std::span<const FittedPoint> points, const LimitBounds& bounds) : points_(points), bounds_(bounds) {
    for (const FittedPoint& one : points_) {
      weights_ += one.weight;
      mean_ += one.weight * one.y;
    }
    mean_ /= weights_;
    basis_.resize(points_.size());
  }

  template <class Basis>
  Line line(const Basis& basis) {
    double mean = 0;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      basis_[i] = basis(points_[i].x);
      mean += points_[i].weight * basis_[i];
    }
    mean /= weights_;
    double both = 0, own = 0;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      both += points_[i].weight * (basis_[i] - mean) * (points_[i].y - mean_);
      own += points_[i].weight * (basis_[i] - mean) * (basis_[i] - mean);
    }
    Line fitted;
    fitted.slope = own > 0 ? std::max(both / own, 0.0) : 0;
    fitted.limit = mean_ - fitted.slope * mean;
    if (const double bounded = std::clamp(fitted.limit, bounds_.low, bounds_.high); bounded != fitted.limit) {
      fitted.limit = bounded;
      both = own = 0;
      for (std::size_t i = 0; i < points_.size(); ++i) {
        both += points_[i].weight * basis_[i] * (points_[i].y - bounded);
        own += points_[i].weight * basis_[i] * basis_[i];
      }
      fitted.slope = own > 0 ? std::max(both / own, 0.0) : 0;
    }
    fitted.squares = 0;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const double residual = points_[i].y - fitted.limit - fitted.slope * basis_[i];
      fitted.squares += points_[i].weight * residual * residual;
    }
    fitted.squares *= static_cast<double>(points_.size()) / weights_;
    return fitted;
  }

  template <class Value>
  double late(const Value& value) const {
    double sum = 0, count = 0;
    for (const FittedPoint& one : points_) {
      if (one.x < 0.9) continue;
      sum += one.y - value(one.x);
      count += 1;
    }
    return sum / count;
  }

 private:
  std::span<const FittedPoint> points_;
  LimitBounds bounds_;
  double weights_ = 0, mean_ = 0;
  std::vector<double> basis_;
};

// The range of a basis's parameter, searched on a logarithmic scale.
struct Range {
  double low, high;
  int count;

  double at(int i) const { return low * std::pow(high / low, static_cast<double>(i) / (count - 1)); }
  double step() const { return std::log(high / low) / (count - 1); }
};

// The parameter with the least squares within one step of the range on either side of `start`, by golden-section
// search.
template <class Squares>
double refined(const Range& range, double start, const Squares& squares, int sections = 14) {
  const double low = std::max(std::log(start) - range.step(), std::log(range.low));
  const double high = std::min(std::log(start) + range.step(), std::log(range.high));
  return std::exp(golden_section(low, high, sections, [&](double x) { return squares(std::exp(x)); }));
}

template <class Squares>
double least(const Range& range, const Squares& squares) {
  double best = range.low, fewest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < range.count; ++i) {
    const double c = range.at(i), found = squares(c);
    if (found < fewest) {
      fewest = found;
      best = c;
    }
  }
  return refined(range, best, squares);
}

template <class Basis>
FamilyFit predicted(Fit& fit, const Basis& basis, double at, int parameters) {
  const Line line = fit.line(basis);
  const auto value = [&](double x) { return line.limit + line.slope * basis(x); };
  return {.parameters = parameters,
          .squares = line.squares,
          .change = value(at) - value(1),
          .level = value(1) + fit.late(value)};
}

// A family whose basis has one parameter.
template <class Family>
FamilyFit with_one(Fit& fit, const Range& range, double at, const Family& family) {
  const double c = least(range, [&](double one) { return fit.line(family(one)).squares; });
  return predicted(fit, family(c), at, 3);
}

auto power(double c) {
  return [c](double x) { return std::pow(x, -c); };
}
auto exponential(double c) {
  return [c](double x) { return std::exp(-c * x); };
}
// Parametrised by `half`, the x at which half of the way is done, because the data determine `half` better than
// d = half^c.
auto mmf(double half, double c) {
  return [half, c](double x) { return 1 / (1 + std::pow(x / half, c)); };
}

constexpr Range exponents{0.02, 4, 16}, decays{0.02, 40, 20};

FamilyFit with_two(Fit& fit, double at) {
  constexpr Range halves{0.002, 4, 9}, shapes{0.25, 4, 7};
  double half = halves.low, c = shapes.low, fewest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < halves.count; ++i) {
    for (int k = 0; k < shapes.count; ++k) {
      const double found = fit.line(mmf(halves.at(i), shapes.at(k))).squares;
      if (found < fewest) {
        fewest = found;
        half = halves.at(i);
        c = shapes.at(k);
      }
    }
  }
  // The sum of squares has a narrow valley, so each c is judged with the half that suits this c best.
  const double start = half;
  const auto best_half = [&](double shape) {
    return refined(
        halves, start, [&](double one) { return fit.line(mmf(one, shape)).squares; }, 9);
  };
  c = refined(
      shapes, c, [&](double one) { return fit.line(mmf(best_half(one), one)).squares; }, 10);
  half = best_half(c);
  return predicted(fit, mmf(half, c), at, 4);
}

}  // namespace

FamilyFit fit_power_law(std::span<const FittedPoint> points, double at, const LimitBounds& bounds) {
  Fit fit(points, bounds);
  return with_one(fit, exponents, at, power);
}

FamilyFit fit_exponential(std::span<const FittedPoint> points, double at, const LimitBounds& bounds) {
  Fit fit(points, bounds);
  return with_one(fit, decays, at, exponential);
}

std::vector<FamilyFit> fit_families(std::span<const FittedPoint> points, double at, const LimitBounds& bounds) {
  Fit fit(points, bounds);
  const double first = points.front().x;
  const auto logarithm = [first](double x) { return 1 / std::log1p(x / first); };
  std::vector<FamilyFit> fits{predicted(fit, logarithm, at, 2), with_one(fit, exponents, at, power),
                              with_one(fit, decays, at, exponential)};
  if (points.size() >= 6) fits.push_back(with_two(fit, at));
  return fits;
}

}  // namespace trainlab
