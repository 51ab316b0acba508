#include "text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/value.h"
#include "core/words.h"

namespace trainlab {

namespace {

// Length in bytes of the UTF-8 sequence at the start of `text` (Unicode 15, table 3-7); 0 when it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    text.remove_prefix(std::max<std::size_t>(1, utf8_length(text)));
    ++count;
  }
  return count;
}

std::string quoted(std::string_view text, std::size_t width) {
  std::string out = "\"";
  std::size_t count = 0;
  while (!text.empty()) {
    if (++count > width) return out + "…\"";
    const std::size_t length = utf8_length(text);
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (length == 0 || c < 0x20 || c == 0x7F) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), "\\%03u", c);
      out += escape.data();
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out + '"';
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    out += length ? text.substr(0, length) : std::string_view("\uFFFD");
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

std::string with_article(std::string_view text) {
  const auto begins = [&](std::string_view start) { return text.substr(0, start.size()) == start; };
  if (text.empty() || text[0] == '"' || begins("a ") || begins("an ") || begins("any")) return std::string(text);
  const bool vowel = std::string_view("aeiou").find(text[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(text);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    std::string_view rest = text.substr(0, end);
    std::string line;
    while (!rest.empty()) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      const std::string_view word = rest.substr(0, space);
      rest.remove_prefix(std::min(space + 1, rest.size()));
      if (word.empty()) continue;
      if (!line.empty() && columns(line) + 1 + columns(word) > width) {
        lines.push_back(std::move(line));
        line.clear();
      }
      if (!line.empty()) line += ' ';
      line += word;
    }
    lines.push_back(std::move(line));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t used = columns(text);
  if (used < width) text.append(width - used, ' ');
  return text;
}

}  // namespace trainlab
