// A file of packed data with any header, and a hash that is right.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "methods/packed_file.h"

namespace trainlab::test {

inline std::string pack_bytes(std::string_view header, std::string_view tensors) {
  const std::uint64_t length = header.size();
  std::string bytes(packed_mark);
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += header;
  bytes.resize(static_cast<std::size_t>(packed_aligned(static_cast<std::int64_t>(bytes.size()))));
  bytes += tensors;
  return bytes + packed_hash(bytes);
}

}  // namespace trainlab::test
