// nn.TransformerEncoderLayer and nn.TransformerDecoderLayer: attention and a feed-forward net, each with a residual
// connection and a norm, before (pre-norm) or after it (post-norm).
#include <ATen/ops/add.h>

#include <algorithm>

#include "build.h"
#include "dropout.h"

namespace trainlab {

namespace {

// One residual step: x + dropout(body(norm(x))), or with the norm after: norm(x + dropout(body(x))).
struct ResidualStep {
  std::unique_ptr<Layer> norm;
  std::vector<std::unique_ptr<Layer>> body;
};

class TransformerLayer : public Layer {
 public:
  TransformerLayer(const Options& options, LayerContext& context, bool decoder)
      : norm_first_(options.boolean("norm_first")) {
    const Shape& shape = context.input();
    if (shape.size() != 2) throw context.shape_error("an input of [positions, features]");
    signal_ = context.incoming();
    const Value &heads = options.get("num_heads"), &p = options.get("dropout"), &bias = options.get("bias");

    Value::Map own = {
        {"num_heads", heads}, {"dropout", p}, {"bias", bias}, {"causal", decoder || options.boolean("causal")}};
    for (const char* name : {"kv_heads", "rotary"}) {
      if (options.given(name)) own.emplace(name, options.get(name));
    }
    add_step(options, context, 1, {{"self_attn", "MultiheadAttention", own}});
    if (decoder) {
      add_step(options, context, 2,
               {{"multihead_attn",
                 "MultiheadAttention",
                 {{"num_heads", heads}, {"dropout", p}, {"bias", bias}, {"memory", options.get("memory")}}}});
    }
    const std::int64_t wide = options.given("dim_feedforward") ? options.integer("dim_feedforward") : 4 * shape.back();
    add_step(options, context, decoder ? 3 : 2,
             {{"linear1", "Linear", {{"out_features", wide}, {"bias", bias}}},
              {"activation", "", {}},
              {"dropout", "Dropout", {{"p", p}}},
              {"linear2", "Linear", {{"out_features", shape.back()}, {"bias", bias}}}});
    output = shape;
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    at::Tensor y = x;
    for (const ResidualStep& step : steps_) {
      at::Tensor z = norm_first_ ? forward_checked(*step.norm, y, pass) : y;
      for (const auto& layer : step.body) z = forward_checked(*layer, z, pass);
      y = at::add(y, z);
      if (!norm_first_) y = forward_checked(*step.norm, y, pass);
    }
    return y;
  }

  bool stackable() const override {
    return std::ranges::all_of(children(), [](const Layer* child) { return child->stackable(); });
  }

  Flops flops() const override {
    Flops sum;
    for (const Layer* child : children()) sum += child->flops();
    return sum;
  }

  void count_kept(KeptMemory& memory) const override {
    for (const ResidualStep& step : steps_) {
      if (norm_first_) step.norm->count_kept(memory);
      for (const auto& layer : step.body) layer->count_kept(memory);
      memory.produce(output);
      if (!norm_first_) step.norm->count_kept(memory);
    }
  }

  std::vector<const Layer*> children() const override {
    std::vector<const Layer*> list;
    for (const ResidualStep& step : steps_) {
      if (norm_first_) list.push_back(step.norm.get());
      for (const auto& layer : step.body) list.push_back(layer.get());
      if (!norm_first_) list.push_back(step.norm.get());
    }
    return list;
  }

 private:
  struct Part {
    std::string name, kind;  // an empty kind: the activation of the recipe
    Value::Map options;
  };

