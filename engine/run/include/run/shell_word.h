// Paths and values in commands that a message tells the user to type.
#pragma once

#include <filesystem>
#include <string>

namespace trainlab {

// The path, or another text, as one word of a shell's command: in quotes where a shell would take it apart.
std::string shell_word(const std::filesystem::path& path);

}  // namespace trainlab
