// constraints = function(hp) → boolean: which points of a space are wanted.
#pragma once

#include <functional>
#include <span>

#include "core/registry.h"
#include "study/space.h"

namespace trainlab {

// Asks the function of a study's or sweep's option `constraints`, which is given. Random numbers in it depend on `seed`
// and on nothing that was asked before. Error{recipe} where it gives no boolean, and whatever it raises.
std::function<bool(std::span<const double>)> allowed_by(const Options& options, const Space& space, std::int64_t seed);

}  // namespace trainlab
