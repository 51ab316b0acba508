// Which files a process may read for its recipe (--read): without a limit all that the user may read.
//
// check_regular() of core/files.h asks here, and so whoever opens a file asks. Whoever lists a folder asks by itself.
// Thread-safe.
#pragma once

#include <filesystem>
#include <vector>

namespace trainlab {

// From now on the process reads only what lies in these folders, links resolved. Error{usage} names a folder that is
// not there.
void limit_reading(const std::vector<std::filesystem::path>& folders);
// Adds a file or a folder that the process itself needs. Nothing happens while reading has no limit.
void allow_reading(const std::filesystem::path& path);
// Error{recipe} for a path that lies elsewhere.
void check_reading(const std::filesystem::path& path);

}  // namespace trainlab
