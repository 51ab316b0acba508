// The fields of the result of a stage, for help, the reference and editors.
#pragma once

#include "core/registry.h"

namespace trainlab {

void register_result_fields(Registry& registry);

// Whether the field is a table by names of metrics, such as result.metrics: its names are known from a result alone.
bool is_by_metric(const Entry& field);

}  // namespace trainlab
