// The stages lab.find.lr, lab.find.batch and lab.find.optimizer, whose results the rest of a recipe can use.
#pragma once

#include "core/registry.h"

namespace trainlab {

void register_find(Registry& registry);

}  // namespace trainlab
