// Rules for the arguments of operators that LibTorch does not check.
#pragma once

#include <ATen/core/stack.h>

#include <string_view>

namespace trainlab {

// A condition on one argument of an operator, which would end the process otherwise. `place` is where the argument
// stands among the arguments.
struct ArgumentRule {
  const char* expected;  // "at least 1"
  bool (*holds)(const torch::jit::Stack& arguments, std::size_t place);
};

// nullptr where LibTorch's own checks do.
const ArgumentRule* argument_rule(std::string_view operator_name, std::string_view parameter);

}  // namespace trainlab
