// Pickles of Python, which can run any code and are never read. Files under other names are told to be pickles.
#pragma once

#include <string_view>

namespace trainlab {

// Whether a file with these first bytes is a pickle: the first byte is 0x80, the second its protocol.
inline bool is_pickle(std::string_view bytes) {
  constexpr char newest_protocol = 5;
  return bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= newest_protocol;
}

}  // namespace trainlab
