// Norms: by statistics of the batch (BatchNorm1d, BatchNorm2d) or of each sample (LayerNorm). Weights and statistics
// are in float32 or float64 also where the input is not; the output has the input's type.
#include <ATen/ops/addcmul.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rms_norm.h>

#include <array>
#include <optional>

#include "build.h"
#include "init.h"
#include "model/layer.h"

namespace trainlab {

namespace {

using Slot = std::optional<std::size_t>;

std::optional<at::Tensor> given(const std::vector<at::Tensor>& tensors, Slot slot) {
  return slot ? std::optional<at::Tensor>(tensors[*slot]) : std::nullopt;
}

// The input of an operator. The CPU's operators take an input of 16 bits beside weights in float32, and sum in float32;
// those of other devices want one type.
at::Tensor accepted(const at::Tensor& x, const Pass& pass) { return x.is_cpu() || x.is_meta() ? x : pass.in_full(x); }

class BatchNorm : public Layer {
 public:
  BatchNorm(const Options& options, LayerContext& context)
      : epsilon_(options.number("eps")), momentum_(options.number("momentum")) {
    output = context.input();
    const std::int64_t channels = output[0];
    if (channels < 1) throw context.shape_error("an input of at least one channel");
    for (std::size_t i = 1; i < output.size(); ++i) places_ *= output[i];
    if (options.boolean("affine")) {
      weight_ = context.parameter("weight", {channels}, constant(1), false);
      bias_ = context.parameter("bias", {channels}, constant(0), false);
    }
    if (options.boolean("track_running_stats")) {
      mean_ = context.buffer("running_mean", {channels}, 0);
      variance_ = context.buffer("running_var", {channels}, 1);
    }
  }

  // In training the running statistics of the pass's state are updated in place, where the pass says so.
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const final {
    const bool by_batch = !mean_ || pass.trains_buffer(*mean_);
    if (by_batch && x.size(pass.members() == 0 ? 0 : 1) * places_ == 1) {
      throw layer_error(path, where,
                        "expected more than one value per channel in training, found a batch of one sample")
          .hint("a batch of one has no variance: use larger batches, or loader = { drop_last = true }");
    }
    const auto& [parameters, buffers, members] = pass.state;
    const Slot mean = !by_batch || pass.updates_statistics ? mean_ : Slot{};
    const Slot variance = !by_batch || pass.updates_statistics ? variance_ : Slot{};
    if (members == 0) {
      return in_type_of(
          x, at::batch_norm(accepted(x, pass), given(parameters, weight_), given(parameters, bias_),
                            given(buffers, mean), given(buffers, variance), by_batch, momentum_, epsilon_, true));
    }
    // [M, B, C, …] → [B, M·C, …]: the channels of all members side by side, each with statistics of its own.
    const at::Tensor by_sample = accepted(x, pass).transpose(0, 1);
    const at::Tensor normal = at::batch_norm(by_sample.flatten(1, 2), side_by_side(parameters, weight_),
                                             side_by_side(parameters, bias_), side_by_side(buffers, mean),
                                             side_by_side(buffers, variance), by_batch, momentum_, epsilon_, true);
    return in_type_of(x, normal.reshape(by_sample.sizes()).transpose(0, 1));
  }

  bool stackable() const final { return true; }

 private:
  // A view of [M, C] as [M·C], so that statistics are updated in place.
  static std::optional<at::Tensor> side_by_side(const std::vector<at::Tensor>& tensors, Slot slot) {
    return slot ? std::optional<at::Tensor>(tensors[*slot].view({-1})) : std::nullopt;
  }

  double epsilon_, momentum_;
  std::int64_t places_ = 1;  // per sample and channel
  Slot weight_, bias_, mean_, variance_;
};

class BatchNorm1d final : public BatchNorm {
 public:
  BatchNorm1d(const Options& options, LayerContext& context) : BatchNorm(options, checked(context)) {}

 private:
  static LayerContext& checked(LayerContext& context) {
    if (context.input().size() == 1 || context.input().size() == 2) return context;
    Error error = context.shape_error("an input of [features] or [channels, length]");
    if (context.input().size() == 3) error.hint("for images there is nn.BatchNorm2d");
    throw error;
  }
};

class BatchNorm2d final : public BatchNorm {
 public:
  BatchNorm2d(const Options& options, LayerContext& context) : BatchNorm(options, checked(context)) {}

 private:
  static LayerContext& checked(LayerContext& context) {
    if (context.input().size() == 3) return context;
    Error error = context.shape_error("an input of [channels, height, width]");
    if (context.input().size() == 1) error.hint("for flat features there is nn.BatchNorm1d");
    throw error;
  }
};

class BatchNorm3d final : public BatchNorm {
 public:
  BatchNorm3d(const Options& options, LayerContext& context) : BatchNorm(options, checked(context)) {}

