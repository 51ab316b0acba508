// The plans whose trainings have ended, runs/plan/NAME/NNN, for `trainlab report`.
#pragma once

#include <filesystem>

#include "cli/arguments.h"

namespace trainlab::cli {

// Whether a plan has made the trainings in this folder.
bool is_plan_folder(const std::filesystem::path& folder);
// Shows the plan of the folder that the line names, from its trainings, in the form that the line asks for, and returns
// the exit code. Error{usage} for trainings that have not all ended.
int report_plan(const Arguments& given);

}  // namespace trainlab::cli
