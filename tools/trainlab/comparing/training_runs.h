// Finished runs as trainings.
#pragma once

#include <filesystem>

#include "compare/judgement.h"

namespace trainlab::cli {

// The pair of the fits that have ended in these two folders (of stages). Raises Error{usage} where a fit has not ended,
// has no rows, or none with the metric; Error{run} where its rows are damaged.
compare::Pair read_pair(std::int64_t seed, const std::filesystem::path& a, const std::filesystem::path& b,
                        const compare::Target& target);

// Raises Error{usage} where the pairs say nothing of the target: no training has reached it, or all had at their first
// validation.
void check_target(const std::vector<compare::Pair>& pairs, const compare::Target& target);

// "val.accuracy = 0.97"
std::string target_text(const compare::Target& target);

}  // namespace trainlab::cli
