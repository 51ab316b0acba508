// All entries of trainlab, from all modules.
#pragma once

#include "core/registry.h"

namespace trainlab {

Registry all_entries();

}  // namespace trainlab
