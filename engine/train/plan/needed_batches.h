// LoaderOptions::needed for a number of passes. Private to the room.
#pragma once

#include <cstdint>

namespace trainlab {

// The batches that `passes` passes of `batches` batches take; 0, which is no end, where they are too many to count.
inline std::int64_t needed_batches(std::int64_t passes, std::int64_t batches) {
  std::int64_t needed = 0;
  return __builtin_mul_overflow(passes, batches, &needed) ? 0 : needed;
}

}  // namespace trainlab
