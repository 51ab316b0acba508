// lab.sweep and lab.ensemble: stages made of many fits. Trials are kept in a study's file in the stage's folder, and
// any number of processes that execute the recipe work on them (see study/storage.h): a process that reaches the stage
// helps until no work is left.
#pragma once

#include "core/registry.h"
#include "run/stage.h"

namespace trainlab {

void register_sweep(Registry& registry);

}  // namespace trainlab
