// Command: one command of `trainlab`, as data. Each stands in a file of its own, commands/NAME.cpp, which defines
// NAME_command(); the list COMMANDS in CMakeLists.txt names them all. The record of a command on a recipe that an
// engine does alone is made from the engine's own (tools/engine/command.h).
#pragma once

#include <cstddef>
#include <limits>
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

  std::string operand = {};  // what help shows in their place: "RUN"; if empty, help shows `offers` instead
  std::string what = {};     // for messages: "one run folder"
  std::size_t least = 0, most = 0;
  // What completion offers: names of files or folders; else `offers`, or the names of commands where that is empty.
  FlagType::Names names = FlagType::Names::folders;
  std::vector<std::string> offers = {};
};

// The words of a command on a recipe.
Words one_recipe();
Words one_or_two_recipes();

// Flags of the command's own that exclude each other.
struct Alternatives {
  std::vector<std::string> flags = {};
  bool required = false;   // a line has exactly one of them
  std::string error = {};  // what is said to a line with several of them, or with none that is required
};

struct Command {
  // What a line of the command works with: this process alone, an engine, or an engine on a recipe. The word of a
  // command on a recipe is the recipe's path; what is no flag is a parameter of the recipe, and flags that say what a
  // new run is apply.
  enum class Works { alone, with_engine, on_recipe };

  std::string name;
  std::string line;         // in the program's help
  bool is_default = false;  // a line without a command's name, which begins with a recipe, is of this command
  std::string text = {};    // of the command's help, before its flags; whole lines
  Words words = {};
  // Flags of its own, which stand after its name only, and common flags whose help is another one here.
  std::vector<Flag> flags = {};
  Alternatives alternatives = {};
  Works works = Works::alone;
  // A flag of the command's own with which its word is a recipe whatever `works` says, and its line one on a recipe.
  std::string recipe_flag = {};
  bool continues_run = false;  // the command continues an existing run; messages then list what cannot change

  // Raises Error{usage} for flags that contradict each other; the words are right by then.
  void (*check)(const Arguments& arguments) = nullptr;
  // Does the command, in this process or by an engine, and gives the exit code. Raises Error.
  int (*run)(const Program& program, const Arguments& arguments) = nullptr;

  bool takes_recipe() const { return works == Works::on_recipe; }
};

// A page of the documentation.
struct Page {
  std::string_view path, text;  // "docs/guide.md"; Markdown
};

// What a command may say of the program itself.
struct Program {
  std::span<const Command> commands;
  std::string_view entries;    // the table of entries, as JSON
  std::string_view operators;  // the forms of operators, a line each
  std::span<const Page> pages;
};

// The commands with a file in commands/, in the order of the help. Any thread.
std::vector<Command> all_commands();
// These and, after the first, the commands in the table that the engine has written. std::logic_error for what is no
// such table.
std::vector<Command> with_engine_commands(const Value& table);

// nullptr when there is none of this name.
const Command* find_command(std::span<const Command> commands, const std::string& name);
// The flag that stands in the command's own record, by name without dashes; nullptr when there is none.
const Flag* own_flag(const Command& command, const std::string& name);
// A flag of the command or a common one, by name without dashes; nullptr when there is none. Whether the command takes
// a common one is another question. `command` may be nullptr.
const Flag* find_flag(const Command* command, const std::string& name);
// Whether the command takes the flag; without a command, any common flag is taken.
bool takes_flag(const Command* command, const Flag& flag);
// All flags that the command takes, its own first.
std::vector<Flag> flags_of(const Command* command);

// All forms of the command's line, from its record: "trainlab check RECIPE.lua [--step] [--PARAMETER VALUE…] [flags]".
std::string usage_line(const Command& command);
// The whole program's help, and a command's.
std::string program_help(std::span<const Command> commands);
std::string command_help(const Command& command);
// The manual page trainlab(1), in roff.
std::string man_page(std::span<const Command> commands);

// The script that makes a shell complete command lines of `trainlab`: "bash" or "zsh".
std::string completion_script(std::span<const Command> commands, const std::string& shell);

}  // namespace trainlab::cli
