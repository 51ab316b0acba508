// nn.Linear: y = x·Wᵀ + b on the last axis.
#include "linear.h"

#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/linear.h>

#include "init.h"

namespace trainlab {

at::Tensor linear_map(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                      const Pass& pass) {
  if (pass.members() == 0) return at::linear(x, weight, bias);
  const std::int64_t in = weight.size(2);
  const at::Tensor transposed = weight.transpose(1, 2);
  const auto product = [&](const at::Tensor& rows) {
    return bias ? at::baddbmm(bias->unsqueeze(1), rows, transposed) : at::bmm(rows, transposed);
  };
  if (x.dim() == 3) return product(x);
  const std::int64_t members = x.size(0);
  c10::SmallVector<std::int64_t, 6> shape(x.sizes().begin(), x.sizes().end());
  shape.back() = weight.size(1);
  return product(x.reshape({members, x.numel() / (members * in), in})).reshape(shape);
}

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
    std::optional<at::Tensor> bias;
    if (bias_) bias = pass.weight(*bias_);
    return linear_map(pass.operand(x), pass.weight(weight_), bias, pass);
  }

  bool stackable() const override { return true; }
  std::optional<Linear> linear() const override { return Linear{.weight = weight_, .bias = bias_, .is_kept = is_kept}; }

  Flops flops() const override {
    const double product = 2.0 * static_cast<double>(element_count(output)) * static_cast<double>(in_);
    return {product, input_needs_gradient_ ? 2 * product : product};
  }

 private:
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
      layer_kind<LinearLayer>({.width = "out_features"}));
}

}  // namespace trainlab
