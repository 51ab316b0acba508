// The facts of a fit that the tests of plans of recipes begin with.
#pragma once

#include "plan/recipe_plan.h"

namespace trainlab::test {

// 10 ms a step, of which 1 ms comes between steps; 100 steps an epoch, 20 epochs: 20.5 s.
inline MeasuredStageFacts measured_fit() {
  return {.stage = "f",
          .kind = "fit",
          .step = {.median = 0.009, .low = 0.008, .high = 0.0092},
          .wall = 0.01,
          .once = 0.5,
          .start = 2,
          .steps_per_epoch = 100,
          .steps = 2000,
          .parameters = 1e6,
          .flops = 1e9};
}

}  // namespace trainlab::test
