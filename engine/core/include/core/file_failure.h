#pragma once

#include <filesystem>
#include <string>

#include "core/error.h"

namespace trainlab {

// The error of a call on a file that has just failed, from errno: "cannot OPERATION PATH: reason".
Error file_failure(const std::string& operation, const std::filesystem::path& path);

}  // namespace trainlab
