#include <algorithm>

#include "cli/command.h"

namespace trainlab::cli {

namespace {

constexpr std::size_t column = 19;  // where the text about a command or a flag begins

std::string padded(std::string text) {
  text.resize(std::max(column, text.size() + 1), ' ');
  return text;
}

std::string line_of(const Flag& flag) {
  std::string text = padded("  --" + flag.name + (flag.type.operand.empty() ? "" : " " + flag.type.operand));
  for (const char c : flag.help) {
    text += c;
    if (c == '\n') text.append(column, ' ');
  }
  return text + "\n";
}

// `everywhere`: with --help and --version, which only the program's help shows.
std::string common_text(bool everywhere) {
  std::string text =
      "Flags, anywhere on the line; the first four say what a new run is, and mean nothing to one that is there:\n";
  for (const Flag& flag : common_flags()) {
    if (everywhere || (flag.name != "help" && flag.name != "version")) text += line_of(flag);
  }
  return text;
}

}  // namespace

std::string program_help(std::span<const Command> commands) {
  std::string text =
      "trainlab trains what a short Lua recipe describes.\n"
      "\n"
      "  trainlab RECIPE.lua [--PARAMETER VALUE…] [flags]\n"
      "  trainlab COMMAND …\n"
      "\n"
      "Commands:\n";
  for (const Command& command : commands) text += padded("  " + command.name) + command.line + "\n";
  return text + "\n" + common_text(true) +
         "\n"
         "Exit codes: 0 done or stopped, 1 the recipe or its data is wrong, 2 usage, 3 the run failed,\n"
         "130 interrupted, 143 terminated (both after a checkpoint).\n";
}

std::string command_help(const Command& command) {
  std::string text = "  " + command.usage + "\n\n" + command.text;
  for (const Flag& flag : command.flags) text += line_of(flag);
  text += command.note;
  if (command.takes_recipe) text += "\n" + common_text(false);
  return text;
}

}  // namespace trainlab::cli
