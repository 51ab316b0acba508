#include "bindings/set_options.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>

#include "core/callable.h"
#include "run/stage.h"
#include "run/toml_text.h"
#include "values/entry_table.h"
#include "values/namespaces.h"

namespace trainlab {

namespace {

// `text`: with its flag, "--set optim.lr=0.01".
Error wrong(const std::string& text, const std::string& message) { return usage_error(text + ": " + message); }

// nil, true, false, a number, a list, a table or a text in quotes as TOML has them; anything else is text.
Value parse_value(const std::string& text, const std::string& change) {
  if (text == "nil") return {};
  if (text == "true" || text == "false") return text == "true";
  if (text.starts_with('[') || text.starts_with('{') ||
      (text.size() > 1 && text.front() == '"' && text.back() == '"')) {
    try {
      return parse_toml("value = " + text, "--set")["value"];
    } catch (const Error& error) {
      const std::string what = text.front() == '"' ? "a text in quotes" : "a list or a table";
      throw wrong(change, "expected " + what + " as in TOML, found " + text + " (" + error.message() + ")")
          .hint("for example '[0.9, 0.95]', '[\"a\", \"b\"]' or '{ threads = 2 }'");
    }
  }
  const char* begin = text.data();
  const char* end = begin + text.size();
  std::int64_t whole = 0;
  if (const auto [stop, failed] = std::from_chars(begin, end, whole); failed == std::errc() && stop == end)
    return whole;
  double number = 0;
  if (const auto [stop, failed] = std::from_chars(begin, end, number); failed == std::errc() && stop == end)
    return number;
  return text;
}

// "model[3].p" → model, 3, p: names, and positions as integers.
std::vector<Value> parse_path(const std::string& path, const std::string& text) {
  std::vector<Value> steps;
  std::size_t i = 0;
  while (i < path.size()) {
    if (path[i] == '[') {
      const auto close = path.find(']', i);
      std::int64_t position = 0;
      const char* end = path.data() + std::min(close, path.size());
      const auto [stop, failed] = std::from_chars(path.data() + i + 1, end, position);
      if (close == std::string::npos || failed != std::errc() || stop != end || position < 1) {
        throw wrong(text, "expected a position from 1 in [ ]");
      }
      steps.emplace_back(position);
      i = close + 1;
    } else {
      if (path[i] == '.') ++i;
      const auto end = std::min(path.find_first_of(".[", i), path.size());
      if (end == i) throw wrong(text, "expected names joined by dots, found \"" + path + "\"");
      steps.emplace_back(path.substr(i, end - i));
      i = end;
    }
  }
  if (steps.empty() || !steps[0].is_string()) throw wrong(text, "expected the path of an option before '='");
  return steps;
}

// Null if the value is not an entry, or of an unknown entry.
const Entry* entry_in(const Registry& registry, const Value& value) {
  const Value& name = value["@"];
  return name.is_string() ? registry.find(name.string()) : nullptr;
}

// The list that positions mean: the value itself, or what an entry's array option holds.
Value* list_of(const Registry& registry, Value& value) {
  if (value.is_list()) return &value;
  const Entry* entry = entry_in(registry, value);
  const Option* array = entry ? entry->array_option() : nullptr;
  if (!array || !value[array->name].is_list()) return nullptr;
  return &value.map().at(array->name);
}

// Null if the value is no entry with such an option.
const Option* option_in(const Registry& registry, const Value& entry, const std::string& option) {
  const Entry* known = entry_in(registry, entry);
  return known ? known->find(option) : nullptr;
}

// Whether an option takes any table of the recipe's (the parameters of an ensemble, the state of a task).
bool takes_any_table(const Option& option) {
  return !option.is_many && option.forms.size() == 1 && option.forms.front().type == Form::Type::any;
}

// Names that the recipe chooses (a space's parameters, the optimizers of several models) can be changed, but not added:
// a misspelt name would be a new name.
void require_known(const Value& table, const std::string& path, const std::string& name, const std::string& text) {
  if (table.map().contains("@") || table.map().contains(name)) return;
  std::vector<std::string> names;
  for (const auto& [known, value] : table.map()) names.push_back(known);
  const Error error = no_member("there is no '" + name + "' in " + path, name, names, "'%'");
  throw wrong(text, error.message()).hint(names.empty() ? "the recipe gives no " + path : error.hint());
}

// Whether the option is a function that builds a stage, which stands in the signature.
bool builds_stage(const Option* option) {
  constexpr std::string_view builds = "→ lab.fit";
  const auto does = [&](const Form& form) { return form.signature.find(builds) != std::string::npos; };
  return option && std::ranges::any_of(option->forms, does);
}

// A change of one option: `path` leads to it, from the stage that is changed.
struct Change {
  std::string text;  // with its flag, for messages
  std::vector<Value> path;
  Value value;
};

Spec changed(const Registry& registry, Spec stage, const Change& change, std::string so_far);

// A function that builds a stage, and the change that its stages have.
class ChangedBuild final : public Callable {
 public:
  ChangedBuild(const Registry& registry, std::shared_ptr<Callable> function, Change change, std::string so_far)
      : registry_(registry), function_(std::move(function)), change_(std::move(change)), so_far_(std::move(so_far)) {}

