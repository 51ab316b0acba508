// luacats_meta: the completion file for editors that speak LuaLS (LuaCATS annotations).
//
// A kind is a class (lab.layer), an entry a function with a class for its table of options (lab.nn.Linear.options); the
// objects of methods and fields are classes too (lab.run).
#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "core/printable.h"
#include "text.h"
#include "types.h"

namespace trainlab {

namespace {

std::string class_of(const Entry& entry) {
  std::string name = "lab." + entry.name + ".options";
  std::replace(name.begin(), name.end(), ':', '.');
  return name;
}

// As a parameter: Lua's own words cannot be one.
std::string parameter(const std::string& name) { return is_lua_word(name) ? name + "_" : name; }

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// "function(step, total) → factor" as fun(step: any, total: any): any.
std::string function_type(std::string_view signature) {
  const auto open = signature.find('('), close = signature.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "function";
  std::string arguments, word;
  for (const char c : std::string(signature.substr(open + 1, close - open - 1)) + ",") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
    } else if (!word.empty()) {
      arguments += (arguments.empty() ? "" : ", ") + parameter(word) + ": any";
      word.clear();
    }
  }
  return "(fun(" + arguments + "): any)";
}

bool needs_something(const Entry& entry) {
  return std::any_of(entry.options.begin(), entry.options.end(),
                     [&](const Option& o) { return o.is_required && !is_source(entry, o); });
}

class Writer {
 public:
  explicit Writer(const Registry& registry) : registry_(registry) {
    for (const Entry* entry : registry.entries()) {
      const std::string owner(first_part(entry->name));
      if (makes_value(*entry)) {
        kinds_.insert(entry->kind);
        if (!is_chained(*entry) && !needs_something(*entry)) named_.insert(entry->kind);
      }
      if (belongs_to_object(*entry)) {
        if (!owner.empty()) kinds_.insert(owner);  // a field without owner is one of lab
      } else {
        for (std::size_t dot = owner.find('.'); !owner.empty(); dot = owner.find('.', dot + 1)) {
          namespaces_.insert(owner.substr(0, dot));
          if (dot == std::string::npos) break;
        }
      }
    }
  }

  std::string write() {
    out_ =
        "---@meta\n-- Generated from the declarations in the engine; edit those, not this file.\n-- luacheck: "
        "ignore\n\n"
        "---@class lab\n";
    write_fields("");
    out_ +=
        "lab = {}\n\n"
        "---A number and a unit: \"5%\", \"500 steps\", \"2 epochs\", \"10000 samples\", \"30 s\", \"90 min\", \"18 "
        "h\".\n"
        "---@alias lab.duration string\n\n";
    for (const std::string& kind : kinds_) write_class(kind);
    for (const std::string& name : namespaces_) {
      if (!registry_.find(name)) out_ += "lab." + name + " = {}\n\n";
    }
    for (const Entry* entry : registry_.entries()) {
      if (entry->kind != "field") write_entry(*entry);
    }
    return std::move(out_);
  }

 private:
  static bool makes_value(const Entry& entry) {
    return entry.kind != "method" && entry.kind != "field" && entry.kind != "function";
  }
  static bool belongs_to_object(const Entry& entry) {
    return entry.kind == "field" || entry.name.find(':') != std::string::npos;
  }

  // The class of a kind or an object, with its fields, the names of its entries, and a place for its methods.
  void write_class(const std::string& kind) {
    if (named_.contains(kind)) {
      std::string names;
      for (const Entry* entry : registry_.of_kind(kind)) {
        if (is_chained(*entry) || needs_something(*entry)) continue;
        names += (names.empty() ? "" : "|") + trainlab::quoted(last_part(entry->name));
      }
      out_ += "---@alias lab." + kind + ".name " + names + "\n\n";
    }
    for (const Entry* entry : registry_.of_kind("field")) {
      if (first_part(entry->name) != kind || entry->options.empty()) continue;
      out_ += "---@class lab." + entry->name + "\n";
      for (const Option& field : entry->options) write_field(field, "lab." + entry->name);
      out_ += "\n";
    }
    out_ += "---@class lab." + kind + "\n";
    write_fields(kind);
    const auto entries = registry_.entries();
    const bool methods = std::any_of(entries.begin(), entries.end(), [&](const Entry* entry) {
      return entry->kind != "field" && belongs_to_object(*entry) && first_part(entry->name) == kind;
    });
    if (methods) out_ += "local " + object(kind) + " = {}\n";
    out_ += "\n";
  }

