// Names of dtypes, layouts and memory formats, as they are given to operators.
#pragma once

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>
#include <string_view>

namespace trainlab {

std::optional<at::ScalarType> find_dtype(std::string_view name);            // "float32"
std::optional<at::Layout> find_layout(std::string_view name);               // "strided", "sparse_coo"
std::optional<at::MemoryFormat> find_memory_format(std::string_view name);  // "channels_last"
std::string layout_name(at::Layout layout);

}  // namespace trainlab
