// What an engine does for one command of `trainlab`. Each stands in a file of its own, commands/NAME.cpp, which defines
// NAME_command(); the list COMMANDS in CMakeLists.txt names them all.
#pragma once

#include <vector>

#include "run/control.h"

namespace trainlab {

struct Command {
  const char* name;  // Request::command
  // Does what the request asks for, on the recipe's thread. Returns the exit code, and tells everything else to the
  // supervisor. Raises Error for what is wrong before the recipe is executed.
  int (*execute)(const EngineStart& start);
};

// Made once; any thread.
const std::vector<Command>& all_commands();

}  // namespace trainlab
