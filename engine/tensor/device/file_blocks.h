// The questions of the allocators to TensorsInFile (tensor/file_memory.h).
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>

namespace trainlab {

// Whether a tensor of `bytes` that this thread makes now lies in a file.
bool lies_in_file(std::size_t bytes);
// The memory of such a tensor.
c10::DataPtr allocate_in_file(std::size_t bytes);

}  // namespace trainlab
