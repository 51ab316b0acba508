#include "test_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

namespace trainlab {

namespace {

using Point = std::span<const double>;
constexpr double pi = std::numbers::pi;

SpaceParameter real(std::string name, double low, double high, bool log = false) {
  SpaceParameter p;
  p.name = std::move(name);
  p.low = low;
  p.high = high;
  p.log = log;
  return p;
}

SpaceParameter integer(std::string name, double low, double high, bool log = false) {
  SpaceParameter p = real(std::move(name), low, high, log);
  p.kind = SpaceParameter::Kind::integer;
  p.step = 1;
  return p;
}

SpaceParameter choice(std::string name, Value::List labels) {
  SpaceParameter p;
  p.name = std::move(name);
  p.kind = SpaceParameter::Kind::choice;
  p.labels = std::move(labels);
  return p;
}

SpaceParameter when(SpaceParameter p, std::size_t parent, double value) {
  p.conditions = {{.parent = parent, .values = {value}}};
  return p;
}

Space box(int n, double low, double high) {
  std::vector<SpaceParameter> all;
  all.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) all.push_back(real("x" + std::to_string(i), low, high));
  return Space(std::move(all));
}

// Values that are nowhere special.
Value::Map box_probe(int n, double low, double high) {
  Value::Map probe;
  for (int i = 0; i < n; ++i) probe.emplace("x" + std::to_string(i), low + (high - low) * (0.15 + 0.13 * i));
  return probe;
}

double square(double x) { return x * x; }

double branin(double x, double y) {
  return square(y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6) + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
}

double hartmann6(Point x) {
  constexpr std::array alpha = {1.0, 1.2, 3.0, 3.2};
  constexpr double a[4][6] = {
      {10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double p[4][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                              {2329, 4135, 8307, 3736, 1004, 9991},
                              {2348, 1451, 3522, 2883, 3047, 6650},
                              {4047, 8828, 8732, 5743, 1091, 381}};
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    double inner = 0;
    for (std::size_t j = 0; j < 6; ++j) inner += a[i][j] * square(x[j] - 1e-4 * p[i][j]);
    sum -= alpha[static_cast<std::size_t>(i)] * std::exp(-inner);
  }
  return sum;
}

double rosenbrock(Point x) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) sum += 100 * square(x[i + 1] - x[i] * x[i]) + square(1 - x[i]);
  return sum;
}

// The optima of the next two lie off the middle of the range, where some samplers begin.
double rastrigin(Point x) {
  constexpr std::array bottom = {1.3, -2.1, 0.7, 2.9, -0.4};
  double sum = 10 * static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += square(x[i] - bottom[i]) - 10 * std::cos(2 * pi * (x[i] - bottom[i]));
  return sum;
}

double ackley(Point x) {
  constexpr std::array bottom = {7.0, -12.0, 4.0, 18.0, -3.0};
  double squares = 0, waves = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += square(x[i] - bottom[i]);
    waves += std::cos(2 * pi * (x[i] - bottom[i]));
  }
  const auto n = static_cast<double>(x.size());
  return -20 * std::exp(-0.2 * std::sqrt(squares / n)) - std::exp(waves / n) + 20 + std::numbers::e;
}

// dropout, layers, lr, optim, width: the best rate depends on the optimizer and the layers.
double mixed(Point x) {
  constexpr std::array rate = {-3.0, -1.5, -2.2}, behind = {0.0, 0.1, 0.25};
  const auto optim = static_cast<std::size_t>(x[3]);
  return behind[optim] + 0.4 * square(std::log10(x[2]) - rate[optim] + 0.2 * (x[1] - 3)) +
         0.075 * square(std::log2(x[4] / 91)) + 0.1 * square(x[1] - 4) + 4 * square(x[0] - 0.05 * x[1]);
}

// model, scale; linear: c; tree: depth, leaf; net: lr, momentum, width.
double conditional(Point x) {
  const double common = 0.5 * square(x[1] - 0.3);
  if (x[0] == 0) return common + 0.5 + 0.1 * square(std::log10(x[2]) - 0.5);
  if (x[0] == 1) return common + 0.25 + 0.01 * square(x[3] - 7) + 0.05 * square(std::log2(x[4]) - 2);
  return common + 0.3 * square(std::log10(x[5]) + 2.5) + 0.8 * square(x[6] - 0.8) + 0.1 * square(std::log2(x[7] / 64));
}

// Zitzler, Deb and Thiele 2000, the first.
std::vector<double> zdt1(Point x) {
  double rest = 0;
  for (std::size_t i = 1; i < x.size(); ++i) rest += x[i];
  const double g = 1 + 9 * rest / static_cast<double>(x.size() - 1);
  return {x[0], g * (1 - std::sqrt(x[0] / g))};
}

// The distance from the front: the first parameters, one fewer than the objectives, choose a place on it, and all
// others are best at ½.
double distance(Point x) {
  double sum = 0;
  for (const double v : x) sum += square(v - 0.5);
  return sum;
}