  // Names of tensors are PyTorch's: self_attn, linear1, norm1 …
  void add_step(const Options& options, LayerContext& context, int number, const std::vector<Part>& parts) {
    ResidualStep step;
    const auto add_norm = [&] {
      const bool rms = options.string("norm") == "rms";
      Value::Map norm = {{"eps", options.get("eps")}};
      if (!rms) norm.emplace("bias", options.get("bias"));
      step.norm = context.child(made_spec(options, rms ? "RMSNorm" : "LayerNorm", std::move(norm)), signal_,
                                "norm" + std::to_string(number));
      signal_ = step.norm->outgoing();
    };
    if (norm_first_) add_norm();
    for (const Part& part : parts) {
      const Options spec =
          part.kind.empty() ? options.child("activation") : made_spec(options, part.kind, part.options);
      step.body.push_back(context.child(spec, signal_, part.name));
      signal_ = step.body.back()->outgoing();
    }
    if (options.number("dropout") > 0) {
      step.body.push_back(context.child(made_spec(options, "Dropout", {{"p", options.get("dropout")}}), signal_,
                                        "dropout" + std::to_string(number)));
    }
    if (!norm_first_) add_norm();
    steps_.push_back(std::move(step));
  }

  bool norm_first_;
  Signal signal_;  // while it is built
  std::vector<ResidualStep> steps_;
};

class TransformerEncoderLayer final : public TransformerLayer {
 public:
  TransformerEncoderLayer(const Options& options, LayerContext& context) : TransformerLayer(options, context, false) {}
};

class TransformerDecoderLayer final : public TransformerLayer {
 public:
  TransformerDecoderLayer(const Options& options, LayerContext& context) : TransformerLayer(options, context, true) {}
};

Entry transformer(std::string name, std::string doc) {
  return Entry(std::move(name), "layer", std::move(doc))
      .with(Option("num_heads", "attention heads, which divide the features")
                .integer()
                .at_least(1)
                .positional()
                .required())
      .with(Option("dim_feedforward", "width of the feed-forward net (default: 4 times the features)")
                .integer()
                .at_least(1))
      .with(dropout_option("dropout",
                           "probability that a value is zeroed in training: attention weights, the middle of the "
                           "feed-forward net, and the outputs of attention and of the feed-forward net")
                .or_default(0.0))
      .with(Option("activation", "activation of the feed-forward net; nn.GLU gates one half of the width by the other")
                .entry("layer")
                .or_default(Value::Map{{"@", "nn.GELU"}}))
      .with(Option("norm_first",
                   "true: norms come before attention and feed-forward net (pre-norm); false: after the sums")
                .boolean()
                .or_default(true))
      .with(
          Option("norm", "kind of the norms: nn.LayerNorm or nn.RMSNorm").choice({"layer", "rms"}).or_default("layer"))
      .with(Option("eps", "eps of the norms").number().more_than(0).or_default(1e-5))
      .with(Option("bias", "projections, linear maps and norms add a learned bias").boolean().or_default(true))
      .with(Option("kv_heads", "heads of keys and values in self-attention (default: num_heads)").integer().at_least(1))
      .with(Option("rotary", "rotary positions in self-attention: the base of the angles, usually 10000")
                .number()
                .more_than(1));
}

}  // namespace

void register_transformer(Registry& registry) {
  registry.add(
      transformer("nn.TransformerEncoderLayer", "Self-attention and a feed-forward net on [positions, features].")
          .with(Option("causal",
                       "each position attends only to itself and to earlier positions: a language model's block")
                    .boolean()
                    .or_default(false))
          .example("nn.Repeat(4, nn.TransformerEncoderLayer(4, { causal = true }))")
          .note("Vaswani et al. 2017; pre-norm: Xiong et al. 2020. With pre-norm, an nn.LayerNorm follows the last "
                "block."),
      layer_kind<TransformerEncoderLayer>({.width = "dim_feedforward"}));
  registry.add(
      transformer("nn.TransformerDecoderLayer",
                  "Causal self-attention, attention to a memory, and a feed-forward net on [positions, features].")
          .with(Option("memory", "column or nn.Branch that is attended to; has as many features as the input")
                    .string()
                    .required())
          .example("nn.Repeat(2, nn.TransformerDecoderLayer(4, { memory = \"source\" }))")
          .note("Vaswani et al. 2017. nn.Branch { name = \"source\", … } gives the memory its name."),
      layer_kind<TransformerDecoderLayer>({.width = "dim_feedforward"}));
}

}  // namespace trainlab
