// Judges the target of a comparison by the facts of the two recipes or runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/arguments.h"
#include "comparing/question.h"
#include "core/value.h"

namespace trainlab::cli {

// Sets the direction of the target, from the facts about A and B (trainings/facts.h). Raises Error{usage} where the
// metric does not mean the same in A and B, and where no model can reach the target. Prints other differences of the
// data.
void settle_target(const Arguments& given, Question& question, const Value& a, const Value& b);

// The number of the samples by which the metric is measured whatever the seed, from the facts with two seeds; nullopt
// where the seed chooses the samples.
std::optional<std::int64_t> shared_samples(const Value& facts, const Value& with_other_seed, const std::string& metric);

}  // namespace trainlab::cli
