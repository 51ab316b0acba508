// The commands of `trainlab` with one that the engine does alone, as the engine's table of commands has it.
#pragma once

#include "cli/command.h"

namespace trainlab::cli {

inline const std::vector<Command>& commands_of_program() {
  static const std::vector<Command> commands = with_engine_commands(parse_json(
      R"([{"name": "check", "line": "validate a recipe", "text": "Runs nothing.\n", "choices": [], "flags": [
           {"name": "step", "type": {"type": "switch"}, "help": "also one step", "repeats": false, "needs": ""}]}])",
      "the table"));
  return commands;
}

}  // namespace trainlab::cli
