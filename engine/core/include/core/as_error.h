#pragma once

#include <exception>
#include <filesystem>
#include <string>

#include "core/error.h"

namespace trainlab {

// Any exception as an Error: an Error as it is, a failure of std::filesystem like one of core/files.h with the path and
// the system's reason, a failed allocation as "out of memory", another std::system_error, such as that of a thread
// which cannot be started, with the system's reason, all others as internal errors. Thread-safe.
Error as_error(const std::exception& exception);

// The error of a call on a file that has just failed, from errno: "cannot OPERATION PATH: reason".
Error file_failure(const std::string& operation, const std::filesystem::path& path);

}  // namespace trainlab
