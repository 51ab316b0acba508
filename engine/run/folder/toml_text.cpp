#include "run/toml_text.h"

#include <algorithm>
#include <sstream>

#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>

#include "core/error.h"

namespace trainlab {

namespace {

toml::table table_of(const Value& map);
toml::array array_of(const Value& list);

// toml++ has no node that can be any: `add` puts the typed one in its place.
template <class Add>
void add_node(const Value& value, Add add) {
  if (value.is_boolean()) {
    add(value.boolean());
  } else if (value.is_integer()) {
    add(value.integer());
  } else if (value.is_number()) {
    add(value.number());
  } else if (value.is_string()) {
    add(value.string());
  } else if (value.is_list()) {
    add(array_of(value));
  } else if (value.is_map()) {
    add(table_of(value));
  }
}

toml::table table_of(const Value& map) {
  toml::table table;
  for (const auto& [name, value] : map.map()) {
    add_node(value, [&, &key = name](auto&& node) { table.insert(key, std::forward<decltype(node)>(node)); });
  }
  return table;
}

toml::array array_of(const Value& list) {
  toml::array array;
  for (const Value& value : list.list()) {
    add_node(value, [&](auto&& node) { array.push_back(std::forward<decltype(node)>(node)); });
  }
  return array;
}

Value value_of(const toml::node& node) {
  if (const auto* boolean = node.as_boolean()) return boolean->get();
  if (const auto* integer = node.as_integer()) return std::int64_t{integer->get()};
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* array = node.as_array()) {
    Value::List list;
    for (const toml::node& element : *array) list.push_back(value_of(element));
    return list;
  }
  if (const auto* table = node.as_table()) {
    Value::Map map;
    for (const auto& [name, member] : *table) map.emplace(std::string(name.str()), value_of(member));
    return map;
  }
  std::ostringstream text;
  text << toml::node_view<const toml::node>(node);
  return text.str();
}

toml::table parse(std::string_view text, const std::string& what) {
  try {
    return toml::parse(text, what);
  } catch (const toml::parse_error& error) {
    throw usage_error("not TOML: " + std::string(error.description()))
        .at(what, static_cast<int>(error.source().begin.line));
  }
}

}  // namespace

std::string to_toml(const Value& map) {
  std::ostringstream text;
  text << table_of(map) << "\n";
  return text.str();
}

Value parse_toml(std::string_view text, const std::string& what) { return value_of(parse(text, what)); }

std::vector<TomlMember> parse_toml_members(std::string_view text, const std::string& what) {
  std::vector<TomlMember> members;
  const toml::table table = parse(text, what);
  for (const auto& [name, node] : table) {
    members.push_back({std::string(name.str()), value_of(node), static_cast<int>(name.source().begin.line)});
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const TomlMember& a, const TomlMember& b) { return a.line < b.line; });
  return members;
}

}  // namespace trainlab
