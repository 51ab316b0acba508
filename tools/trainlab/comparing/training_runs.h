// Reads finished runs as the trainings of a comparison.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compare/judgement.h"
#include "core/error.h"

namespace trainlab::cli {

// The pair of the ended fits in two folders of stages. Raises Error{usage} where a fit has not ended, has no rows, or
// has no row with the metric; Error{run} where its rows are damaged.
compare::Pair read_pair(std::int64_t seed, const std::filesystem::path& a, const std::filesystem::path& b,
                        const compare::Target& target);

// Why the target does not distinguish the trainings: none has reached it, or none as long as the trainings of both
// sides were watched, or all before the first validations of one side tell it. nullopt where it does.
std::optional<Error> useless_target(const std::vector<compare::Pair>& pairs, const compare::Target& target);

// Whether a comparison of recipes with this number of pairs ends if its target is useless: at a look, and after the
// third pair, because such a target is no result of a test.
bool ends_if_useless(std::size_t pairs, const compare::Looks& looks);

// The target as text: "val.accuracy = 0.97".
std::string target_text(const compare::Target& target);

}  // namespace trainlab::cli
