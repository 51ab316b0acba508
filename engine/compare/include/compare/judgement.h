// Judgement: whether B is faster or slower than A, and better or worse, from trainings of both with the same seeds.
//
// The time is the time to a target value of the metric, compared by the logarithm of B's time divided by A's. The
// quality is the metric of the weights that the trainings deliver. Both are judged by the differences inside pairs. The
// mean of n differences ± critical t × s / √n is the interval, valid for all looks together (compare/looks.h), from
// which each word of the judgement follows.
//
// Where the trainings of one side are longer, what both deliver says little of the recipes. So the quality is also
// judged at equal time: that of the best values which both trainings of a pair had reached when the shorter one ended.
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
  // The best values of both at the end of the shorter of the two; nullopt where a training has no validation by then.
  std::optional<double> a_at_equal_time = {}, b_at_equal_time = {};
};

struct Interval {
  double mean = 0, low = 0, high = 0;  // NaN, −∞ and ∞ without differences
};

// `equal`: the times differ by less than 2 %.
enum class Speed { faster, slower, equal, unclear };
// `not_worse`: worse by less than the margin, if at all. Without a margin this word is never given.
enum class Quality { better, not_worse, worse, unclear };

// The seconds after which trainings of both sides are seen to reach the target. A training that reached it outside
// counts with the nearer bound.
struct Window {
  std::optional<double> begin = {}, end = {};  // nullopt: there is no bound
};

// How many trainings of a side …
struct Tally {
  int arrived = 0;  // reached the target,
  int first = 0;    // of these, at their first validation,
  int sooner = 0;   // later than that, but before the window,
  int later = 0;    // and after the window;
  int failed = 0;   // and how many failed.
};

// B's whole trainings divided by A's: the medians over the pairs in which neither failed; NaN where none are known.
struct Budgets {
  double seconds = 0, flops = 0;
};
// Whether one budget is larger than the other by more than a tenth; false where the ratio is not known.
bool is_unequal(double ratio);

struct Judgement {
  int pairs = 0;

  Speed speed = Speed::unclear;
  // A's time to the target divided by B's: above 1 B is faster. An end that is not known is 0 or ∞: the upper one where
  // a training of A counts with less than its true time or one of B with more, the lower one where a training of B
  // counts with less or one of A with more.
  Interval ratio = {};
  bool is_bounded = false;  // whether a training counts with another time than its own, which is a bound of the window
  Window window = {};       // common_window()
  Tally a = {}, b = {};
  double p = 1;  // p value of the speed
  // How much faster B is, in standard deviations of the differences inside pairs; NaN where these are not known, and
  // where all are equal.
  double speed_effect = 0;
  // By how much the machine needed longer for a sample in the second half of the trainings than in the first, as a
  // share; NaN with fewer than 4 pairs that tell it.
  double drift = 0;

  Quality quality = Quality::unclear;
  Interval difference = {};  // delivered metric, B − A
  int without_value = 0;     // pairs that are left out of the difference because a training delivered no value
  Budgets budgets = {};      // of what is delivered
  Quality quality_at_equal_time = Quality::unclear;
  Interval at_equal_time = {};  // the same difference for the best values at the end of the pair's shorter training
  int pairs_at_equal_time = 0;  // that have both of these values

  double failures_p = 1;  // p value of the difference between the two numbers of failures

  // Whether the comparison may end: B is slower; or B is faster or equal and, where a margin is given, the quality is
  // not unclear.
  bool is_clear = false;
  // Unless is_clear: the smallest effect among speed and quality, as far as these are unclear, in standard deviations
  // of the differences; 0 or NaN with fewer than 2 pairs. pairs_needed() tells how many pairs show an effect of this
  // size.
  double effect = 0;
};

// The window in which the trainings of both sides are compared.
//
// A training that ended without the target says nothing of the time after its end. If the trainings of A are shorter
// than those of B, B must not be called faster because it was watched for longer. So both sides are watched until one
// time: of the sides with a training that ended so, the least of the seconds for which the side's trainings without the
// target were usually watched (the median), or all its trainings, if that is longer. The median of those without the
// target, because a recipe that stops at the target is watched for longer where it misses the target. The median of
// all, because a training that gives up early counts as one of its recipe's usual length. A training that failed would
// never have reached the target, however long it had been: where failed trainings alone lack the target, they count
// with the longest time for which any training was watched.
//
// In the same way a training that had reached the target at its first validation says nothing of the time before. B
// must not be called faster because it validates sooner than A. So the window begins, of the sides with such a
// training, at the latest of the usual seconds (the median) of these validations, but not after its end. Pure; any
// thread.
Window common_window(std::span<const Pair> pairs);

// The bound of the window with which a training counts, of the pairs to which the window belongs: its end where the
// training's true time is longer, its begin where the true time is shorter; nullopt: the training counts with its own.
std::optional<double> bound_of(const Training& training, const Window& window);

// Where trainings count with another time than their own, the end of the ratio's interval that is known is a bound. The
// margin is positive, in the unit of the metric. Pure; any thread.
Judgement judge(std::span<const Pair> pairs, const Target& target, std::optional<double> margin, const Looks& looks);

}  // namespace trainlab::compare
