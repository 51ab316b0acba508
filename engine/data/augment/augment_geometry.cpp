// augment.flip, crop, resize, rotate, cutout, erase.
#include <algorithm>
#include <cmath>

#include "augmentation.h"

namespace trainlab {

namespace {

ImageChange flip(const Options& spec, const Augmentation&) {
  const bool across = spec.string("axis") == "horizontal";
  return by_chance(spec, [across](const Planes& image, Stream&) { across ? flip_across(image) : flip_down(image); });
}

ImageChange crop(const Options& spec, const Augmentation& augmentation) {
  const auto padding = static_cast<int>(spec.integer("padding"));
  const bool reflect = spec.string("fill") == "reflect";
  const std::int64_t least = std::min(augmentation.shape()[1], augmentation.shape()[2]);
  if (padding >= least) {
    throw spec.error("padding", "expected less than the " + std::to_string(least) + " pixels of the images, found " +
                                    std::to_string(padding));
  }
  return [padding, reflect](const Planes& image, Stream& draws) {
    const auto places = static_cast<std::uint64_t>(2 * padding + 1);
    const int down = static_cast<int>(draws.below(places)) - padding;
    const int right = static_cast<int>(draws.below(places)) - padding;
    if (down != 0 || right != 0) shift(image, down, right, reflect);
  };
}

struct Range {
  double low, high;
};

Range range_of(const Options& spec, const char* option) {
  const std::vector<double> numbers = spec.numbers(option);
  if (numbers[0] > numbers[1])
    throw spec.error(option, "expected the smaller number first, found " + spec.get(option).brief());
  return {numbers[0], numbers[1]};
}

// A part of the image of a drawn area and form (width over height, even on a logarithmic scale); after ten draws that
// do not fit, none.
bool draw_part(const Planes& image, Range area, Range ratio, Stream& draws, int& height, int& width) {
  const double pixels = static_cast<double>(image.plane());
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double wanted = pixels * uniform_in(draws, area.low, area.high);
    const double form = std::exp(uniform_in(draws, std::log(ratio.low), std::log(ratio.high)));
    width = static_cast<int>(std::nearbyint(std::sqrt(wanted * form)));
    height = static_cast<int>(std::nearbyint(std::sqrt(wanted / form)));
    if (width >= 1 && width <= image.width && height >= 1 && height <= image.height) return true;
  }
  return false;
}

int below(Stream& draws, int n) { return static_cast<int>(draws.below(static_cast<std::uint64_t>(n))); }

ImageChange random_resize(const Options& spec, const Augmentation&) {
  const Range area = range_of(spec, "area"), ratio = range_of(spec, "ratio");
  return by_chance(spec, [area, ratio](const Planes& image, Stream& draws) {
    int height = 0, width = 0;
    if (!draw_part(image, area, ratio, draws, height, width)) return;
    const int top = below(draws, image.height - height + 1), left = below(draws, image.width - width + 1);
    zoom(image, {static_cast<double>(left), static_cast<double>(top), static_cast<double>(left + width),
                 static_cast<double>(top + height)});
  });
}

ImageChange random_rotate(const Options& spec, const Augmentation&) {
  const double degrees = spec.number("degrees");
  return by_chance(
      spec, [degrees](const Planes& image, Stream& draws) { rotate(image, uniform_in(draws, -degrees, degrees)); });
}

ImageChange cutout(const Options& spec, const Augmentation&) {
  const auto size = static_cast<int>(spec.integer("size"));
  return by_chance(spec, [size](const Planes& image, Stream& draws) {
    const int y = below(draws, image.height), x = below(draws, image.width);
    fill(image, y - size / 2, x - size / 2, size, size, 0);
  });
}

ImageChange erase(const Options& spec, const Augmentation&) {
  const Range area = range_of(spec, "area"), ratio = range_of(spec, "ratio");
  return by_chance(spec, [area, ratio](const Planes& image, Stream& draws) {
    int height = 0, width = 0;
    if (!draw_part(image, area, ratio, draws, height, width)) return;
    const int top = below(draws, image.height - height + 1), left = below(draws, image.width - width + 1);
    fill(image, top, left, height, width, 0);
  });
}

Option area_option(double low, double high) {
  return Option("area", "smallest and largest share of the image's area")
      .number()
      .more_than(0)
      .at_most(1)
      .many(2)
      .or_default(Value::List{low, high});
}
Option ratio_option(double low, double high) {
  return Option("ratio", "smallest and largest width over height")
      .number()
      .more_than(0)
      .many(2)
      .or_default(Value::List{low, high});
}

}  // namespace

void register_augment_geometry(Registry& registry) {
  registry.add(
      Entry("augment.flip", "augment", "Mirrors an image.")
          .with(Option("axis", "horizontal: left and right change places; vertical: top and bottom change places")
                    .choice({"horizontal", "vertical"})
                    .or_default("horizontal"))
          .with(chance_option(0.5))
          .example("augment.flip()"),
      ImageChangeFactory{flip});
  registry.add(Entry("augment.crop", "augment", "Moves an image by up to `padding` pixels: a crop of the padded image.")
                   .with(Option("padding", "pixels added at each edge")
                             .integer()
                             .at_least(0)
                             .at_most(16384)
                             .or_default(4)
                             .in("pixels")
                             .positional())
                   .with(Option("fill", "content of the added pixels: black, or the image mirrored at its edge")
                             .choice({"zero", "reflect"})
                             .or_default("zero"))
                   .example("augment.crop { padding = 4 }")
                   .note("Equals torchvision's RandomCrop(size, padding) for images of that size."),
               ImageChangeFactory{crop});
  registry.add(Entry("augment.resize", "augment", "Takes a random part of an image, resized to the image's size.")
                   .with(area_option(0.08, 1))
                   .with(ratio_option(0.75, 4.0 / 3))
                   .with(chance_option(1))
                   .example("augment.resize { area = { 0.25, 1 } }")
                   .note("Draws as torchvision's RandomResizedCrop does; the bilinear filter averages when it shrinks "
                         "an image. An image stays whole if none of ten drawn parts fits into it."),
               ImageChangeFactory{random_resize});
  registry.add(Entry("augment.rotate", "augment", "Turns an image around its centre; uncovered corners become black.")
                   .with(Option("degrees", "largest angle in either direction")
                             .number()
                             .at_least(0)
                             .at_most(180)
                             .or_default(15)
                             .in("degrees")
                             .positional())
                   .with(chance_option(1))
                   .example("augment.rotate { degrees = 10 }")
                   .note("The angle is drawn uniformly; pixels are interpolated bilinearly."),
               ImageChangeFactory{random_rotate});
  registry.add(Entry("augment.cutout", "augment", "Blackens a square, centred anywhere and cut off at the edges.")
                   .with(Option("size", "side of the square")
                             .integer()
                             .at_least(1)
                             .at_most(16384)
                             .required()
                             .in("pixels")
                             .positional())
                   .with(chance_option(1))
                   .example("augment.cutout(8)")
                   .note("DeVries and Taylor 2017, \"Improved regularization of convolutional neural networks with "
                         "cutout\"."),
               ImageChangeFactory{cutout});
  registry.add(Entry("augment.erase", "augment", "Blackens a rectangle of random area and form within the image.")
                   .with(area_option(0.02, 0.33))
                   .with(ratio_option(0.3, 3.3))
                   .with(chance_option(0.5))
                   .example("augment.erase { p = 0.25 }")
                   .note("Zhong et al. 2020, \"Random erasing data augmentation\"; draws and defaults as torchvision's "
                         "RandomErasing."),
               ImageChangeFactory{erase});
}

}  // namespace trainlab
