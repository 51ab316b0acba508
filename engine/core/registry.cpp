#include "core/registry.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "core/known_elsewhere.h"
#include "core/words.h"
#include "text.h"
#include "types.h"

namespace trainlab {

Option::Option(std::string its_name, std::string its_doc) : name(std::move(its_name)), doc(std::move(its_doc)) {}
Option::~Option() = default;
Option::Option(const Option& other) = default;
Option::Option(Option&& other) noexcept = default;
Option& Option::operator=(const Option& other) = default;
Option& Option::operator=(Option&& other) noexcept = default;

Option& Option::form(Form::Type type) {
  forms.push_back({.type = type});
  return *this;
}

Option& Option::choice(std::vector<std::string> choices) {
  forms.push_back({.type = Form::Type::choice, .choices = std::move(choices)});
  return *this;
}

Option& Option::entry(std::string kind) {
  forms.push_back({.type = Form::Type::entry, .kind = std::move(kind)});
  return *this;
}

Option& Option::function(std::string signature) {
  forms.push_back({.type = Form::Type::function, .signature = std::move(signature)});
  return *this;
}

Option& Option::fields(std::vector<Option> options) {
  nested = std::move(options);
  return form(Form::Type::map);
}

Option& Option::in(std::string text) {
  unit = std::move(text);
  return *this;
}

Option& Option::or_default(Value value) {
  fallback = std::move(value);
  return *this;
}

Entry::Entry(std::string its_name, std::string its_kind, std::string its_doc)
    : name(std::move(its_name)), kind(std::move(its_kind)), doc(std::move(its_doc)) {}
Entry::~Entry() = default;
Entry::Entry(const Entry& other) = default;
Entry::Entry(Entry&& other) noexcept = default;
Entry& Entry::operator=(const Entry& other) = default;
Entry& Entry::operator=(Entry&& other) noexcept = default;

Entry& Entry::with(Option option) {
  options.push_back(std::move(option));
  return *this;
}

Entry& Entry::returns(std::string text) {
  result = std::move(text);
  return *this;
}

Entry& Entry::example(std::string text) {
  sample = std::move(text);
  return *this;
}

Entry& Entry::note(std::string text) {
  notes = std::move(text);
  return *this;
}

const Option* Entry::find(std::string_view option) const {
  const auto found = std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == option; });
  return found == options.end() ? nullptr : &*found;
}

const Option* Entry::array_option() const {
  const auto found = std::find_if(options.begin(), options.end(), [](const Option& o) { return o.is_array; });
  return found == options.end() ? nullptr : &*found;
}

namespace {

[[noreturn]] void wrong(const std::string& entry, const std::string& message) {
  throw std::logic_error("registry: " + entry + ": " + message);
}

// identifier (. identifier)* (: identifier)?
bool is_entry_name(std::string_view name) {
  bool begins = true, colon = false;
  for (const char c : name) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) || c == '_';
    if (c == '.' || c == ':') {
      if (begins || colon) return false;
      colon = c == ':';
      begins = true;
    } else if (letter || (!begins && std::isdigit(static_cast<unsigned char>(c)))) {
      begins = false;
    } else {
      return false;
    }
  }
  return !begins;
}

// Checks declarations, and brings defaults into normal form.
void settle(const Registry& registry, const std::string& entry, std::vector<Option>& options) {
  std::set<std::string> names;
  int arrays = 0;
  for (Option& option : options) {
    const std::string which = "option '" + option.name + "'";
    if (!is_entry_name(option.name)) wrong(entry, which + " is no identifier");
    if (!names.insert(option.name).second) wrong(entry, which + " is declared twice");
    if (option.doc.empty()) wrong(entry, which + " has no doc");
    if (option.forms.empty()) wrong(entry, which + " has no form");
    if (option.is_array && ++arrays > 1) wrong(entry, "two array options");
    if (option.is_required && !option.fallback.is_nil()) wrong(entry, which + " is required and has a default");
    settle(registry, entry + "." + option.name, option.nested);
    if (option.fallback.is_nil()) continue;
    try {
      option.fallback = check_option(registry, option, option.fallback, "", Value());
    } catch (const Error& error) {
      wrong(entry, "the default of " + which + " does not fit: " + error.what());
    }
  }
}

}  // namespace

void Registry::add(Entry entry) {
  if (!is_entry_name(entry.name)) wrong(entry.name, "not a name");
  if (entries_.contains(entry.name)) wrong(entry.name, "declared twice");
  if (entry.kind.empty()) wrong(entry.name, "no kind");
  if (entry.doc.empty()) wrong(entry.name, "no doc");
  if (is_chained(entry)) {
    const std::string kind(first_part(entry.name));
    Option source{std::string(kSource), "what stands before the colon"};
    entry.options.insert(entry.options.begin(), source.entry(kind).required().positional());
  }
  settle(*this, entry.name, entry.options);
  std::string name = entry.name;
  entries_.emplace(std::move(name), std::make_unique<Entry>(std::move(entry)));
}

const Entry* Registry::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second.get();
}

std::vector<const Entry*> Registry::entries() const {
  std::vector<const Entry*> all;
  for (const auto& [name, entry] : entries_) all.push_back(entry.get());
  return all;
}

