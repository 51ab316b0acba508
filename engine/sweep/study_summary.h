// The contents of a sweep's summary.json: derived from the study alone, so that every process writes the same.
#pragma once

#include <filesystem>

#include "journal/speed.h"
#include "study/failures.h"
#include "worker.h"

namespace trainlab {

// A trial as a summary has it: number, parameters and values. With several repeats `seed_values` has the value of each.
Value trial_value(const StudyPlan& plan, const SharedStudy& study, std::int64_t trial);

// The warnings of all trials, whichever process trained them, each once.
Value::List stored_warnings(const SharedStudy& study);

// The FLOPs of the trainings of a study, those that a trial has taken over from its parent once; NaN where nobody knows
// them. Trials under way count by their repeats that were interrupted or have ended. `folder`: of the stage.
// `own_flops`: of one trial that has ended, without those of its parent.
double flops_of(const SharedStudy& study, const std::filesystem::path& folder);
double own_flops(const SharedStudy& study, const StoredTrial& trial);

// What was found to be wrong with the trainings of the trials that have ended, by kind of fault, the most frequent
// first: how many trials have it (`count`) of how many (`ended`), some of them (`trials`), the verdict of the first.
Value::List health_of(const SharedStudy& study);

// How many trials that have ended waste compute (`compute_inefficient`) and data (`data_inefficient`), of how many with
// fits that were judged (`judged`; forecast/efficiency.h); nil where none was.
Value efficiency_of(const SharedStudy& study);

// What the trainings of a study have measured, over all processes. Trials under way count as for flops_of(): what a
// process that was killed had measured of its last training is not known.
SpeedFigures speed_of(const SharedStudy& study, const std::filesystem::path& folder);

// `folder`: of the stage.
Value sweep_summary(const StudyPlan& plan, const SharedStudy& study, const std::optional<std::string>& stopped,
                    const std::filesystem::path& folder);

// Why trials failed, as a summary has it.
Value failures_value(const Failures& failures, const std::filesystem::path& folder);

}  // namespace trainlab
