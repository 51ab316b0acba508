// Promotion: whether the model that a fit has trained is to be served in place of the one that is served now.
//
// runs/NAME/current is a link to the run whose model is served. Programs that serve read this link; a fit with the
// option `promote` moves the link.
#pragma once

#include "train/fit.h"

namespace trainlab {

// The option `promote` of lab.fit. At the end of a fit the model that is served is measured on the fit's own data, in
// the same way as the new model; what was decided stands in the field `promotion` of the summary, and in the log.
FitAddition promotion_addition();

}  // namespace trainlab
