// `trainlab profile --attach RUN`: a profile of a run that trains now, in another process.
#pragma once

#include "cli/command.h"

namespace trainlab::cli {

// Gives the command `profile` the flag --attach, with which no recipe is executed and no engine is started.
void let_attach(Command& profile);

}  // namespace trainlab::cli
