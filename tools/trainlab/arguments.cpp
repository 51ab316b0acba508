#include "cli/arguments.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/error.h"
#include "core/known_elsewhere.h"
#include "core/registry.h"
#include "core/words.h"

namespace trainlab::cli {

namespace {

// Whether a word in the place of a command names a file, which is then to be a recipe: recipe_at() says what else the
// file may be.
bool names_file(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".lua") || word.find('/') != std::string::npos || std::filesystem::exists(word, ignored);
}

// `close`: what is meant, as far as one can tell.
Error unknown(const std::string& what, const std::string& word, const std::string& close) {
  Error error = usage_error("unknown " + what + " " + word);
  if (!close.empty()) {
    error.hint("did you mean " + close + "?");
  } else {
    error.hint("`trainlab --help` shows them all");
  }
  return error;
}

std::vector<std::string> names_of(std::span<const Command> commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

class Parser {
 public:
  Parser(std::span<const Command> commands, std::span<const std::string> words) : commands_(commands), words_(words) {}

  Arguments parse() {
    while (position_ < words_.size()) {
      const std::string& word = words_[position_++];
      if (word.size() > 1 && word.front() == '-') {
        take(word == "-h" ? "--help" : word);
      } else if (!result_.command) {
        take_command(word);
      } else {
        result_.words.push_back(word);
      }
    }
    check();
    if (result_.command) result_.known_flags = flags_of_line();
    return std::move(result_);
  }

 private:
  void take_command(const std::string& word) {
    result_.command = command_named(commands_, word);
    is_named_ = result_.command;
    if (is_named_) return;
    if (!names_file(word)) throw unknown("command or recipe", word, command_meant(word, names_of(commands_)));
    const auto by_default = std::ranges::find(commands_, true, &Command::is_default);
    result_.command = by_default == commands_.end() ? nullptr : &*by_default;
    result_.words.push_back(word);
  }

  // Reads a word with dashes: a flag of trainlab or, after a recipe's path, a parameter of the recipe.
  void take(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = word.substr(equals + 1);

    const Flag* flag = name.starts_with("--") ? find_flag(result_.command, name.substr(2)) : nullptr;
    if (flag && !belongs_to_recipe(*flag)) {
      take_flag(*flag, name, value);
    } else if (may_be_parameter(name)) {
      take_parameter(name, value);
    } else {
      throw unknown_flag(name);
    }
  }

  // Whether a flag says in place of the words what the line works on.
  bool has_no_words() const { return !result_.command->instead.empty() && result_.has(result_.command->instead); }

  bool takes_recipe() const {
    const Command* const command = result_.command;
    return command && !has_no_words() &&
           (command->takes_recipe() || (!command->recipe_flag.empty() && result_.has(command->recipe_flag)));
  }

  // Whether a flag of the command's own means nothing to the words so far, and is a parameter of their recipe.
  bool belongs_to_recipe(const Flag& flag) const {
    const Command* const command = result_.command;
    if (!command || !command->flags_beside_recipe || !own_flag(*command, flag.name)) return false;
    const auto flags = command->flags_beside_recipe(result_.words);
    return flags && std::ranges::find(*flags, flag.name) == flags->end() && may_be_parameter("--" + flag.name);
  }

  // The names of the flags that the words so far may have, without dashes.
  std::vector<std::string> flags_of_line() const {
    std::vector<std::string> names;
    for (const Flag& flag : flags_of(result_.command))
      if (!belongs_to_recipe(flag)) names.push_back(flag.name);
    return names;
  }

  bool words_name_recipe() const {
    const Command* const command = result_.command;
    return command && command->flags_beside_recipe && command->flags_beside_recipe(result_.words);
  }

  // Whether a name may be a parameter of a recipe. Parameters stand after the recipe's path, and no parameter has the
  // name of a flag of a command on recipes.
  bool may_be_parameter(const std::string& name) const {
    if (!words_name_recipe() && (!takes_recipe() || result_.words.empty())) return false;
    if (!name.starts_with("--") || name.size() <= 2) return false;
    return std::ranges::none_of(commands_, [flag = name.substr(2)](const Command& command) {
      return command.takes_recipe() && own_flag(command, flag);
    });
  }

  void take_flag(const Flag& flag, const std::string& name, const std::optional<std::string>& value) {
    const bool is_switch = flag.type.operand.empty();
    if (is_switch && value) throw usage_error(name + " takes no value, found \"" + *value + "\"");
    if (!is_switch && !flag.repeats && result_.has(flag.name)) throw usage_error(name + " is given twice");
    Value read = flag.type.read(name, is_switch ? "" : value_of(name, value));
    if (result_.command && flag.name == result_.command->found_by && own_flag(*result_.command, flag.name)) {
      if (!result_.words.empty()) {
        throw usage_error(name + " stands in place of " + result_.command->words.what + ", found \"" +
                          result_.words.front() + "\" beside it");
      }
      result_.words.push_back(result_.command->find_recipe(read.string()));
    }
    if (!flag.repeats) {
      result_.flags.set(flag.name, std::move(read));
    } else if (result_.has(flag.name)) {
      result_.flags.map().at(flag.name).list().push_back(std::move(read));
    } else {
      result_.flags.set(flag.name, Value::List{std::move(read)});
    }
    seen_.push_back(flag.name);
  }

  void take_parameter(const std::string& name, const std::optional<std::string>& value) {
    for (const GivenParameter& given : result_.parameters) {
      if (given.name == name.substr(2)) throw usage_error(name + " is given twice");
    }
    if (lacks_value(value)) throw parameter_without_value(name);
    result_.parameters.push_back({name.substr(2), value_of(name, value), name});
  }

  // The word may be a flag that does not exist: the recipe, which knows its parameters, is not read yet.
  Error parameter_without_value(const std::string& name) const {
    std::vector<std::string> known;
    for (const std::string& flag : flags_of_line()) known.push_back("--" + flag);
    const std::string parameter = "a parameter of the recipe needs a value: " + name + " VALUE or " + name + "=VALUE";
    const std::string close = Registry::closest(name, known);
    return usage_error("unknown flag " + name + ", or a parameter without its value")
        .hint(close.empty() ? parameter : "did you mean " + close + "? " + parameter);
  }

  Error unknown_flag(const std::string& name) const {
    for (const Command& command : commands_) {
      const Flag* const flag = name.starts_with("--") ? own_flag(command, name.substr(2)) : nullptr;
      if (flag) return misplaced_flag(command, *flag);
    }
    std::vector<std::string> known;
    if (result_.command) {
      for (const std::string& flag : flags_of_line()) known.push_back("--" + flag);
    } else {
      known = every_flag();
    }
    Error error = unknown("flag", name, Registry::closest(name, known));
    if (name == "--" || name.ends_with(".lua"))
      return usage_error("expected a flag, found " + name)
          .hint("a recipe whose name begins with a dash is named with its folder: trainlab ./-NAME.lua");
    if (!name.starts_with("--") || !Registry::closest(name, known).empty()) return error;
    if (!result_.command) error.hint(place_of_parameters(name));
    if (result_.command && result_.command->continues_run)
      error.hint("a run that is continued keeps its parameters; a new run takes others: trainlab RECIPE.lua " + name +
                 " VALUE");
    return error;
  }

  // A flag of another command than that of the line.
  Error misplaced_flag(const Command& command, const Flag& flag) const {
    const std::string name = "--" + flag.name, place = "trainlab " + command.name + " … " + name;
    if (is_named_)
      return usage_error(name + " means nothing to `trainlab " + result_.command->name + "`")
          .hint("it goes with " + place);
    Error error = usage_error(name + " stands after its command: " + place);
    if (!result_.command && !flag.type.operand.empty()) error.hint(place_of_parameters(name));
    return error;
  }

  static std::string place_of_parameters(const std::string& name) {
    return "a recipe's own parameters come after its path: trainlab RECIPE.lua " + name + " VALUE";
  }

  // The flags of all commands, since the command may still follow.
  std::vector<std::string> every_flag() const {
    std::vector<std::string> known;
    for (const Flag& flag : common_flags()) known.push_back("--" + flag.name);
    for (const Command& command : commands_) {
      for (const Flag& flag : command.flags) known.push_back("--" + flag.name);
    }
    return known;
  }

  // Whether the word that has just been read, whose value after "=" is `joined`, has no value.
  bool lacks_value(const std::optional<std::string>& joined) const {
    return !joined && (position_ == words_.size() || words_[position_].starts_with("--"));
  }

  std::string value_of(const std::string& name, const std::optional<std::string>& joined) {
    if (joined) return *joined;
    if (lacks_value(joined)) {
      throw usage_error(name + " needs a value: " + name + " VALUE or " + name + "=VALUE");
    }
    return words_[position_++];
  }

  void check() const {
    if (result_.has("help") || result_.has("version") || !result_.command) return;
    const Command& command = *result_.command;
    for (const std::string& name : seen_) {
      const Flag& flag = *find_flag(&command, name);
      if (cli::takes_flag(command, flag, takes_recipe())) continue;
      const std::string instead = has_no_words() ? " --" + command.instead : "";
      Error error = usage_error("--" + name + " means nothing to `trainlab " + command.name + instead + "`");
      if (command.continues_run) {
        error.hint("a run that is continued keeps its parameters, seed, settings and folder");
      }
      throw error;
    }
    const std::size_t count = result_.words.size();
    if (has_no_words()) {
      if (count > 0)
        throw usage_error("--" + command.instead + " stands in place of " + command.words.what + ", found \"" +
                          result_.words.front() + "\" beside it");
      if (command.check) command.check(result_);
      return;
    }
    const std::vector<std::string>& choices = command.words.choices;
    if (count < command.words.least) {
      const bool is_chosen = count > 0 && std::ranges::find(choices, result_.words.front()) != choices.end();
      throw usage_error(
          "`trainlab " + command.name +
          (is_chosen ? " " + result_.words.front() + "` needs one recipe" : "` needs " + command.words.what))
          .hint(usage_line(command));
    }
    if (count > command.words.most) {
      throw usage_error("`trainlab " + command.name + "` takes " + command.words.what + ", found \"" +
                        result_.words[command.words.most] + "\" after it");
    }
    if (std::ranges::count(result_.words, "") > 0)
      throw usage_error("`trainlab " + command.name + "` takes " + command.words.what + ", found \"\"");
    if (!choices.empty() && std::ranges::find(choices, result_.words.front()) == choices.end()) {
      throw usage_error("`trainlab " + command.name + "`: expected " + listed(choices) + ", found \"" +
                        result_.words.front() + "\"")
          .hint("trainlab " + command.name + " " + choices.front() + " RECIPE.lua");
    }
    const Alternatives& alternatives = command.alternatives;
    const auto given =
        std::ranges::count_if(alternatives.flags, [&](const std::string& flag) { return result_.has(flag); });
    if (given > 1 || (given == 0 && alternatives.required)) throw usage_error(alternatives.error);
    check_needs();
    if (command.check) command.check(result_);
  }

  void check_needs() const {
    for (const std::string& name : seen_) {
      const Flag& flag = *find_flag(result_.command, name);
      if (!flag.needs.empty() && !result_.has(flag.needs))
        throw usage_error("--" + name + " means nothing without --" + flag.needs);
    }
  }

  std::span<const Command> commands_;
  std::span<const std::string> words_;
  std::size_t position_ = 0;
  bool is_named_ = false;  // whether the line names its command
  Arguments result_;
  std::vector<std::string> seen_;
};

}  // namespace

Arguments parse_arguments(std::span<const Command> commands, std::span<const std::string> words) {
  return Parser(commands, words).parse();
}

bool asks_for_json(std::span<const std::string> words) {
  return std::find(words.begin(), words.end(), "--json") != words.end();
}

}  // namespace trainlab::cli
