#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "formats/pixels.h"

namespace trainlab {

const std::uint8_t* Planes::copy() const {
  scratch.resize(size());
  std::memcpy(scratch.data(), values, size());
  return scratch.data();
}

void flip_across(const Planes& image) {
  const auto width = static_cast<std::size_t>(image.width);
  for (std::uint8_t* row = image.values; row != image.values + image.size(); row += width)
    std::reverse(row, row + width);
}

void flip_down(const Planes& image) {
  const auto width = static_cast<std::size_t>(image.width);
  for (int c = 0; c < image.channels; ++c) {
    std::uint8_t* const plane = image.values + static_cast<std::size_t>(c) * image.plane();
    for (int y = 0; y < image.height / 2; ++y) {
      std::uint8_t* const row = plane + static_cast<std::size_t>(y) * width;
      std::swap_ranges(row, row + width, plane + static_cast<std::size_t>(image.height - 1 - y) * width);
    }
  }
}

namespace {

// Mirrored at the edge pixels, which are not repeated; at most once.
int mirrored(int at, int size) {
  if (at < 0) at = -at;
  return at >= size ? 2 * (size - 1) - at : at;
}

}  // namespace

void shift(const Planes& image, int down, int right, bool reflect) {
  const std::uint8_t* const from = image.copy();
  const int first = std::clamp(-right, 0, image.width), end = std::clamp(image.width - right, first, image.width);
  std::uint8_t* to = image.values;
  for (int c = 0; c < image.channels; ++c) {
    const std::uint8_t* const plane = from + static_cast<std::size_t>(c) * image.plane();
    for (int y = 0; y < image.height; ++y, to += image.width) {
      const int source = reflect ? mirrored(y + down, image.height) : y + down;
      if (source < 0 || source >= image.height) {
        std::memset(to, 0, static_cast<std::size_t>(image.width));
        continue;
      }
      const std::uint8_t* const row = plane + static_cast<std::ptrdiff_t>(source) * image.width;
      std::memcpy(to + first, row + (first + right), static_cast<std::size_t>(end - first));
      for (int x = 0; x < first; ++x) to[x] = reflect ? row[mirrored(x + right, image.width)] : 0;
      for (int x = end; x < image.width; ++x) to[x] = reflect ? row[mirrored(x + right, image.width)] : 0;
    }
  }
}

void zoom(const Planes& image, const Box& box) {
  const std::uint8_t* const from = image.copy();
  for (std::size_t c = 0; c < static_cast<std::size_t>(image.channels); ++c)
    resize(from + c * image.plane(), image.height, image.width, 1, box, image.values + c * image.plane(), image.height,
           image.width);
}

void warp(const Planes& image, const std::array<double, 6>& m) {
  const std::uint8_t* const from = image.copy();
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const double px = m[0] * x + m[1] * y + m[2], py = m[3] * x + m[4] * y + m[5];
      const double left = std::floor(px), top = std::floor(py);
      const auto right_share = static_cast<float>(px - left), lower_share = static_cast<float>(py - top);
      // Whatever lies further out than this is outside alike.
      const int x0 = static_cast<int>(std::clamp(left, -2.0, static_cast<double>(image.width))),
                y0 = static_cast<int>(std::clamp(top, -2.0, static_cast<double>(image.height)));
      const auto weight = [&](int dy, int dx) {
        const bool inside = x0 + dx >= 0 && x0 + dx < image.width && y0 + dy >= 0 && y0 + dy < image.height;
        return inside ? (dx ? right_share : 1 - right_share) * (dy ? lower_share : 1 - lower_share) : 0.0f;
      };
      const std::array<float, 4> weights{weight(0, 0), weight(0, 1), weight(1, 0), weight(1, 1)};
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(y0) * image.width + x0;
      const std::array<std::ptrdiff_t, 4> places{at, at + 1, at + image.width, at + image.width + 1};
      for (std::size_t c = 0; c < static_cast<std::size_t>(image.channels); ++c) {
        const std::uint8_t* const plane = from + c * image.plane();
        float sum = 0;
        for (std::size_t k = 0; k < 4; ++k)
          if (weights[k] > 0) sum += weights[k] * static_cast<float>(plane[places[k]]);
        image.values[c * image.plane() + static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
                     static_cast<std::size_t>(x)] = static_cast<std::uint8_t>(std::nearbyint(sum));
      }
    }
  }
}

void rotate(const Planes& image, double degrees) {
  const double angle = degrees * std::numbers::pi / 180, c = std::cos(angle), s = std::sin(angle);
  const double x = (image.width - 1) / 2.0, y = (image.height - 1) / 2.0;
  warp(image, {c, -s, x - c * x + s * y, s, c, y - s * x - c * y});
}

void shear_across(const Planes& image, double factor) { warp(image, {1, factor, factor / 2, 0, 1, 0}); }

void shear_down(const Planes& image, double factor) { warp(image, {1, 0, 0, factor, 1, factor / 2}); }

void fill(const Planes& image, int top, int left, int height, int width, std::uint8_t value) {
  const int first_row = std::max(top, 0), end_row = std::min(top + height, image.height);
  const int first = std::max(left, 0), end = std::min(left + width, image.width);
  if (first >= end) return;
  for (int c = 0; c < image.channels; ++c)
    for (int y = first_row; y < end_row; ++y)
      std::memset(image.values + static_cast<std::size_t>(c) * image.plane() +
                      static_cast<std::ptrdiff_t>(y) * image.width + first,
                  value, static_cast<std::size_t>(end - first));
}

}  // namespace trainlab
