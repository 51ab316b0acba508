// Texts that are put together from several, and cut; the article of a word, and its plural; fields of CSV.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace trainlab {

// "a, b, c": the texts of a list one after another, with `between` between each two. `text_of` makes the text of an
// element: a function, or a pointer to a member.
template <class List, class TextOf = std::identity>
std::string joined(const List& list, std::string_view between = ", ", const TextOf& text_of = {}) {
  std::string text;
  bool is_first = true;
  for (const auto& element : list) {
    if (!is_first) text += between;
    text += std::invoke(text_of, element);
    is_first = false;
  }
  return text;
}

// The same for a list that may be long: at most `most` texts, and a sign that there are more: "a, b, …".
template <class List, class TextOf = std::identity>
std::string joined_start(const List& list, std::size_t most, const TextOf& text_of = {}) {
  std::string text;
  std::size_t count = 0;
  for (const auto& element : list) {
    if (count++ > 0) text += ", ";
    if (count > most) return text + "…";
    text += std::invoke(text_of, element);
  }
  return text;
}

// "a, b or c": `last` stands before the last text.
inline std::string listed(const std::vector<std::string>& texts, std::string_view last = "or") {
  std::string text;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) text += i + 1 == texts.size() ? " " + std::string(last) + " " : ", ";
    text += texts[i];
  }
  return text;
}

// At most `most` texts, and the number of those that are left out: "a, b and 7 more".
template <class List>
std::string joined_and_more(const List& list, std::size_t most) {
  std::string text;
  std::size_t count = 0;
  for (const auto& element : list) {
    if (count++ == most) return text + " and " + std::to_string(list.size() - most) + " more";
    if (count > 1) text += ", ";
    text += element;
  }
  return text;
}

// "a number", "an integer": with the article, unless the text begins with one, with a quote or with "any".
std::string with_article(std::string_view text);

// "1 thread", "3 threads": the number before the name of one thing, which has an "s" unless the number is 1.
std::string counted(std::integral auto count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

// The text as a field of CSV (RFC 4180): in quotes where it has to be.
inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// The text without `spaces` at its ends.
inline std::string_view trimmed(std::string_view text, std::string_view spaces = " \t") {
  const std::size_t first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) + 1 - first);
}

}  // namespace trainlab
