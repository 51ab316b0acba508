// Whether a mended recipe has the stages of a run: `trainlab resume RUN --recipe FILE`.
#pragma once

#include <string>
#include <vector>

#include "core/callable.h"
#include "core/registry.h"
#include "core/value.h"

namespace trainlab {

// A value of a spec without positions in the file. A function stands as its text and the values that it uses.
Value comparable_value(const Spec& spec, const Value& value);

// A stage without what a mended recipe may change: positions in the file, and options that are mendable. Functions
// stand as in comparable_value.
Value comparable_stage(const Registry& registry, const Spec& stage);

// A line for each difference of two such values: "optim.lr: was 0.01, is 0.1".
std::vector<std::string> stage_differences(const Value& before, const Value& now);

}  // namespace trainlab
