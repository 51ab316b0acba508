#include "augmentation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/mixing.h"

namespace trainlab {

bool mixes_labels(const Part& part) {
  return part.augmentation && part.augmentation->mixes() && part.augmentation->classes() > 0;
}

void Augmentation::change(std::uint8_t* image, Key key) const {
  thread_local std::vector<std::uint8_t> scratch;
  const Planes planes{
      image, static_cast<int>(shape_[0]), static_cast<int>(shape_[1]), static_cast<int>(shape_[2]), white_, scratch};
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    Stream draws(key.fold(i));
    changes_[i](planes, draws);
  }
}

namespace {

// Gamma(a, 1): Marsaglia and Tsang 2000, "A simple method for generating gamma variables"; for a < 1 by their boost,
// Gamma(a) = Gamma(a + 1) · U^(1/a). As a logarithm, which small shapes would bring below the smallest double.
double log_gamma_draw(Stream& draws, double a) {
  const double d = (a < 1 ? a + 1 : a) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = draws.normal(), t = 1 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t, u = 1 - draws.uniform();
    if (std::log(u) >= 0.5 * x * x + d - d * v + d * std::log(v)) continue;
    return std::log(d * v) + (a < 1 ? std::log(1 - draws.uniform()) / a : 0);
  }
}

}  // namespace

Mix Augmentation::mix(Key key) const {
  Stream draws(key);
  const Mixing& kind = mixings_[mixings_.size() == 1 ? 0 : draws.below(mixings_.size())];
  Mix mix;
  if (draws.uniform() >= kind.probability) return mix;
  const double one = log_gamma_draw(draws, kind.alpha), other = log_gamma_draw(draws, kind.alpha);
  mix.lambda = 1 / (1 + std::exp(other - one));
  if (!kind.cuts) return mix;
  // A rectangle of the image's form and of (1 − λ) of its area, centred at any pixel, cut off at the edges.
  mix.cuts = true;
  const auto height = static_cast<int>(shape_[1]), width = static_cast<int>(shape_[2]);
  const double side = std::sqrt(1 - mix.lambda);
  const auto half_height = static_cast<int>(height * side / 2), half_width = static_cast<int>(width * side / 2);
  const auto y = static_cast<int>(draws.below(static_cast<std::uint64_t>(height))),
             x = static_cast<int>(draws.below(static_cast<std::uint64_t>(width)));
  mix.top = std::max(y - half_height, 0);
  mix.left = std::max(x - half_width, 0);
  mix.height = std::min(y + half_height, height) - mix.top;
  mix.width = std::min(x + half_width, width) - mix.left;
  mix.lambda = 1 - static_cast<double>(mix.height) * mix.width / (static_cast<double>(height) * width);
  return mix;
}

namespace {

// f(row, other) for each row, the other as it was before; `elements` values a row.
template <class T, class F>
void with_previous(T* rows, std::int64_t samples, std::int64_t elements, F&& f) {
  const std::vector<T> last(rows + (samples - 1) * elements, rows + samples * elements);
  for (std::int64_t i = samples; --i >= 0;) f(rows + i * elements, i > 0 ? rows + (i - 1) * elements : last.data());
}

}  // namespace

template <class T>
void mix_rows(const Mix& mix, T* rows, std::int64_t samples, std::int64_t elements) {
  if (mix.lambda == 1) return;
  const T share = static_cast<T>(mix.lambda), rest = 1 - share;
  with_previous(rows, samples, elements, [&](T* row, const T* other) {
    for (std::int64_t i = 0; i < elements; ++i) row[i] = share * row[i] + rest * other[i];
  });
}

template <class T>
void mix_images(const Mix& mix, T* x, std::int64_t samples, const Shape& shape) {
  if (mix.lambda == 1) return;
  if (!mix.cuts) return mix_rows(mix, x, samples, element_count(shape));
  with_previous(x, samples, element_count(shape), [&](T* row, const T* other) {
    for (std::int64_t c = 0; c < shape[0]; ++c)
      for (std::int64_t y = mix.top; y < mix.top + mix.height; ++y) {
        const std::int64_t at = (c * shape[1] + y) * shape[2] + mix.left;
        std::copy_n(other + at, mix.width, row + at);
      }
  });
}

template <class T>
void mix_labels(const Mix& mix, const std::int64_t* labels, T* out, std::int64_t samples, std::int64_t classes) {
  std::fill_n(out, samples * classes, T{0});
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t other = labels[i > 0 ? i - 1 : samples - 1];
    out[i * classes + other] += 1 - static_cast<T>(mix.lambda);
    out[i * classes + labels[i]] += static_cast<T>(mix.lambda);
  }
}

template void mix_rows(const Mix&, float*, std::int64_t, std::int64_t);
template void mix_rows(const Mix&, double*, std::int64_t, std::int64_t);
template void mix_images(const Mix&, float*, std::int64_t, const Shape&);
template void mix_images(const Mix&, double*, std::int64_t, const Shape&);
template void mix_labels(const Mix&, const std::int64_t*, float*, std::int64_t, std::int64_t);
template void mix_labels(const Mix&, const std::int64_t*, double*, std::int64_t, std::int64_t);

Option chance_option(double by_default) {
  return Option("p", "probability that an image is changed").number().at_least(0).at_most(1).or_default(by_default);
}

ImageChange by_chance(const Options& spec, ImageChange change) {
  return [p = spec.number("p"), change = std::move(change)](const Planes& image, Stream& draws) {
    if (draws.uniform() < p) change(image, draws);
  };
}

double uniform_in(Stream& draws, double low, double high) { return low + (high - low) * draws.uniform(); }

}  // namespace trainlab
