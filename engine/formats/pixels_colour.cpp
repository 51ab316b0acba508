#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "formats/pixels.h"

namespace trainlab {

namespace {

std::uint8_t to_byte(float value, int white) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0f, static_cast<float>(white)));
}

std::uint8_t grey_of(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  return static_cast<std::uint8_t>(0.2989f * red + 0.587f * green + 0.114f * blue);
}

}  // namespace

void brightness(const Planes& image, double factor) {
  const auto f = static_cast<float>(factor);
  for (std::size_t i = 0; i < image.size(); ++i) image.values[i] = to_byte(f * image.values[i], image.white);
}

void contrast(const Planes& image, double factor) {
  const std::size_t plane = image.plane();
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < plane; ++i)
    sum += image.channels == 3 ? grey_of(image.values[i], image.values[plane + i], image.values[2 * plane + i])
                               : image.values[i];
  const auto f = static_cast<float>(factor);
  const float rest = (1 - f) * static_cast<float>(static_cast<double>(sum) / static_cast<double>(plane));
  for (std::size_t i = 0; i < image.size(); ++i) image.values[i] = to_byte(f * image.values[i] + rest, image.white);
}

void saturation(const Planes& image, double factor) {
  if (image.channels != 3) return;
  const std::size_t plane = image.plane();
  const auto f = static_cast<float>(factor);
  for (std::size_t i = 0; i < plane; ++i) {
    std::uint8_t* const red = image.values + i;
    const float rest = (1 - f) * grey_of(red[0], red[plane], red[2 * plane]);
    for (std::size_t c = 0; c < 3; ++c) red[c * plane] = to_byte(f * red[c * plane] + rest, image.white);
  }
}

void sharpness(const Planes& image, double factor) {
  if (image.height < 3 || image.width < 3) return;
  const std::uint8_t* const from = image.copy();
  const auto width = static_cast<std::ptrdiff_t>(image.width);
  const auto f = static_cast<float>(factor);
  for (int c = 0; c < image.channels; ++c) {
    for (std::ptrdiff_t y = 1; y < image.height - 1; ++y) {
      const std::ptrdiff_t row =
          static_cast<std::ptrdiff_t>(c) * static_cast<std::ptrdiff_t>(image.plane()) + y * width;
      for (std::ptrdiff_t x = 1; x < width - 1; ++x) {
        const std::uint8_t* const p = from + row + x;
        // Nine pixels with the middle one five times.
        const int sum = p[-width - 1] + p[-width] + p[-width + 1] + p[-1] + 5 * p[0] + p[1] + p[width - 1] + p[width] +
                        p[width + 1];
        const float blurred = std::nearbyint(static_cast<float>(sum) / 13);
        image.values[row + x] = to_byte(f * p[0] + (1 - f) * blurred, image.white);
      }
    }
  }
}

// Through the colour circle: with V the largest and m the smallest of a pixel's values, the hue h in sixths of the
// circle is where the pixel stands between two primary colours (Smith 1978, "Color gamut transform pairs").
void hue(const Planes& image, double turns) {
  if (image.channels != 3) return;
  const std::size_t plane = image.plane();
  for (std::size_t i = 0; i < plane; ++i) {
    std::uint8_t* const pixel = image.values + i;
    const float r = pixel[0], g = pixel[plane], b = pixel[2 * plane];
    const float most = std::max({r, g, b}), spread = most - std::min({r, g, b});
    if (spread == 0) continue;
    float sixths = most == r ? (g - b) / spread : most == g ? 2 + (b - r) / spread : 4 + (r - g) / spread;
    sixths += static_cast<float>(6 * turns);
    // Each channel is V at its own primary and one sixth round it, V − spread opposite, and linear between.
    const auto channel = [&](float offset) {
      float k = std::fmod(sixths + offset, 6.0f);
      if (k < 0) k += 6;
      return most - spread * std::clamp(std::min(k, 4 - k), 0.0f, 1.0f);
    };
    const std::array<float, 3> turned{channel(5), channel(3), channel(1)};
    for (std::size_t c = 0; c < 3; ++c) pixel[c * plane] = to_byte(turned[c] + 0.5f, image.white);
  }
}

void posterize(const Planes& image, int bits) {
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - bits));
  for (std::size_t i = 0; i < image.size(); ++i) image.values[i] &= mask;
}

void solarize(const Planes& image, int threshold) {
  for (std::size_t i = 0; i < image.size(); ++i)
    if (image.values[i] >= threshold) image.values[i] = static_cast<std::uint8_t>(255 - image.values[i]);
}

void stretch_contrast(const Planes& image) {
  for (int c = 0; c < image.channels; ++c) {
    std::uint8_t* const begin = image.values + static_cast<std::size_t>(c) * image.plane();
    const auto [low, high] = std::minmax_element(begin, begin + image.plane());
    const int least = *low, most = *high;
    if (least == most) continue;
    const float scale = 255.0f / static_cast<float>(most - least);
    for (std::uint8_t* p = begin; p != begin + image.plane(); ++p)
      *p = to_byte(static_cast<float>(*p - least) * scale, 255);
  }
}

void equalize(const Planes& image) {
  for (int c = 0; c < image.channels; ++c) {
    std::uint8_t* const begin = image.values + static_cast<std::size_t>(c) * image.plane();
    std::array<std::int64_t, 256> counts{};
    for (const std::uint8_t* p = begin; p != begin + image.plane(); ++p) ++counts[*p];
    const auto last = std::find_if(counts.rbegin(), counts.rend(), [](std::int64_t n) { return n > 0; });
    const std::int64_t step = (static_cast<std::int64_t>(image.plane()) - *last) / 255;
    if (step == 0) continue;
    std::array<std::uint8_t, 256> table{};
    std::int64_t below = 0;
    for (std::size_t v = 0; v < 256; ++v) {
      table[v] = v == 0 ? 0 : static_cast<std::uint8_t>(std::min<std::int64_t>(255, (below + step / 2) / step));
      below += counts[v];
    }
    for (std::uint8_t* p = begin; p != begin + image.plane(); ++p) *p = table[*p];
  }
}

}  // namespace trainlab
