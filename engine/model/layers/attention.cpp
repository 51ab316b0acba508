// nn.MultiheadAttention: scaled dot products of queries with keys weigh values, in several heads (Vaswani et al. 2017).
#include <ATen/ops/arange.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>

#include <cmath>
#include <limits>
#include <optional>

#include "dropout.h"
#include "init.h"
#include "linear.h"
#include "model/layer.h"
#include "tensor/random.h"

namespace trainlab {

namespace {

// xavier_uniform_ of the joined projections, as PyTorch's: U(±√(6 / (in + out))).
Initializer xavier(std::int64_t out, std::int64_t in) {
  const double bound = std::sqrt(6.0 / static_cast<double>(in + out));
  return [bound](const at::Tensor& to, Key key) { fill_uniform(to, key, -bound, bound); };
}

class MultiheadAttention final : public Layer {
 public:
  MultiheadAttention(const Options& options, LayerContext& context)
      : heads_(options.integer("num_heads")),
        groups_(options.given("kv_heads") ? options.integer("kv_heads") : heads_),
        causal_(options.boolean("causal")),
        drop_(options.number("dropout"), context),
        input_needs_gradient_(context.input_needs_gradient()) {
    output = context.input();
    if (output.size() != 2) throw context.shape_error("an input of [positions, features]");
    positions_ = output[0];
    width_ = output[1];
    if (width_ < 1 || width_ % heads_ != 0) {
      throw context.error("expected a number of heads that divides the " + std::to_string(width_) +
                          " features, found num_heads = " + std::to_string(heads_));
    }
    if (heads_ % groups_ != 0) {
      throw context.error("expected kv_heads that divides the " + std::to_string(heads_) + " heads, found " +
                          std::to_string(groups_));
    }
    size_ = width_ / heads_;
    if (options.given("rotary")) {
      rotary_ = options.number("rotary");
      if (size_ % 2 != 0) {
        throw context.error("rotary positions turn pairs of features, found heads of " + std::to_string(size_));
      }
    }
    keys_ = positions_;
    if (options.given("memory")) read_memory(options.string("memory"), context);

    const std::int64_t rows = width_ + 2 * groups_ * size_;
    in_weight_ = context.parameter("in_proj_weight", {rows, width_}, xavier(rows, width_));
    out_weight_ = context.parameter("out_proj.weight", {width_, width_}, uniform_by_fan_in(width_));
    if (options.boolean("bias")) {
      in_bias_ = context.parameter("in_proj_bias", {rows}, constant(0), false);
      out_bias_ = context.parameter("out_proj.bias", {width_}, constant(0), false);
    }
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const std::int64_t kv = groups_ * size_;
    at::Tensor q, k, v;
    const at::Tensor in = pass.operand(x), weight = pass.weight(in_weight_);
    if (memory_) {
      const at::Tensor pair = projected(pass.operand(pass.named(*memory_)), weight, width_, 2 * kv, pass);
      q = split(projected(in, weight, 0, width_, pass), heads_);
      k = split(pair.narrow(-1, 0, kv), groups_);
      v = split(pair.narrow(-1, kv, kv), groups_);
    } else {
      const at::Tensor all = projected(in, weight, 0, width_ + 2 * kv, pass);
      q = split(all.narrow(-1, 0, width_), heads_);
      k = split(all.narrow(-1, width_, kv), groups_);
      v = split(all.narrow(-1, width_ + kv, kv), groups_);
    }
    if (rotary_) {
      q = pass.operand(turned(pass.in_full(q)));  // few digits would lose the positions
      k = pass.operand(turned(pass.in_full(k)));
    }
    if (groups_ != heads_) {
      k = repeated(k);
      v = repeated(v);
    }
    const at::Tensor attended =
        drop_.acts(pass) ? attend_dropping(q, k, v, pass) : at::scaled_dot_product_attention(q, k, v, {}, 0.0, causal_);
    const at::Tensor joined = attended.transpose(1, 2).reshape(x.sizes());
    std::optional<at::Tensor> out_bias;
    if (out_bias_) out_bias = pass.weight(*out_bias_);
    return linear_map(joined, pass.weight(out_weight_), out_bias, pass);
  }

  bool stackable() const override { return true; }

  Flops flops() const override {
    const auto t = static_cast<double>(positions_), s = static_cast<double>(keys_), c = static_cast<double>(width_);
    const auto kv = static_cast<double>(groups_ * size_);
    const double queries = 2 * t * c * c, pairs = 2 * s * c * 2 * kv, out = 2 * t * c * c;
    const double scores = 2 * 2 * t * s * c;  // q·kᵀ and weights·v; a causal mask is not subtracted
    const double inputs = (input_needs_gradient_ ? queries : 0) + (pairs_need_gradient() ? pairs : 0);
    // Backward through the scores: the fused kernel makes q·kᵀ again, and the gradients of q, k, v and the weights.
    return {queries + pairs + scores + out, queries + pairs + inputs + 2.5 * scores + 2 * out};
  }

  void count_kept(KeptMemory& memory) const override {
    const auto t = static_cast<double>(positions_), s = static_cast<double>(keys_), c = static_cast<double>(width_);
    const auto kv = static_cast<double>(groups_ * size_);
    memory.keep_current();
    if (memory_) {
      const std::size_t input = memory.mark();
      memory.go_to(*memory_);
      memory.keep_current();
      memory.back_to(input);
    }
    double values = t * c + 2 * s * kv + t * c;         // q, k, v and what is attended
    if (rotary_) values += t * c + s * kv;              // q and k before they are turned: one of each
    if (groups_ != heads_) values += 2 * s * (c - kv);  // k and v for every head
    const double scores = t * s * static_cast<double>(heads_);
    values += drop_.p() > 0 ? 2 * scores : t * static_cast<double>(heads_);  // weights, dropped ones; or their sums
    memory.extra_bytes(values * memory.element_bytes());
    memory.produce(output);
  }

