// The good trials so far: the best 12 %, at most 25. With one objective, complete trials are ranked by their value, and
// pruned trials follow, the longest first. With several objectives trials are ranked by fronts; from the first front
// that does not fit as a whole, the trials are taken that together dominate the largest volume (Ozaki et al. 2022).
// With two objectives the weight of a trial is its contribution to that volume. With more objectives all weights are
// equal, because a few trials at the edges of the front would have most of the volume.
#pragma once

#include <cstdint>
#include <vector>

#include "study/sampler.h"

namespace trainlab {

class GoodTrials {
 public:
  explicit GoodTrials(std::size_t objectives) : objectives_(objectives) {}

  // Adds a trial; trials are numbered in this order, from 0. Failed trials are not added.
  void observe(const Observation& trial);
  std::int64_t count() const { return count_; }

  struct Choice {
    std::vector<char> is_good;    // by number
    std::vector<double> weights;  // weights of the good trials, by number; empty: equal weights
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
