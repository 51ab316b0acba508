#include "same_stages.h"

#include <algorithm>
#include <set>

#include "bindings/marshal.h"

namespace trainlab {

namespace {

std::string shown(const Value& value) { return value.is_nil() ? "not given" : value.brief(); }

void compare(const std::string& path, const Value& before, const Value& now, std::vector<std::string>& lines) {
  if (before == now) return;
  const bool same_kind = before["@"] == now["@"];
  if (before["@"] == Value("function") && same_kind) {
    lines.push_back(path + ": its function, or a value that the function uses, has changed");
  } else if (before.is_map() && now.is_map() && same_kind) {
    std::set<std::string> names;
    for (const auto& [name, value] : before.map()) names.insert(name);
    for (const auto& [name, value] : now.map()) names.insert(name);
    for (const std::string& name : names)
      compare(path.empty() ? name : path + "." + name, before[name], now[name], lines);
  } else if (before.is_list() && now.is_list() && before.list().size() == now.list().size()) {
    for (std::size_t i = 0; i < now.list().size(); ++i)
      compare(path + "[" + std::to_string(i + 1) + "]", before.list()[i], now.list()[i], lines);
  } else {
    lines.push_back(path + ": was " + shown(before) + ", is " + shown(now));
  }
}

}  // namespace

Value comparable_value(const Spec& spec, const Value& value, FunctionTexts texts) {
  if (value.is_list()) {
    Value::List list;
    for (const Value& one : value.list()) list.push_back(comparable_value(spec, one, texts));
    return list;
  }
  if (!value.is_map()) return value;
  if (const std::shared_ptr<Callable> function = spec.function(value)) {
    return Value::Map{{"@", "function"}, {"text", texts == FunctionTexts::ignored ? Value() : function->text()}};
  }
  Value::Map map;
  for (const auto& [name, one] : value.map()) {
    if (!name.starts_with("@at")) map.emplace(name, comparable_value(spec, one, texts));
  }
  return map;
}

Value comparable_stage(const Registry& registry, const Spec& stage, FunctionTexts texts) {
  Value all = comparable_value(stage, stage.value, texts);
  const Entry* entry = registry.find(all["@"].string());
  std::erase_if(all.map(), [&](const auto& one) {
    const Option* option = entry->find(one.first);
    return option && option->is_mendable;
  });
  return all;
}

std::vector<std::string> stage_differences(const Value& before, const Value& now) {
  std::vector<std::string> lines;
  compare("", before, now, lines);
  return lines;
}

}  // namespace trainlab
