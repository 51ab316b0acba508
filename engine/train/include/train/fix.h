// Fix: another value of an option of a fit, with which the fit goes on after its own value has led to a fault.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/registry.h"

namespace trainlab {

// The values that a fix may change.
enum class FixedOption : std::uint8_t {
  lr,          // the rate of the optimizer; a number
  clip,        // the norm of the gradients to which they are clipped; a number
  accumulate,  // a number of micro-batches
  batch,       // a number of samples
  normalize,   // data:normalize(); no value
  init,        // the name of an entry for the initial weights, "init.kaiming_normal"
};

struct Fix {
  std::string kind = {};  // of the fault: "rate_too_high"
  std::int64_t step = 0;  // when the fault was seen
  std::string evidence = {};
  FixedOption option = FixedOption::lr;
  Value value = {};
  // The last step whose state is known to be good: the training goes back to the newest checkpoint that is not after
  // this step, or begins anew.
  std::int64_t good_until = 0;
  std::int64_t from = 0;  // the step of that checkpoint; 0: the training has begun anew
  double seconds = 0;     // of training until the fault was seen, those of earlier attempts included
  double flops = 0;       // of steps that this fix and earlier ones have thrown away; 0 where nobody knows them
};

// Raised by LoopObserver::between_steps (train/loop_observer.h). No error: the fit leaves the loop and goes on with the
// fix. The loop sets `seconds`, and `flops` to those of all steps of the attempt.
struct FixWanted {
  Fix fix;
};

// The change as a recipe writes it: "lr = 0.01".
std::string text_of(const Fix& fix);

// { kind, step, evidence, option, value, from, seconds, flops }; and back. Raises Error{run} for another value.
Value to_value(const Fix& fix);
Fix fix_of_value(const Value& value);

// The fit with the fixes, the oldest first. Raises Error{recipe} where an option does not take such a value.
Options with_fixes(const Options& fit, const std::vector<Fix>& fixes);

}  // namespace trainlab
