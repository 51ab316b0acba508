// Numbers of bytes as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainlab {

// The bytes of "2 GB", "1.5GiB" or "300 B"; of "80%" where `whole`, of which that is a part, is not 0. None for
// anything else, for 0 and for less. Thread-safe.
std::optional<std::int64_t> bytes_of(std::string_view text, std::int64_t whole = 0);

}  // namespace trainlab