 private:
  static LayerContext& checked(LayerContext& context) {
    if (context.input().size() == 4) return context;
    throw context.shape_error("an input of [channels, depth, height, width]");
  }
};

// One weight and bias per channel of [channels, …], by statistics of groups of channels of each sample.
class GroupNorm final : public Layer {
 public:
  // groups 0: a group for each channel (InstanceNorm)
  GroupNorm(const Options& options, LayerContext& context, std::int64_t groups, bool affine)
      : groups_(groups), epsilon_(options.number("eps")) {
    output = context.input();
    const std::int64_t channels = output.at(0);
    if (channels < 1) throw context.shape_error("an input of at least one channel");
    if (groups_ == 0) groups_ = channels;
    if (channels % groups_ != 0) {
      throw context.error("expected a number of groups that divides the " + std::to_string(channels) +
                          " channels, found num_groups = " + std::to_string(groups_));
    }
    if (element_count(output) / groups_ < 2) {
      throw context.shape_error("an input of more than one value per group")
          .hint("one value has no variance: use fewer groups, or a larger input");
    }
    if (affine) {
      weight_ = context.parameter("weight", {channels}, constant(1), false);
      bias_ = context.parameter("bias", {channels}, constant(0), false);
    }
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const auto& parameters = pass.state.parameters;
    return in_type_of(
        x, at::group_norm(accepted(x, pass), groups_, given(parameters, weight_), given(parameters, bias_), epsilon_));
  }

  bool stackable() const override { return false; }  // the operator takes one weight per channel
  void count_kept(KeptMemory& memory) const override {
    memory.keep_current();
    memory.extra_bytes(2.0 * memory.element_bytes() * static_cast<double>(groups_));  // mean and deviation
    memory.produce(output);
  }

 private:
  std::int64_t groups_;
  double epsilon_;
  Slot weight_, bias_;
};

LayerContext& with_axes(LayerContext& context, std::size_t axes) {
  if (context.input().size() == axes) return context;
  constexpr std::array texts = {"[channels, length]", "[channels, height, width]", "[channels, depth, height, width]"};
  throw context.shape_error(std::string("an input of ") + texts.at(axes - 2));
}

class LayerNorm final : public Layer {
 public:
  LayerNorm(const Options& options, LayerContext& context) : epsilon_(options.number("eps")) {
    output = context.input();
    if (output.empty()) throw context.shape_error("an input of [features] or [..., features]");
    normalized_ = options.has("normalized_shape") ? options.integers("normalized_shape") : Shape{output.back()};
    if (normalized_.empty() || normalized_.size() > output.size() ||
        !std::equal(normalized_.rbegin(), normalized_.rend(), output.rbegin())) {
      throw context.shape_error("an input that ends with normalized_shape = " + shape_text(normalized_));
    }
    if (element_count(normalized_) < 1) throw context.shape_error("an input of at least one value");
    other_axes_ = output.size() - normalized_.size();
    if (options.boolean("elementwise_affine")) {
      weight_ = context.parameter("weight", normalized_, constant(1), false);
      if (options.boolean("bias")) bias_ = context.parameter("bias", normalized_, constant(0), false);
    }
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    if (pass.members() == 0 || !weight_) {
      return in_type_of(x, at::layer_norm(accepted(x, pass), normalized_, given(pass.state.parameters, weight_),
                                          given(pass.state.parameters, bias_), epsilon_));
    }
    const at::Tensor normal = at::layer_norm(x, normalized_, {}, {}, epsilon_);
    const at::Tensor weight = per_member(pass.parameter(*weight_));
    if (!bias_) return in_type_of(x, at::mul(normal, weight));
    return in_type_of(x, at::addcmul(per_member(pass.parameter(*bias_)), normal, weight));
  }

  bool stackable() const override { return true; }

  void count_kept(KeptMemory& memory) const override {
    memory.keep_current();
    memory.extra_bytes(2.0 * memory.element_bytes() * static_cast<double>(element_count(output)) /
                       static_cast<double>(element_count(normalized_)));  // mean and deviation
    memory.produce(output);
  }

 private:
  // [M, shape…] → [M, 1 (batch), 1…, shape…]
  at::Tensor per_member(const at::Tensor& parameter) const {
    at::Tensor view = parameter.unsqueeze(1);
    for (std::size_t i = 0; i < other_axes_; ++i) view = view.unsqueeze(1);
    return view;
  }

  double epsilon_;
  Shape normalized_;
  std::size_t other_axes_ = 0;  // of a sample, before the normalised ones
  Slot weight_, bias_;
};

// x / √(mean(x²) + eps) over the last axis.
class RMSNorm final : public Layer {
 public:
  RMSNorm(const Options& options, LayerContext& context) : epsilon_(options.number("eps")) {
    output = context.input();
    if (output.empty() || output.back() < 1) throw context.shape_error("an input of [features] or [..., features]");
    if (options.boolean("elementwise_affine"))
      weight_ = context.parameter("weight", {output.back()}, constant(1), false);
  }

  // In float32 throughout: with a weight of another type LibTorch would take several operators, and warn.
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const at::Tensor in = pass.in_full(x);
    if (pass.members() == 0 || !weight_) {
      return in_type_of(x, at::rms_norm(in, output.back(), given(pass.state.parameters, weight_), epsilon_));
    }
    Shape shape(static_cast<std::size_t>(x.dim()), 1);
    shape.front() = pass.members();
    shape.back() = output.back();
    const at::Tensor normal = at::rms_norm(in, output.back(), {}, epsilon_);
    return in_type_of(x, at::mul(normal, pass.parameter(*weight_).view(shape)));
  }

