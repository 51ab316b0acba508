// The engine's work for one command of `trainlab`. Each command stands in a file of its own, commands/NAME.cpp, which
// defines NAME_command(); the list COMMANDS in CMakeLists.txt names them all.
#pragma once

#include <string>
#include <vector>

#include "run/control.h"
#include "run/flag.h"

namespace trainlab {

struct Command {
  std::string name;  // Request::command
  // Does what the request asks for, on the recipe's thread. Returns the exit code, and sends everything else to the
  // supervisor. Raises Error for errors before the recipe is executed.
  int (*execute)(const EngineStart& start);

  // The help that `trainlab` shows of a command on a recipe, `trainlab NAME RECIPE.lua [flags]`, that an engine does
  // alone: its line in the program's help, the text before its flags (whole lines), and flags of its own. Where the
  // line is empty, the command line is another one and has a record in tools/trainlab/commands, or there is none.
  std::string line = {};
  std::string text = {};
  std::vector<Flag> flags = {};
  bool takes_second = false;              // a second recipe may follow the first: Request::second
  std::vector<std::string> choices = {};  // one of these words stands before the recipe: Request::choice
};

// Any thread.
std::vector<Command> all_commands();

}  // namespace trainlab
