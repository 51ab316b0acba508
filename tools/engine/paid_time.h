// The money of lab.budget as the time that it pays for.
#pragma once

#include <optional>

#include "run/budget.h"

namespace trainlab {

// By the price that a run has recorded for these `options`, those of lab.budget, and else by the file of prices that
// they name; nullopt for a budget without money. Error{recipe} for money without prices, for prices without money, and
// for what the file does not answer.
std::optional<PaidTime> paid_time(const Value& options, const Value& recorded);

}  // namespace trainlab
