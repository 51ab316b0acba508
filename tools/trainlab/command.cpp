#include "cli/command.h"

#include <algorithm>

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

const Command* find_command(std::span<const Command> commands, const std::string& name) {
  const auto found =
      std::find_if(commands.begin(), commands.end(), [&](const Command& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

const Flag* own_flag(const Command& command, const std::string& name) { return find_in(command.flags, name); }

const Flag* find_flag(const Command* command, const std::string& name) {
  const Flag* own = command ? own_flag(*command, name) : nullptr;
  return own ? own : find_in(common_flags(), name);
}

bool takes_flag(const Command* command, const Flag& flag) {
  if (!command || own_flag(*command, flag.name)) return true;
  return find_in(common_flags(), flag.name) && (flag.concerns != Flag::Concerns::new_run || command->takes_recipe());
}

std::vector<Flag> flags_of(const Command* command) {
  std::vector<Flag> flags = command ? command->flags : std::vector<Flag>();
  for (const Flag& flag : common_flags()) {
    if (takes_flag(command, flag) && !find_in(flags, flag.name)) flags.push_back(flag);
  }
  return flags;
}

}  // namespace trainlab::cli
