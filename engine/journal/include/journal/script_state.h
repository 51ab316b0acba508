// ScriptState: the plain data and the tensors that a recipe keeps in run.state or ctx.state. In `value` a tensor is {
// "@" = "tensor", name = "best.w" }; `tensors` holds it under that name.
#pragma once

#include "core/value.h"
#include "tensor/safetensors.h"

namespace trainlab {

struct ScriptState {
  Value value;
  NamedTensors tensors;
};

}  // namespace trainlab
