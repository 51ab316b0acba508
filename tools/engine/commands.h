// What an engine does with its request: executes the recipe, and runs, checks or describes what it returns.
#pragma once

#include "run/control.h"

namespace trainlab {

// Returns the exit code; everything is told to the supervisor, nothing is raised. On the recipe's thread.
int execute(const EngineStart& start);

}  // namespace trainlab