  std::vector<Argument> call(std::span<const Argument> arguments) override { return function_->call(arguments); }
  std::shared_ptr<const Spec> build(std::span<const Argument> arguments) override {
    const std::shared_ptr<const Spec> stage = function_->build(arguments);
    try {
      auto with_change = std::make_shared<const Spec>(changed(registry_, *stage, change_, so_far_));
      has_fitted_ = true;
      return with_change;
    } catch (const Error& error) {
      // An option that has fitted one stage is no mistake of the command line: the function has built another kind of
      // stage.
      if (!has_fitted_) throw;
      const LuaPosition at = position_of_text(where());
      throw recipe_error(error.message()).at(at.file, at.line).hint(error.hint());
    }
  }
  void rekey(Key key) override { function_->rekey(key); }
  const std::string& where() const override { return function_->where(); }
  std::string text() const override { return function_->text() + "\n" + change_.text; }

 private:
  const Registry& registry_;
  const std::shared_ptr<Callable> function_;
  const Change change_;
  const std::string so_far_;  // the path of the function
  bool has_fitted_ = false;
};

// Raises Error{usage} naming the text. `so_far`: the path of the stage, if it stands in another one, for messages.
Spec changed(const Registry& registry, Spec stage, const Change& change, std::string so_far) {
  Value* at = &stage.value;
  const Option* option = nullptr;  // whose value `at` is
  for (std::size_t i = 0; i < change.path.size(); ++i) {
    const Value& step = change.path[i];
    if (step.is_string()) {
      if (!at->is_map() && !at->is_nil()) {
        Error error =
            wrong(change.text, so_far + " is " + at->brief() + ", which has no option '" + step.string() + "'");
        const bool has_entries = at->is_list() && !at->list().empty() && at->list().front().is_map();
        throw error.hint(has_entries ? "to change the first one: " + so_far + "[1]." + step.string() + "=…" : "");
      }
      if (at->is_nil()) *at = Value::Map{};
      if ((*at)["@"] == Value("function")) {
        if (builds_stage(option)) {
          auto& function = stage.functions.at(static_cast<std::size_t>((*at)["index"].integer()));
          const std::vector<Value> rest(change.path.begin() + static_cast<std::ptrdiff_t>(i), change.path.end());
          function =
              std::make_shared<ChangedBuild>(registry, function, Change{change.text, rest, change.value}, so_far);
          return stage;
        }
        throw wrong(change.text, so_far + " is a function, which has no option '" + step.string() + "'")
            .hint("change the function in the recipe, or use a parameter of lab.param");
      }
      const bool may_be_first = option && option->is_keyed && at->map().empty();
      if (option && (option->is_keyed || takes_any_table(*option)) && !may_be_first)
        require_known(*at, so_far, step.string(), change.text);
      option = option_in(registry, *at, step.string());
      at = &at->map()[step.string()];
      so_far += (so_far.empty() ? "" : ".") + step.string();
    } else {
      Value* list = list_of(registry, *at);
      const auto position = static_cast<std::size_t>(step.integer());
      so_far += "[" + std::to_string(position) + "]";
      if (!list || position > list->list().size()) throw wrong(change.text, "there is no " + so_far);
      at = &list->list()[position - 1];
    }
  }
  *at = change.value;
  try {
    stage.value = registry.check(stage.value);
  } catch (const Error& error) {
    throw wrong(change.text, (error.path().empty() ? "" : error.path() + ": ") + error.message()).hint(error.hint());
  }
  return stage;
}

}  // namespace

SetOptions::SetOptions(const std::vector<std::string>& texts, const std::string& flag) {
  for (const std::string& given : texts) {
    const std::string text = flag + " " + given;
    const auto equals = given.find('=');
    if (equals == std::string::npos) throw wrong(text, "expected PATH=VALUE, for example optim.lr=0.01");
    const std::string left = given.substr(0, equals);
    const auto colon = left.find(':');
    Named change{text, colon == std::string::npos ? "" : left.substr(0, colon),
                 colon == std::string::npos ? left : left.substr(colon + 1),
                 parse_value(given.substr(equals + 1), text), false};
    parse_path(change.path, text);
    changes_.push_back(std::move(change));
  }
}

Spec SetOptions::apply(const Registry& registry, Spec stage, bool returned) {
  const std::string name = stage_key(registry, stage.value);
  if (std::find(stages_.begin(), stages_.end(), name) == stages_.end()) stages_.push_back(name);
  for (Named& one : changes_) {
    if (one.stage.empty() ? !returned : one.stage != name) continue;
    one.used = true;
    stage = changed(registry, std::move(stage), {one.text, parse_path(one.path, one.text), one.value}, "");
  }
  return stage;
}

void SetOptions::check_all_used() const {
  for (const Named& change : changes_) {
    if (change.used) continue;
    if (change.stage.empty())
      throw wrong(change.text, "the recipe returns no stage").hint("name one: --set STAGE:" + change.path + "=VALUE");
    const std::string close = Registry::closest(change.stage, stages_);
    throw wrong(change.text, "the recipe has no stage \"" + change.stage + "\"")
        .hint(close.empty() ? "" : "did you mean " + close + "?");
  }
}

}  // namespace trainlab
