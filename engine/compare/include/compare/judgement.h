// Judgement: whether B is faster or slower than A, and better or worse, from trainings of both with the same seeds.
//
// The time is that to a target, compared by the logarithm of B's share of A's time; the quality is the metric that the
// trainings deliver. Both are judged by differences inside pairs: the mean of n differences ± critical t × s / √n is
// one interval for each of the two, valid for all looks together (compare/looks.h), and every word is read off it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compare/looks.h"
#include "compare/training.h"

namespace trainlab::compare {

// A speed-up of less than 2 % is none.
constexpr double relevant_ratio = 1.02;

// Two trainings with one seed.
struct Pair {
  std::int64_t seed = 0;
  Training a = {}, b = {};
  // The best values of both at the end of the shorter of the two; nullopt where one has none by then.
  std::optional<double> a_at_equal_time = {}, b_at_equal_time = {};
};

struct Interval {
  double mean = 0, low = 0, high = 0;  // without differences NaN, −∞, ∞
};

// Equal: within 2 % either way.
enum class Speed { faster, slower, equal, unclear };
// Not worse: worse by less than the margin, if at all. Never given without a margin.
enum class Quality { better, not_worse, worse, unclear };

struct Judgement {
  int pairs = 0;

  Speed speed = Speed::unclear;
  Interval ratio = {};      // A's time to the target divided by B's: above 1 B is faster
  bool is_bounded = false;  // some training never arrived, and counts with less than its true time
  double p = 1;             // of the speed

  Quality quality = Quality::unclear;
  Interval difference = {};     // of the delivered metric, B − A
  int without_value = 0;        // pairs that are left out of the difference because a training delivered no value
  Interval at_equal_time = {};  // the same of the best values at the end of the shorter training of each pair

  int a_arrived = 0, b_arrived = 0;
  int a_failed = 0, b_failed = 0;
  double failures_p = 1;  // that the difference of the two counts of failures is chance

  // Whether the comparison may end: B is slower; or B is faster or equal and, where a margin is given, the quality is
  // not unclear.
  bool is_clear = false;
  // Unless is_clear: the smaller effect of speed and quality, of those that are still unclear, in standard deviations
  // of the differences; 0 or NaN with fewer than 2 pairs. pairs_needed() says how many pairs show such an effect.
  double effect = 0;
};

// A training that never arrived counts with the time of the longest training of all pairs, whose budget both recipes
// had: the interval stays valid, and its ratio is a bound. The margin is positive, in the unit of the metric. Pure; any
// thread.
Judgement judge(std::span<const Pair> pairs, const Target& target, std::optional<double> margin, const Looks& looks);

}  // namespace trainlab::compare
