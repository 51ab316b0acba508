// Helpers that the calls of operators (operator_call.cpp) and their texts (operator_text.cpp) share. Private to the
// module.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "core/value.h"
#include "tensor/operators.h"

namespace trainlab {

// The names of at::Reduction, in the order of its values.
constexpr std::array reductions = {std::string_view("none"), std::string_view("mean"), std::string_view("sum")};

// Whether the number is whole, and of a size at which every whole number is exact as a double.
inline bool is_whole(double x) { return std::fabs(x) <= largest_exact && std::trunc(x) == x; }

// Whether the argument can be given for the parameter; `arguments` holds the elements of lists.
bool fits(const Parameter& parameter, const OperatorArgument& argument, const OperatorArguments& arguments);

}  // namespace trainlab