  void write_fields(const std::string& owner) {
    for (const Entry* entry : registry_.of_kind("field")) {
      if (first_part(entry->name) != owner) continue;
      // The table of a field whose own fields are declared has a class; "list" is a list of such tables.
      const std::string list = entry->result.starts_with("list") ? "[]" : "";
      const std::string type = entry->options.empty() ? result_type(*entry) : "lab." + entry->name + list;
      out_ += "---@field " + std::string(last_part(entry->name)) + " " + type + " " + one_line(entry->doc) + "\n";
    }
  }

  static std::string object(std::string_view kind) { return std::string(kind) + "_methods"; }

  void write_entry(const Entry& entry) {
    const std::string options_class = class_of(entry);
    std::vector<const Option*> by_position;
    const Option* array = entry.array_option();
    bool named = false;
    for (const Option& option : entry.options) {
      if (is_source(entry, option) || &option == array) continue;
      if (option.is_positional) {
        by_position.push_back(&option);
      } else {
        named = true;
      }
    }
    const bool takes_table = named || array || (!by_position.empty() && entry.kind != "method");
    if (takes_table) write_options(options_class, entry);

    const std::string result = result_type(entry);
    std::string arguments, annotations = "---" + one_line(entry.doc) + "\n";
    for (const Option* option : by_position) {
      annotations += "---@param " + parameter(option->name) + (option->is_required ? " " : "? ") +
                     type_of(*option, options_class) + " " + one_line(option->doc) + "\n";
      arguments += (arguments.empty() ? "" : ", ") + parameter(option->name);
    }
    if (named || (takes_table && by_position.empty())) {
      const bool optional = !by_position.empty() || !needs_something(entry);
      annotations += std::string("---@param options") + (optional ? "? " : " ") + options_class + "\n";
      arguments += arguments.empty() ? "options" : ", options";
    }
    annotations += "---@return " + result + "\n";
    if (takes_table && !by_position.empty()) annotations += overload(entry, "options: " + options_class, result);
    if (array && by_position.empty()) {
      annotations += overload(entry, "...: " + element_type(*array, options_class), result);
    }

    if (namespaces_.contains(entry.name)) {
      // Callable, and a table of more: a class with an overload instead of a function.
      out_ += "---" + one_line(entry.doc) + "\n---@class lab." + entry.name + ".namespace\n" +
              overload(entry, takes_table ? "options: " + options_class : "", result) + "lab." + entry.name +
              " = {}\n\n";
      return;
    }
    const bool method = entry.name.find(':') != std::string::npos;
    const std::string place =
        method ? object(first_part(entry.name)) + ":" + std::string(last_part(entry.name)) : "lab." + entry.name;
    out_ += annotations + "function " + place + "(" + arguments + ") end\n\n";
  }

  static std::string overload(const Entry& entry, std::string arguments, const std::string& result) {
    if (const auto colon = entry.name.find(':'); colon != std::string::npos) {
      arguments = "self: lab." + std::string(first_part(entry.name)) + (arguments.empty() ? "" : ", ") + arguments;
    }
    return "---@overload fun(" + arguments + "): " + result + "\n";
  }

