// Times that recipes give, such as time = "18 h".
#pragma once

#include <string_view>

#include "core/registry.h"

namespace trainlab {

// The seconds of a time above 0. Error{recipe} for "0 s", and for a duration that is no time, such as "5 epochs".
double time_in_seconds(const Duration& time);
// The same for an option that is given, which the error names.
double time_in_seconds(const Options& options, std::string_view option);

}  // namespace trainlab
