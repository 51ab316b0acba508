// The gradient passes of the option `clip`. Private to the module.
#pragma once

#include <memory>
#include <vector>

#include "train/fit_plan.h"
#include "train/gradient_pass.h"

namespace trainlab {

// The passes that clip by value first, and then by the norm of each member; an empty list if nothing is clipped.
std::vector<std::shared_ptr<GradientPass>> clip_passes(const Clip& clip);

}  // namespace trainlab
