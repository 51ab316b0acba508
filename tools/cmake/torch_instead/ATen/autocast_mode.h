// Stands in the place of LibTorch's header of this name, of which trainlab calls these functions alone. LibTorch's
// brings the headers of all operators besides, for the tables of operators that it fills: 15 s for a file.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>
#include <c10/macros/Export.h>

namespace at::autocast {

TORCH_API bool is_autocast_enabled(c10::DeviceType device);
TORCH_API void set_autocast_enabled(c10::DeviceType device, bool enabled);
TORCH_API c10::ScalarType get_autocast_dtype(c10::DeviceType device);
TORCH_API void set_autocast_dtype(c10::DeviceType device, c10::ScalarType type);
TORCH_API int increment_nesting();
TORCH_API int decrement_nesting();
TORCH_API void clear_cache();

}  // namespace at::autocast
