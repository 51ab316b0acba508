// augment.rand_augment: Cubuk et al. 2020, "RandAugment: practical automated data augmentation with a reduced search
// space". Operations and their strengths are torchvision's.
#include <array>
#include <cmath>

#include "augmentation.h"

namespace trainlab {

namespace {

constexpr int bins = 31;  // magnitudes 0 … 30

// An operation at `strength` in 0…1 of its range, `way` +1 or −1.
using Operation = void (*)(const Planes& image, double strength, double way);

void move(const Planes& image, double right, double down) { warp(image, {1, 0, -right, 0, 1, -down}); }

constexpr double furthest = 150.0 / 331;  // of the width or height
constexpr double most_contrast = 0.9;     // of the factor's distance from 1

constexpr std::array<Operation, 14> operations{
    [](const Planes&, double, double) {},
    [](const Planes& image, double s, double way) { shear_across(image, way * 0.3 * s); },
    [](const Planes& image, double s, double way) { shear_down(image, way * 0.3 * s); },
    [](const Planes& image, double s, double way) { move(image, std::trunc(way * furthest * image.width * s), 0); },
    [](const Planes& image, double s, double way) { move(image, 0, std::trunc(way * furthest * image.height * s)); },
    [](const Planes& image, double s, double way) { rotate(image, way * 30 * s); },
    [](const Planes& image, double s, double way) { brightness(image, 1 + way * most_contrast * s); },
    [](const Planes& image, double s, double way) { saturation(image, 1 + way * most_contrast * s); },
    [](const Planes& image, double s, double way) { contrast(image, 1 + way * most_contrast * s); },
    [](const Planes& image, double s, double way) { sharpness(image, 1 + way * most_contrast * s); },
    [](const Planes& image, double s, double) { posterize(image, 8 - static_cast<int>(std::nearbyint(4 * s))); },
    [](const Planes& image, double s, double) { solarize(image, static_cast<int>(std::ceil(255 * (1 - s)))); },
    [](const Planes& image, double, double) { stretch_contrast(image); },
    [](const Planes& image, double, double) { equalize(image); },
};

ImageChange rand_augment(const Options& spec, const Augmentation& augmentation) {
  if (augmentation.white() != 255) {
    throw spec.error("", "the data's values go from 0 to " + std::to_string(augmentation.white()) +
                             "; expected images with bytes from 0 to 255");
  }
  const std::int64_t n = spec.integer("n");
  const double strength = static_cast<double>(spec.integer("magnitude")) / (bins - 1);
  return [n, strength](const Planes& image, Stream& draws) {
    for (std::int64_t i = 0; i < n; ++i) {
      const Operation operation = operations[draws.below(operations.size())];
      operation(image, strength, draws.below(2) == 0 ? 1.0 : -1.0);
    }
  };
}

}  // namespace

void register_rand_augment(Registry& registry) {
  registry.add(
      Entry("augment.rand_augment", "augment",
            "RandAugment: applies n operations to each image, drawn with equal probability, all of one magnitude.")
          .with(Option("n", "number of operations for each image")
                    .integer()
                    .at_least(1)
                    .at_most(14)
                    .or_default(2)
                    .positional())
          .with(Option("magnitude", "strength of all operations")
                    .integer()
                    .at_least(0)
                    .at_most(bins - 1)
                    .or_default(9)
                    .positional())
          .example("augment.rand_augment(2, 9)")
          .note("Cubuk et al. 2020. Drawn from: nothing, shear (two ways), move (two), rotate, brightness, saturation, "
                "contrast, sharpness, posterize, solarize, autocontrast, equalize; strengths as torchvision's "
                "RandAugment, geometry bilinear."),
      ImageChangeFactory{rand_augment});
}

}  // namespace trainlab
