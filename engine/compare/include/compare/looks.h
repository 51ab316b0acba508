// Looks: the numbers of pairs after which a comparison may end, and how wide its intervals are then. They are chosen so
// that two equal recipes are called different in at most 5 % of the comparisons, at whichever look these end. Pure
// functions; any thread.
#pragma once

#include <array>
#include <span>

namespace trainlab::compare {

class Looks {
 public:
  // Looks after 5, 8, 12 and 20 pairs with |t| > 4.30, 3.51, 2.92, 2.41: 5 % are spent in proportion to the pairs
  // (linear alpha spending), calibrated by 2,000,000 simulated paths of t.
  static Looks planned();
  // One look, after `pairs` pairs (at least 3): Student's paired t-test.
  static Looks fixed(int pairs);
  // A look after any number of pairs, which needs no plan. The limit is an e-value of 20, of a Gaussian mixture
  // over the standardised mean with g = 1 (Wang and Ramdas 2023, arXiv 2310.03722).
  static Looks any_time();

  int most() const;  // pairs at the last look; 0: there is no last look
  bool is_look(int pairs) const;
  // The number of pairs at the first look after `pairs`.
  int next(int pairs) const;
  int count() const { return static_cast<int>(count_); }  // looks that are planned; 0: there is no plan
  int until(int pairs) const;                             // of these, those after at most `pairs` pairs

  // The value that |t| of the mean of `values` differences must reach after `pairs` pairs: fewer values than pairs
  // where some pairs have no difference. Infinite below 3 values, and where no look is planned: a comparison that runs
  // out of time between two looks has no verdict, because a verdict there would be one look more.
  double critical_t(int pairs, int values) const;
  double critical_t(int pairs) const { return critical_t(pairs, pairs); }
  // The number of pairs at the first look after `pairs` pairs that detects, with a probability of 80 %, a mean
  // difference of `effect` standard deviations of the differences. Where no look that is planned does, the number that
  // a new comparison with one look would need, and at least one more than `pairs`. At most `most`.
  int pairs_needed(double effect, int pairs, int most) const;
  // The p value of the mean of `pairs` differences with this t, in [0, 1]: at most 0.05 exactly where |t| is at least
  // critical_t; 1 where critical_t is infinite because no look is planned or there are too few pairs.
  double p_value(double t, int pairs) const;

 private:
  struct Look {
    int pairs;
    double level;  // level of a two-sided test at this look alone
  };
  std::span<const Look> looks() const { return {looks_.data(), count_}; }
  double level(int pairs) const;  // of the look after `pairs` pairs

  std::array<Look, 4> looks_ = {};
  std::size_t count_ = 0;  // 0: looks at any time
};

// The e-value of a mean of n ≥ 2 differences with this t, against a mean of zero. 1 / e is a p value at any n.
double e_value(double t, int n);

// The number of pairs with which the two-sided paired t-test at 5 % detects, with a probability of 80 %, a mean
// difference of `effect` standard deviations of the differences. At most `most`, which is also the result for an effect
// of zero.
int pairs_needed(double effect, int most);
// The smallest effect that `pairs` pairs, at least 3, detect in this way.
double effect_detected(int pairs);

// The p value of the counts a and b in two groups of n: the probability of counts that differ as much or more, if both
// groups have the same true share (Fisher's exact test, two-sided).
double fisher_p(int a, int b, int n);

}  // namespace trainlab::compare
