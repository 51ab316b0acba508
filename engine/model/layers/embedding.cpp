// nn.Embedding: a learned vector for each of a number of integers; nn.PositionalEmbedding: one added to each position.
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <c10/util/Exception.h>

#include "init.h"
#include "model/layer.h"
#include "tensor/random.h"

namespace trainlab {

namespace {

Initializer unit_normal() {
  return [](const at::Tensor& out, Key key) { fill_normal(out, key, 0, 1); };
}

class Embedding final : public Layer {
 public:
  Embedding(const Options& options, LayerContext& context)
      : count_(options.integer("num_embeddings")), size_(options.integer("embedding_dim")) {
    if (!context.incoming().integers) {
      throw context.shape_error("integers (token ids, categories)")
          .hint(
              "these are floating-point numbers, which nn.Linear takes; the help of a data source says which columns "
              "hold integers");
    }
    output = context.any_input();
    if (const std::int64_t needed = context.incoming().integers_below; needed > count_) {
      throw context
          .error("expected num_embeddings of at least " + std::to_string(needed) + ", found " + std::to_string(count_))
          .hint("the data has integers from 0 to " + std::to_string(needed - 1));
    }
    output.push_back(size_);
    if (options.given("padding_idx")) {
      padding_ = options.integer("padding_idx");
      if (padding_ >= count_) {
        throw context.error("expected padding_idx below " + std::to_string(count_) + ", found " +
                            std::to_string(padding_));
      }
    }
    Initializer start = weight_init(options, {count_, size_}, unit_normal());
    if (padding_ >= 0) {
      start = [start, row = padding_](const at::Tensor& out, Key key) {
        start(out, key);
        out.select(0, row).zero_();
      };
    }
    weight_ = context.parameter("weight", {count_, size_}, std::move(start));
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const at::Tensor ids = x.scalar_type() == at::kLong || x.scalar_type() == at::kInt ? x : x.to(at::kLong);
    try {
      return rows(pass.parameter(weight_), ids, pass.members());
    } catch (const c10::IndexError&) {
      require_rows(ids);
      throw;
    }
  }

  // The operator knows one padding row, not one for each member.
  bool stackable() const override { return padding_ < 0; }
  void count_kept(KeptMemory& memory) const override { memory.produce(output); }

 private:
  at::Tensor rows(const at::Tensor& weight, const at::Tensor& ids, std::int64_t members) const {
    if (members == 0) return at::embedding(weight, ids, padding_);
    // The members' tables one under the other.
    Shape steps(static_cast<std::size_t>(ids.dim()), 1);
    steps.front() = members;
    const at::Tensor offset = at::arange(0, members * count_, count_, ids.options()).view(steps);
    return at::embedding(weight.reshape({members * count_, size_}), at::add(ids, offset));
  }

  void require_rows(const at::Tensor& ids) const {
    const std::int64_t low = ids.min().item<std::int64_t>(), high = ids.max().item<std::int64_t>();
    if (low >= 0 && high < count_) return;
    throw recipe_error("expected integers from 0 to " + std::to_string(count_ - 1) + ", found " +
                       std::to_string(low < 0 ? low : high))
        .in(path)
        .hint(low < 0 ? "rows count from 0"
                      : "num_embeddings is " + std::to_string(count_) + "; this integer needs " +
                            std::to_string(high + 1) + " rows");
  }

  std::int64_t count_, size_, padding_ = -1;
  std::size_t weight_ = 0;
};

class PositionalEmbedding final : public Layer {
 public:
  PositionalEmbedding(const Options& options, LayerContext& context) {
    output = context.input();
    if (output.size() < 2) throw context.shape_error("an input of [positions, features]");
    positions_ = output[output.size() - 2];
    Shape shape = {positions_, output.back()};
    // A shorter input than the model was built for has the first of its positions.
    if (const Shape* built = context.built("weight")) shape[0] = std::max(shape[0], (*built)[0]);
    weight_ = context.parameter("weight", shape, weight_init(options, shape, unit_normal()));
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    at::Tensor weight = pass.parameter(weight_);
    if (weight.size(-2) > positions_) weight = weight.narrow(-2, 0, positions_);
    if (pass.members() > 0) {
      Shape shape(static_cast<std::size_t>(x.dim()), 1);
      shape.front() = pass.members();
      std::copy(output.end() - 2, output.end(), shape.end() - 2);
      weight = weight.reshape(shape);
    }
    return at::add(x, weight);
  }

  bool stackable() const override { return true; }
  void count_kept(KeptMemory& memory) const override { memory.produce(output); }

 private:
  std::int64_t positions_ = 0;
  std::size_t weight_ = 0;
};

}  // namespace

void register_embedding(Registry& registry) {
  registry.add(
      Entry("nn.Embedding", "layer", "A learned vector for each integer: [length] becomes [length, embedding_dim].")
          .with(Option("num_embeddings", "number of different integers, counted from 0")
                    .integer()
                    .at_least(1)
                    .positional()
                    .required())
          .with(Option("embedding_dim", "size of a vector").integer().at_least(1).positional().required())
          .with(Option("padding_idx", "an integer whose vector stays 0").integer().at_least(0))
          .with(init_option())
          .example("nn.Embedding(65, 128, { init = lab.init.normal(0.02) })")
          .note("Vectors start as normal draws of deviation 1, as PyTorch's do."),
      layer_kind<Embedding>({.width = "embedding_dim"}));
  registry.add(
      Entry("nn.PositionalEmbedding", "layer", "Adds a learned vector to each position of [length, features].")
          .with(init_option())
          .example("nn.PositionalEmbedding { init = lab.init.normal(0.02) }")
          .note("There is a vector for each position of the input; a shorter batch takes the first of them. Vectors "
                "start as normal draws of deviation 1."),
      layer_kind<PositionalEmbedding>());
}

}  // namespace trainlab
