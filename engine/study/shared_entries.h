// Checks, options and arithmetic that samplers, schedulers and pruners share.
#pragma once

#include <cstdint>
#include <vector>

#include "core/registry.h"
#include "study/pruner.h"

namespace trainlab {

// Error{recipe} for a study of several objectives.
void require_single_objective(const Options& spec, std::size_t objectives);

// Options of entries with rungs: validations at which configurations meet, and of which the best continue.
Option rung_min_option(const char* doc);
Option rung_max_option(const char* doc);
Option rung_reduction_option(const char* doc);

// The validations of the first rung: the option `min`, or what suits trainings of `whole` validations (0: unknown, and
// the first rung is 1) and their delivery. With the best weights that is a 27th of a whole training, with the last ones
// a third, and so it is where it is not known what is delivered. The lengths min · reduction^k come to the whole or
// little less, the first is no less than 3 % of it, and there are at most `most` of them. In simulated searches halving
// with these first rungs was better than random search, and far worse with short first rungs and the last weights.
std::int64_t first_rung(const Options& spec, std::int64_t whole, Delivery::Weights weights, std::int64_t most = 64);

// The validations at the ends of the rungs of an entry with these options: min, min · reduction, … up to max.
// Error{recipe} where max is less than min.
std::vector<std::int64_t> rung_lengths(const Options& spec, Delivery::Weights weights);

// The numbers of configurations that begin in the brackets of Hyperband (Li et al. 2018) with these rungs: with
// s_max + 1 rungs and η = reduction ⌈(s_max + 1) · η^s / (s + 1)⌉ in bracket s = 0 … s_max.
std::vector<std::int64_t> bracket_sizes(const std::vector<std::int64_t>& lengths);

}  // namespace trainlab
