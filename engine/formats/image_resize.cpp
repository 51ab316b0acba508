#include <algorithm>
#include <cmath>
#include <cstring>

#include "formats/image.h"

namespace trainlab {

namespace {

constexpr int precision = 22;  // bits of a weight: with a byte's 8 they leave two of an int for sign and overshoot

// The source of one output pixel: `count` input pixels from `first` on, with weights that sum to 1 << precision.
struct Taps {
  std::vector<int> first, count, weights;  // weights: `most` for each output pixel
  int most = 0;
};

// Along one axis: from [low, high) of `in` pixels to `out` pixels.
Taps taps_for(int in, double low, double high, int out) {
  const double scale = (high - low) / out, reach = std::max(scale, 1.0), inverse = 1 / reach;
  Taps taps;
  taps.most = static_cast<int>(std::ceil(reach)) * 2 + 1;
  taps.first.resize(static_cast<std::size_t>(out));
  taps.count.resize(taps.first.size());
  taps.weights.resize(taps.first.size() * static_cast<std::size_t>(taps.most));
  std::vector<double> weights;
  for (int i = 0; i < out; ++i) {
    const double centre = low + (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(centre - reach + 0.5));
    const int end = std::min(in, static_cast<int>(centre + reach + 0.5));
    double sum = 0;
    weights.clear();
    for (int k = first; k < end; ++k) {
      weights.push_back(std::max(0.0, 1 - std::fabs((k - centre + 0.5) * inverse)));
      sum += weights.back();
    }
    const auto at = static_cast<std::size_t>(i);
    taps.first[at] = first;
    taps.count[at] = end - first;
    for (std::size_t k = 0; k < weights.size(); ++k)
      taps.weights[at * static_cast<std::size_t>(taps.most) + k] =
          static_cast<int>(0.5 + weights[k] / sum * (1 << precision));
  }
  return taps;
}

std::uint8_t to_byte(int sum) { return static_cast<std::uint8_t>(std::clamp(sum >> precision, 0, 255)); }

constexpr int half = 1 << (precision - 1);

}  // namespace

void resize(const std::uint8_t* from, int in_height, int in_width, int channels, const Box& box, std::uint8_t* out,
            int height, int width) {
  const Taps across = taps_for(in_width, box.left, box.right, width);
  const Taps down = taps_for(in_height, box.top, box.bottom, height);
  // Only the rows that the second pass looks at.
  const int top = down.first.front(), bottom = down.first.back() + down.count.back();
  const auto row_bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  thread_local std::vector<std::uint8_t> rows;
  rows.resize(static_cast<std::size_t>(bottom - top) * row_bytes);
  for (int y = top; y < bottom; ++y) {
    const std::uint8_t* const in = from + static_cast<std::ptrdiff_t>(y) * in_width * channels;
    std::uint8_t* to = rows.data() + static_cast<std::size_t>(y - top) * row_bytes;
    for (int x = 0; x < width; ++x) {
      const int* const weights = &across.weights[static_cast<std::size_t>(x) * static_cast<std::size_t>(across.most)];
      const int first = across.first[static_cast<std::size_t>(x)], count = across.count[static_cast<std::size_t>(x)];
      for (int c = 0; c < channels; ++c) {
        int sum = half;
        for (int k = 0; k < count; ++k) sum += in[(first + k) * channels + c] * weights[k];
        *to++ = to_byte(sum);
      }
    }
  }
  thread_local std::vector<int> sums;
  sums.resize(row_bytes);
  for (int y = 0; y < height; ++y) {
    const int* const weights = &down.weights[static_cast<std::size_t>(y) * static_cast<std::size_t>(down.most)];
    const int first = down.first[static_cast<std::size_t>(y)] - top, count = down.count[static_cast<std::size_t>(y)];
    std::fill(sums.begin(), sums.end(), half);
    for (int k = 0; k < count; ++k) {
      const std::uint8_t* const row = rows.data() + static_cast<std::size_t>(first + k) * row_bytes;
      for (std::size_t i = 0; i < row_bytes; ++i) sums[i] += row[i] * weights[k];
    }
    std::uint8_t* const to = out + static_cast<std::size_t>(y) * row_bytes;
    for (std::size_t i = 0; i < row_bytes; ++i) to[i] = to_byte(sums[i]);
  }
}

void cover(Image& image, int height, int width, Image& scratch) {
  if (image.height == height && image.width == width) return;
  const double scale = std::max(static_cast<double>(height) / image.height, static_cast<double>(width) / image.width);
  const int tall = std::max(height, static_cast<int>(image.height * scale)),
            wide = std::max(width, static_cast<int>(image.width * scale));
  scratch.reshape(tall, wide, image.channels);
  const Box all{0, 0, static_cast<double>(image.width), static_cast<double>(image.height)};
  resize(image.pixels.data(), image.height, image.width, image.channels, all, scratch.pixels.data(), tall, wide);
  const int top = static_cast<int>(std::nearbyint((tall - height) / 2.0)),
            left = static_cast<int>(std::nearbyint((wide - width) / 2.0));
  image.reshape(height, width, image.channels);
  const auto row_bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(image.channels);
  for (int y = 0; y < height; ++y) {
    const std::size_t at =
        (static_cast<std::size_t>(top + y) * static_cast<std::size_t>(wide) + static_cast<std::size_t>(left)) *
        static_cast<std::size_t>(image.channels);
    std::memcpy(image.pixels.data() + static_cast<std::size_t>(y) * row_bytes, scratch.pixels.data() + at, row_bytes);
  }
}

}  // namespace trainlab
