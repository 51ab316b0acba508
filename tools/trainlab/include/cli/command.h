// Command: one command of `trainlab`, as data. Each stands in a file of its own, commands/NAME.cpp, which defines
// NAME_command(); the list COMMANDS in CMakeLists.txt names them all. The record of a command on a recipe that an
// engine does alone is made from the engine's record of the command (tools/engine/command.h).
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "run/flag.h"

namespace trainlab::cli {

struct Arguments;
struct Program;

// The words that a command takes besides its flags.
struct Words {
  static constexpr std::size_t any = std::numeric_limits<std::size_t>::max();

  std::string operand = {};  // the text for the words in help: "RUN"; if empty, help shows `offers`
  std::string what = {};     // the words as messages name them: "one run folder"
  std::size_t least = 0, most = 0;
  // The first word is one of these, where there are any, and says what the command does with the others.
  std::vector<std::string> choices = {};
  // The kind of names that completion offers. Without a kind, completion offers `offers`, or the names of commands
  // where `offers` is empty.
  FlagType::Names names = FlagType::Names::folders;
  std::vector<std::string> offers = {};
};

// The words of a command on a recipe.
Words one_recipe();
Words one_or_two_recipes();
// One of these words, and a recipe after it.
Words choice_and_recipe(std::vector<std::string> choices);

// Flags of the command's own that exclude each other.
struct Alternatives {
  std::vector<std::string> flags = {};
  bool required = false;   // whether a line must have one of them
  std::string error = {};  // message for a line with several of them, or without a required one
};

struct Command {
  // The executor of a line of the command: this process alone, an engine, or an engine with a recipe. In the last case
  // the command's word is the recipe's path, everything else that is no flag is a parameter of the recipe, and the
  // flags that describe a new run are allowed.
  enum class Works { alone, with_engine, on_recipe };

  std::string name;
  std::string line;         // the line about the command in the program's help
  bool is_default = false;  // whether a line that begins with a recipe, without a command, is meant
  std::string text = {};    // text of the command's help before its flags, in whole lines
  Words words = {};
  // The command's own flags, which stand after its name only; and common flags whose help differs for this command.
  std::vector<Flag> flags = {};
  Alternatives alternatives = {};
  Works works = Works::alone;
  // The name of a flag of the command's own. With this flag, a line works on a recipe and its word is the recipe's
  // path, whatever `works` says.
  std::string recipe_flag = {};
  // For a command whose words decide whether a line works on a recipe: the names of the command's own flags that mean
  // something to a line with these words, if the words name a recipe; nullopt otherwise. After the recipe's path, every
  // other flag of the command's own is a parameter of the recipe, where a parameter may have its name.
  std::optional<std::vector<std::string>> (*flags_beside_recipe)(const std::vector<std::string>& words) = nullptr;
  // The name of a flag of the command's own which says in place of the words what a line works on. A line with this
  // flag has no words, and no recipe is executed.
  std::string instead = {};
  // The name of a flag of the command's own whose value leads to the recipe, so that a line with this flag has no word
  // for the recipe, and how. Raises Error{usage} where there is no recipe.
  std::string found_by = {};
  std::string (*find_recipe)(const std::string& value) = nullptr;
  bool trains = false;         // the command trains in the folder of a run
  bool continues_run = false;  // the command continues an existing run; messages then list what cannot change

  // Raises Error{usage} for flags that contradict each other. The words were checked before.
  void (*check)(const Arguments& arguments) = nullptr;
  // Executes the command, in this process or by an engine. Returns the exit code. Raises Error.
  int (*run)(const Program& program, const Arguments& arguments) = nullptr;

  bool takes_recipe() const { return works == Works::on_recipe; }
};

// A page of the documentation.
struct Page {
  std::string_view path, text;  // "docs/guide.md"; Markdown
};

// Facts about the program itself that commands print.
struct Program {
  std::span<const Command> commands;
  std::string_view entries;    // the table of entries, as JSON
  std::string_view operators;  // the forms of operators, one line each
  std::span<const Page> pages;
};

// The commands with a file in commands/, in the order of the help. Any thread.
std::vector<Command> all_commands();
// All commands: those of all_commands(), with the commands in the table that the engine has written inserted after the
// first. std::logic_error for a value that is no such table.
std::vector<Command> with_engine_commands(const Value& table);

// The command of this name; nullptr when there is none.
const Command* command_named(std::span<const Command> commands, const std::string& name);
// The flag that stands in the command's own record, by name without dashes; nullptr when there is none.
const Flag* own_flag(const Command& command, const std::string& name);
// A flag of the command or a common flag, by name without dashes; nullptr when there is none. The command need not take
// the common flag (see takes_flag). `command` may be nullptr.
const Flag* find_flag(const Command* command, const std::string& name);
// Whether a line of the command takes the flag; `with_recipe`: whether the line executes a recipe.
bool takes_flag(const Command& command, const Flag& flag, bool with_recipe);
// All flags that the command takes, its own first. Without a command: the common flags.
std::vector<Flag> flags_of(const Command* command);

// All forms of the command's line, from its record: "trainlab check RECIPE.lua [--step] [--PARAMETER VALUE…] [flags]".
std::string usage_line(const Command& command);
// The help of the whole program, and the help of a command.
std::string program_help(std::span<const Command> commands);
std::string command_help(const Command& command);
// The manual page trainlab(1), in roff.
std::string man_page(std::span<const Command> commands);

// The script that makes a shell complete command lines of `trainlab`: "bash" or "zsh".
std::string completion_script(std::span<const Command> commands, const std::string& shell);

}  // namespace trainlab::cli
