// nn.Input and nn.Branch: tensors that are read by name, columns of the batch and outputs of branches.
#include "chain.h"
#include "model/layer.h"

namespace trainlab {

namespace {

class Input final : public Layer {
 public:
  Input(const Options& options, LayerContext& context) {
    const auto [source, signal] = context.named(options.string("name"));
    source_ = source;
    output = signal.shape;
    integers = signal.integers;
    integers_below = signal.integers_below;
    context.replace_incoming(signal);
  }
  at::Tensor forward(const at::Tensor&, const Pass& pass) const override { return pass.named(source_); }
  bool stackable() const override { return true; }
  void count_kept(KeptMemory& memory) const override { memory.go_to(source_); }

 private:
  Source source_;
};

class Branch final : public Layer {
 public:
  Branch(const Options& options, LayerContext& context)
      : chain_(options.children("layers"), context),
        slot_(context.name_branch(options.string("name"), chain_.last().outgoing())) {
    output = context.incoming().shape;
    integers = context.incoming().integers;
    integers_below = context.incoming().integers_below;
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    pass.branches[slot_] = chain_.forward(x, pass);
    return x;
  }
  bool stackable() const override { return chain_.stackable(); }
  Flops flops() const override { return chain_.flops(); }
  void count_kept(KeptMemory& memory) const override {
    const std::size_t input = memory.mark();
    chain_.count_kept(memory);
    memory.name_branch(slot_);
    memory.back_to(input);
  }
  std::vector<const Layer*> children() const override { return chain_.children(); }

 private:
  Chain chain_;
  std::size_t slot_;
};

}  // namespace

void register_input(Registry& registry) {
  registry.add(Entry("nn.Input", "layer",
                     "Gives a column of the batch or the output of an nn.Branch, in place of its own input.")
                   .with(Option("name", "name of the column in the data, or of an earlier nn.Branch")
                             .string()
                             .positional()
                             .required())
                   .example("nn.Sequential { nn.Input(\"image\"), nn.Flatten() }")
                   .note("A model without nn.Input reads the column x. Branches of nn.Concat and nn.Sum may begin with "
                         "columns of their own. A column of integers goes into nn.Embedding."),
               layer_kind<Input>());
  registry.add(Entry("nn.Branch", "layer",
                     "Layers whose output is kept under a name for nn.Input; the input itself is passed on unchanged.")
                   .with(Option("name", "name under which nn.Input reads the output").string().required())
                   .with(Option("layers", "the layers, in order").entry("layer").array().required())
                   .example("nn.Branch { name = \"memory\", nn.Input(\"source\"), nn.Linear(32) }")
                   .note("Serves skip connections over several layers, and the memory of nn.TransformerDecoderLayer."),
               layer_kind<Branch>());
}

}  // namespace trainlab
