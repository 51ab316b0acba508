#include "core/pattern.h"

#include <algorithm>

namespace trainlab {

bool matches_pattern(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, after_star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (after_star != std::string_view::npos) {
      p = after_star;  // the last star takes one more character
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::size_t literal_characters(std::string_view pattern) {
  return static_cast<std::size_t>(std::ranges::count_if(pattern, [](char c) { return c != '*' && c != '?'; }));
}

std::optional<std::vector<std::string_view>> pattern_parts(std::string_view pattern, std::string_view name) {
  std::vector<std::string_view> parts;
  while (!pattern.empty()) {
    const char first = pattern.front();
    pattern.remove_prefix(1);
    std::size_t length = 1;
    if (first == '*') {
      length = 0;
      while (length <= name.size() && !matches_pattern(pattern, name.substr(length))) ++length;
    }
    if (length > name.size() || (first != '*' && first != '?' && first != name.front())) return std::nullopt;
    if (first == '*' || first == '?') parts.push_back(name.substr(0, length));
    name.remove_prefix(length);
  }
  if (!name.empty()) return std::nullopt;
  return parts;
}

}  // namespace trainlab
