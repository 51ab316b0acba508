// Checks, options and arithmetic that samplers, schedulers and pruners share.
#pragma once

#include <cstdint>
#include <vector>

#include "core/registry.h"

namespace trainlab {

// Error{recipe} for a study of several objectives.
void require_single_objective(const Options& spec, std::size_t objectives);

// Options of entries with rungs: validations at which configurations meet, and of which the best continue.
Option rung_min_option(const char* doc);
Option rung_max_option(const char* doc);
Option rung_reduction_option(const char* doc);

// The validations at the ends of the rungs of an entry with these options: min, min · reduction, … up to max.
// Error{recipe} where max is less than min.
std::vector<std::int64_t> rung_lengths(const Options& spec);

// The numbers of configurations that begin in the brackets of Hyperband (Li et al. 2018) with these rungs: with
// s_max + 1 rungs and η = reduction ⌈(s_max + 1) · η^s / (s + 1)⌉ in bracket s = 0 … s_max.
std::vector<std::int64_t> bracket_sizes(const std::vector<std::int64_t>& lengths);

}  // namespace trainlab