// Deb, Thiele, Laumanns and Zitzler 2005, the second: the front is the part of a sphere where all values are positive.
std::vector<double> dtlz2(Point x, std::size_t objectives) {
  std::vector<double> values;
  double rest = 1 + distance(x.subspan(objectives - 1));
  for (const double v : x.first(objectives - 1)) {
    values.push_back(rest * std::sin(pi / 2 * v));
    rest *= std::cos(pi / 2 * v);
  }
  values.push_back(rest);
  return values;
}

// The front is the part of the plane Σ values = 1 where all of them are positive.
std::vector<double> plane(Point x, std::size_t objectives) {
  std::vector<double> values;
  double rest = 1 + distance(x.subspan(objectives - 1));
  for (const double v : x.first(objectives - 1)) {
    values.push_back(rest * (1 - v));
    rest *= v;
  }
  values.push_back(rest);
  return values;
}

TestFunction several(const std::string& name, std::size_t objectives, std::vector<double> (*value)(Point, std::size_t),
                     double probe_high) {
  const int n = static_cast<int>(objectives) + 4;
  return {.name = name + "_" + std::to_string(objectives),
          .space = box(n, 0, 1),
          .value = [=](Point x) { return value(x, objectives); },
          .reference = std::vector(objectives, 1.1),
          .probe = box_probe(n, 0, probe_high)};
}

TestFunction single(std::string name, Space space, std::function<double(Point)> value, Value::Map probe) {
  return {.name = std::move(name),
          .space = std::move(space),
          .value = [value = std::move(value)](Point x) { return std::vector{value(x)}; },
          .probe = std::move(probe)};
}

}  // namespace

std::vector<TestFunction> test_functions() {
  std::vector<TestFunction> all;
  all.push_back(single("branin", Space({real("x", -5, 10), real("y", 0, 15)}),
                       [](Point x) { return branin(x[0], x[1]); }, {{"x", 1.5}, {"y", 4.5}}));
  all.push_back(single("hartmann6", box(6, 0, 1), hartmann6, box_probe(6, 0, 1)));
  all.push_back(single("rosenbrock5", box(5, -5, 10), rosenbrock, box_probe(5, -5, 10)));
  all.push_back(single("rastrigin5", box(5, -5.12, 5.12), rastrigin, box_probe(5, -5.12, 5.12)));
  all.push_back(single("ackley5", box(5, -32.768, 32.768), ackley, box_probe(5, -32.768, 32.768)));
  all.push_back(single("mixed",
                       Space({real("dropout", 0, 0.6), integer("layers", 1, 6), real("lr", 1e-5, 1e-1, true),
                              choice("optim", {"adam", "sgd", "lion"}), integer("width", 8, 256, true)}),
                       mixed, {{"dropout", 0.25}, {"layers", 2}, {"lr", 2e-3}, {"optim", "sgd"}, {"width", 40}}));
  all.push_back(single("conditional",
                       Space({choice("model", {"linear", "tree", "net"}), real("scale", 0, 1),
                              when(real("c", 1e-4, 1e2, true), 0, 0), when(integer("depth", 1, 20), 0, 1),
                              when(integer("leaf", 1, 64, true), 0, 1), when(real("lr", 1e-5, 1e-1, true), 0, 2),
                              when(real("momentum", 0, 0.99), 0, 2), when(integer("width", 8, 256, true), 0, 2)}),
                       conditional,
                       {{"model", "net"}, {"scale", 0.7}, {"lr", 1e-3}, {"momentum", 0.5}, {"width", 100}}));
  all.push_back(
      {.name = "zdt1", .space = box(5, 0, 1), .value = zdt1, .reference = {1.1, 6}, .probe = box_probe(5, 0, 1)});
  for (const bool is_plane : {false, true}) {
    for (const std::size_t objectives : {3U, 4U})
      all.push_back(
          several(is_plane ? "plane" : "dtlz2", objectives, is_plane ? plane : dtlz2, objectives == 3 ? 1 : 0.9));
  }
  return all;
}

double dominated_volume(std::vector<std::vector<double>> points, std::span<const double> reference) {
  const std::size_t last = reference.size() - 1;
  std::erase_if(points, [&](const auto& point) { return point[last] >= reference[last]; });
  std::ranges::sort(points, {}, [&](const auto& point) { return point[last]; });
  if (last == 0) return points.empty() ? 0 : reference[0] - points.front()[0];
  // Slices of the last objective, each as thick as the way to the next point.
  double volume = 0, slice = 0;
  std::vector<std::vector<double>> below;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double next = i + 1 < points.size() ? points[i + 1][last] : reference[last];
    const bool is_hidden = std::ranges::any_of(below, [&](const auto& other) {
      return std::ranges::equal(other, std::span(points[i]).first(last), std::less_equal());
    });
    if (!is_hidden) {
      below.emplace_back(points[i].begin(), points[i].end() - 1);
      slice = dominated_volume(below, reference.first(last));
    }
    volume += (next - points[i][last]) * slice;
  }
  return volume;
}

}  // namespace trainlab
