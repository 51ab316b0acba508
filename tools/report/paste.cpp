#include "paste.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "core/registry.h"
#include "run/folder.h"
#include "run/shell_word.h"

namespace trainlab::report {

std::string lua_table(const Value::Map& params) {
  Value::Map given;
  for (const auto& [name, value] : params) {
    if (!value.is_nil()) given.emplace(name, value);
  }
  return Registry().print(given);
}

namespace {

// A boolean, a number or a string.
std::string word_of(const Value& value) {
  if (value.is_string()) return value.string();
  if (value.is_boolean()) return value.boolean() ? "true" : "false";
  return number_text(value.number());
}

// The same for --set, where a string that another value might be is quoted.
std::string set_word(const Value& value) {
  if (!value.is_string()) return word_of(value);
  const std::string& text = value.string();
  constexpr std::string_view no_strings[] = {"nil", "true", "false", "inf", "infinity", "nan"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const bool is_plain = !text.empty() && is_letter(text.front()) && std::ranges::none_of(no_strings, [&](auto other) {
    return std::ranges::equal(text, other, {}, [](char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
  });
  return is_plain ? text : to_json(value);
}

}  // namespace

std::string flags(const Value::Map& params) {
  std::string text;
  for (const auto& [name, value] : params) {
    if (value.is_nil() || value.is_list() || value.is_map()) continue;
    text += (text.empty() ? "" : " ") + shell_word("--" + name) + " " + shell_word(word_of(value));
  }
  return text;
}

std::string space_flags(const Value::Map& params, const StageView& stage) {
  if (stage.kind != "sweep") return "";
  // A stage that the recipe does not return has a folder below the run's, and is named.
  std::error_code ignored;
  const bool is_returned = std::filesystem::exists(manifest_path(stage.folder), ignored);
  const std::string before = (is_returned ? "" : stage.name + ":") + "space.";
  std::string text;
  for (const auto& [name, value] : params) {
    if (value.is_nil()) continue;
    if (value.is_list() || value.is_map() || name.find_first_of(".[=:") != std::string::npos) return "";
    text += (text.empty() ? "--set " : " --set ") + shell_word(before + name + "=" + set_word(value));
  }
  return text;
}

}  // namespace trainlab::report
