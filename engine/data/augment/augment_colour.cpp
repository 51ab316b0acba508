// augment.color and augment.noise.
#include <algorithm>

#include "augmentation.h"

namespace trainlab {

namespace {

ImageChange color(const Options& spec, const Augmentation&) {
  struct Strengths {
    double brightness, contrast, saturation, hue;
  };
  const Strengths most{spec.number("brightness"), spec.number("contrast"), spec.number("saturation"),
                       spec.number("hue")};
  return by_chance(spec, [most](const Planes& image, Stream& draws) {
    const auto factor = [&](double strength) { return uniform_in(draws, std::max(0.0, 1 - strength), 1 + strength); };
    if (most.brightness > 0) brightness(image, factor(most.brightness));
    if (most.contrast > 0) contrast(image, factor(most.contrast));
    if (most.saturation > 0) saturation(image, factor(most.saturation));
    if (most.hue > 0) hue(image, uniform_in(draws, -most.hue, most.hue));
  });
}

Noise noise(const Options& spec) { return {.deviation = spec.number("deviation"), .probability = spec.number("p")}; }

Option strength(const char* name, const char* doc, double most) {
  return Option(name, doc).number().at_least(0).at_most(most).or_default(0.0);
}

}  // namespace

void register_augment_colour(Registry& registry) {
  registry.add(
      Entry("augment.color", "augment", "Changes brightness, contrast, saturation and hue, in this order.")
          .with(strength("brightness", "b: brightness is multiplied by a random factor in 1 − b … 1 + b", 10))
          .with(strength("contrast",
                         "b: distances from the image's mean grey are multiplied by a random factor in 1 − b … 1 + b",
                         10))
          .with(strength("saturation",
                         "b: distances from each pixel's grey are multiplied by a random factor in 1 − b … 1 + b", 10))
          .with(strength("hue", "h: hue is turned by a random share of the colour circle in −h … h", 0.5))
          .with(chance_option(1))
          .example("augment.color { brightness = 0.2, contrast = 0.2, saturation = 0.2, hue = 0.02 }")
          .note("The formulas of torchvision's ColorJitter, which draws the order too. Saturation and hue leave grey "
                "images as they are."),
      ImageChangeFactory{color});
  registry.add(
      Entry("augment.noise", "augment", "Adds normal noise to each number of x.")
          .with(Option("deviation", "standard deviation of the noise, in the units of x before :normalize()")
                    .number()
                    .at_least(0)
                    .or_default(0.05)
                    .positional())
          .with(chance_option(1))
          .example("augment.noise(0.02)")
          .note("Takes x of any shape. The noise is added to the numbers of the batch, without rounding to bytes, "
                "after all changes of images, wherever the entry stands in the list. Images of bytes, whose "
                "units are 0…1, are clipped to 0…1; other numbers are not clipped."),
      NoiseFactory{noise});
}

}  // namespace trainlab
