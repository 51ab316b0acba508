// Reads and moves the link runs/NAME/current, which names the run that is served.
#pragma once

#include <filesystem>

namespace trainlab {

// The served run among the runs beside this one; an empty path where there is none. Error{run} where the name of the
// link is taken by a file or folder.
std::filesystem::path served_beside(const std::filesystem::path& run);

// Makes `run` the served run. The link changes atomically: a reader finds the former run or this one.
// Error{run} where the link cannot be written.
void serve(const std::filesystem::path& run);

}  // namespace trainlab