  bool stackable() const override { return true; }

  // The operator is made of several: it keeps its input twice, as it came and divided.
  void count_kept(KeptMemory& memory) const override {
    memory.keep_current();
    const auto values = static_cast<double>(element_count(output));
    memory.extra_bytes(memory.element_bytes() * (values + values / static_cast<double>(output.back())));
    memory.produce(output);
  }

 private:
  double epsilon_;
  Slot weight_;
};

Option epsilon_option() { return Option("eps", "added to the variance").number().more_than(0).or_default(1e-5); }

Entry batch_norm(std::string name, std::string doc) {
  return Entry(std::move(name), "layer", std::move(doc))
      .with(epsilon_option())
      .with(Option("momentum", "weight of a new batch in the running mean and variance")
                .number()
                .at_least(0)
                .at_most(1)
                .or_default(0.1))
      .with(Option("affine", "learns a weight and a bias per channel").boolean().or_default(true))
      .with(Option("track_running_stats", "keeps running statistics and uses them outside training")
                .boolean()
                .or_default(true))
      .note(
          "Training uses the mean and variance of the batch, evaluation the running mean and variance. Ioffe and "
          "Szegedy 2015.");
}

}  // namespace

void register_norm(Registry& registry) {
  constexpr LayerTraits norm{.is_norm = true}, over_batch{.is_norm = true, .is_over_batch = true};
  registry.add(batch_norm("nn.BatchNorm1d", "Batch normalisation of [features] or [channels, length].")
                   .example("nn.BatchNorm1d()"),
               layer_kind<BatchNorm1d>({.traits = over_batch}));
  registry.add(batch_norm("nn.BatchNorm2d", "Batch normalisation of images [channels, height, width].")
                   .example("nn.BatchNorm2d()"),
               layer_kind<BatchNorm2d>({.traits = over_batch}));
  registry.add(
      Entry("nn.LayerNorm", "layer", "Normalisation of each sample by mean and variance of its last axes.")
          .with(epsilon_option())
          .with(Option("elementwise_affine", "learns a weight (and a bias) per element").boolean().or_default(true))
          .with(Option("bias", "learns a bias beside the weight").boolean().or_default(true))
          .with(Option("normalized_shape",
                       "sizes of the axes that are normalised together, which must be the input's last axes (default: "
                       "the last axis)")
                    .integer()
                    .at_least(1)
                    .many()
                    .positional())
          .example("nn.LayerNorm()")
          .note("Ba et al. 2016."),
      layer_kind<LayerNorm>({.traits = norm}));
  registry.add(batch_norm("nn.BatchNorm3d", "Batch normalisation of [channels, depth, height, width].")
                   .example("nn.BatchNorm3d()"),
               layer_kind<BatchNorm3d>({.traits = over_batch}));
  registry.add(Entry("nn.RMSNorm", "layer", "Division of each sample's last axis by the root of its mean square.")
                   .with(epsilon_option())
                   .with(Option("elementwise_affine", "learns a weight per element").boolean().or_default(true))
                   .example("nn.RMSNorm()")
                   .note("Zhang and Sennrich 2019."),
               layer_kind<RMSNorm>({.traits = norm}));
  registry.add(
      Entry("nn.GroupNorm", "layer", "Normalisation of [channels, …] by mean and variance of groups of channels.")
          .with(Option("num_groups", "number of groups, which divides the channels")
                    .integer()
                    .at_least(1)
                    .positional()
                    .required())
          .with(epsilon_option())
          .with(Option("affine", "learns a weight and a bias per channel").boolean().or_default(true))
          .example("nn.GroupNorm(8)")
          .note("Training and evaluation compute the same, whatever the batch. Wu and He 2018."),
      LayerKind{.make = [](const Options& options, LayerContext& context) -> std::unique_ptr<Layer> {
                  if (context.input().empty()) throw context.shape_error("an input of [channels, …]");
                  return std::make_unique<GroupNorm>(options, context, options.integer("num_groups"),
                                                     options.boolean("affine"));
                },
                .traits = norm});
  for (std::size_t axes = 1; axes <= 3; ++axes) {
    const std::string name = "nn.InstanceNorm" + std::to_string(axes) + "d";
    registry.add(Entry(name, "layer", "Normalisation of each channel of each sample by its own mean and variance.")
                     .with(epsilon_option())
                     .with(Option("affine", "learns a weight and a bias per channel").boolean().or_default(false))
                     .example(name + "()")
                     .note("Ulyanov et al. 2016."),
                 LayerKind{.make = [axes](const Options& options, LayerContext& context) -> std::unique_ptr<Layer> {
                             return std::make_unique<GroupNorm>(options, with_axes(context, axes + 1), 0,
                                                                options.boolean("affine"));
                           },
                           .traits = norm});
  }
}

}  // namespace trainlab
