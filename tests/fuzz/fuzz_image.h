// What the targets of decoders of images share.
#pragma once

#include <string_view>

#include "formats/image.h"

namespace trainlab::test {

// The first byte chooses grey or RGB; pixels that were not decoded would be read by the sum.
template <class Decode>
void fuzz_image(std::string_view bytes, const char* name, Decode&& decode) {
  if (bytes.empty()) return;
  const int channels = bytes[0] & 1 ? 3 : 1;
  Image image;
  decode(bytes.substr(1), channels, name, image);
  std::size_t sum = 0;
  for (const std::uint8_t value : image.pixels) sum += value;
  if (image.channels != channels || sum > 255 * image.pixels.size()) __builtin_trap();
}

}  // namespace trainlab::test
