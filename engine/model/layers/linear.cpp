// nn.Linear: y = x·Wᵀ + b on the last axis.
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/linear.h>

#include <optional>

#include "init.h"
#include "model/layer.h"

namespace trainlab {

namespace {

class LinearLayer final : public Layer {
 public:
  LinearLayer(const Options& options, LayerContext& context)
      : out_(options.integer("out_features")), input_needs_gradient_(context.input_needs_gradient()) {
    const Shape& input = context.input();
    if (input.empty()) throw context.shape_error("an input of [features] or [..., features]");
    in_ = input.back();
    if (in_ < 1) throw context.shape_error("an input of at least one feature");
    output = input;
    output.back() = out_;
    weight_ = context.parameter("weight", {out_, in_}, weight_init(options, {out_, in_}, uniform_by_fan_in(in_)));
    if (options.boolean("bias")) bias_ = context.parameter("bias", {out_}, uniform_by_fan_in(in_), false);
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const at::Tensor in = pass.operand(x), weight = pass.weight(weight_);
    if (pass.members() == 0) {
      if (bias_) return at::linear(in, weight, pass.weight(*bias_));
      return at::linear(in, weight);
    }
    if (in.dim() == 3) return product(in, weight, pass);
    const std::int64_t members = in.size(0);
    const at::Tensor rows = in.reshape({members, in.numel() / (members * in_), in_});
    c10::SmallVector<std::int64_t, 6> shape(in.sizes().begin(), in.sizes().end());
    shape.back() = out_;
    return product(rows, weight, pass).reshape(shape);
  }

  bool stackable() const override { return true; }
  std::optional<Linear> linear() const override { return Linear{.weight = weight_, .bias = bias_}; }

  Flops flops() const override {
    const double product = 2.0 * static_cast<double>(element_count(output)) * static_cast<double>(in_);
    return {product, input_needs_gradient_ ? 2 * product : product};
  }

 private:
  // x: [M, rows, in] → [M, rows, out]
  at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const Pass& pass) const {
    const at::Tensor transposed = weight.transpose(1, 2);
    if (bias_) return at::baddbmm(pass.weight(*bias_).unsqueeze(1), x, transposed);
    return at::bmm(x, transposed);
  }

  std::int64_t in_ = 0, out_;
  std::size_t weight_ = 0;
  std::optional<std::size_t> bias_;
  bool input_needs_gradient_;
};

}  // namespace

void register_linear(Registry& registry) {
  registry.add(
      Entry("nn.Linear", "layer", "A linear map of the last axis: x·Wᵀ + b.")
          .with(Option("out_features", "size of the output's last axis").integer().at_least(1).positional().required())
          .with(Option("bias", "adds a learned bias").boolean().or_default(true))
          .with(init_option())
          .example("nn.Linear(64)")
          .note("The input's size is inferred. Weights and biases start uniform in ±1/√(input size), as PyTorch's do."),
      layer_kind<LinearLayer>());
}

}  // namespace trainlab
