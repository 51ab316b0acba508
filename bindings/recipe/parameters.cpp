#include "bindings/parameters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/printable.h"
#include "core/value.h"
#include "core/words.h"

namespace trainlab {

namespace {

// "integer" for 3, "number" for 0.3, …; empty for a value that parameters cannot have.
std::string type_of(const Value& value) {
  if (value.is_integer()) return "integer";
  if (value.is_number()) return "number";
  if (value.is_boolean()) return "boolean";
  if (value.is_string()) return "string";
  return "";
}

template <class T>
bool parse(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), end, value);
  return failed == std::errc() && stopped == end && !text.empty();
}

struct Rule {
  std::string type;
  std::vector<std::string> choices;
  Value min, max;
};

std::string range_text(const Rule& rule) {
  std::string text;
  if (!rule.min.is_nil()) text += " ≥ " + number_text(rule.min.number());
  if (!rule.max.is_nil()) text += std::string(text.empty() ? "" : " and") + " ≤ " + number_text(rule.max.number());
  return text;
}

std::string choices_text(const std::vector<std::string>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + ("\"" + printable_line(choices[i]) + "\"");
  }
  return text;
}

std::string expected_text(const Rule& rule) {
  if (rule.type == "choice") return choices_text(rule.choices);
  if (rule.type == "boolean") return "true or false";
  return with_article(rule.type) + range_text(rule);
}

bool fits(const Rule& rule, const Value& value) {
  if (rule.type == "integer" || rule.type == "number") {
    const bool right = rule.type == "integer" ? value.is_integer() : value.is_number();
    if (!right || !std::isfinite(value.number())) return false;
    if (value.is_integer() && (value.integer() > largest_exact || value.integer() < -largest_exact)) return false;
    return (rule.min.is_nil() || value.number() >= rule.min.number()) &&
           (rule.max.is_nil() || value.number() <= rule.max.number());
  }
  if (rule.type == "boolean") return value.is_boolean();
  if (!value.is_string()) return false;
  if (rule.type == "choice")
    return std::find(rule.choices.begin(), rule.choices.end(), value.string()) != rule.choices.end();
  return rule.type != "path" || !value.string().empty();
}

// nil if the text is not of the type.
Value from_text(const std::string& type, const std::string& text) {
  if (type == "integer") {
    std::int64_t n = 0;
    return parse(text, n) ? Value(n) : Value();
  }
  if (type == "number") {
    double x = 0;
    return parse(text, x) ? Value(x) : Value();
  }
  if (type == "boolean") return text == "true" ? Value(true) : text == "false" ? Value(false) : Value();
  return text;
}

// `error` with a hint, if `text` is a number that is not whole or not exact.
Error with_hint_for_integer(Error error, const std::string& text, const Value& options) {
  const Value number = from_text("number", text);
  if (number.is_nil()) return error;
  const double x = number.number();
  if (std::fabs(x) >= static_cast<double>(largest_exact)) error.hint("beyond 2^53 not every whole number is exact");
  // Lua's 1.0 is 1: a default cannot tell the two types apart.
  if (std::trunc(x) != x && options["type"].is_nil()) {
    error.hint("its default, " + options["default"].brief() +
               ", is a whole number; type = \"number\" in the recipe allows fractions");
  }
  return error;
}

// A value that --help can go on with.
Value example(const Rule& rule) {
  if (rule.type == "integer")
    return rule.min.is_nil() ? Value(1) : Value(static_cast<std::int64_t>(std::ceil(rule.min.number())));
  if (rule.type == "number") return rule.min.is_nil() ? Value(1.0) : rule.min;
  if (rule.type == "boolean") return false;
  if (rule.type == "choice") return rule.choices.front();
  return rule.type == "path" ? "." : "";
}

std::string presence_text(const Value& fallback, bool optional) {
  if (fallback.is_nil()) return optional ? "optional" : "required";
  if (fallback.is_string())
    return "default " + (fallback.string().empty() ? "\"\"" : printable_line(fallback.string()));
  if (fallback.is_boolean()) return fallback.boolean() ? "default true" : "default false";
  return "default " + number_text(fallback.number());
}

// The comment that opens a recipe, without the dashes.
std::string opening_comment(std::string_view recipe) {
  std::string text;
  bool first = true;
  while (!recipe.empty()) {
    const auto end = recipe.find('\n');
    std::string_view line = recipe.substr(0, end);
    recipe = end == std::string_view::npos ? "" : recipe.substr(end + 1);
    const bool shell = std::exchange(first, false) && line.starts_with("#");
    if (shell) continue;
    if (!line.starts_with("--")) break;
    line.remove_prefix(std::min(line.find_first_not_of('-'), line.size()));
    if (line.starts_with(' ')) line.remove_prefix(1);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    text += std::string(line) + "\n";
  }
  return text;
}

}  // namespace

Parameters::Parameters(std::vector<GivenParameter> given, std::filesystem::path working_folder, bool describe,
                       std::vector<Flag> flags, std::function<void(const std::string&, const Value&)> declared,
                       std::vector<std::string> known_flags)
    : given_(std::move(given)),
      working_folder_(std::move(working_folder)),
      describe_(describe),
      flags_(std::move(flags)),
      on_declared_(std::move(declared)),
      known_flags_(std::move(known_flags)) {}

