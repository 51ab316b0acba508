// The text that `trainlab plan` prints without --json.
#pragma once

#include <string>

#include "plan/fit.h"
#include "plan/plan.h"

namespace trainlab::cli {

std::string plan_text(const Plan& plan);
std::string fit_text(const LawFit& fit);
// The line that says that a training sees its data too often.
std::string repeats_text(double passes);
// What a law says of a choice: its loss, the best choice for the same FLOPs, and what is wrong with it.
std::string by_law_text(const Plan& plan);

}  // namespace trainlab::cli
