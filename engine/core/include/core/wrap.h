// Texts broken into lines, for terminals and help.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trainlab {

// Lines of at most `width` columns, broken at spaces; a longer word stays whole. Line breaks in the text are kept.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace trainlab
