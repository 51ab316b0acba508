// ScriptState: the plain data and the tensors that a recipe keeps in run.state or ctx.state. In `value` a tensor is {
// "@" = "tensor", name = "best.w" }; `tensors` holds it under that name.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/error.h"
#include "core/value.h"
#include "tensor/named_tensors.h"

namespace trainlab {

struct ScriptState {
  Value value;
  NamedTensors tensors;
  std::int64_t values = 0;  // numbers, texts, tables … that were read
  // The first thing in the script's table that cannot be saved, with its path; all such things are left out above.
  std::optional<Error> fault = {};
};

// Looks for such a fault whenever the script may have changed its state, long before a checkpoint is due. A small state
// is read each time. A large one is read again when fifty times as long has passed as reading it takes, so that its
// size does not slow the training.
class StateLooks {
 public:
  // `now`: a large state is read in any case.
  std::optional<Error> fault(const std::function<ScriptState()>& read, bool now);

 private:
  std::int64_t values_ = 0;
  double end_ = 0, took_ = 0;  // seconds: the end of the latest reading on the steady clock, and its duration
};

}  // namespace trainlab
