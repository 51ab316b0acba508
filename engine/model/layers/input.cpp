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
  registry.add(
      Entry("nn.Input", "layer", "The batch's column of this name, or a branch's output, in place of what comes in.")
          .with(Option("name", "the column, as the data names it, or the name of an nn.Branch before")
                    .string()
                    .positional()
                    .required())
          .example("nn.Sequential { nn.Input(\"image\"), nn.Flatten() }")
          .note(
              "A model without it reads the column x. Branches of nn.Concat and nn.Sum may begin with columns of their "
              "own. Columns of integers go into nn.Embedding."),
      layer_kind<Input>());
  registry.add(Entry("nn.Branch", "layer",
                     "Layers whose output is kept under a name for nn.Input; what comes in is passed on unchanged.")
                   .with(Option("name", "how the output is read").string().required())
                   .with(Option("layers", "the layers, in order").entry("layer").array().required())
                   .example("nn.Branch { name = \"memory\", nn.Input(\"source\"), nn.Linear(32) }")
                   .note("For skip connections over several layers, and for the memory of nn.TransformerDecoderLayer."),
               layer_kind<Branch>());
}

}  // namespace trainlab
