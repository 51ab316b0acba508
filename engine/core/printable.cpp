#include "core/printable.h"

#include <algorithm>

#include "core/value.h"

namespace trainlab {

std::string printable(std::string_view text) {
  std::string out;
  const std::string valid = valid_utf8(text);
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const auto c = static_cast<unsigned char>(valid[i]);
    const bool second_range = c == 0xC2 && static_cast<unsigned char>(valid[i + 1]) < 0xA0;  // U+0080 … U+009F
    if (second_range) {
      out += "\\" + std::to_string(static_cast<unsigned char>(valid[++i]));
    } else if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7F) {
      out += "\\" + std::to_string(c);
    } else {
      out += static_cast<char>(c);
    }
  }
  return out;
}

std::string printable_line(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '\t' || c == '\n') {
      out += "\\" + std::to_string(static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

bool is_name(std::string_view text) {
  constexpr std::size_t longest = 200;
  return !text.empty() && text.size() <= longest && printable_line(text) == text;
}

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool is_lua_word(std::string_view text) {
  constexpr std::string_view words[] = {"and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
                                        "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
                                        "repeat",   "return", "then", "true", "until",  "while"};
  return std::ranges::find(words, text) != std::ranges::end(words);
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const std::string size = "… (" + std::to_string(text.size()) + " bytes)";
  std::size_t end = most - std::min(most, size.size());
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not within a character
  return std::string(text.substr(0, end)) + size;
}

}  // namespace trainlab
