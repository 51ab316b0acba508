// Registry::print: a value as a recipe would write it.
#include <algorithm>
#include <iterator>

#include "core/printable.h"
#include "core/words.h"
#include "text.h"
#include "types.h"

namespace trainlab {

namespace {

constexpr std::size_t kWidth = 100;

// `head { items }` or `head(items)`; without brackets the head is all.
struct Node {
  std::string head;
  char open = 0;
  std::vector<Node> items = {};
};

std::string flat(const Node& node) {
  if (!node.open) return node.head;
  if (node.items.empty()) return node.head + (node.open == '(' ? "()" : "{}");
  const std::string inside = joined(node.items, ", ", flat);
  if (node.open == '(') return node.head + "(" + inside + ")";
  return node.head + "{ " + inside + " }";
}

void layout(const Node& node, std::size_t indent, std::size_t following, std::string& out) {
  const std::string line = flat(node);
  if (node.items.empty() || indent + columns(line) + following <= kWidth) {
    out += line;
    return;
  }
  out += node.head + node.open + "\n";
  for (const Node& item : node.items) {
    out.append(indent + 2, ' ');
    layout(item, indent + 2, 1, out);
    out += &item == &node.items.back() && node.open == '(' ? "\n" : ",\n";
  }
  out.append(indent, ' ');
  out += node.open == '(' ? ')' : '}';
}

Node labelled(std::string_view key, Node node) {
  const bool is_name = is_identifier(key) && !is_lua_word(key);
  node.head = (is_name ? std::string(key) : "[" + quoted(key) + "]") + " = " + node.head;
  return node;
}

class Printer {
 public:
  explicit Printer(const Registry& registry) : registry_(registry) {}

  Node node(const Value& value) const {
    if (is_function_map(value)) {
      const Value& at = value["@at"];
      return {"function" + (at.is_string() ? " (" + at.string() + ")" : "")};
    }
    const std::string* name = entry_name(value);
    if (const Entry* entry = name ? registry_.find(*name) : nullptr) return call(*entry, value);
    if (value.is_string()) return {trainlab::quoted(value.string())};
    if (value.is_list()) return list(value.list());
    if (!value.is_map()) return {value.brief()};
    Node table{name ? *name + " " : "", '{'};  // of an entry that is not known here, all options by name
    for (const auto& [key, member] : value.map()) {
      if (!name || !key.starts_with('@')) table.items.push_back(labelled(key, node(member)));
    }
    return table;
  }

  // The value of a checked option, as short as a recipe may write it.
  Node given(const Option& option, const Value& value) const {
    if (!option.is_many || !value.is_list() || value.list().empty()) return node(value);
    const Value::List& all = value.list();
    const bool same = std::all_of(all.begin(), all.end(), [&](const Value& v) { return v == all[0]; });
    const bool one = option.count > 0 ? same : all.size() == 1;
    return one && !all[0].is_list() ? node(all[0]) : node(value);
  }

 private:
  Node list(const Value::List& values) const {
    Node table{"", '{'};
    for (const Value& value : values) table.items.push_back(node(value));
    return table;
  }

  // F(a, b) when all that is given stands at its position, else F { a, b, name = c }.
  Node call(const Entry& entry, const Value& value) const {
    Node call{entry.name};
    std::vector<Node> named;
    bool in_place = true;  // no position has been left out so far
    bool has_array = false;
    for (const Option& option : entry.options) {
      const Value& held = value[option.name];
      if (is_source(entry, option)) {
        call.head = flat(node(held)) + ":" + std::string(last_part(entry.name));
      } else if (option.is_array) {
        continue;
      } else if (held.is_nil()) {
        in_place = in_place && !option.is_positional;
      } else if (option.is_positional && in_place) {
        call.items.push_back(given(option, held));
      } else {
        named.push_back(labelled(option.name, given(option, held)));
      }
    }
    if (const Option* array = entry.array_option(); array && value[array->name].is_list()) {
      Node elements = list(value[array->name].list());
      if (in_place) {
        has_array = true;
        std::move(elements.items.begin(), elements.items.end(), std::back_inserter(call.items));
      } else {
        named.push_back(labelled(array->name, std::move(elements)));
      }
    }
    call.open = named.empty() && !has_array ? '(' : '{';
    if (call.open == '{') call.head += ' ';
    std::move(named.begin(), named.end(), std::back_inserter(call.items));
    return call;
  }

  const Registry& registry_;
};

}  // namespace

std::string Registry::print(const Value& value) const {
  std::string out;
  layout(Printer(*this).node(value), 0, 0, out);
  return out;
}

std::string default_text(const Option& option) {
  static const Registry none;
  return option.fallback.is_nil() ? "" : flat(Printer(none).given(option, option.fallback));
}

}  // namespace trainlab
