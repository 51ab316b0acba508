// Layers that change sizes without weights: nn.Upsample, the pads, nn.PixelShuffle.
#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/pixel_shuffle.h>
#include <ATen/ops/upsample_bicubic2d.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_linear1d.h>
#include <ATen/ops/upsample_nearest1d.h>
#include <ATen/ops/upsample_nearest2d.h>

#include <algorithm>
#include <array>

#include "window.h"

namespace trainlab {

namespace {

class Upsample final : public Layer {
 public:
  Upsample(const Options& options, LayerContext& context)
      : smooth_(options.string("mode") != "nearest"),
        cubic_(options.string("mode") == "cubic"),
        align_(options.boolean("align_corners")),
        antialias_(options.boolean("antialias")) {
    const Shape& input = context.input();
    if (input.size() != 2 && input.size() != 3) {
      throw context.shape_error("an input of [channels, length] or [channels, height, width]");
    }
    if (align_ && !smooth_) throw context.error("align_corners goes with mode = \"linear\" or \"cubic\"");
    if (antialias_ && !smooth_) throw context.error("antialias goes with mode = \"linear\" or \"cubic\"");
    if ((cubic_ || antialias_) && input.size() != 3) {
      throw context.shape_error("an input of [channels, height, width] for " +
                                std::string(cubic_ ? "mode = \"cubic\"" : "antialias"));
    }
    if (options.given("size") == options.given("scale_factor")) {
      throw context.error("expected either scale_factor or size, found " +
                          std::string(options.given("size") ? "both" : "none"));
    }
    const std::size_t axes = input.size() - 1;
    const std::string name = options.given("size") ? "size" : "scale_factor";
    size_ = options.integers(name);
    if (size_.size() == 1) size_.resize(axes, size_[0]);
    if (size_.size() != axes) {
      throw context.shape_error("an input of " + std::to_string(size_.size()) + " axes after the channels for " + name +
                                " = " + shape_text(size_));
    }
    for (std::size_t i = 0; i < axes && name == "scale_factor"; ++i) size_[i] *= input[i + 1];
    output = size_;
    output.insert(output.begin(), input[0]);
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    if (!antialias_) return resized(x);
    return in_type_of(x, resized(pass.in_full(x)));  // the CPU has no such operators for 16 bits
  }
  bool stackable() const override { return false; }
  void count_kept(KeptMemory& memory) const override { memory.produce(output); }

 private:
  at::Tensor resized(const at::Tensor& x) const {
    const at::OptionalIntArrayRef size(size_);
    if (size_.size() == 1) {
      return smooth_ ? at::upsample_linear1d(x, size, align_, std::nullopt)
                     : at::upsample_nearest1d(x, size, std::nullopt);
    }
    if (!smooth_) return at::upsample_nearest2d(x, size, std::nullopt);
    if (cubic_) {
      return antialias_ ? at::_upsample_bicubic2d_aa(x, size, align_, std::nullopt)
                        : at::upsample_bicubic2d(x, size, align_, std::nullopt);
    }
    return antialias_ ? at::_upsample_bilinear2d_aa(x, size, align_, std::nullopt)
                      : at::upsample_bilinear2d(x, size, align_, std::nullopt);
  }

