#include "parzen.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/clones.h"

namespace trainlab {

namespace {

constexpr double widest = 8;  // sigmas that the table reaches
constexpr std::size_t cells = 8192;

const std::array<double, cells + 2>& cdf_table() {
  static const auto table = [] {
    std::array<double, cells + 2> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = -widest + 2 * widest * static_cast<double>(i) / cells;
      values[i] = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    }
    return values;
  }();
  return table;
}

// e^x for x ≤ 0, with a relative error below 1e-11; at least 1e-300. Without branches or calls, so that the loops below
// become vector instructions: 2^n e^r with |r| ≤ ½ ln 2, and the power series of e^r.
inline double exponential(double x) {
  constexpr double to_whole = 0x1.8p52;  // a sum with this number is whole, and its last bits are those of an integer
  x = x > -690 ? x : -690;
  const double shifted = x * std::numbers::log2e + to_whole;
  const double r = x - (shifted - to_whole) * std::numbers::ln2;
  double series = 1.0 / 362880;
  series = series * r + 1.0 / 40320;
  series = series * r + 1.0 / 5040;
  series = series * r + 1.0 / 720;
  series = series * r + 1.0 / 120;
  series = series * r + 1.0 / 24;
  series = series * r + 1.0 / 6;
  series = series * r + 0.5;
  series = series * r + 1;
  series = series * r + 1;
  const std::uint64_t power = (std::bit_cast<std::uint64_t>(shifted) << 52) + std::bit_cast<std::uint64_t>(1.0);
  return series * std::bit_cast<double>(power);
}

// Subtracts ((at − centre) · narrowness)² from each sum.
TRAINLAB_CLONES void subtract_squares(double at, const double* __restrict centres, const double* __restrict narrowness,
                                      double* __restrict sums, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    const double t = (at - centres[k]) * narrowness[k];
    sums[k] -= t * t;
  }
}

// Results that loops keep side by side, since each step of a single one would wait for the step before.
constexpr std::size_t side = 8;

// The logarithm of the sum of the exponentials of these numbers, which are overwritten; `count` is a multiple of
// `side`.
TRAINLAB_CLONES double log_sum(double* numbers, std::size_t count) {
  double tops[side];
  for (double& top : tops) top = numbers[0];
  for (std::size_t k = 0; k < count; k += side) {
    for (std::size_t i = 0; i < side; ++i) tops[i] = numbers[k + i] > tops[i] ? numbers[k + i] : tops[i];
  }
  const double top = *std::max_element(tops, tops + side);
  for (std::size_t k = 0; k < count; ++k) numbers[k] = exponential(numbers[k] - top);
  double totals[side] = {};
  for (std::size_t k = 0; k < count; k += side) {
    for (std::size_t i = 0; i < side; ++i) totals[i] += numbers[k + i];
  }
  double total = 0;
  for (const double one : totals) total += one;
  return top + std::log(total);
}

// A kernel is never narrower than the range divided by the number of points plus this number.
constexpr std::size_t more_points = 6;

// Weights by age: the newest 25 count fully, those before less and less.
double age_weight(std::size_t place, std::size_t count) {
  constexpr std::size_t full = 25;
  if (count <= full || place + full >= count) return 1;
  const std::size_t older = count - full;
  if (older == 1) return 1.0 / static_cast<double>(count);
  const double first = 1.0 / static_cast<double>(count);
  return first + (1 - first) * static_cast<double>(place) / static_cast<double>(older - 1);
}

}  // namespace

double normal_cdf(double x) {
  if (!(x > -widest)) return 0;
  if (x >= widest) return 1;
  const double at = (x + widest) * (cells / (2 * widest));
  const auto cell = static_cast<std::size_t>(at);
  const auto& table = cdf_table();
  return table[cell] + (table[cell + 1] - table[cell]) * (at - static_cast<double>(cell));
}

double normal_quantile(double p) {
  constexpr std::array a = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                            1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array b = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                            6.680131188771972e+01, -1.328068155288572e+01};
  constexpr std::array c = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                            -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array d = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
  p = std::clamp(p, 1e-300, 1 - 1e-16);
  const auto tail = [&](double q) {
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  };
  double x = 0;
  if (p < 0.02425) {
    x = tail(std::sqrt(-2 * std::log(p)));
  } else if (p > 1 - 0.02425) {
    x = -tail(std::sqrt(-2 * std::log1p(-p)));
  } else {
    const double q = p - 0.5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  const double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - p;
  return x - error * std::sqrt(2 * std::numbers::pi) * std::exp(0.5 * x * x);
}

