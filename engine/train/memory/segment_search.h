// Finds which layers of a chain to compute again, so that the activations fit into a number of bytes and the least time
// is added.
//
// Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova 2019, "Optimal checkpointing for heterogeneous chains" (rotor), with
// the memory limits of the paper's recursion corrected: a stage keeps either all that its backward pass needs or
// nothing. A run of stages that keeps nothing but its input is computed again from this input: by a plan of its own, or
// where runs may not lie within runs, so that all of its stages keep what they need.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/recompute.h"

namespace trainlab {

// The cost of one stage of a chain. Weights and their gradients, whose bytes are constant, do not count.
struct ChainCost {
  double seconds = 0;      // time of the forward pass
  double spared = 0;       // time that computing again a run which ends with the stage does not take
  std::int64_t input = 0;  // bytes of the stage's input
  std::int64_t kept = 0;   // bytes that the stage keeps for its backward pass, its output included
  // Further bytes while the stage is computed forward, and backward; the latter include the gradient of the input.
  std::int64_t forward_extra = 0, backward_extra = 0;
};

// The best plans of one chain for all numbers of bytes up to `most`. Not thread-safe.
class SegmentSearch {
 public:
  // `output`: bytes of the last stage's output. Sizes are rounded up to 1/`slots` of `most` (none where most ≤ slots).
  // `nests`: whether runs may lie within runs. If so, takes memory in O(slots·stages²) and time in O(slots·stages³);
  // else a share of 1/stages of both.
  SegmentSearch(std::vector<ChainCost> stages, std::int64_t output, std::int64_t most, std::int64_t slots, bool nests);

  struct Plan {
    std::vector<ChainSegment> segments;  // segments of stages
    double seconds = 0;                  // time of computing again
  };
  // The cheapest plan within `bytes`, the input of the chain included; none if every plan needs more.
  std::optional<Plan> plan(std::int64_t bytes) const;

 private:
  // The least time of the forward passes of stages i to k, within m slots beside the input of stage i; infinite if no
  // plan fits.
  double& cost(std::int64_t m, std::size_t i, std::size_t k) { return costs_[place(m, i, k)]; }
  double cost(std::int64_t m, std::size_t i, std::size_t k) const { return costs_[place(m, i, k)]; }
  // Without runs within runs, all costs are those of stages up to the last.
  std::size_t place(std::int64_t m, std::size_t i, std::size_t k) const {
    return ((nests_ ? i * count_ + k : i) * static_cast<std::size_t>(slots_ + 1)) + static_cast<std::size_t>(m);
  }
  std::int64_t slots_of(std::int64_t bytes) const { return (bytes + unit_ - 1) / unit_; }
  // The fewest slots for stages i to k: where stage i keeps all that its backward pass needs, and where the stages
  // begin with a run that keeps nothing.
  std::int64_t keeping(std::size_t i, std::size_t k) const;
  std::int64_t dropping(std::size_t i, std::size_t k) const;
  // The same where the stages i to k all keep what they need.
  std::int64_t& whole(std::size_t i, std::size_t k) { return wholes_[i * count_ + k]; }
  std::int64_t whole(std::size_t i, std::size_t k) const { return wholes_[i * count_ + k]; }
  // The least time of computing again the stages i to k, as in cost().
  double again(std::int64_t m, std::size_t i, std::size_t k) const;
  double seconds(std::size_t i, std::size_t end) const { return sums_[end] - sums_[i]; }
  void fill(std::size_t i, std::size_t k);
  void add_segments(std::int64_t m, std::size_t i, std::size_t k, std::vector<ChainSegment>& segments) const;

  std::vector<ChainCost> stages_;  // bytes in slots; the last stage is the loss, which takes no time
  std::size_t count_;
  std::int64_t unit_, slots_;
  bool nests_;
  std::vector<std::int64_t> wholes_;
  std::vector<double> sums_;  // seconds of all stages before each stage
  std::vector<double> costs_;
};

}  // namespace trainlab
