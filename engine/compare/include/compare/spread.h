// Spread: how much the result of a recipe differs from one seed to another, and how well several seeds together know
// it. Pure functions; any thread.
#pragma once

#include <span>
#include <vector>

namespace trainlab::compare {

// The largest step of which all distances between the values are multiples, as for a metric that counts samples. Nearly
// zero where the values are continuous, and zero where all are equal.
double resolution_of(std::vector<double> values);

struct Spread {
  int seeds = 0;
  double mean = 0;
  // The standard deviation of a single value, and its 95 % interval for values with a normal distribution.
  double deviation = 0, low = 0, high = 0;
};

// The spread of one value for each seed, at least two. As in judge(), the variance of three or more values is increased
// by that of rounding, resolution² / 12. Equal values have the deviation 0.
Spread spread_of(std::span<const double> values);

// Half of the width of the 95 % interval of the mean of `seeds` values, at least 3, in standard deviations of a value.
double half_width_of_mean(int seeds);

// The smallest difference between two recipes that the paired t-test of judge() at a level of 5 % detects with a
// probability of 80 % after `pairs` pairs, at least 3, in standard deviations of a value of one recipe. Assumes that a
// seed's value with one recipe says nothing of its value with the other, so that the differences inside pairs have √2
// times the deviation.
double difference_detected(int pairs);
// The pairs that such a difference needs; at most `most`, which is also the result for no difference.
int pairs_for(double difference, int most);

}  // namespace trainlab::compare