  void write_options(const std::string& name, const Entry& entry) {
    write_nested(name, entry.options);
    out_ += "---@class " + name + "\n";
    std::set<std::string> positions;
    for (const Option& option : entry.options) {
      if (is_source(entry, option)) continue;
      write_field(option, name);
      if (option.is_array) positions.insert(element_type(option, name));
      if (option.is_positional && !option.is_array) positions.insert(type_of(option, name));
    }
    std::string all;
    for (const std::string& type : positions) all += (all.empty() ? "" : "|") + type;
    if (!all.empty()) out_ += "---@field [integer] " + all + "\n";
    out_ += "\n";
  }

  // The classes of tables with fields.
  void write_nested(const std::string& name, const std::vector<Option>& options) {
    for (const Option& option : options) {
      if (option.nested.empty()) continue;
      const std::string inner = name + "." + option.name;
      write_nested(inner, option.nested);
      out_ += "---@class " + inner + "\n";
      for (const Option& field : option.nested) write_field(field, inner);
      out_ += "\n";
    }
  }

  void write_field(const Option& option, const std::string& owner) {
    // An option that may be given by position need not be given by name.
    const bool optional = !option.is_required || option.is_positional || option.is_array;
    std::string doc = one_line(option.doc);
    if (!option.unit.empty()) doc += " [" + option.unit + "]";
    if (const std::string range = range_text(option); !range.empty()) doc += ", " + range;
    if (option.nested.empty() && !option.fallback.is_nil()) doc += ", default " + one_line(default_text(option));
    out_ += "---@field " + option.name + (optional ? "? " : " ") + type_of(option, owner) + " " + doc + "\n";
  }

  std::string type_of(const Option& option, const std::string& owner) const {
    std::string type = element_type(option, owner);
    if (option.is_many) {
      const bool simple = type.find('|') == std::string::npos;
      type += "|" + (simple ? type : "(" + type + ")") + "[]";
    }
    return option.is_keyed ? type + "|table<string, " + type + ">" : type;
  }

  std::string element_type(const Option& option, const std::string& owner) const {
    std::string type;
    for (const Form& form : option.forms)
      type += (type.empty() ? "" : "|") + form_type(form, owner + "." + option.name);
    return type;
  }

  std::string form_type(const Form& form, const std::string& nested_class) const {
    switch (form.type) {
      case Form::Type::boolean: return "boolean";
      case Form::Type::integer: return "integer";
      case Form::Type::number: return "number";
      case Form::Type::string:
      case Form::Type::path: return "string";
      case Form::Type::choice: {
        std::string type;
        for (const std::string& choice : form.choices) type += (type.empty() ? "" : "|") + trainlab::quoted(choice);
        return type;
      }
      case Form::Type::duration: return "lab.duration";
      case Form::Type::entry:
        return "lab." + form.kind + (named_.contains(form.kind) ? "|lab." + form.kind + ".name" : "");
      case Form::Type::function: return function_type(form.signature);
      case Form::Type::map: return nested_class;
      case Form::Type::any: return "any";
    }
    return "any";
  }

  // An entry gives its kind. What functions, methods and fields give is said in words: the first one may be a type.
  std::string result_type(const Entry& entry) const {
    if (makes_value(entry)) return "lab." + entry.kind;
    if (entry.result.empty()) return "nil";
    std::string_view words = entry.result;
    for (const std::string_view article : {"a ", "an ", "the "}) {
      if (words.starts_with(article)) words.remove_prefix(article.size());
    }
    const std::string word(words.substr(0, words.find_first_of(" ,.;:([{")));
    static constexpr std::array<std::string_view, 7> plain{"number", "integer", "string",  "boolean",
                                                           "table",  "nil",     "function"};
    if (std::find(plain.begin(), plain.end(), word) != plain.end()) return word;
    return kinds_.contains(word) ? "lab." + word : "any";
  }

  const Registry& registry_;
  std::set<std::string> kinds_;       // classes: of values and of objects
  std::set<std::string> named_;       // kinds some of whose entries can be given by name alone
  std::set<std::string> namespaces_;  // "nn", "tensor"
  std::string out_;
};

}  // namespace

std::string luacats_meta(const Registry& registry) { return Writer(registry).write(); }

}  // namespace trainlab
