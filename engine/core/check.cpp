// Registry::check: a recipe's entry map against its declaration.
#include <algorithm>
#include <cmath>

#include "core/duration.h"
#include "core/known_elsewhere.h"
#include "core/pickle.h"
#include "core/printable.h"
#include "core/words.h"
#include "text.h"
#include "types.h"

namespace trainlab {

namespace {

constexpr std::size_t listed_words = 12;  // most names of entries in a hint

std::string quote_name(const std::string& name) { return "'" + printable_line(name) + "'"; }

class Checker {
 public:
  explicit Checker(const Registry& registry) : registry_(registry) {}

  Value entry(const Value& value, const std::string& path) const {
    const std::string* name = entry_name(value);
    if (!name) throw recipe_error("expected an entry, found " + found(value)).in(path);
    const Entry* declaration = registry_.find(*name);
    if (!declaration) throw unknown_entry(*name).in(path);
    try {
      Value::Map checked = fields(*declaration, declaration->options, value.map(), path, value["@at"]);
      checked.emplace("@", *name);
      if (!value["@at"].is_nil()) checked.emplace("@at", value["@at"]);
      return checked;
    } catch (Error& error) {
      const SourceLine position = position_of(value["@at"]);
      if (!position.file.empty()) error.at(position.file, position.line);
      throw;
    }
  }

  Value option(const Option& option, const Value& value, const std::string& path, const Value& at) const {
    if (is_by_name(option, value)) return by_name(option, value.map(), path, at);
    if (!option.is_many) return single(option, value, path, at, option.type_text());
    if (value.is_list() || is_empty_table(value)) return list(option, value, path, at);
    const Value one = single(option, value, path, at, option.type_text());
    return Value::List(static_cast<std::size_t>(std::max(1, option.count)), one);
  }

 private:
  // A Lua table without content may arrive as either.
  static bool is_empty_table(const Value& value) {
    return (value.is_list() && value.list().empty()) || (value.is_map() && value.map().empty());
  }

  Value by_name(Option option, const Value::Map& map, const std::string& path, const Value& at) const {
    option.is_keyed = false;
    Value::Map checked;
    for (const auto& [name, value] : map) checked.emplace(name, this->option(option, value, below(path, name), at));
    return checked;
  }

  Value list(const Option& option, const Value& value, const std::string& path, const Value& at) const {
    static const Value::List empty;
    const Value::List& given = value.is_list() ? value.list() : empty;
    if (option.count > 0 && given.size() != static_cast<std::size_t>(option.count)) {
      throw recipe_error("expected " + with_article(option.type_text()) + ", found " + found(value)).in(path);
    }
    if (option.is_required && given.empty()) {
      throw recipe_error("expected " + with_article(option.type_text()) + ", found an empty table")
          .in(path)
          .hint(option.doc);
    }
    Value::List checked;
    for (std::size_t i = 0; i < given.size(); ++i) {
      checked.push_back(single(option, given[i], element_path(path, i, given[i]), at, element_text(option)));
    }
    return checked;
  }

  // The options of an entry or of a table with fields.
  Value::Map fields(const Entry& entry, const std::vector<Option>& options, const Value::Map& given,
                    const std::string& path, const Value& at) const {
    for (const auto& [name, value] : given) {
      const bool known =
          std::any_of(options.begin(), options.end(), [&name = name](const Option& o) { return o.name == name; });
      const bool is_mark = &options == &entry.options && (name == "@" || name == "@at");
      if (!known && !is_mark) throw unknown_option(entry, options, name, path).in(path);
    }
    Value::Map checked;
    for (const Option& declared : options) {
      const auto value = given.find(declared.name);
      const std::string where = option_path(path, entry, declared);
      if (value != given.end() && !value->second.is_nil()) {
        try {
          checked.emplace(declared.name, option(declared, value->second, where, at));
        } catch (Error& error) {
          const std::string meant = called_here(declared.name, names_of(entry, options));
          if (!meant.empty() && error.hint().empty()) error.hint("did you mean " + quote_name(meant) + "?");
          throw;
        }
      } else if (declared.is_required) {
        throw recipe_error("missing; expected " + with_article(declared.type_text())).in(where).hint(declared.doc);
      }
    }
    return checked;
  }

