// The option `precision` of lab.fit. Private to the module.
#pragma once

#include "train/fit_plan.h"

namespace trainlab {

Option precision_option();

// The types that a fit asks for. Error{recipe} for types that do not go together.
Precision precision_of(const Options& fit);

// Error{recipe} for a pattern of `keep` that matches no layer of the plan's models, and for float16 where the loss
// cannot be scaled.
void check_precision(const FitPlan& plan);

// "bfloat16 in matrix products and convolutions, float32 elsewhere" and the layers that are kept.
std::string precision_text(const Precision& precision);

// The time of a product in the fit's type relative to one in float32, for a fit that computes in another type than that
// of its weights on the CPU; else nullopt. Measures this machine if it was not measured before, which takes less than a
// second.
std::optional<double> product_time(const FitPlan& plan);
std::string product_time_text(double relative, const Precision& precision);

}  // namespace trainlab
