// Computes how fast training is, and the FLOPs of a budget.
#pragma once

#include <optional>

#include "plan/plan.h"

namespace trainlab {

// Raises Error{usage} for flags of the budget that contradict each other, or that lack another one.
void check_budget(const PlanQuestion& question);

// Raises Error{usage} for flags that contradict each other.
Speed speed_of(const PlanQuestion& question, const std::optional<Price>& price);

// The price of the question's device; nullopt without a file of prices. Raises Error.
std::optional<Price> price_of(const PlanQuestion& question);

// The FLOPs of the budget, which check_budget() has accepted; nullopt for a question without a budget. Raises
// Error{usage} for a budget whose FLOPs need a rate that is unknown, and for an amount of money below the smallest
// bill.
std::optional<double> budget_of(const PlanQuestion& question, const Speed& speed, const std::optional<Price>& price);

}  // namespace trainlab