std::vector<const Entry*> Registry::of_kind(std::string_view kind) const {
  std::vector<const Entry*> some;
  for (const auto& [name, entry] : entries_) {
    if (entry->kind == kind) some.push_back(entry.get());
  }
  return some;
}

namespace {

// Whether these may be input size, output size, … as PyTorch has them: nn.Linear(64, 10).
bool may_begin_with_input(const std::vector<std::string>& by_position, const Value::List& found) {
  return !by_position.empty() && by_position[0].starts_with("out_") && found.size() == by_position.size() + 1;
}

// nn.Linear(64, 10) as PyTorch has it: how it is written here, nn.Linear(10).
std::string without_input_sizes(const Entry& entry, const std::vector<std::string>& by_position,
                                const Value::List& found) {
  const bool sizes = may_begin_with_input(by_position, found);
  std::string arguments;
  for (std::size_t i = 0; i < by_position.size(); ++i) {
    arguments += (i ? ", " : "") + (sizes ? found[i + 1].brief() : by_position[i]);
  }
  return entry.name + "(" + arguments + ")";
}

// nn.Conv2d(32, 3, 1), if the last number is meant for the first option without a position that takes a number:
// nn.Conv2d { 32, 3, stride = 1 }. Empty when there is no such option.
std::string with_name(const Entry& entry, const Value::List& found) {
  const auto takes_number = [](const Form& form) {
    return form.type == Form::Type::integer || form.type == Form::Type::number;
  };
  const auto named = std::ranges::find_if(entry.options, [&](const Option& option) {
    return !option.is_positional && std::ranges::any_of(option.forms, takes_number);
  });
  if (named == entry.options.end()) return "";
  std::string arguments;
  for (std::size_t i = 0; i + 1 < found.size(); ++i) arguments += found[i].brief() + ", ";
  return entry.name + " { " + arguments + named->name + " = " + found.back().brief() + " }";
}

Error too_many(const Entry& entry, const std::vector<std::string>& by_position, const Value::List& found) {
  const std::string count = std::to_string(found.size());
  const auto named = std::find_if(entry.options.begin(), entry.options.end(),
                                  [](const Option& option) { return !option.is_positional; });
  Error error = recipe_error(!by_position.empty() ? "takes " + std::to_string(by_position.size()) + " by position (" +
                                                        listed(by_position, "and") + "), found " + count
                             : named != entry.options.end() ? "takes only named options, found " + count +
                                                                  " without a name (" + found[0].brief() + ")"
                                                            : "takes no options, found " + count);
  const bool numbers = std::all_of(found.begin(), found.end(), [](const Value& value) { return value.is_number(); });
  if (entry.kind == "layer" && numbers && !entry.options.empty()) {
    std::string text = "input sizes are inferred: " + without_input_sizes(entry, by_position, found);
    const std::string other = may_begin_with_input(by_position, found) ? with_name(entry, found) : "";
    if (!other.empty()) text += ", or " + other;
    error.hint(text);
  } else if (named != entry.options.end()) {
    const std::string options = "{ " + named->name + " = … }";
    const bool is_called_with_options_alone = by_position.empty() || is_chained(entry);
    error.hint("write " + entry.name +
               (is_called_with_options_alone ? " " + options : "(" + joined(by_position) + ", " + options + ")"));
  }
  return error.in(entry.name);
}

}  // namespace

Value::Map Registry::assemble(const Entry& entry, Value::List positional, Value::Map named) const {
  const auto put = [&](const std::string& option, Value value) {
    if (const auto found = named.find(option); found != named.end() && !found->second.is_nil()) {
      throw recipe_error("'" + option + "' is given twice, by position and by name").in(entry.name);
    }
    named.insert_or_assign(option, std::move(value));
  };

  std::size_t next = 0;
  std::vector<std::string> names;
  for (const Option& option : entry.options) {
    if (!option.is_positional || option.is_array) continue;
    names.push_back(option.name);
    if (next == positional.size()) continue;
    if (!positional[next].is_nil()) put(option.name, std::move(positional[next]));
    ++next;
  }
  if (const Option* array = entry.array_option(); array && next < positional.size()) {
    put(array->name, Value::List(std::make_move_iterator(positional.begin() + static_cast<std::ptrdiff_t>(next)),
                                 std::make_move_iterator(positional.end())));
  } else if (next < positional.size()) {
    throw too_many(entry, names, positional);
  }
  named.insert_or_assign("@", entry.name);
  return named;
}

namespace {

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string Registry::closest(std::string_view word, const std::vector<std::string>& names) {
  if (word.size() > 100) return "";
  if (std::string known = called_here(word, names); !known.empty()) return known;
  const std::string wanted = lower(word);
  std::size_t least = word.size() < 2 ? 1 : std::max<std::size_t>(1, word.size() / 3) + 1;
  std::string best;
  for (const std::string& name : names) {
    const std::size_t d = distance(wanted, lower(name));
    if (d < least) {
      least = d;
      best = name;
    }
  }
  if (!best.empty() || word.size() < 3) return best;
  for (const std::string& name : names) {
    if (const std::string one = lower(name); std::ranges::is_permutation(one, wanted)) return name;
  }
  for (const std::string& name : names) {
    if (lower(name).starts_with(wanted) && (best.empty() || name.size() < best.size())) best = name;
  }
  return best;
}

}  // namespace trainlab