  // The first form that takes the value decides. `expected` is for the message when none does.
  Value single(const Option& option, const Value& value, const std::string& path, const Value& at,
               const std::string& expected) const {
    for (const Form& form : option.forms) {
      switch (form.type) {
        case Form::Type::boolean:
          if (value.is_boolean()) return value;
          break;
        case Form::Type::integer:
          if (is_whole(value) && in_range(option, value.number())) return value.integer();
          break;
        case Form::Type::number:
          if (is_exact_number(value) && in_range(option, value.number())) return value.number();
          break;
        case Form::Type::string:
          if (value.is_string()) return value;
          break;
        case Form::Type::path:
          if (value.is_string() && !value.string().empty()) return value;
          break;
        case Form::Type::choice:
          if (value.is_string() &&
              std::find(form.choices.begin(), form.choices.end(), value.string()) != form.choices.end()) {
            return value;
          }
          break;
        case Form::Type::duration:
          if (std::optional<Duration> duration = duration_of(option, value, path)) return to_text(*duration);
          break;
        case Form::Type::entry:
          if (std::optional<Value> made = entry_of(form, value, path, at)) return std::move(*made);
          break;
        case Form::Type::function:
          if (is_function_map(value)) return value;
          break;
        case Form::Type::map:
          if (value.is_map() && value["@"].is_nil()) return table(option, value.map(), path, at);
          if (is_empty_table(value)) return table(option, {}, path, at);
          break;
        case Form::Type::any: return entries_within(value, path);
      }
    }
    Error error = recipe_error("expected " + with_article(expected) + ", found " + found(value));
    if (const std::string text = hint(option, value); !text.empty()) error.hint(text);
    throw error.in(path);
  }

  static bool in_range(const Option& option, double x) {
    return (option.min_open ? x > option.min : x >= option.min) && (option.max_open ? x < option.max : x <= option.max);
  }
  static bool is_whole(const Value& value) {
    if (value.is_integer()) return true;
    return value.is_number() && std::fabs(value.number()) < largest_exact &&
           std::trunc(value.number()) == value.number();
  }
  static bool is_exact_number(const Value& value) {
    if (value.is_integer()) {
      return value.integer() >= -largest_exact && value.integer() <= largest_exact;
    }
    return value.is_number() && std::isfinite(value.number());
  }

  // Text that is no duration raises its own error, which says more, unless another form could have been meant.
  static std::optional<Duration> duration_of(const Option& option, const Value& value, const std::string& path) {
    if (!value.is_string()) return std::nullopt;
    try {
      return parse_duration(value.string(), option.unit == "time");
    } catch (Error& error) {
      const bool only = std::none_of(option.forms.begin(), option.forms.end(), [](const Form& form) {
        using Type = Form::Type;
        return form.type == Type::string || form.type == Type::path || form.type == Type::choice ||
               form.type == Type::entry || form.type == Type::any;
      });
      if (!only) return std::nullopt;
      throw error.in(path);
    }
  }

  std::optional<Value> entry_of(const Form& form, const Value& value, const std::string& path, const Value& at) const {
    if (value.is_string()) {
      const Entry* named = find_named(form.kind, value.string());
      if (!named) return std::nullopt;
      Value::Map map{{"@", named->name}};
      if (!at.is_nil()) map.emplace("@at", at);
      return entry(map, path);
    }
    const std::string* name = entry_name(value);
    if (!name) return std::nullopt;
    const Entry* declaration = registry_.find(*name);
    if (!declaration) throw unknown_entry(*name).in(path);
    if (declaration->kind != form.kind) return std::nullopt;
    return entry(value, path);
  }

  const Entry* find_named(std::string_view kind, std::string_view name) const {
    for (const Entry* candidate : registry_.of_kind(kind)) {
      if (!is_chained(*candidate) && last_part(candidate->name) == name) return candidate;
    }
    return nullptr;
  }

  Value table(const Option& option, const Value::Map& map, const std::string& path, const Value& at) const {
    static const Entry no_entry("", "", "");
    return fields(no_entry, option.nested, map, path, at);
  }

  // Free-form data is taken as it is, but the entries in it are checked.
  Value entries_within(const Value& value, const std::string& path) const {
    if (entry_name(value)) return entry(value, path);
    if (value.is_list()) {
      Value::List checked;
      for (std::size_t i = 0; i < value.list().size(); ++i) {
        checked.push_back(entries_within(value.list()[i], element_path(path, i, value.list()[i])));
      }
      return checked;
    }
    if (value.is_map() && !is_function_map(value)) {
      Value::Map checked;
      for (const auto& [key, member] : value.map()) checked.emplace(key, entries_within(member, below(path, key)));
      return checked;
    }
    return value;
  }

  // "a layer (nn.Linear)", "a function (x.lua:3)", "a list of 3".
  std::string found(const Value& value) const {
    const std::string* name = entry_name(value);
    const Entry* declaration = name ? registry_.find(*name) : nullptr;
    return declaration ? with_article(kind_text(declaration->kind)) + " (" + *name + ")" : value.brief();
  }

  Error unknown_entry(const std::string& name) const {
    std::vector<std::string> names;
    for (const Entry* entry : registry_.entries()) names.push_back(entry->name);
    Error error = recipe_error("there is no " + name);
    if (const std::string close = Registry::closest(name, names); !close.empty())
      error.hint("did you mean " + close + "?");
    return error;
  }

  static std::vector<std::string> names_of(const Entry& entry, const std::vector<Option>& options) {
    std::vector<std::string> names;
    for (const Option& option : options) {
      if (!is_source(entry, option)) names.push_back(option.name);
    }
    return names;
  }