ParzenAxis::ParzenAxis(const Space& space, std::size_t its_parameter) : parameter(its_parameter) {
  const SpaceParameter& p = space[parameter];
  if (p.kind == SpaceParameter::Kind::choice) {
    labels = p.count();
    return;
  }
  const double half = 0.5 * p.step;
  log = p.log;
  step = p.step;
  low = place(p.low - half);
  high = place(p.high + half);
}

double ParzenAxis::place(double value) const { return log ? std::log(value) : value; }

double ParzenAxis::value(double place) const { return log ? std::exp(place) : place; }

void ParzenData::add(std::span<const double> places) {
  for (std::size_t axis = 0; axis < columns_.size(); ++axis) {
    auto& order = orders_[axis];
    const auto& column = columns_[axis];
    order.insert(std::upper_bound(order.begin(), order.end(), places[axis],
                                  [&](double place, std::uint32_t row) { return place < column[row]; }),
                 rows_);
    columns_[axis].push_back(places[axis]);
  }
  ++rows_;
}

void ParzenData::remove_last() {
  --rows_;
  for (std::size_t axis = 0; axis < columns_.size(); ++axis) {
    orders_[axis].erase(std::find(orders_[axis].begin(), orders_[axis].end(), rows_));
    columns_[axis].pop_back();
  }
}

// Centres and widths of the observed points' kernels on one axis; `kernel_of`: the kernel of a row, or −1.
void Parzen::set_widths(std::size_t axis, const std::vector<std::uint32_t>& order,
                        std::span<const std::int32_t> kernel_of) {
  const ParzenAxis& a = axes_[axis];
  const std::size_t n = kernels_ - 1;
  const double range = a.high - a.low;
  const double least = range / std::min(100.0, static_cast<double>(n + more_points));
  const std::vector<double>& centres = centres_[axis];
  std::vector<double>& sigmas = sigmas_[axis];
  const auto clamped = [&](double sigma) { return std::clamp(sigma, least, range); };
  if (n == 1) sigmas[0] = clamped(std::max(centres[0] - a.low, a.high - centres[0]));
  if (n < 2) return;
  std::int32_t before = -1;
  double gap_before = 0;  // of the kernel `before` to the one before it
  for (const std::uint32_t row : order) {
    const std::int32_t kernel = kernel_of[row];
    if (kernel < 0) continue;
    const auto k = static_cast<std::size_t>(kernel);
    if (before >= 0) {
      const double gap = centres[k] - centres[static_cast<std::size_t>(before)];
      sigmas[static_cast<std::size_t>(before)] = clamped(std::max(gap_before, gap));
      gap_before = gap;
    }
    before = kernel;
  }
  sigmas[static_cast<std::size_t>(before)] = clamped(gap_before);
}

Parzen::Parzen(const std::vector<ParzenAxis>& axes, const ParzenData& data, std::span<const std::uint32_t> rows,
               std::span<const double> weights)
    : axes_(axes),
      kernels_(rows.size() + 1),
      weights_(kernels_),
      cumulative_(kernels_),
      log_weights_(kernels_),
      centres_(axes.size()),
      sigmas_(axes.size()),
      narrowness_(axes.size()),
      hit_(axes.size()),
      miss_(axes.size()) {
  const std::size_t n = rows.size();
  double total = 1;  // the prior's own
  weights_[n] = 1;
  for (std::size_t k = 0; k < n; ++k) total += weights_[k] = weights.empty() ? age_weight(k, n) : weights[k];
  double sum = 0;
  for (std::size_t k = 0; k < kernels_; ++k) {
    weights_[k] /= total;
    cumulative_[k] = sum += weights_[k];
  }
  std::vector<std::int32_t> kernel_of(data.rows(), -1);
  for (std::size_t k = 0; k < n; ++k) kernel_of[rows[k]] = static_cast<std::int32_t>(k);

  // The divisor of a kernel's product of exponentials: its width on every continuous axis, and its mass within the
  // ranges. Terms that all kernels share are summed separately.
  std::vector<double> divisor(kernels_, 1.0);
  double shared = 0;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const ParzenAxis& a = axes[axis];
    std::vector<double>& centres = centres_[axis];
    centres.resize(kernels_);
    for (std::size_t k = 0; k < n; ++k) centres[k] = data.column(axis)[rows[k]];
    if (a.labels > 0) {
      centres[n] = -1;
      // Each kernel gives one to its own label and shares one among as many kernels as there are, as the prior does.
      const double each = 1 / static_cast<double>(kernels_), whole = 1 + static_cast<double>(a.labels) * each;
      hit_[axis] = std::log((1 + each) / whole);
      miss_[axis] = std::log(each / whole);
      continue;
    }
    const double range = a.high - a.low;
    centres[n] = 0.5 * (a.low + a.high);
    std::vector<double>& sigmas = sigmas_[axis];
    sigmas.assign(kernels_, range);
    set_widths(axis, data.order(axis), kernel_of);
    for (std::size_t k = 0; k < kernels_; ++k) {
      const double inside =
          normal_cdf((a.high - centres[k]) / sigmas[k]) - normal_cdf((a.low - centres[k]) / sigmas[k]);
      divisor[k] *= a.step == 0 ? inside * sigmas[k] / range : inside;
      if (divisor[k] > 1e-200) continue;
      log_weights_[k] -= std::log(divisor[k]);  // before the product becomes too small for a number
      divisor[k] = 1;
    }
    if (a.step > 0) continue;
    shared += std::log(range * std::sqrt(2 * std::numbers::pi));
    narrowness_[axis].resize(kernels_);
    for (std::size_t k = 0; k < kernels_; ++k) narrowness_[axis][k] = 1 / (sigmas[k] * std::numbers::sqrt2);
  }
  for (std::size_t k = 0; k < kernels_; ++k) log_weights_[k] += std::log(weights_[k] / divisor[k]) - shared;
}

