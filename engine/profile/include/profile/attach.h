// `trainlab profile --attach RUN`: a profile of the next steps of a fit that trains now, made by the process that
// trains. Without a request the fit reads the clock once in a step, and once in a second looks whether the file of a
// request is there. A snapshot changes no result, and no error that it meets reaches the fit.
#pragma once

#include "train/fit.h"

namespace trainlab {

// Lets each lab.fit with a folder answer the requests of run/snapshot.h. The answer has `text` and `value`: those of
// the profile, and `speed`, the figures of the whole process so far, as in the fit's summary.
FitAddition attach_addition();

}  // namespace trainlab