  bool smooth_, cubic_, align_, antialias_;
  Shape size_;
};

enum class Fill { zero, constant, reflect, replicate };

// A word for each side: "left, right, top, bottom" for two axes.
std::string sides_text(std::size_t axes) {
  constexpr std::array texts = {"before, after", "left, right, top, bottom", "left, right, top, bottom, front, back"};
  return texts.at(axes - 1);
}

template <std::size_t axes, Fill fill>
class Pad final : public Layer {
 public:
  Pad(const Options& options, LayerContext& context) {
    output = windowed_input(context, "padding", axes);
    std::vector<std::int64_t> given = options.integers("padding");
    if (given.size() == 1) given.resize(2 * axes, given[0]);
    if (given.size() != 2 * axes) {
      throw context.error("expected one padding, or " + std::to_string(2 * axes) + " (" + sides_text(axes) +
                          "), found " + shape_text(given));
    }
    for (std::size_t i = 0; i < axes; ++i) {
      std::int64_t& size = output[axes - i];  // from the last axis, as at::pad
      if (fill == Fill::reflect && std::max(given[2 * i], given[2 * i + 1]) >= size) {
        throw context.shape_error("an input larger than the padding " + shape_text(given) + ", which reflects it");
      }
      size += given[2 * i] + given[2 * i + 1];
    }
    pads_ = given;
    if constexpr (fill == Fill::constant) value_ = options.number("value");
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override {
    if constexpr (fill == Fill::reflect) return at::pad(x, pads_, "reflect");
    if constexpr (fill == Fill::replicate) return at::pad(x, pads_, "replicate");
    return at::pad(x, pads_, "constant", value_);
  }
  bool stackable() const override { return false; }
  void count_kept(KeptMemory& memory) const override {
    if (fill == Fill::reflect || fill == Fill::replicate) memory.keep_current();
    memory.produce(output);
  }

 private:
  Shape pads_;
  double value_ = 0;
};

class PixelShuffle final : public Layer {
 public:
  PixelShuffle(const Options& options, LayerContext& context) : factor_(options.integer("upscale_factor")) {
    const Shape& input = windowed_input(context, "a pixel shuffle", 2);
    if (input[0] % (factor_ * factor_) != 0) {
      throw context.shape_error("a multiple of " + std::to_string(factor_ * factor_) + " channels");
    }
    output = {input[0] / (factor_ * factor_), input[1] * factor_, input[2] * factor_};
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return at::pixel_shuffle(x, factor_); }
  bool stackable() const override { return true; }
  void count_kept(KeptMemory& memory) const override { memory.produce(output); }

 private:
  std::int64_t factor_;
};

template <std::size_t axes, Fill fill>
void add_pad(Registry& registry, const std::string& kind, const std::string& doc) {
  const std::string name = "nn." + kind + "Pad" + std::to_string(axes) + "d";
  Entry entry(name, "layer", doc + " " + axes_text(axes) + ".");
  entry.with(Option("padding", "elements added: one number for " + std::string(axes == 1 ? "both ends" : "all sides") +
                                   ", or { " + sides_text(axes) + " }")
                 .integer()
                 .at_least(0)
                 .many()
                 .positional()
                 .required());
  if (fill == Fill::constant) entry.with(Option("value", "the value that is added").number().positional().required());
  entry.example(name + (fill == Fill::constant ? "(1, 0.5)" : "(1)"));
  registry.add(std::move(entry), layer_kind<Pad<axes, fill>>());
}

template <std::size_t axes>
void add_pads(Registry& registry) {
  add_pad<axes, Fill::zero>(registry, "Zero", "Adds zeros round");
  add_pad<axes, Fill::constant>(registry, "Constant", "Adds a value round");
  add_pad<axes, Fill::reflect>(registry, "Reflection", "Mirrors the edges of");
  add_pad<axes, Fill::replicate>(registry, "Replication", "Repeats the edges of");
}

}  // namespace

void register_resize(Registry& registry) {
  registry.add(
      Entry("nn.Upsample", "layer", "Enlarges or shrinks [channels, length] or [channels, height, width].")
          .with(Option("scale_factor", "factor of all sizes, or a factor for each axis")
                    .integer()
                    .at_least(1)
                    .many()
                    .positional())
          .with(Option("size", "the new size, or a size for each axis, instead of scale_factor")
                    .integer()
                    .at_least(1)
                    .many())
          .with(Option("mode",
                       "\"nearest\" copies the nearest element, \"linear\" interpolates between neighbours, \"cubic\" "
                       "between the four nearest along each axis of an image")
                    .choice({"nearest", "linear", "cubic"})
                    .or_default("nearest"))
          .with(Option("align_corners", "first and last elements keep their values").boolean().or_default(false))
          .with(Option("antialias",
                       "where the size shrinks, the means are over all elements that fall on an output element; "
                       "images, mode \"linear\" or \"cubic\"")
                    .boolean()
                    .or_default(false))
          .example("nn.Upsample(2)")
          .note("\"linear\" on images is what PyTorch calls bilinear, \"cubic\" bicubic. A size below the input's "
                "shrinks it, as PyTorch's interpolate does."),
      layer_kind<Upsample>());
  add_pads<1>(registry);
  add_pads<2>(registry);
  add_pads<3>(registry);
  registry.add(
      Entry("nn.PixelShuffle", "layer", "[channels·r², height, width] becomes [channels, height·r, width·r].")
          .with(Option("upscale_factor", "factor of height and width, r").integer().at_least(1).positional().required())
          .example("nn.PixelShuffle(2)")
          .note("Shi et al. 2016."),
      layer_kind<PixelShuffle>());
}

}  // namespace trainlab
