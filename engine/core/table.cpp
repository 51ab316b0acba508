// The table of entries as data: written by the engine at build time, read by the thin program.
#include <array>
#include <cmath>
#include <utility>

#include "types.h"

namespace trainlab {

namespace {

constexpr std::array<std::string_view, 11> kTypes{"boolean",  "integer", "number",   "string", "path", "choice",
                                                  "duration", "entry",   "function", "map",    "any"};

Value strings(const std::vector<std::string>& words) { return Value::List(words.begin(), words.end()); }

void put(Value& map, std::string_view key, const std::string& text) {
  if (!text.empty()) map.set(key, text);
}
void put(Value& map, std::string_view key, bool flag) {
  if (flag) map.set(key, true);
}

std::string text(const Value& map, std::string_view key) { return map[key].is_nil() ? "" : map[key].string(); }
bool flag(const Value& map, std::string_view key) { return !map[key].is_nil() && map[key].boolean(); }

Value to_value(const Form& form) {
  Value map;
  map.set("type", kTypes[static_cast<std::size_t>(form.type)]);
  put(map, "kind", form.kind);
  put(map, "signature", form.signature);
  if (!form.choices.empty()) map.set("choices", strings(form.choices));
  return map;
}

Value to_value(const Option& option) {
  Value map;
  map.set("name", option.name);
  map.set("doc", option.doc);
  put(map, "unit", option.unit);
  Value::List forms, nested;
  for (const Form& form : option.forms) forms.push_back(to_value(form));
  for (const Option& inner : option.nested) nested.push_back(to_value(inner));
  map.set("forms", std::move(forms));
  if (!nested.empty()) map.set("nested", std::move(nested));
  if (!option.fallback.is_nil()) map.set("default", option.fallback);
  if (std::isfinite(option.min)) map.set("min", option.min);
  if (std::isfinite(option.max)) map.set("max", option.max);
  put(map, "min_open", option.min_open);
  put(map, "max_open", option.max_open);
  put(map, "required", option.is_required);
  put(map, "positional", option.is_positional);
  put(map, "many", option.is_many);
  put(map, "keyed", option.is_keyed);
  put(map, "array", option.is_array);
  if (option.count > 0) map.set("count", option.count);
  return map;
}

Form form_from(const Value& map) {
  Form form;
  const std::string type = text(map, "type");
  std::size_t index = 0;
  while (kTypes.at(index) != type) ++index;
  form.type = static_cast<Form::Type>(index);
  form.kind = text(map, "kind");
  form.signature = text(map, "signature");
  if (map["choices"].is_list()) {
    for (const Value& choice : map["choices"].list()) form.choices.push_back(choice.string());
  }
  return form;
}

Option option_from(const Value& map) {
  Option option(text(map, "name"), text(map, "doc"));
  option.unit = text(map, "unit");
  for (const Value& form : map["forms"].list()) option.forms.push_back(form_from(form));
  if (map["nested"].is_list()) {
    for (const Value& inner : map["nested"].list()) option.nested.push_back(option_from(inner));
  }
  option.fallback = map["default"];
  if (!map["min"].is_nil()) option.min = map["min"].number();
  if (!map["max"].is_nil()) option.max = map["max"].number();
  option.min_open = flag(map, "min_open");
  option.max_open = flag(map, "max_open");
  option.is_required = flag(map, "required");
  option.is_positional = flag(map, "positional");
  option.is_many = flag(map, "many");
  option.is_keyed = flag(map, "keyed");
  option.is_array = flag(map, "array");
  if (!map["count"].is_nil()) option.count = static_cast<int>(map["count"].integer());
  return option;
}

}  // namespace

Value Registry::to_value() const {
  Value::List table;
  for (const Entry* entry : entries()) {
    Value map;
    map.set("name", entry->name);
    map.set("kind", entry->kind);
    map.set("doc", entry->doc);
    put(map, "returns", entry->result);
    put(map, "example", entry->sample);
    put(map, "note", entry->notes);
    Value::List options;
    for (const Option& option : entry->options) options.push_back(trainlab::to_value(option));
    map.set("options", std::move(options));
    table.push_back(std::move(map));
  }
  return table;
}

// Entries come as add() has settled them, so nothing is checked again: a default may name an entry further down.
Registry Registry::from_value(const Value& table) {
  Registry registry;
  for (const Value& map : table.list()) {
    auto entry = std::make_unique<Entry>(text(map, "name"), text(map, "kind"), text(map, "doc"));
    entry->result = text(map, "returns");
    entry->sample = text(map, "example");
    entry->notes = text(map, "note");
    for (const Value& option : map["options"].list()) entry->options.push_back(option_from(option));
    std::string name = entry->name;
    registry.entries_.emplace(std::move(name), std::move(entry));
  }
  return registry;
}

}  // namespace trainlab
