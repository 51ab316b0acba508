// From a language model's scores to the next token: temperature, top-k, nucleus.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainlab {

struct Sampling {
  double temperature = 0.8;  // number by which scores are divided; 0: always the most probable token
  std::int64_t top_k = 0;    // draw only from this many of the most probable tokens; 0: all
  double top_p = 1;          // draw only from the smallest set of most probable tokens with this total probability
};

// softmax(scores / temperature), cut to the top k, then to the nucleus (Holtzman et al. 2020, "The curious case of
// neural text degeneration", section 3.1), each time renormalised. Among equal scores the first counts as more
// probable. Error{run} for scores that are not finite. Thread-safe.
std::vector<double> next_probabilities(std::span<const double> scores, const Sampling& sampling);

// The first token whose cumulative probability is above `uniform`, which is in [0, 1).
std::size_t draw(std::span<const double> probabilities, double uniform);

}  // namespace trainlab