void Parzen::draw(Stream& random, double keep, std::span<double> out) const {
  const double u = random.uniform();
  const auto chosen = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, u) - cumulative_.begin();
  const auto k = static_cast<std::size_t>(chosen);
  const auto is_continuous = [&](std::size_t axis) { return axes_[axis].labels == 0 && axes_[axis].step == 0; };
  std::size_t moves = axes_.size();
  if (keep > 0) {
    moves = random.below(axes_.size());
    for (std::size_t tried = 1; tried < axes_.size() && !is_continuous(moves); ++tried)
      moves = (moves + 1) % axes_.size();
  }
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const ParzenAxis& a = axes_[axis];
    const double v = random.uniform();
    if (a.labels > 0) {
      const auto count = static_cast<double>(a.labels);
      const double own = centres_[axis][k];
      const double other = std::exp(miss_[axis]);
      if (own < 0) {
        out[axis] = std::min(std::floor(v * count), count - 1);
      } else {
        // The kernel's own label has what the shares of all leave.
        const double place = v / other;
        out[axis] = place < count ? std::floor(place) : own;
      }
      continue;
    }
    const double s = sigmas_[axis][k], centre = centres_[axis][k];
    if (k + 1 < kernels_ && axis != moves && is_continuous(axis) && random.uniform() < keep) {
      out[axis] = centre;
      continue;
    }
    const double from = normal_cdf((a.low - centre) / s), to = normal_cdf((a.high - centre) / s);
    out[axis] = std::clamp(centre + s * normal_quantile(from + v * (to - from)), a.low, a.high);
  }
}

void Parzen::log_density(std::span<const double> points, std::span<double> out) const {
  const std::size_t width = axes_.size();
  // The numbers of kernels, and numbers without weight up to a multiple of `side`.
  std::vector<double> logs((kernels_ + side - 1) / side * side);
  for (std::size_t c = 0; c < out.size(); ++c) {
    const double* const x = points.data() + c * width;
    const auto end = std::copy(log_weights_.begin(), log_weights_.end(), logs.begin());
    std::fill(end, logs.end(), -std::numeric_limits<double>::infinity());
    for (std::size_t axis = 0; axis < width; ++axis) {
      const ParzenAxis& a = axes_[axis];
      const double* const centre = centres_[axis].data();
      double* const sum = logs.data();
      const std::size_t observed = kernels_ - 1;
      if (a.labels > 0) {
        const double hit = hit_[axis], miss = miss_[axis];
        for (std::size_t k = 0; k < observed; ++k) sum[k] += centre[k] == x[axis] ? hit : miss;
        sum[observed] -= std::log(static_cast<double>(a.labels));
      } else if (a.step == 0) {
        subtract_squares(x[axis], centre, narrowness_[axis].data(), sum, kernels_);
      } else {
        // The mass of the step around a value.
        const double value = a.value(x[axis]);
        const double from = a.place(value - 0.5 * a.step), to = a.place(value + 0.5 * a.step);
        for (std::size_t k = 0; k < kernels_; ++k) {
          const double s = sigmas_[axis][k];
          sum[k] += std::log(std::max(normal_cdf((to - centre[k]) / s) - normal_cdf((from - centre[k]) / s), 1e-300));
        }
      }
    }
    out[c] = log_sum(logs.data(), logs.size());
  }
}

}  // namespace trainlab
