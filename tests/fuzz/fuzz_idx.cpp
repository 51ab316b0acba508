#include "formats/idx.h"
#include "fuzz.h"

namespace trainlab::test {

// Plain or gzip.
void fuzz(std::string_view bytes) {
  InputFile file(bytes, "fuzz.idx");
  const IdxArray array = read_idx(file);
  std::size_t size = idx_item_size(array.type);
  for (const std::int64_t extent : array.sizes) size *= static_cast<std::size_t>(extent);
  volatile std::byte last = array.bytes[size - 1];
  static_cast<void>(last);
}

}  // namespace trainlab::test
