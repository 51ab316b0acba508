// --html FILE of any command: a page that needs nothing but a browser, and that comes beside the command's result.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace trainlab::report {

// Asked before the work: Error{usage} for a file that cannot be written (core/files.h: check_output), and for one that
// would be replaced though it is no such page, because somebody may need it.
void check_page(const std::filesystem::path& file);

// Writes the page that `page` makes. A failure is returned as a line that names it, to be told after the result.
std::optional<std::string> page_failure(const std::filesystem::path& file, const std::function<std::string()>& page);

}  // namespace trainlab::report
