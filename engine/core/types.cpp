#include "types.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/words.h"
#include "text.h"

namespace trainlab {

const std::string* entry_name(const Value& value) {
  const Value& name = value["@"];
  return name.is_string() && name.string() != "function" ? &name.string() : nullptr;
}

bool is_function_map(const Value& value) {
  const Value& name = value["@"];
  return name.is_string() && name.string() == "function";
}

std::string_view last_part(std::string_view name) {
  return name.substr(name.find_last_of(".:") + 1);  // npos + 1 = 0: the whole name
}

std::string_view first_part(std::string_view name) {
  const auto end = name.find_last_of(".:");
  return end == std::string_view::npos ? std::string_view() : name.substr(0, end);
}

bool is_chained(const Entry& entry) { return entry.kind != "method" && entry.name.find(':') != std::string::npos; }

bool is_source(const Entry& entry, const Option& option) { return is_chained(entry) && option.name == kSource; }

std::string kind_text(std::string_view kind) {
  if (kind == "data") return "data source";
  if (kind == "stop") return "stop rule";
  if (kind == "augment") return "change of images";
  if (kind == "space") return "search range";
  return std::string(kind);
}

std::string range_text(const Option& option) {
  const bool low = std::isfinite(option.min), high = std::isfinite(option.max);
  if (low && high) {
    return std::string("in ") + (option.min_open ? "(" : "[") + number_text(option.min) + ", " +
           number_text(option.max) + (option.max_open ? ")" : "]");
  }
  if (low) return (option.min_open ? "> " : "≥ ") + number_text(option.min);
  if (high) return (option.max_open ? "< " : "≤ ") + number_text(option.max);
  return "";
}

namespace {

std::string form_text(const Option& option, const Form& form) {
  const std::string range = range_text(option);
  const std::string ranged = range.empty() ? "" : " " + range;
  switch (form.type) {
    case Form::Type::boolean: return "boolean";
    case Form::Type::integer: return "integer" + ranged;
    case Form::Type::number: return "number" + ranged;
    case Form::Type::string: return "string";
    case Form::Type::path: return "path";
    case Form::Type::choice: {
      std::vector<std::string> words;
      for (const std::string& choice : form.choices) words.push_back(trainlab::quoted(choice));
      return listed(words);
    }
    case Form::Type::duration: return "duration";
    case Form::Type::entry: return with_article(kind_text(form.kind));
    case Form::Type::function: return form.signature;
    case Form::Type::map: return "table of options";
    case Form::Type::any: return "any value";
  }
  std::abort();
}

}  // namespace

std::string element_text(const Option& option) {
  std::vector<std::string> words;
  for (const Form& form : option.forms) words.push_back(form_text(option, form));
  return listed(words);
}

bool is_by_name(const Option& option, const Value& value) {
  if (!option.is_keyed || !value.is_map() || value.map().empty() || !value["@"].is_nil()) return false;
  const auto is_option = [&](const auto& member) {
    return std::any_of(option.nested.begin(), option.nested.end(),
                       [&](const Option& o) { return o.name == member.first; });
  };
  return option.nested.empty() || std::none_of(value.map().begin(), value.map().end(), is_option);
}

std::string Option::type_text() const {
  const std::string one = element_text(*this);
  const std::string by_name = is_keyed ? ", or a table of them by name" : "";
  if (!is_many) return one + by_name;
  return one + ", or a list of " + (count > 0 ? std::to_string(count) : "them") + by_name;
}

std::string below(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

std::string option_path(const std::string& path, const Entry& entry, const Option& option) {
  // A Sequential's layers are model[1], model[2], …; what stands before a colon has the place of the whole chain.
  if (option.is_array || is_source(entry, option)) return path;
  return below(path, option.name);
}

std::string element_path(const std::string& path, std::size_t index, const Value& element) {
  const std::string* name = entry_name(element);
  return path + "[" + std::to_string(index + 1) + "]" + (name ? "." + std::string(last_part(*name)) : "");
}

SourceLine position_of(const Value& at) {
  if (!at.is_string()) return {};
  const std::string& text = at.string();
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return {};
  return {text.substr(0, colon), std::atoi(text.c_str() + colon + 1)};
}

}  // namespace trainlab
