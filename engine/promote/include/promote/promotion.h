// Promotion: decides whether the newly trained model of a fit replaces the model that is served.
//
// runs/NAME/current is a link to the run whose model is served. Programs that serve read this link; a fit with the
// option `promote` moves the link.
#pragma once

#include "train/fit.h"

namespace trainlab {

// The option `promote` of lab.fit. At the end of a fit, the served model is measured on the fit's own data in the same
// way as the new model. The decision stands in the field `promotion` of the summary, and in the log.
FitAddition promotion_addition();

}  // namespace trainlab
