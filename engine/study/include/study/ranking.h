// Trials in the order of a leaderboard.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "study/storage.h"

namespace trainlab {

// Places in `trials` of the complete trials: the best value of the first objective first, and the earlier of equal
// trials first. With a scheduler, trials that have trained longer come before all others. Trials with the value NaN are
// left out.
std::vector<std::size_t> leaderboard(std::span<const StoredTrial> trials, bool maximize);

// Several objectives: places of the complete trials that no other trial beats (not worse in any objective, better in
// one), in the order of the leaderboard.
std::vector<std::size_t> pareto_front(std::span<const StoredTrial> trials, const std::vector<bool>& maximize);

}  // namespace trainlab
