#include "reading.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/statistics.h"
#include "samples.h"

namespace trainlab {
namespace {

constexpr std::int64_t window_rows = 256;

// Sums in four parts, which do not wait for each other. A value's place says which part it is added to, so that the
// result has the same bits on each machine.
constexpr std::size_t parts = 4;
using Sum = std::array<double, parts>;

double total(const Sum& sum) { return (sum[0] + sum[1]) + (sum[2] + sum[3]); }

// Calls take(place, part) for each place below `count`.
template <class F>
void each_place(std::size_t count, F&& take) {
  std::size_t place = 0;
  for (; place + parts <= count; place += parts) {
    for (std::size_t part = 0; part < parts; ++part) take(place + part, part);
  }
  for (std::size_t part = 0; place < count; ++part) take(place++, part);
}

struct Spread {
  double mean = 0, deviation = 0, root_mean_square = 0;
};

Spread spread_of(std::span<const float> values) {
  Sum sums{}, products{};
  each_place(values.size(), [&](std::size_t k, std::size_t part) {
    const double x = values[k];
    sums[part] += x;
    products[part] += x * x;
  });
  const double n = static_cast<double>(std::max<std::size_t>(values.size(), 1));
  const double mean = total(sums) / n, squares = total(products);
  return {.mean = mean,
          .deviation = std::sqrt(std::max(squares / n - mean * mean, 0.0)),
          .root_mean_square = std::sqrt(squares / n)};
}

// The share of the values at which the function's slope is nearly 0.
double saturated_share(std::span<const float> values, bool is_tanh) {
  std::size_t count = 0;
  for (const float x : values) count += is_tanh ? std::abs(x) > 0.95F : x < 0.05F || x > 0.95F;
  return static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(values.size(), 1));
}

// The share of the rows whose largest value is in the column that has the largest value most often.
double top_share(std::span<const float> values, std::size_t classes) {
  std::vector<std::size_t> chosen(classes);
  for (std::size_t row = 0; row + classes <= values.size(); row += classes) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(row);
    ++chosen[static_cast<std::size_t>(std::max_element(first, first + static_cast<std::ptrdiff_t>(classes)) - first)];
  }
  return static_cast<double>(*std::ranges::max_element(chosen)) /
         static_cast<double>(std::max<std::size_t>(values.size() / classes, 1));
}

}  // namespace

bool Reading::is_lost() const {
  return std::ranges::any_of(found_inf, [](const at::Tensor& one) { return one.item<float>() != 0; });
}

void ReadingFigures::add_units(const Reading& reading, HealthFigures& figures) {
  for (std::size_t i = 0; i < reading.units.size(); ++i) {
    const auto& [read, nonlinearity] = reading.units[i];
    if (!read.defined() || read.numel() == 0) continue;
    UnitFigures& unit = figures.units[i];
    const at::Tensor sample = on_host(read);
    const std::span<const float> values = values_of(sample);
    if (figures.measured.empty()) unit.spread_at_start = spread_of(values).deviation;
    if (nonlinearity == Nonlinearity::tanh || nonlinearity == Nonlinearity::sigmoid) {
      unit.saturated = saturated_share(values, nonlinearity == Nonlinearity::tanh);
      if (std::isnan(unit.saturated_at_start)) unit.saturated_at_start = unit.saturated;
    }
    if (nonlinearity != Nonlinearity::rectifier) continue;
    Window& window = windows_[i];
    const auto width = static_cast<std::size_t>(sample.size(1));
    if (window.rows >= window_rows || window.largest.size() != width) window = {.largest = std::vector<float>(width)};
    float* largest = window.largest.data();
    for (std::size_t from = 0; from < values.size(); from += width) {
      for (std::size_t at = 0; at < width; ++at)
        largest[at] = values[from + at] > largest[at] ? values[from + at] : largest[at];
    }
    window.rows += sample.size(0);
    if (window.rows < window_rows) continue;
    unit.dead = static_cast<double>(std::ranges::count(window.largest, 0.0F)) / static_cast<double>(width);
    if (std::isnan(unit.dead_at_start)) unit.dead_at_start = unit.dead;
  }
}

void ReadingFigures::add_weights(const Reading& reading, std::set<std::size_t>& began_at_0, MeasuredStep& row) {
  std::vector<double> updates;
  int matrices = 0;
  double square = 0, product = 0, before = 0, after = 0, largest = 0, least = unmeasured, last = unmeasured;
  for (std::size_t i = 0; i < reading.weights.size(); ++i) {
    if (!reading.next_weights[i].defined() || !reading.next_gradients[i].defined()) continue;
    const at::Tensor w0 = on_host(reading.weights[i]), w1 = on_host(reading.next_weights[i]);
    const at::Tensor g0 = on_host(reading.gradients[i]), g1 = on_host(reading.next_gradients[i]);
    const std::span<const float> w = values_of(w0), v = values_of(w1), g = values_of(g0), h = values_of(g1);
    Sum of_ww{}, of_uu{}, of_gg{}, of_gh{}, of_gu{}, of_hu{};
    each_place(w.size(), [&](std::size_t k, std::size_t part) {
      const double x = w[k], u = x - v[k], a = g[k], b = h[k];
      of_ww[part] += x * x;
      of_uu[part] += u * u;
      of_gg[part] += a * a;
      of_gh[part] += a * b;
      of_gu[part] += a * u;
      of_hu[part] += b * u;
    });
    const double ww = total(of_ww), uu = total(of_uu), gg = total(of_gg);
    const double scale = static_cast<double>(parameters_[i].values) / static_cast<double>(w.size());
    square += scale * gg;
    product += scale * total(of_gh);
    before += scale * total(of_gu);
    after += scale * total(of_hu);
    const double norm = std::sqrt(scale * gg);
    if (norm > largest) {
      largest = norm;
      row.largest_at = static_cast<double>(i);
    }
    if (!parameters_[i].is_matrix) continue;
    if (ww == 0) began_at_0.insert(i);
    const double update = began_at_0.contains(i) ? unmeasured : std::sqrt(uu / ww);
    if (!std::isnan(update)) updates.push_back(update);
    ++matrices;
    last = norm;
    if (norm >= least) continue;
    least = norm;
    row.least_at = static_cast<double>(i);
    row.least_update = update;
  }
  if (!updates.empty()) row.median_update = upper_median(std::move(updates));
  row.square = square;
  row.product = product;
  row.slope_before = before;
  row.slope_after = after;
  row.gradient_norm = std::sqrt(square);
  if (follows_gradients_ && matrices > 1 && last > 0) row.least_gradient = least / last;
}

void ReadingFigures::add(const Reading& reading, HealthFigures& figures) {
  MeasuredStep row{.step = static_cast<double>(reading.step), .rate = reading.rate};
  if (reading.input.defined() && std::isnan(figures.input.root_mean_square)) {
    const at::Tensor input = on_host(reading.input);
    const Spread spread = spread_of(values_of(input));
    figures.input.mean = spread.mean;
    figures.input.deviation = spread.deviation;
    figures.input.root_mean_square = spread.root_mean_square;
  }
  if (reading.output.defined() && reading.output.numel() > 0) {
    const at::Tensor output = on_host(reading.output);
    row.top_share = top_share(values_of(output), static_cast<std::size_t>(output.size(1)));
  }
  add_units(reading, figures);
  add_weights(reading, figures.began_at_0, row);
  figures.add(row);
}

}  // namespace trainlab
