#include "paste.h"

#include "core/registry.h"

namespace trainlab::report {

namespace {

bool is_plain(const std::string& text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,%@=";
  return !text.empty() && text.find_first_not_of(plain) == std::string::npos;
}

std::string shell_word(const std::string& text) {
  if (is_plain(text)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string lua_table(const Value::Map& params) {
  Value::Map given;
  for (const auto& [name, value] : params) {
    if (!value.is_nil()) given.emplace(name, value);
  }
  return Registry().print(given);
}

std::string flags(const Value::Map& params) {
  std::string text;
  for (const auto& [name, value] : params) {
    if (value.is_nil() || value.is_list() || value.is_map()) continue;
    const std::string word = value.is_string()    ? value.string()
                             : value.is_boolean() ? (value.boolean() ? "true" : "false")
                                                  : number_text(value.number());
    text += (text.empty() ? "" : " ") + shell_word("--" + name) + " " + shell_word(word);
  }
  return text;
}

}  // namespace trainlab::report
