// The search of `trainlab help WORD`.
#include "report/search.h"

#include <algorithm>
#include <optional>

#include "columns.h"
#include "core/wrap.h"

namespace trainlab::report {

namespace {

// How close a topic is to a word; the smallest comes first.
enum class Closeness { its_name, name_of_part, in_name, in_line, in_name_of_part, in_text };

struct Hit {
  Closeness closeness;
  std::string name, text;
};

// ASCII letters only, so that places in the result are places in the text.
std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return lower;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// "linear" of "nn.linear", not of "nn.bilinear".
bool is_last_part(const std::string& name, const std::string& word) {
  return name.ends_with(word) && (name.size() == word.size() || !is_letter(name[name.size() - word.size() - 1]));
}

// The sentence around a word in a text of several lines. `at` is the place of the word, which may be a full stop.
std::string sentence(std::string text, std::size_t at) {
  std::ranges::replace(text, '\n', ' ');
  const std::size_t before = at == 0 ? std::string::npos : text.rfind(". ", at - 1);
  const std::size_t begin = text.find_first_not_of(' ', before == std::string::npos ? 0 : before + 2);
  const std::size_t end = text.find(". ", at);
  text = text.substr(begin, end == std::string::npos ? end : end + 1 - begin);
  const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  text.erase(std::unique(text.begin(), text.end(), both_blank), text.end());
  return text;
}

std::string part_text(const Topic::Part& part) {
  return part.name.empty() ? part.text : part.kind + " " + part.name + ": " + part.text;
}

std::optional<Hit> look_for_word(const Topic& topic, const std::string& word) {
  const std::string name = lower_case(topic.name);
  if (is_last_part(name, word)) return Hit{Closeness::its_name, topic.name, topic.line};
  for (const Topic::Part& part : topic.parts) {
    if (!part.name.empty() && is_last_part(lower_case(part.name), word))
      return Hit{Closeness::name_of_part, topic.name, part_text(part)};
  }
  if (name.find(word) != std::string::npos) return Hit{Closeness::in_name, topic.name, topic.line};
  if (lower_case(topic.line).find(word) != std::string::npos) {
    return Hit{Closeness::in_line, topic.name, topic.line};
  }
  for (const Topic::Part& part : topic.parts) {
    if (lower_case(part.name).find(word) != std::string::npos) {
      return Hit{Closeness::in_name_of_part, topic.name, part_text(part)};
    }
  }
  for (const Topic::Part& part : topic.parts) {
    const std::size_t at = lower_case(part.text).find(word);
    if (at == std::string::npos) continue;
    return Hit{Closeness::in_text, topic.name, part.name.empty() ? sentence(part.text, at) : part_text(part)};
  }
  return std::nullopt;
}

// The words as one text, or else each of them somewhere: the topic is as close as its least close word.
std::optional<Hit> look(const Topic& topic, const std::string& words) {
  if (std::optional<Hit> whole = look_for_word(topic, words)) return whole;
  std::optional<Hit> least_close;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    const std::string word = words.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    std::optional<Hit> hit = look_for_word(topic, word);
    if (!hit) return std::nullopt;
    if (!least_close || hit->closeness > least_close->closeness) least_close = std::move(hit);
  }
  return least_close;
}

// The name, then the text in a column of its own, of which two lines are shown. A name that reaches into this column
// stands in a line of its own.
std::string item(const Hit& hit, std::size_t width) {
  constexpr std::size_t column = 24, most_lines = 2;
  std::string flat = hit.text;
  std::ranges::replace(flat, '\n', ' ');
  std::vector<std::string> lines = wrap(flat, width - column);
  if (lines.size() > most_lines) {
    lines.resize(most_lines);
    std::string& last = lines.back();
    last = cut_lines(last + " …\n", static_cast<int>(width - column));
    last.pop_back();  // the end of the line
  }
  std::string text = "  " + hit.name;
  if (lines.empty() || lines.front().empty()) return text + "\n";
  if (text.size() + 2 > column) text += "\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t before = i == 0 && !text.ends_with('\n') ? text.size() : 0;
    text += std::string(column - before, ' ') + lines[i] + "\n";
  }
  return text;
}

}  // namespace

std::string found_text(std::span<const Topic> topics, const std::string& word, int width, std::size_t most) {
  constexpr std::size_t shortest = 2;
  const std::string wanted = lower_case(word);
  if (wanted.size() < shortest) return "";
  std::vector<Hit> hits;
  for (const Topic& topic : topics) {
    if (std::optional<Hit> hit = look(topic, wanted)) hits.push_back(std::move(*hit));
  }
  if (hits.empty()) return "";
  std::ranges::stable_sort(hits, {}, &Hit::closeness);

  std::string text = "\"" + word + "\" is the name or in the text of these, the closest first:\n";
  for (std::size_t i = 0; i < hits.size() && i < most; ++i) text += item(hits[i], static_cast<std::size_t>(width));
  if (hits.size() > most) text += "  … and " + std::to_string(hits.size() - most) + " more: another word finds fewer\n";
  return text + "\n`trainlab help NAME` shows one of them; .md files are pages of the documentation.\n";
}

}  // namespace trainlab::report
