// Reads and moves the link runs/NAME/current, which names the run that is served.
#pragma once

#include <filesystem>

namespace trainlab {

// The run to which the link beside this run leads, whether that run is still there or not; an empty path where there is
// no link. Error{run} where the name of the link is taken by a file or folder, or where nobody can see what is there.
std::filesystem::path served_beside(const std::filesystem::path& run);

// Makes the link beside `run` lead to `served`: to the run itself, or to another, which may lie elsewhere. The link
// changes atomically: a reader finds the former run or this one. Error{run} where the link cannot be written.
void serve_beside(const std::filesystem::path& run, const std::filesystem::path& served);

}  // namespace trainlab
