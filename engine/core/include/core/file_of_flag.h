// Reads a file that a flag of the command line names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace trainlab {

// Whole file, as of read_file(). Raises Error{usage} that begins with `flag`: the command line is to be mended.
std::string read_file_of(const std::string& flag, const std::filesystem::path& path,
                         std::int64_t limit = std::numeric_limits<std::int64_t>::max());

}  // namespace trainlab
