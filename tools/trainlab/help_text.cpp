#include <algorithm>
#include <string>
#include <vector>

#include "cli/command.h"
#include "core/words.h"

namespace trainlab::cli {

namespace {

constexpr std::size_t column = 19;  // where the text about a command or a flag begins

std::string padded(std::string text) {
  text.resize(std::max(column, text.size() + 1), ' ');
  return text;
}

// A flag with the name of its value, "--threads N"; a switch, which has no value, alone: "--json".
std::string form_of(const Flag& flag) {
  return "--" + flag.name + (flag.type.operand.empty() ? "" : " " + flag.type.operand);
}

std::string line_of(const Flag& flag) {
  std::string text = padded("  " + form_of(flag));
  for (const char c : help_of(flag)) {
    text += c;
    if (c == '\n') text.append(column, ' ');
  }
  return text + "\n";
}

// The common flags that the command takes, without --help and --version, which only the program's help shows.
std::vector<Flag> common_flags_of(const Command& command) {
  std::vector<Flag> flags = flags_of(&command);
  std::erase_if(flags, [&](const Flag& flag) {
    return flag.name == "help" || flag.name == "version" || own_flag(command, flag.name);
  });
  return flags;
}

// A line about each of these common flags. `trains`: whether a run may keep what they say.
std::string common_text(const std::vector<Flag>& flags, bool trains) {
  std::vector<std::string> kept;
  std::string lines;
  for (const Flag& flag : flags) {
    using Concerns = Flag::Concerns;
    if (flag.concerns == Concerns::recipe || flag.concerns == Concerns::new_run) kept.push_back("--" + flag.name);
    lines += line_of(flag);
  }
  const std::string keeps = trains ? "; a run that is continued keeps its " + joined(kept) : "";
  return "Flags, anywhere on the line" + keeps + ":\n" + lines;
}

// The common flags of a command without a recipe, in one line.
std::string common_line(const Command& command) {
  std::string text;
  for (const Flag& flag : common_flags_of(command))
    text += (text.empty() ? "\nFlags, anywhere on the line: " : ", ") + form_of(flag);
  return text.empty() ? "" : text + "\n";
}

std::string words_of(const Words& words) {
  if (words.most == 0) return "";
  std::string text = words.operand.empty() ? joined(words.offers, " | ") : words.operand;
  const bool names_all = words.most <= (words.choices.empty() ? 1 : 2);
  if (!names_all) text += "…";
  return words.least == 0 ? " [" + text + "]" : " " + text;
}

// The flags in a command's line: those that exclude each other, then the others if they are few. More flags than a few
// are only listed below the line.
std::string flags_text(const Command& command) {
  constexpr std::size_t few = 2;
  std::vector<std::string> either, others;
  for (const Flag& flag : command.flags) {
    const bool excludes = std::ranges::find(command.alternatives.flags, flag.name) != command.alternatives.flags.end();
    (excludes ? either : others).push_back(excludes ? form_of(flag) : "[" + form_of(flag) + "]");
  }
  std::string text = joined(either, " | ");
  if (!either.empty()) text = command.alternatives.required ? " " + text : " [" + text + "]";
  if (!others.empty() && others.size() <= few) text += " " + joined(others, " ");
  return text;
}

}  // namespace

std::string usage_line(const Command& command) {
  const bool has_parameters = command.takes_recipe() || command.flags_beside_recipe;
  return "trainlab " + (command.is_default ? "[" + command.name + "]" : command.name) + words_of(command.words) +
         flags_text(command) + (has_parameters ? " [--PARAMETER VALUE…]" : "") + " [flags]";
}

std::string program_help(std::span<const Command> commands) {
  std::string text =
      "trainlab trains what a short Lua recipe describes.\n"
      "\n"
      "  trainlab RECIPE.lua [--PARAMETER VALUE…] [flags]\n"
      "  trainlab COMMAND …\n"
      "\n"
      "Commands:\n";
  for (const Command& command : commands) text += padded("  " + command.name) + command.line + "\n";
  return text + "\n" + common_text(common_flags(), true) +
         "\n"
         "Exit codes: 0 done or stopped, 1 the recipe or its data is wrong, 2 usage, 3 the run failed,\n"
         "130 interrupted, 143 terminated (both after a checkpoint).\n";
}

std::string command_help(const Command& command) {
  std::string text = "  " + usage_line(command) + "\n\n" + command.text;
  for (const Flag& flag : command.flags) text += line_of(flag);
  if (!command.takes_recipe()) return text + common_line(command);
  return text + "\n" + common_text(common_flags_of(command), command.trains);
}

}  // namespace trainlab::cli
