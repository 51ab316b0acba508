// Right arguments for operators that made-up arguments hardly ever fit: those that take indices, pivots, lengths,
// offsets, modes and scales, with which a kernel finds its way in memory.
#pragma once

#include <string>
#include <vector>

#include "../operator_support.h"

namespace trainlab::test {

struct ValidArguments {
  std::vector<Given> positional;
  std::vector<Named> named;
};

// One for each form worth trying; none for most operators. The tensors are new ones.
std::vector<ValidArguments> valid_arguments(const std::string& operator_name);

}  // namespace trainlab::test
