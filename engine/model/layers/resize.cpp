// Layers that change sizes without weights: nn.Upsample, nn.ZeroPad*d, nn.ReflectionPad*d, nn.PixelShuffle.
#include <ATen/ops/pad.h>
#include <ATen/ops/pixel_shuffle.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_linear1d.h>
#include <ATen/ops/upsample_nearest1d.h>
#include <ATen/ops/upsample_nearest2d.h>

#include "window.h"

namespace trainlab {

namespace {

class Upsample final : public Layer {
 public:
  Upsample(const Options& options, LayerContext& context)
      : smooth_(options.string("mode") == "linear"), align_(options.boolean("align_corners")) {
    const Shape& input = context.input();
    if (input.size() != 2 && input.size() != 3) {
      throw context.shape_error("an input of [channels, length] or [channels, height, width]");
    }
    if (align_ && !smooth_) throw context.error("align_corners goes with mode = \"linear\"");
    if (options.given("size") == options.given("scale_factor")) {
      throw context.error("expected either scale_factor or size, found " +
                          std::string(options.given("size") ? "both" : "none"));
    }
    const std::size_t axes = input.size() - 1;
    if (options.given("size")) {
      size_ = options.integers("size");
      if (size_.size() == 1) size_.resize(axes, size_[0]);
      if (size_.size() != axes) {
        throw context.shape_error("an input of " + std::to_string(size_.size()) +
                                  " axes after the channels for size = " + shape_text(size_));
      }
    } else {
      for (std::size_t i = 0; i < axes; ++i) size_.push_back(input[i + 1] * options.integer("scale_factor"));
    }
    output = size_;
    output.insert(output.begin(), input[0]);
  }

  at::Tensor forward(const at::Tensor& x, const Pass&) const override {
    const at::OptionalIntArrayRef size(size_);
    if (size_.size() == 1) {
      return smooth_ ? at::upsample_linear1d(x, size, align_, std::nullopt)
                     : at::upsample_nearest1d(x, size, std::nullopt);
    }
    return smooth_ ? at::upsample_bilinear2d(x, size, align_, std::nullopt)
                   : at::upsample_nearest2d(x, size, std::nullopt);
  }
  bool stackable() const override { return false; }
  void count_kept(KeptMemory& memory) const override { memory.produce(output); }

 private:
  bool smooth_, align_;
  Shape size_;
};

template <std::size_t axes, bool reflect>
class Pad final : public Layer {
 public:
  Pad(const Options& options, LayerContext& context) {
    output = windowed_input(context, "padding", axes);
    std::vector<std::int64_t> given = options.integers("padding");
    if (given.size() == 1) given.resize(2 * axes, given[0]);
    if (given.size() != 2 * axes) {
      throw context.error("expected one padding, or " + std::to_string(2 * axes) + " (" +
                          (axes == 1 ? "before, after" : "left, right, top, bottom") + "), found " + shape_text(given));
    }
    for (std::size_t i = 0; i < axes; ++i) {
      std::int64_t& size = output[axes - i];  // from the last axis, as at::pad
      if (reflect && std::max(given[2 * i], given[2 * i + 1]) >= size) {
        throw context.shape_error("an input larger than the padding " + shape_text(given) + ", which reflects it");
      }
      size += given[2 * i] + given[2 * i + 1];
    }
    pads_ = given;
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override {
    return at::pad(x, pads_, reflect ? "reflect" : "constant");
  }
  bool stackable() const override { return false; }
  void count_kept(KeptMemory& memory) const override {
    if (reflect) memory.keep_current();
    memory.produce(output);
  }

 private:
  Shape pads_;
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

template <std::size_t axes, bool reflect>
void add_pad(Registry& registry) {
  const std::string name = std::string(reflect ? "nn.ReflectionPad" : "nn.ZeroPad") + std::to_string(axes) + "d";
  registry.add(Entry(name, "layer", (reflect ? "Mirrors the edges of " : "Adds zeros round ") + axes_text(axes) + ".")
                   .with(Option("padding",
                                axes == 1 ? "elements added: one number for both ends, or { before, after }"
                                          : "elements added: one number for all sides, or { left, right, top, bottom }")
                             .integer()
                             .at_least(0)
                             .many()
                             .positional()
                             .required())
                   .example(name + "(1)"),
               layer_kind<Pad<axes, reflect>>());
}

}  // namespace

void register_resize(Registry& registry) {
  registry.add(
      Entry("nn.Upsample", "layer", "Enlarges [channels, length] or [channels, height, width].")
          .with(Option("scale_factor", "factor of each size").integer().at_least(1).positional())
          .with(Option("size", "the new size, or a size for each axis, instead of scale_factor")
                    .integer()
                    .at_least(1)
                    .many())
          .with(Option("mode", "\"nearest\" copies the nearest element, \"linear\" interpolates between neighbours")
                    .choice({"nearest", "linear"})
                    .or_default("nearest"))
          .with(Option("align_corners", "first and last elements keep their values").boolean().or_default(false))
          .example("nn.Upsample(2)")
          .note("\"linear\" on images is what PyTorch calls bilinear."),
      layer_kind<Upsample>());
  add_pad<1, false>(registry);
  add_pad<2, false>(registry);
  add_pad<1, true>(registry);
  add_pad<2, true>(registry);
  registry.add(
      Entry("nn.PixelShuffle", "layer", "[channels·r², height, width] becomes [channels, height·r, width·r].")
          .with(Option("upscale_factor", "factor of height and width, r").integer().at_least(1).positional().required())
          .example("nn.PixelShuffle(2)")
          .note("Shi et al. 2016."),
      layer_kind<PixelShuffle>());
}

}  // namespace trainlab
