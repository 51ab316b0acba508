// Comparisons of two recipes that do not exist, for the error rate and the power of a comparison.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "compare/judgement.h"
#include "core/random/stream.h"

namespace trainlab::compare {

// How two recipes differ, in standard deviations of the differences inside pairs.
struct SimulatedRecipes {
  double speed = 0;              // B is sooner at the target by this
  double quality = 0;            // and better
  bool has_heavy_tails = false;  // Student's t with 3 degrees of freedom in place of a normal distribution
  double missing = 0;            // the chance that a training never arrives, of A and B alike
  double missing_in_b = 0;       // and that a training of B alone does not
  double resolution = 0;         // to which the quality is rounded; 0: it is not
  // When trainings of A and of B end, in A's usual times to the target; nullopt: long after all have arrived.
  std::optional<double> a_ends = {}, b_ends = {};
  bool stops_at_target = false;  // whether a training that arrives ends then
  double growth = 0;             // by how much the quality grows with each doubling of a training, in these deviations
  // When the first validations of A and of B are, in A's usual times to the target; 0: before all arrivals.
  double a_validates = 0, b_validates = 0;
};

constexpr double simulated_deviation = 0.1;  // of differences, of log times and of qualities

inline double simulated_noise(Stream& stream, bool has_heavy_tails) {
  const double x = stream.normal() * simulated_deviation / std::sqrt(2.0);
  if (!has_heavy_tails) return x;
  double squares = 0;
  for (int i = 0; i < 3; ++i) squares += std::pow(stream.normal(), 2);
  return x / std::sqrt(squares / 3);
}

// One of two recipes that are compared.
struct SimulatedRecipe {
  double speed = 0, quality = 0, growth = 0, missing = 0;
  std::optional<double> ends = {};
  double validates = 0;
};

// The quality that a training of this length has gained beside one that took `seconds`.
inline double simulated_gain(const Training& training, double growth, double seconds) {
  return growth * std::log2(training.seconds / seconds);
}

inline Training simulated_training(Stream& stream, const SimulatedRecipes& recipes, const SimulatedRecipe& one) {
  constexpr double usual = 100, long_after = 150, pace_deviation = 0.02;
  Training result{.seconds = long_after};
  double seconds = usual * std::exp(simulated_noise(stream, recipes.has_heavy_tails) - one.speed);
  bool is_seen = stream.uniform() >= one.missing;
  if (one.ends || one.validates > 0) {
    if (one.ends) is_seen &= seconds <= usual * *one.ends;
    result.is_first = is_seen && seconds <= usual * one.validates;
    if (result.is_first) seconds = usual * one.validates;
    // The machine trains now faster, now slower, and validations and the end come after a number of steps.
    const double pace = std::exp(pace_deviation * stream.normal());
    seconds *= pace;
    if (one.ends) result.seconds = usual * *one.ends * pace;
  }
  if (is_seen) result.arrival = seconds;
  if (is_seen && recipes.stops_at_target) result.seconds = seconds;
  result.watched = result.seconds;
  const double value =
      one.quality + simulated_gain(result, one.growth, usual) + simulated_noise(stream, recipes.has_heavy_tails);
  result.value = recipes.resolution > 0 ? std::round(value / recipes.resolution) * recipes.resolution : value;
  result.best = *result.value;
  return result;
}

inline Pair simulated_pair(Stream& stream, const SimulatedRecipes& recipes) {
  const SimulatedRecipe a{.growth = recipes.growth * simulated_deviation,
                          .missing = recipes.missing,
                          .ends = recipes.a_ends,
                          .validates = recipes.a_validates};
  const SimulatedRecipe b{.speed = recipes.speed * simulated_deviation,
                          .quality = recipes.quality * simulated_deviation,
                          .growth = recipes.growth * simulated_deviation,
                          .missing = recipes.missing + recipes.missing_in_b,
                          .ends = recipes.b_ends,
                          .validates = recipes.b_validates};
  Pair pair{.a = simulated_training(stream, recipes, a), .b = simulated_training(stream, recipes, b)};
  const double both = std::min(pair.a.seconds, pair.b.seconds);
  pair.a_at_equal_time = *pair.a.value - simulated_gain(pair.a, a.growth, both);
  pair.b_at_equal_time = *pair.b.value - simulated_gain(pair.b, b.growth, both);
  return pair;
}

// A comparison to its end: looked at as `looks` say, after at most `most` pairs. Greater values are better.
inline Judgement simulated_comparison(Stream& stream, const SimulatedRecipes& recipes, std::optional<double> margin,
                                      const Looks& looks, int most) {
  std::vector<Pair> pairs;
  while (true) {
    pairs.push_back(simulated_pair(stream, recipes));
    const int count = static_cast<int>(pairs.size());
    if (count < most && !looks.is_look(count)) continue;
    const Judgement judged = judge(pairs, {.metric = "val.accuracy", .value = 0, .minimize = false}, margin, looks);
    if (judged.is_clear || count >= most) return judged;
  }
}

}  // namespace trainlab::compare
