// Dropout with keyed draws: LibTorch's own operators use its global generator.
#pragma once

#include <ATen/core/stack.h>

#include <string_view>

#include "core/random/key.h"

namespace trainlab {

// Takes the operator's arguments (input, p, train) from the stack and leaves its results there.
using KeyedDropout = void (*)(torch::jit::Stack&, Key);

// nullptr if the operator `name` is not one of those computed here ("dropout", "alpha_dropout_", …).
KeyedDropout keyed_dropout(std::string_view name);

}  // namespace trainlab
