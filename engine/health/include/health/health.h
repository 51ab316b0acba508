// The health of trainings: each lab.fit is watched, and the rows of each lab.task, and each fault is reported once,
// with evidence and a remedy.
//
// The figures (health/figures.h) come from the loss of each step and from samples of a few steps; the rules
// (health/verdict.h) are functions of the figures alone.
#pragma once

#include <functional>
#include <string>

#include "train/fit.h"

namespace trainlab {

struct TaskCompany;

// The option `health` of lab.fit, and the watch that joins each fit. The verdicts stand in the log and in the field
// `health` of the summary.
FitAddition health_addition();

// The watch of the rows of a task, whose verdicts stand in the field `health` of the summary, and in the log where
// `say` is not null.
void watch_rows(TaskCompany& company, const std::function<void(const std::string&)>& say);

}  // namespace trainlab
