// The module's registrations, one function for each file of entries.
#pragma once

#include "core/registry.h"

namespace trainlab {

void register_sgd(Registry& registry);
void register_adam(Registry& registry);
void register_schedules(Registry& registry);

// The option `decay_norms_and_biases`, which every optimizer has.
Option decay_option();

}  // namespace trainlab
