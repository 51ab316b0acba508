// Looks: after how many pairs a comparison may end, and how wide its intervals are then, so that the mean of
// differences which are zero on average is called different in at most 5 % of the comparisons, wherever these end.
// Pure functions; any thread.
#pragma once

#include <array>

namespace trainlab::compare {

class Looks {
 public:
  // Looks after 5, 8, 12 and 20 pairs with |t| > 4.30, 3.51, 2.92, 2.41: 5 % are spent in proportion to the pairs
  // (linear alpha spending), calibrated on the process of t by 2,000,000 paths.
  static Looks planned();
  // One look, after `pairs` pairs (at least 3): Student's paired t-test.
  static Looks fixed(int pairs);
  // A look at any time, for pairs whose number nobody has planned. The limit is an e-value of 20, of a Gaussian mixture
  // over the standardised mean with g = 1 (Wang and Ramdas 2023, arXiv 2310.03722).
  static Looks any_time();

  int most() const;  // pairs at the last look; 0: there is no last look
  bool is_look(int pairs) const;
  // The number of pairs at the first look after `pairs`.
  int next(int pairs) const;

  // The t that the mean of `pairs` differences has to exceed. Between two looks, where a comparison has run out of
  // time, the level of the next look holds, which is no greater risk than to wait for it. Infinite below 3 pairs.
  double critical_t(int pairs) const;
  // The p value of a mean with this t, in [0, 1]: at most 0.05 exactly where |t| is at least critical_t.
  double p_value(double t, int pairs) const;

 private:
  struct Look {
    int pairs;
    double level;  // of a two-sided test of this look alone
  };
  double level(int pairs) const;

  std::array<Look, 4> looks_ = {};
  std::size_t count_ = 0;  // 0: at any time
};

// The e-value of a mean of n ≥ 2 differences with this t, against a mean of zero. 1 / e is a p value at any n.
double e_value(double t, int n);

// The number of pairs with which the two-sided paired t-test at 5 % finds a mean of `effect` standard deviations of the
// differences with a probability of 80 %; at most `most`, which also stands for an effect of zero.
int pairs_needed(double effect, int most);

// The chance that two groups of n differ in their counts as much as these, or more, where both have the same chance
// (Fisher's exact test, two-sided).
double fisher_p(int a, int b, int n);

}  // namespace trainlab::compare
