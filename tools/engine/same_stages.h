// Whether a mended recipe has the stages of a run: `trainlab resume RUN --recipe FILE`.
#pragma once

#include <string>
#include <vector>

#include "core/callable.h"
#include "core/registry.h"
#include "core/value.h"

namespace trainlab {

// How functions are compared: by their text and the values that they use, or not at all.
enum class FunctionTexts { compared, ignored };

// A value of a spec without positions in the file.
Value comparable_value(const Spec& spec, const Value& value, FunctionTexts texts = FunctionTexts::compared);

// A stage without what a mended recipe may change: positions in the file, and options that are mendable. Functions
// stand as in comparable_value.
Value comparable_stage(const Registry& registry, const Spec& stage, FunctionTexts texts = FunctionTexts::compared);

// A line for each difference of two such values: "optim.lr: was 0.01, is 0.1".
std::vector<std::string> stage_differences(const Value& before, const Value& now);

}  // namespace trainlab
