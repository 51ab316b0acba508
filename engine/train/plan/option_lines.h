// Options in place of those that a fit was given.
#pragma once

#include "core/registry.h"

namespace trainlab {

// Values by path: { "optim.state" = "bfloat16" }. Nil removes an option.
using Lines = Value::Map;

// The fit with these options in place of its own. Raises Error{recipe} for values that the options do not take.
Options with_lines(const Options& fit, const Lines& lines);

}  // namespace trainlab
