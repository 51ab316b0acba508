#include "run/shell_word.h"

#include <algorithm>
#include <string_view>

namespace trainlab {

std::string shell_word(const std::filesystem::path& path) {
  constexpr std::string_view marks = "._/+@%:,=-";
  const auto is_plain = [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || byte >= 0x80 ||
           marks.find(c) != std::string_view::npos;
  };
  const std::string text = path.string();
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace trainlab
