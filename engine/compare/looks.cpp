#include "compare/looks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.h"

namespace trainlab::compare {

namespace {

constexpr double error_rate = 0.05;
constexpr double wanted_power = 0.8;
constexpr double largest_effect = 10;  // the fewest pairs detect any effect of this size
constexpr int fewest = 3;  // pairs; with two, an effect of two standard deviations is found in a sixth of all cases

double t_of_level(double level, int values) { return student_quantile(1 - level / 2, values - 1); }

// The probability that |t| of `pairs` differences, whose mean is `effect` standard deviations, reaches the limit.
double power(double effect, int pairs, double limit) {
  return student_power(limit, pairs - 1, effect * std::sqrt(pairs));
}

double power(double effect, int pairs) { return power(effect, pairs, t_of_level(error_rate, pairs)); }

// The size of an effect of which enough pairs are sought; 0 for one that no number of pairs shows.
double sought(double effect) { return std::abs(effect) > 0 ? std::min(std::abs(effect), largest_effect) : 0; }

double log_choose(int n, int k) { return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0); }

}  // namespace

Looks Looks::planned() {
  struct Limit {
    int pairs;
    double t;
  };
  constexpr std::array<Limit, 4> limits{{{5, 4.30}, {8, 3.51}, {12, 2.92}, {20, 2.41}}};
  Looks looks;
  for (const Limit& limit : limits) looks.looks_[looks.count_++] = {limit.pairs, student_p(limit.t, limit.pairs - 1)};
  return looks;
}

Looks Looks::fixed(int pairs) {
  Looks looks;
  looks.looks_[looks.count_++] = {pairs, error_rate};
  return looks;
}

Looks Looks::any_time() { return {}; }

int Looks::most() const { return count_ == 0 ? 0 : looks_[count_ - 1].pairs; }

bool Looks::is_look(int pairs) const {
  return count_ == 0 || std::ranges::any_of(looks(), [&](const Look& look) { return look.pairs == pairs; });
}

int Looks::next(int pairs) const {
  for (const Look& look : looks()) {
    if (look.pairs > pairs) return look.pairs;
  }
  return pairs + 1;
}

int Looks::until(int pairs) const {
  return static_cast<int>(std::ranges::count_if(looks(), [&](const Look& look) { return look.pairs <= pairs; }));
}

double Looks::level(int pairs) const { return std::ranges::find(looks(), pairs, &Look::pairs)->level; }

double Looks::critical_t(int pairs, int values) const {
  if (values < fewest || !is_look(pairs)) return std::numeric_limits<double>::infinity();
  if (count_ > 0) return t_of_level(level(pairs), values);
  // e_value(t, n) = 1 / 0.05, solved for t² / (n − 1).
  const double n = values;
  const double k = std::pow(std::sqrt(1 + n) / error_rate, 2 / n);
  if (k >= 1 + n) return std::numeric_limits<double>::infinity();
  return std::sqrt((n - 1) * (k - 1) / (1 - k / (1 + n)));
}

double Looks::p_value(double t, int pairs) const {
  if (pairs < fewest || !is_look(pairs)) return 1;
  if (count_ == 0) return std::min(1.0, 1 / e_value(t, pairs));
  return std::min(1.0, student_p(t, pairs - 1) * error_rate / level(pairs));
}

int Looks::pairs_needed(double effect, int pairs, int most) const {
  const double size = sought(effect);
  if (size == 0) return most;
  const auto detects = [&](int n) { return n >= fewest && power(size, n, critical_t(n)) >= wanted_power; };
  if (count_ == 0) {
    int n = pairs + 1;
    while (n < most && !detects(n)) ++n;
    return n;
  }
  for (const Look& look : looks())
    if (look.pairs > pairs && detects(look.pairs)) return std::min(look.pairs, most);
  return std::max(compare::pairs_needed(effect, most), pairs + 1);
}

double e_value(double t, int n) {
  const double freedom = n - 1;
  const double wide = 1.0 + n;
  // An infinite t has no quotient; the limit of the quotient for growing t is used.
  const double quotient = std::isinf(t) ? wide : (1 + t * t / freedom) / (1 + t * t / (freedom * wide));
  return std::pow(quotient, n / 2.0) / std::sqrt(wide);
}

int pairs_needed(double effect, int most) {
  const double size = sought(effect);
  if (size == 0) return most;
  int pairs = fewest;
  while (pairs < most && power(size, pairs) < wanted_power) ++pairs;
  return pairs;
}

double effect_detected(int pairs) {
  double low = 0, high = largest_effect;
  constexpr int halvings = 50;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (power(middle, pairs) < wanted_power ? low : high) = middle;
  }
  return high;
}

double fisher_p(int a, int b, int n) {
  const int both = a + b;
  const auto log_chance = [&](int k) { return log_choose(n, k) + log_choose(n, both - k) - log_choose(2 * n, both); };
  const double seen = log_chance(a);
  constexpr double rounding = 1e-9;
  double p = 0;
  for (int k = std::max(0, both - n); k <= std::min(n, both); ++k) {
    if (log_chance(k) <= seen + rounding) p += std::exp(log_chance(k));
  }
  return std::min(1.0, p);
}

}  // namespace trainlab::compare
