// The link runs/NAME/current.
#pragma once

#include <filesystem>

namespace trainlab {

// The run that is served beside this one, an empty path where there is none. Error{run} where something else than a
// link has this name.
std::filesystem::path served_beside(const std::filesystem::path& run);

// Makes the run the one that is served: the link changes in one step, whoever reads it finds the former or this run.
// Error{run} where the link cannot be written.
void serve(const std::filesystem::path& run);

}  // namespace trainlab
