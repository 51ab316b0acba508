// A property of all data in the format deflate (RFC 1951).
#pragma once

#include <cstdint>

namespace trainlab {

// A byte of deflated data gives at most this many bytes: 258 bytes from two bits, the shortest code for a repetition.
constexpr std::int64_t deflate_max_ratio = 1032;

}  // namespace trainlab
