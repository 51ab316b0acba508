// Patterns of names.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace trainlab {

// Whether `name` is `pattern`, whose "*" stands for any characters and "?" for one. Thread-safe.
bool matches_pattern(std::string_view pattern, std::string_view name);

// The number of characters beside the wildcards: of several patterns that match a name the one with the most counts.
// Thread-safe.
std::size_t literal_characters(std::string_view pattern);

// The parts of the name for which the "*" and "?" of the pattern stand, in order; of several ways to divide the name,
// the way with the shortest parts first. nullopt for a name that does not match. Thread-safe.
std::optional<std::vector<std::string_view>> pattern_parts(std::string_view pattern, std::string_view name);

}  // namespace trainlab
