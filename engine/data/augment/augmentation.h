// Augmentation: what data:augment does to the training part. The loader's workers change images one by one, each image
// with random numbers that are keyed by (seed, epoch, sample); batches are mixed with random numbers that are keyed by
// (seed, epoch, batch). Immutable, thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/random/stream.h"
#include "core/registry.h"
#include "formats/pixels.h"
#include "tensor/types.h"

namespace trainlab {

// Implements an entry of kind "augment" that changes single images. The random numbers are those of one image and one
// entry.
using ImageChange = std::function<void(const Planes& image, Stream& draws)>;

// How a batch is mixed: sample i with sample i − 1, the first with the last (samples are in random order anyway).
// Mixup: x = λ xᵢ + (1 − λ) xᵢ₋₁ (Zhang et al. 2018, "mixup"). CutMix: a rectangle of xᵢ₋₁ in xᵢ (Yun et al. 2019,
// "CutMix"), λ the share of xᵢ that is left. Targets are mixed by λ alike.
struct Mix {
  double lambda = 1;
  bool cuts = false;
  int top = 0, left = 0, height = 0, width = 0;  // of the rectangle
};

struct Mixing {
  bool cuts = false;
  double alpha = 1;        // λ is drawn from Beta(alpha, alpha)
  double probability = 1;  // that a batch is mixed
};

// Normal noise, added to the numbers of a sample when they have the type of the batch.
struct Noise {
  double deviation = 0;    // for values before normalisation
  double probability = 1;  // that a sample is changed
};

class Augmentation {
 public:
  // `shape`: of x, [channels, height, width] for all but noise; `white`: the stored value that stands for 1.0;
  // `classes`: number of classes of y, or 0 if y holds numbers.
  Augmentation(Shape shape, int white, std::int64_t classes)
      : shape_(std::move(shape)), white_(white), classes_(classes) {}

  void add(ImageChange change) { changes_.push_back(std::move(change)); }
  void add(Mixing mixing) { mixings_.push_back(mixing); }
  void add(Noise noise) { noises_.push_back(noise); }

  const Shape& shape() const { return shape_; }
  int white() const { return white_; }
  std::int64_t classes() const { return classes_; }
  bool changes() const { return !changes_.empty(); }
  bool mixes() const { return !mixings_.empty(); }
  const std::vector<Noise>& noises() const { return noises_; }

  // Changes an image in its stored form. `key` belongs to the sample and the epoch.
  void change(std::uint8_t* image, Key key) const;
  // How a batch is mixed; with several kinds of mixing, one kind is drawn for each batch. `key` belongs to the batch.
  Mix mix(Key key) const;

 private:
  Shape shape_;
  int white_;
  std::int64_t classes_;
  std::vector<ImageChange> changes_;
  std::vector<Mixing> mixings_;
  std::vector<Noise> noises_;
};

// Mixes x, `samples` × shape of float or double, in place.
template <class T>
void mix_images(const Mix& mix, T* x, std::int64_t samples, const Shape& shape);
// Mixes rows of numbers of `elements` each, in place.
template <class T>
void mix_rows(const Mix& mix, T* rows, std::int64_t samples, std::int64_t elements);
// Rows of `classes` shares from labels.
template <class T>
void mix_labels(const Mix& mix, const std::int64_t* labels, T* out, std::int64_t samples, std::int64_t classes);

// The registrations of the entries lab.augment.flip …, one for each file of entries.
using ImageChangeFactory = std::function<ImageChange(const Options&, const Augmentation&)>;
using MixingFactory = std::function<Mixing(const Options&)>;
using NoiseFactory = std::function<Noise(const Options&)>;
// The option `p` of an entry that is not always applied.
Option chance_option(double by_default);
// `change`, applied with the probability that the option `p` of the entry gives.
ImageChange by_chance(const Options& spec, ImageChange change);
double uniform_in(Stream& draws, double low, double high);

}  // namespace trainlab
