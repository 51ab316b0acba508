#include "formats/image.h"

#include <algorithm>

#include "core/error.h"

namespace trainlab {

void Image::reshape(int new_height, int new_width, int new_channels) {
  height = new_height;
  width = new_width;
  channels = new_channels;
  pixels.resize(static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
                static_cast<std::size_t>(channels));
}

void check_image_size(std::int64_t height, std::int64_t width, const std::string& name) {
  if (height >= 1 && width >= 1 && height <= most_pixels / width) return;
  throw recipe_error(name + ": an image of " + std::to_string(width) + " x " + std::to_string(height) +
                     " pixels; expected 1 to " + std::to_string(most_pixels) + " pixels")
      .hint("the file may be damaged");
}

void decode_image(std::string_view bytes, int channels, const std::string& name, Image& image) {
  if (bytes.starts_with("\xff\xd8")) return decode_jpeg(bytes, channels, name, image);
  if (bytes.starts_with("\x89PNG")) return decode_png(bytes, channels, name, image);
  throw recipe_error(name + ": neither a JPEG nor a PNG" + (bytes.empty() ? ": the file is empty" : ""));
}

void put_planes(const Image& image, std::uint8_t* out) {
  const std::uint8_t* const in = image.pixels.data();
  if (image.channels == 1) {
    std::copy_n(in, image.pixels.size(), out);
    return;
  }
  const std::size_t pixels = image.pixels.size() / 3;
  for (std::size_t i = 0; i < pixels; ++i) {
    out[i] = in[3 * i];
    out[pixels + i] = in[3 * i + 1];
    out[2 * pixels + i] = in[3 * i + 2];
  }
}

}  // namespace trainlab