  // Names the entry where the path, which stands before the message, does not.
  static Error unknown_option(const Entry& entry, const std::vector<Option>& options, const std::string& name,
                              const std::string& path) {
    const std::vector<std::string> names = names_of(entry, options);
    const bool named = entry.name.empty() || entry.name == path;
    Error error = recipe_error((named ? "there is" : entry.name + " has") + " no option " + quote_name(name));
    const std::string known = called_here(name, names);
    const std::string_view said = entry.kind == "layer" ? said_otherwise_of_layer(name) : said_otherwise(name);
    if (known.empty() && !said.empty()) return error.hint(std::string(said));
    const std::string close = Registry::closest(name, names);
    if (!close.empty()) return error.hint("did you mean " + quote_name(close) + "?");
    return error.hint(names.empty() ? "it takes no options" : "accepted: " + listed(names, "and"));
  }

  std::string hint(const Option& option, const Value& value) const {
    // Only axes are -1 at most.
    if (option.max == -1 && value.is_number() && value.number() >= 0)
      return "the axes of a sample are counted from the end: -1 is the last";
    std::vector<std::string> words;
    for (const Form& form : option.forms) {
      if (form.type == Form::Type::duration && value.is_number()) {
        const double size = std::abs(value.number());
        const std::string amount = Value(size).brief();
        if (option.unit == "time" && size == 0) return "a time has a unit, for example \"90 min\"";
        if (option.unit == "time") return "write \"" + amount + " h\", \"" + amount + " min\" or \"" + amount + " s\"";
        // A part of a step is no length.
        if (size > 0 && size < 1) return "write \"" + figure_text(100 * size) + "%\" or \"" + amount + " epochs\"";
        return "write \"" + amount + " epochs\" or \"" + amount + " steps\"";
      }
      if (form.type == Form::Type::string && option.unit == "bytes" && value.is_number()) {
        const double size = std::abs(value.number());
        const std::string amount = Value(size).brief();
        // A large number is one of bytes.
        if (size >= 1e4) return "write \"" + figure_text(size) + " B\" or \"" + figure_text(size / 1e6) + " MB\"";
        return "write \"" + amount + " GB\" or \"" + amount + " MiB\"";
      }
      if (form.type == Form::Type::integer && value.is_number() && std::fabs(value.number()) >= largest_exact) {
        return "beyond 2^53 not every whole number is exact";
      }
      if (form.type == Form::Type::choice) words.insert(words.end(), form.choices.begin(), form.choices.end());
      if (form.type == Form::Type::entry) {
        if (form.kind == "layer" && value.is_list())
          return "layers in a row are nn.Sequential { a, b }, with one pair of braces";
        if (form.kind == "space" && value.is_list())
          return option.is_keyed ? "each search range has a name: { lr = lab.space.log(1e-4, 1e-1) }"
                                 : "one of several values is lab.space.choice { …, … }";
        if (form.kind == "init" && value.is_string() && names_weights(value.string()))
          return hint_for_weights(value.string());
        for (const Entry* entry : registry_.of_kind(form.kind)) {
          if (!is_chained(*entry)) words.emplace_back(last_part(entry->name));
        }
      }
    }
    if (!value.is_string() || words.empty()) {
      std::string written = with_braces(option, value);
      const bool lists = written.empty() && !words.empty() && words.size() <= listed_words;
      return lists ? "accepted: " + listed(words, "and") : written;
    }
    std::string close = called_here(value.string(), words);
    if (close.empty()) close = Registry::closest(value.string(), words);
    return close.empty() ? "accepted: " + listed(words, "and") : "did you mean " + quoted(close) + "?";
  }

  // Whether a text in place of an init names a run or a file of weights.
  static bool names_weights(const std::string& text) {
    return text.find('/') != std::string::npos || text.ends_with(".safetensors") || is_named_as_pickle(text);
  }
  static std::string hint_for_weights(const std::string& path) {
    if (is_named_as_pickle(path)) return "init = lab.init.weights \"FILE.safetensors\"; " + std::string(from_pickle);
    return "stored weights are init = lab.init.weights " + quoted(path);
  }

  // "write memory = { budget = "2 GB" }" for a value in place of a table: with the first of the table's options that
  // takes the value.
  std::string with_braces(const Option& option, const Value& value) const {
    if (value.is_boolean() && !option.nested.empty()) {
      const auto named = [](const Option& inner) { return inner.name; };
      return "write " + option.name + " = { … } with any of its options: " + joined(option.nested, ", ", named);
    }
    if (!value.is_string() && !value.is_number()) return "";
    for (const Option& inner : option.nested) {
      try {
        this->option(inner, value, "", Value());
        return "write " + option.name + " = { " + inner.name + " = " + value.brief() + " }";
      } catch (const Error&) {
        continue;
      }
    }
    return "";
  }

  const Registry& registry_;
};

}  // namespace

Value Registry::check(const Value& entry_map, const std::string& path) const {
  const std::string* name = entry_name(entry_map);
  return Checker(*this).entry(entry_map, path.empty() && name ? *name : path);
}

Value check_option(const Registry& registry, const Option& option, const Value& value, const std::string& path,
                   const Value& at) {
  return Checker(registry).option(option, value, path, at);
}

}  // namespace trainlab
