// Judgement: whether B is faster or slower than A, and better or worse, from trainings of both with the same seeds.
//
// The time is the time to a target value of the metric, compared by the logarithm of B's time divided by A's. The
// quality is the metric of the weights that the trainings deliver. Both are judged by the differences inside pairs. The
// mean of n differences ± critical t × s / √n is the interval, valid for all looks together (compare/looks.h), from
// which each word of the judgement follows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compare/looks.h"
#include "compare/training.h"

namespace trainlab::compare {

// A ratio of times below this value, a speed-up of less than 2 %, counts as none.
constexpr double relevant_ratio = 1.02;

// Two trainings, of A and of B, with the same seed.
struct Pair {
  std::int64_t seed = 0;
  Training a = {}, b = {};
  // The best values of both at the end of the shorter of the two; nullopt where a training has no
  // validation by then.
  std::optional<double> a_at_equal_time = {}, b_at_equal_time = {};
};

struct Interval {
  double mean = 0, low = 0, high = 0;  // NaN, −∞ and ∞ without differences
};

// `equal`: the times differ by less than 2 %.
enum class Speed { faster, slower, equal, unclear };
// `not_worse`: worse by less than the margin, if at all. Without a margin this word is never given.
enum class Quality { better, not_worse, worse, unclear };

struct Judgement {
  int pairs = 0;

  Speed speed = Speed::unclear;
  // A's time to the target divided by B's: above 1 B is faster. An end that is not known is 0 or ∞: the upper one where
  // a training of A counts with less than its true time, the lower one where a training of B does.
  Interval ratio = {};
  bool is_bounded = false;         // whether a training counts with less than its true time, which is `end`
  std::optional<double> end = {};  // common_end()
  int a_later = 0, b_later = 0;    // trainings that reached the target after `end`
  double p = 1;                    // p value of the speed
  // How much faster B is, in standard deviations of the differences inside pairs; NaN where these are not known, and
  // where all are equal.
  double speed_effect = 0;
  // By how much the machine needed longer for a sample in the second half of the trainings than in the first, as a
  // share; NaN with fewer than 4 pairs that tell it.
  double drift = 0;

  Quality quality = Quality::unclear;
  Interval difference = {};     // delivered metric, B − A
  int without_value = 0;        // pairs that are left out of the difference because a training delivered no value
  Interval at_equal_time = {};  // the same difference for the best values at the end of the pair's shorter training

  int a_arrived = 0, b_arrived = 0;
  int a_failed = 0, b_failed = 0;
  double failures_p = 1;  // p value of the difference between the two numbers of failures

  // Whether the comparison may end: B is slower; or B is faster or equal and, where a margin is given, the quality is
  // not unclear.
  bool is_clear = false;
  // Unless is_clear: the smallest effect among speed and quality, as far as these are unclear, in standard deviations
  // of the differences; 0 or NaN with fewer than 2 pairs. pairs_needed() tells how many pairs show an effect of this
  // size.
  double effect = 0;
};

// The seconds with which trainings count that never reached the target, and those that reached it later than this;
// nullopt where every training counts with its own time.
//
// A training that ended without the target says nothing of the time after its end. If the trainings of A are shorter
// than those of B, B must not be called faster because it was watched for longer. So both sides are watched for one
// time: of the sides with a training that ended so, the least of the medians of the seconds for which the side's
// trainings were watched. The median, because a training that gives up early counts as one of its recipe's usual
// length. A training that failed would never have reached the target, however long it had been: where failed trainings
// alone lack the target, they count with the longest time for which any training was watched. Pure; any thread.
std::optional<double> common_end(std::span<const Pair> pairs);

// Whether the training counts with less than its true time.
bool is_cut(const Training& training, const std::optional<double>& end);

// Where trainings of one side alone count with less than their true time, the end of the ratio's interval that is known
// is a bound. The margin is positive, in the unit of the metric. Pure; any thread.
Judgement judge(std::span<const Pair> pairs, const Target& target, std::optional<double> margin, const Looks& looks);

}  // namespace trainlab::compare
