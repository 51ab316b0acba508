// Reads a file that a flag of the command line names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace trainlab {

// As read_file(), which see. Raises Error{usage} that begins with `flag`, because the command line is to be mended.
std::string read_file_of(const std::string& flag, const std::filesystem::path& path,
                         std::int64_t limit = std::numeric_limits<std::int64_t>::max());

}  // namespace trainlab
