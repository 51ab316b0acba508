// Patterns of names.
#pragma once

#include <string_view>

namespace trainlab {

// Whether `name` is `pattern`, whose "*" stands for any characters and "?" for one. Thread-safe.
bool matches_pattern(std::string_view pattern, std::string_view name);

}  // namespace trainlab
