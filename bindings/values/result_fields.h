// The fields of the result of a stage, for help, the reference and editors.
#pragma once

#include "core/registry.h"

namespace trainlab {

void register_result_fields(Registry& registry);

}  // namespace trainlab
