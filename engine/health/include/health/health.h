// The health of trainings: each lab.fit is watched, and each fault is reported once, with evidence and a remedy.
//
// The figures (health/figures.h) come from the loss of each step and from samples of a few steps; the rules
// (health/verdict.h) are functions of the figures alone.
#pragma once

#include "train/fit.h"

namespace trainlab {

// The option `health` of lab.fit, and the watch that joins each fit. The verdicts stand in the log and in the field
// `health` of the summary.
FitAddition health_addition();

}  // namespace trainlab
