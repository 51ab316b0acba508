// constraints = function(hp) → boolean: whether a point of a space may be tried.
#pragma once

#include <functional>
#include <span>

#include "core/registry.h"
#include "study/space.h"

namespace trainlab {

// Asks the function in the option `constraints` of a study or sweep. Random numbers in the function depend on `seed`
// and not on earlier calls. Raises Error{recipe} if the function does not return a boolean, and the errors of the
// function.
std::function<bool(std::span<const double>)> allowed_by(const Options& options, const Space& space, std::int64_t seed);

}  // namespace trainlab
