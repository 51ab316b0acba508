#include "paste.h"

#include "core/registry.h"
#include "run/shell_word.h"

namespace trainlab::report {

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
