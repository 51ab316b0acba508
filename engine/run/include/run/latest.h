// The newest run of a name, for paths such as runs/daily/latest.
#pragma once

#include <filesystem>
#include <functional>

namespace trainlab {

// The run with the highest number in a folder runs/NAME that is done or stopped; an empty path where there is none. A
// run that is under way, was interrupted or has failed does not count. Raises damaged_file (run/folder.h).
std::filesystem::path latest_run(const std::filesystem::path& runs);
// The same of the runs beside this run.
std::filesystem::path latest_beside(const std::filesystem::path& run);

// The path with its part "latest" replaced by the run that `find` gives for the folder before that part. A path without
// such a part stays as it is, and so does one where a file or a folder is named so. Error{usage} where `find` gives
// none.
std::filesystem::path with_latest(
    const std::filesystem::path& path,
    const std::function<std::filesystem::path(const std::filesystem::path& runs)>& find = latest_run);

}  // namespace trainlab
