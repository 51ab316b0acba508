// nn.WeightNorm and nn.SpectralNorm: a layer whose weight is computed in each pass from the weight that it declares.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_weight_norm.h>
#include <ATen/ops/div.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mv.h>

#include <algorithm>
#include <cmath>

#include "build.h"

namespace trainlab {

namespace {

// The weight that a layer of this spec declares: built on its own to see it.
ParameterInfo declared_weight(const Options& spec, const LayerContext& context) {
  LayerContext::Tables tables;
  build_layer(tables, spec, context.incoming(), context.path(), "", "");
  const auto found = std::find_if(tables.parameters.begin(), tables.parameters.end(),
                                  [](const ParameterInfo& info) { return info.name == "weight"; });
  if (found == tables.parameters.end() || found->shape.size() < 2) {
    throw context.error("expected a layer with a weight of two or more axes, found " + spec.entry().name);
  }
  return *found;
}

class Reweighted : public Layer {
 public:
  Reweighted(const Options& options, LayerContext& context)
      : declared_(declared_weight(options.child("layer"), context)),
        layer_(context.child(options.child("layer"), context.incoming(), "layer")),
        slot_(context.parameter("layer.weight", declared_.shape, declared_.initialize)) {
    output = layer_->output;
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const final {
    ModelState state = pass.state;  // the same tensors but for one
    state.parameters[slot_] = weight(pass.parameter(slot_), pass);
    return forward_checked(*layer_, x, pass.with(state));
  }

  bool stackable() const final { return false; }  // its norms are of one weight
  Flops flops() const override { return layer_->flops(); }
  void count_kept(KeptMemory& memory) const final { layer_->count_kept(memory); }
  std::vector<const Layer*> children() const final { return {layer_.get()}; }

 protected:
  virtual at::Tensor weight(const at::Tensor& declared, const Pass& pass) const = 0;
  const ParameterInfo& declared() const { return declared_; }
  const at::Tensor& weight_of(const ModelState& state) const { return state.parameters[slot_]; }

 private:
  ParameterInfo declared_;
  std::unique_ptr<Layer> layer_;
  std::size_t slot_;
};

class WeightNorm final : public Reweighted {
 public:
  WeightNorm(const Options& options, LayerContext& context) : Reweighted(options, context) {
    Shape shape(declared().shape.size(), 1);
    shape[0] = declared().shape[0];
    length_ = context.parameter(
        "weight_g", shape,
        [whole = declared()](const at::Tensor& out, Key key) {
          const at::Tensor drawn = at::empty(whole.shape, out.options());
          whole.initialize(drawn, key);
          out.copy_(at::linalg_vector_norm(drawn.flatten(1), 2, 1).view(out.sizes()));
        },
        false);
  }

 private:
  at::Tensor weight(const at::Tensor& direction, const Pass& pass) const override {
    return at::_weight_norm(direction, pass.parameter(length_), 0);
  }

  std::size_t length_ = 0;
};

class SpectralNorm final : public Reweighted {
 public:
  SpectralNorm(const Options& options, LayerContext& context)
      : Reweighted(options, context),
        iterations_(options.integer("n_power_iterations")),
        epsilon_(options.number("eps")),
        axis_(outputs_axis(options.child("layer"))) {
    const std::int64_t rows = declared().shape[static_cast<std::size_t>(axis_)];
    const std::int64_t columns = element_count(declared().shape) / rows;
    // An average of directions is not a direction: its length is below 1, and the weight would be divided by too
    // little.
    left_ = context.buffer(
        {.name = "weight_u", .shape = {rows}, .value = 1.0 / std::sqrt(static_cast<double>(rows)), .averages = false});
    right_ = context.buffer({.name = "weight_v",
                             .shape = {columns},
                             .value = 1.0 / std::sqrt(static_cast<double>(columns)),
                             .averages = false,
                             .begin = [this](const ModelState& state) {
                               improve(matrix_of(weight_of(state)), state.buffers[left_], state.buffers[right_],
                                       first_iterations);
                             }});
  }

 private:
  static constexpr std::int64_t first_iterations = 15;  // PyTorch's number

  static int outputs_axis(const Options& layer) {
    return layer.registry().implementation<LayerKind>(layer.entry()).outputs_axis;
  }

  // One row for each output, as PyTorch's parametrizations.spectral_norm: the outputs of a transposed convolution are
  // counted by axis 1.
  at::Tensor matrix_of(const at::Tensor& weight) const { return weight.transpose(0, axis_).flatten(1); }

  // Miyato et al. 2018, algorithm 1, in place.
  void improve(const at::Tensor& given, const at::Tensor& left, const at::Tensor& right,
               std::int64_t iterations) const {
    const at::NoGradGuard no_grad;
    const at::Tensor matrix = in_type_of(left, given);  // weights may be in bfloat16
    const auto unit = [&](const at::Tensor& x) { return at::div(x, at::linalg_vector_norm(x).clamp_min(epsilon_)); };
    for (std::int64_t i = 0; i < iterations; ++i) {
      left.copy_(unit(at::mv(matrix, right)));
      right.copy_(unit(at::mv(matrix.t(), left)));
    }
  }

  // Each training pass improves the vectors, and keeps the improved ones where the pass updates statistics.
  at::Tensor weight(const at::Tensor& now, const Pass& pass) const override {
    const at::Tensor matrix = matrix_of(now);
    const at::Tensor &left = pass.buffer(left_), &right = pass.buffer(right_);
    const bool trains = pass.trains_buffer(left_), updates = trains && pass.updates_statistics;
    if (updates) improve(matrix, left, right, iterations_);
    // Copies, because the backward pass needs those of this pass.
    const at::Tensor u = left.clone(), v = right.clone();
    if (trains && !updates) improve(matrix, u, v, iterations_);
    return at::div(now, at::dot(u, at::mv(matrix, v)));
  }

  std::int64_t iterations_;
  double epsilon_;
  int axis_;
  std::size_t left_ = 0, right_ = 0;
};

Option layer_option() {
  return Option("layer", "the layer, with a weight of two or more axes").entry("layer").positional().required();
}

}  // namespace

void register_norm_weight(Registry& registry) {
  registry.add(
      Entry("nn.WeightNorm", "layer", "A layer whose weight is learned as direction and length: g·v/‖v‖ per output.")
          .with(layer_option())
          .example("nn.WeightNorm(nn.Linear(64))")
          .note("The tensor layer.weight holds the directions, weight_g the lengths. Both start from the initial "
                "weight that the layer draws. There is a length for each index of the weight's first axis, as with "
                "PyTorch's parametrizations.weight_norm: for each input channel of a transposed convolution. Salimans "
                "and Kingma 2016."),
      layer_kind<WeightNorm>());
  registry.add(Entry("nn.SpectralNorm", "layer", "A layer whose weight is divided by its largest singular value.")
                   .with(layer_option())
                   .with(Option("n_power_iterations", "power iterations in each training pass")
                             .integer()
                             .at_least(1)
                             .or_default(1))
                   .with(Option("eps", "smallest norm to divide by").number().more_than(0).or_default(1e-12))
                   .example("nn.SpectralNorm(nn.Conv2d(16, 3))")
                   .note("The largest singular value is estimated by power iteration: 15 iterations on the initial "
                         "weight, from a vector of equal numbers, then some in each training pass. Averages of the "
                         "weights (lab.ema, lab.swa) take the latest estimate. Miyato et al. 2018."),
               layer_kind<SpectralNorm>());
}

}  // namespace trainlab
