#include "cli/command.h"

#include <algorithm>
#include <utility>

#include "core/words.h"

namespace trainlab::cli {

namespace {

const Flag* find_in(const std::vector<Flag>& flags, const std::string& name) {
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

}  // namespace

Words one_recipe() {
  return {.operand = "RECIPE.lua", .what = "one recipe", .least = 1, .most = 1, .names = FlagType::Names::files};
}

Words one_or_two_recipes() {
  Words words = one_recipe();
  words.what = "one recipe or two";
  words.most = 2;
  return words;
}

Words choice_and_recipe(std::vector<std::string> choices) {
  Words words = one_recipe();
  words.operand = joined(choices, "|") + " " + words.operand;
  words.what = listed(choices) + ", and " + words.what;
  words.least = words.most = 2;
  words.choices = std::move(choices);
  return words;
}

const Command* command_named(std::span<const Command> commands, const std::string& name) {
  const auto found =
      std::find_if(commands.begin(), commands.end(), [&](const Command& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

const Flag* own_flag(const Command& command, const std::string& name) { return find_in(command.flags, name); }

const Flag* find_flag(const Command* command, const std::string& name) {
  const Flag* own = command ? own_flag(*command, name) : nullptr;
  return own ? own : find_in(common_flags(), name);
}

bool takes_flag(const Command& command, const Flag& flag, bool with_recipe) {
  if (own_flag(command, flag.name)) return true;
  switch (flag.concerns) {
    case Flag::Concerns::everything: return true;
    case Flag::Concerns::engine: return command.works != Command::Works::alone;
    case Flag::Concerns::trials: return with_recipe || command.trains;
    case Flag::Concerns::recipe: return with_recipe;
    case Flag::Concerns::new_run: return with_recipe && command.trains;
  }
  return false;
}

std::vector<Flag> flags_of(const Command* command) {
  std::vector<Flag> flags = command ? command->flags : std::vector<Flag>();
  for (const Flag& flag : common_flags()) {
    const bool taken = !command || takes_flag(*command, flag, command->takes_recipe());
    if (taken && !find_in(flags, flag.name)) flags.push_back(flag);
  }
  return flags;
}

}  // namespace trainlab::cli
