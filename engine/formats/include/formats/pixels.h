// Changes of an image of bytes in place: the arithmetic of augmentation, without its chance. Planar [channels,
// height, width]. Knows nothing of LibTorch. Definitions are torchvision's (transforms.v2.functional, tensors of
// uint8), unless another is said. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "formats/image.h"

namespace trainlab {

struct Planes {
  std::uint8_t* values;
  int channels, height, width;
  int white = 255;                     // the byte that stands for 1.0
  std::vector<std::uint8_t>& scratch;  // to work in

  std::size_t plane() const { return static_cast<std::size_t>(height) * static_cast<std::size_t>(width); }
  std::size_t size() const { return plane() * static_cast<std::size_t>(channels); }
  // A copy of the values, in `scratch`.
  const std::uint8_t* copy() const;
};

void flip_across(const Planes& image);  // left and right change places
void flip_down(const Planes& image);    // top and bottom

// The pixel at (y, x) becomes the one that was at (y + down, x + right). What lies outside is 0, or with `reflect` the
// image mirrored at its edge pixel (down below height, right below width).
void shift(const Planes& image, int down, int right, bool reflect);

// The box, resized to the whole image: see resize().
void zoom(const Planes& image, const Box& box);

// Each pixel takes the value at m · (x, y, 1), in pixels with (0, 0) the centre of the first one: bilinear, 0 outside.
// m: x' = m[0] x + m[1] y + m[2], y' = m[3] x + m[4] y + m[5].
void warp(const Planes& image, const std::array<double, 6>& m);
void rotate(const Planes& image, double degrees);  // counter-clockwise round the centre
// Round the top left corner: a positive `factor` takes lower rows (shear across) from further right.
void shear_across(const Planes& image, double factor);
void shear_down(const Planes& image, double factor);

// A rectangle set to `value`; what lies outside of the image is passed over.
void fill(const Planes& image, int top, int left, int height, int width, std::uint8_t value);

// factor 1 changes nothing: away from black, from the mean grey, from each pixel's grey, from a blurred image.
void brightness(const Planes& image, double factor);
void contrast(const Planes& image, double factor);
void saturation(const Planes& image, double factor);
void sharpness(const Planes& image, double factor);
// The hue moves by `turns` of the colour circle, −0.5 … 0.5. Images of one channel stay as they are.
void hue(const Planes& image, double turns);

void posterize(const Planes& image, int bits);      // keeps the upper bits
void solarize(const Planes& image, int threshold);  // inverts values from the threshold on
void stretch_contrast(const Planes& image);         // autocontrast: each channel from 0 to 255
void equalize(const Planes& image);                 // each channel's histogram made even

}  // namespace trainlab