 private:
  void read_memory(const std::string& name, LayerContext& context) {
    const auto [source, signal] = context.named(name);
    if (signal.integers || signal.shape.size() != 2 || signal.shape[1] != width_) {
      throw context
          .error("expected the memory \"" + name + "\" to be floating-point numbers of [positions, " +
                 std::to_string(width_) + "], found " + (signal.integers ? "integers" : "an output") + " of shape " +
                 shape_text(signal.shape))
          .hint("end the branch with nn.Linear(" + std::to_string(width_) + ")");
    }
    if (causal_) throw context.error("causal attention is to the layer's own input, not to a memory");
    if (rotary_) throw context.error("rotary positions are for attention to the layer's own input, not to a memory");
    memory_ = source;
    memory_needs_gradient_ = signal.needs_gradient;
    keys_ = signal.shape[0];
  }
  bool pairs_need_gradient() const { return memory_ ? memory_needs_gradient_ : input_needs_gradient_; }

  // x·Wᵀ + b with some rows of the joined projections: [B, T, width] → [B, T, rows]. Attention has no weights of its
  // own, so members are samples to it: [M, B, T, width] → [M·B, T, rows].
  at::Tensor projected(const at::Tensor& x, const at::Tensor& weight, std::int64_t from, std::int64_t rows,
                       const Pass& pass) const {
    std::optional<at::Tensor> bias;
    if (in_bias_) bias = pass.weight(*in_bias_).narrow(-1, from, rows);
    const at::Tensor y = linear_map(x, weight.narrow(-2, from, rows), bias, pass);
    return pass.members() > 0 ? y.flatten(0, 1) : y;
  }
  // [B, T, heads·size] → [B, heads, T, size]
  at::Tensor split(const at::Tensor& x, std::int64_t heads) const {
    return x.unflatten(-1, {heads, size_}).transpose(1, 2);
  }
  // [B, groups, S, size] → [B, heads, S, size]: each group for heads/groups neighbouring heads.
  at::Tensor repeated(const at::Tensor& x) const { return x.repeat_interleave(heads_ / groups_, 1); }

  // Su et al. 2021, section 3.4.2: features i and i + size/2 of position t are turned by t·base^(−2i/size).
  at::Tensor turned(const at::Tensor& x) const {
    const std::int64_t half = size_ / 2;
    const at::Tensor rates = at::arange(half, at::kDouble).mul_(-std::log(*rotary_) / static_cast<double>(half)).exp_();
    const at::Tensor angles = at::outer(at::arange(x.size(2), at::kDouble), rates);
    const at::Tensor cosine = angles.cos().to(x.options()), sine = angles.sin().to(x.options());
    const at::Tensor first = x.narrow(-1, 0, half), second = x.narrow(-1, half, half);
    return at::concat({first.mul(cosine).sub(second.mul(sine)), second.mul(cosine).add(first.mul(sine))}, -1);
  }

  // The fused kernel's dropout draws from the global generator, so the weights are made here.
  at::Tensor attend_dropping(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Pass& pass) const {
    at::Tensor scores = at::matmul(at::mul(q, 1.0 / std::sqrt(static_cast<double>(size_))), k.transpose(-2, -1));
    if (causal_) {
      const at::Tensor later = at::ones({positions_, keys_}, q.options().dtype(at::kBool)).triu_(1);
      scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
    }
    const at::Tensor weights = at::softmax(scores, -1);
    if (pass.members() == 0) return at::matmul(drop_(weights, pass), v);
    return at::matmul(drop_(weights.unflatten(0, {pass.members(), -1}), pass).flatten(0, 1), v);
  }

  std::int64_t heads_, groups_;
  bool causal_;
  KeyedDropout drop_;
  bool input_needs_gradient_, memory_needs_gradient_ = false;
  std::int64_t positions_ = 0, keys_ = 0, width_ = 0, size_ = 0;  // size of a head
  std::optional<double> rotary_;
  std::optional<Source> memory_;
  std::size_t in_weight_ = 0, out_weight_ = 0;
  std::optional<std::size_t> in_bias_, out_bias_;
};

}  // namespace

void register_attention(Registry& registry) {
  registry.add(
      Entry("nn.MultiheadAttention", "layer", "Attention of each position of [positions, features] to the others.")
          .with(Option("num_heads", "number of heads, which divides the features")
                    .integer()
                    .at_least(1)
                    .positional()
                    .required())
          .with(Option("causal", "each position attends only to itself and to earlier positions")
                    .boolean()
                    .or_default(false))
          .with(Option("kv_heads", "heads of keys and values, shared by groups of query heads (default: num_heads)")
                    .integer()
                    .at_least(1))
          .with(Option("rotary",
                       "rotary positions: the base of the angles by which queries and keys are turned, usually 10000")
                    .number()
                    .more_than(1))
          .with(dropout_option("dropout", "probability that an attention weight is zeroed in training").or_default(0.0))
          .with(Option("bias", "the projections add a learned bias").boolean().or_default(true))
          .with(
              Option("memory",
                     "column or nn.Branch that is attended to in place of the input; has as many features as the input")
                  .string())
          .example("nn.MultiheadAttention(4, { causal = true })")
          .note(
              "in_proj_weight holds the projections to queries, keys and values, in this order. Vaswani et al. 2017; "
              "grouped queries: Ainslie et al. 2023; rotary positions: Su et al. 2021. Weights start as PyTorch's do."),
      layer_kind<MultiheadAttention>());
}

}  // namespace trainlab