Value Parameters::declare(const Value& options, const LuaPosition& at) {
  const std::string name = options["name"].string();
  const auto wrong = [&](const std::string& message) {
    Error error = recipe_error(message).in("lab.param \"" + name + "\"");
    if (at.line > 0) error.at(at.file, at.line);
    return error;
  };
  if (closed_) throw wrong("declared after a stage has run").hint("declare parameters before the first lab.run");
  if (!is_identifier(name))
    throw wrong("expected a name of letters, digits and _, found \"" + printable_line(name) + "\"");
  if (std::ranges::find(flags_, name, &Flag::name) != flags_.end()) {
    throw wrong("--" + name + " has a meaning of its own in every recipe").hint("choose another name");
  }
  for (const Declared& other : declared_) {
    if (other.name == name) throw wrong("declared twice, first at " + other.at.text());
  }

  Rule rule;
  const Value& fallback = options["default"];
  if (options["choices"].is_list()) {
    for (const Value& choice : options["choices"].list()) rule.choices.push_back(choice.string());
  }
  if (options["type"].is_string()) {
    rule.type = options["type"].string();
  } else if (!rule.choices.empty()) {
    rule.type = "choice";
  } else if (rule.type = type_of(fallback); rule.type.empty()) {
    throw fallback.is_nil() ? wrong("has neither a default nor a type").hint("for example type = \"number\"")
                            : wrong("expected a boolean, number or string as default, found " + fallback.brief());
  }
  const bool numeric = rule.type == "integer" || rule.type == "number";
  rule.min = options["min"];
  rule.max = options["max"];
  if (!numeric && !(rule.min.is_nil() && rule.max.is_nil()))
    throw wrong("min and max belong to numbers, this is " + with_article(rule.type));
  if ((rule.type == "choice") != !rule.choices.empty()) {
    throw wrong(rule.choices.empty() ? "a choice without choices"
                                     : "choices belong to type = \"choice\", this is " + with_article(rule.type));
  }
  if (!fallback.is_nil() && !fits(rule, fallback)) {
    throw wrong("expected " + expected_text(rule) + " as default, found " + fallback.brief());
  }

  Value value = fallback;
  for (const GivenParameter& given : given_) {
    if (given.name != name) continue;
    value = from_text(rule.type, given.text);
    if (given.quoted && !value.is_string()) {
      const Error error = usage_error(given.from + ": " + name + ": expected " + expected_text(rule) +
                                      ", found the string \"" + given.text + "\"");
      throw fits(rule, value) ? Error(error).hint("without the quotes: " + name + " = " + given.text) : error;
    }
    if (!fits(rule, value)) {
      Error error = usage_error("expected " + expected_text(rule) + ", found \"" + given.text + "\"").in(given.from);
      throw rule.type == "integer" ? with_hint_for_integer(error, given.text, options) : error;
    }
  }
  const bool optional = options["optional"] == Value(true);
  if (value.is_nil() && !optional) {
    if (!describe_) {
      throw usage_error("the recipe needs a value for --" + name + ": " + expected_text(rule))
          .hint(options["doc"].is_string() ? options["doc"].string() : "--" + name + " VALUE");
    }
    value = example(rule);
  }
  if (rule.type == "number" && !value.is_nil()) value = value.number();
  if (rule.type == "path" && !value.is_nil()) value = (working_folder_ / value.string()).lexically_normal().string();

  declared_.push_back({name, rule.type, options["doc"].is_string() ? options["doc"].string() : "", range_text(rule),
                       presence_text(fallback, optional), rule.choices, at});
  if (on_declared_ && !value.is_nil()) on_declared_(name, value);
  return value;
}

void Parameters::close() {
  if (closed_) return;
  closed_ = true;
  std::vector<std::string> names;
  for (const Declared& declared : declared_) names.push_back(declared.name);
  for (const GivenParameter& given : given_) {
    if (std::find(names.begin(), names.end(), given.name) != names.end()) continue;
    Error error = usage_error("the recipe has no parameter '" + given.name + "'").in(given.from);
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "--" : ", --") + name;
    // Only what stands on the command line by itself can be a flag that was meant.
    const bool is_on_line = given.from == "--" + given.name;
    if (is_on_line) names.insert(names.end(), known_flags_.begin(), known_flags_.end());
    const std::string close = Registry::closest(given.name, names);
    if (!close.empty()) throw error.hint("did you mean --" + close + "?");
    std::string hint = all.empty() ? "it declares none" : "it has " + all;
    if (is_on_line)
      hint += "; an option of the stage that it returns would be --set " + given.name + "=VALUE";
    else
      hint += R"(; an option becomes a parameter where the recipe takes its value from lab.param { "NAME", VALUE })";
    throw error.hint(hint);
  }
}

std::string Parameters::help(const std::string& shown, std::string_view recipe) const {
  constexpr std::size_t longest_doc = 2000;
  std::string text = shortened(opening_comment(recipe), 10 * longest_doc);
  if (!text.empty()) text += "\n";
  text += "trainlab " + shown + (declared_.empty() ? "" : " [--PARAMETER VALUE…]") + "\n";
  if (declared_.empty()) return text + "\nThe recipe has no parameters.\n";
  std::vector<std::string> heads;
  std::size_t width = 0;
  for (const Declared& one : declared_) {
    std::string type = one.type;
    for (char& c : type) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    heads.push_back("  --" + one.name + " " + type);
    width = std::max(width, heads.back().size());
  }
  text += "\nParameters:\n";
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    const Declared& one = declared_[i];
    std::string notes;
    const auto note = [&](const std::string& part) { notes += (notes.empty() ? "" : "; ") + part; };
    if (!one.choices.empty()) note(choices_text(one.choices));
    if (!one.range.empty()) note(one.range.substr(1));
    note(one.presence);
    const std::string doc = shortened(one.doc, longest_doc);
    text +=
        heads[i] + std::string(width + 2 - heads[i].size(), ' ') + doc + (doc.empty() ? "" : " ") + "(" + notes + ")\n";
  }
  return text;
}

}  // namespace trainlab
