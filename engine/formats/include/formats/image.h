// Pictures as bytes: JPEG and PNG decoded, resized. Knows nothing of LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainlab {

// pixels: row after row, the channels of a pixel side by side.
struct Image {
  int height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> pixels;

  // For `height` × `width` pixels, their values unspecified.
  void reshape(int new_height, int new_width, int new_channels);
};

// Decodes a JPEG or PNG, told by its first bytes, into `image`, whose memory is used again. channels: 3 (RGB; grey is
// repeated) or 1 (grey: ITU-R 601 luma). An alpha channel is dropped, 16 bits become 8, no colour profile is applied.
// Error{recipe} names the file: neither of the two, damaged, cut short, or of more pixels than `most_pixels`, which is
// checked before memory is asked for. Thread-safe.
void decode_image(std::string_view bytes, int channels, const std::string& name, Image& image);
constexpr std::int64_t most_pixels = 100'000'000;

// As decode_image(), for one format each.
void decode_jpeg(std::string_view bytes, int channels, const std::string& name, Image& image);
void decode_png(std::string_view bytes, int channels, const std::string& name, Image& image);
// Checks the size that an image's header states. Error{recipe} unless the image has 1 to most_pixels pixels.
void check_image_size(std::int64_t height, std::int64_t width, const std::string& name);

// A rectangle of an image in pixels; edges may lie within pixels.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
};

// The box of `from` ([in_height, in_width, channels] bytes), resized to [height, width, channels] at `out`: a triangle
// (bilinear) filter over the distance of pixel centres, as wide as a pixel of the larger of the two scales, so that
// shrinking averages; first across, then down, rounded to bytes between. Equals Pillow's resize(BILINEAR) to the bit.
// Thread-safe.
void resize(const std::uint8_t* from, int in_height, int in_width, int channels, const Box& box, std::uint8_t* out,
            int height, int width);

// Resized so that it just covers height × width, and cropped round the centre; unchanged where it has that size.
// `scratch` is memory to work in.
void cover(Image& image, int height, int width, Image& scratch);

// The pixels of 1 or 3 channels as [channels, height, width].
void put_planes(const Image& image, std::uint8_t* out);

}  // namespace trainlab
