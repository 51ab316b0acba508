// `trainlab profile --attach RUN`: a profile of the next steps of a stage that trains now, made by the process that
// trains. Without a request the training reads the clock once in a step, and once in a second looks whether the file of
// a request is there. A snapshot changes no result, and no error that it meets reaches the training.
//
// The answer to a request of run/snapshot.h has `text` and `value`: those of the profile, and `speed`, the figures of
// the whole process so far, as in the summary of a fit; nil for other stages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "task/task.h"
#include "train/fit.h"

namespace trainlab {

// Lets each lab.fit with a folder answer requests, and adds the option `profile`, with which a fit asks itself once.
FitAddition attach_addition();
// Lets each lab.task with a folder answer requests.
TaskAddition attach_to_tasks();

// A training, or several together, of a stage with many.
struct AttachedTrials {
  std::filesystem::path stage;  // the folder of the stage, in which requests lie
  std::string names = {};       // "trials 0 to 7 of sweep search"
  std::int64_t count = 1;
};

// Lets trials answer the requests to their stage. `plan` and `task` outlive the company.
void attach_to_fits(const FitPlan& plan, const AttachedTrials& trials, FitCompany& company);
void attach_to_task(const Options& task, const RunSettings& settings, const AttachedTrials& trial,
                    TaskCompany& company);

}  // namespace trainlab
