// Trials in the order in which a person wants to see them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "study/storage.h"

namespace trainlab {

// Places in `trials` of the complete ones, the best value of the first objective first, the earlier of equal ones
// first. NaN is no value.
std::vector<std::size_t> leaderboard(std::span<const StoredTrial> trials, bool maximize);

// Several objectives: places of the complete trials that no other one beats (not worse in any objective, better in
// one), in the order of the leaderboard.
std::vector<std::size_t> pareto_front(std::span<const StoredTrial> trials, const std::vector<bool>& maximize);

}  // namespace trainlab
