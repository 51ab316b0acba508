// Which of the trials so far are the good ones: the best 12 %, 25 at most. With one objective complete trials come by
// their value, then pruned ones, the longest first. With several they come by fronts; of the front that does not fit
// whole, those that together dominate the most (Ozaki et al. 2022), and each counts by what it adds to that volume.
#pragma once

#include <cstdint>
#include <vector>

#include "study/sampler.h"

namespace trainlab {

class GoodTrials {
 public:
  explicit GoodTrials(std::size_t objectives) : objectives_(objectives) {}

  // Trials are numbered as they come here, from 0. Failed ones do not come.
  void observe(const Observation& trial);
  std::int64_t count() const { return count_; }

  struct Choice {
    std::vector<char> is_good;    // by number
    std::vector<double> weights;  // by number, of the good ones; empty: all alike
  };
  Choice choose() const;

 private:
  struct Rank {
    bool pruned = false;
    std::int64_t resource = 0;
    double value = 0;
    std::uint32_t number = 0;
    bool operator<(const Rank& other) const;
  };
  void choose_several(std::size_t good, Choice& choice) const;

  std::size_t objectives_;
  std::int64_t count_ = 0;
  std::vector<Rank> ranks_;             // of one objective, sorted
  std::vector<double> values_;          // of several: [complete trial, objective]
  std::vector<std::uint32_t> numbers_;  // of the complete trials
};

}  // namespace trainlab
