// Finds options with which a training would fit, for messages about steps that do not fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "train/fit_plan.h"

namespace trainlab {

// The options with which the training of `rows` members would take at most `room` bytes beside what tensors hold now,
// each with the bytes that a dry run predicts: "it fits with memory = { chunk_loss = true } (80.1 MiB), or …". Where no
// option alone is enough, the mixture that memory.budget would choose is told, and where no mixture is, the fewest
// bytes of all. Takes the time of some predictions (train/memory_prediction.h), or that of a search for such a mixture.
std::string what_fits(const FitPlan& plan, std::size_t rows, std::int64_t room);

}  // namespace trainlab
