// lab.find.lr, lab.find.batch and lab.find.optimizer: stages whose results a recipe goes on with.
#pragma once

#include "core/registry.h"

namespace trainlab {

void register_find(Registry& registry);

}  // namespace trainlab
