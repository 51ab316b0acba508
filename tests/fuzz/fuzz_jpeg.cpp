#include "fuzz.h"
#include "image.h"

namespace trainlab::test {

// The first byte chooses grey or RGB; pixels that were not decoded would be read by the sum.
void fuzz(std::string_view bytes) {
  if (bytes.empty()) return;
  const int channels = bytes[0] & 1 ? 3 : 1;
  Image image;
  decode_jpeg(bytes.substr(1), channels, "fuzz.jpeg", image);
  std::size_t sum = 0;
  for (const std::uint8_t value : image.pixels) sum += value;
  if (image.channels != channels || sum > 255 * image.pixels.size()) __builtin_trap();
}

}  // namespace trainlab::test
