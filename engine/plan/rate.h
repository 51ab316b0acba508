// How fast training is, and the FLOPs that a budget buys.
#pragma once

#include <optional>

#include "plan/plan.h"

namespace trainlab {

// Raises Error{usage} for flags that contradict each other.
Speed speed_of(const PlanQuestion& question, const std::optional<Price>& price);

// The price of the device that the question means; nullopt without a file of prices. Raises Error.
std::optional<Price> price_of(const PlanQuestion& question);

// nullopt for a question without a budget. Raises Error{usage} for a budget whose FLOPs need a rate that is unknown,
// and for money below the least that is billed.
std::optional<double> budget_of(const PlanQuestion& question, const Speed& speed, const std::optional<Price>& price);

}  // namespace trainlab
