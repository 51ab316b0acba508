// Layers that move no numbers, or only to other places: Flatten, Unflatten, Reshape, Transpose, Permute, Identity.
#include <algorithm>

#include "model/layer.h"

namespace trainlab {

namespace {

// Views, which take integers as well.
class Moves : public Layer {
 public:
  explicit Moves(LayerContext& context) {
    output = context.any_input();
    integers = context.incoming().integers;
    integers_below = context.incoming().integers_below;
  }
  bool stackable() const final { return true; }
  void count_kept(KeptMemory&) const final {}

 protected:
  // The axis `dim` of a sample, from the front, from 0; negative from the end.
  static std::size_t axis(const LayerContext& context, const char* option, std::int64_t dim) {
    const auto axes = static_cast<std::int64_t>(context.any_input().size());
    if (dim < -axes || dim >= axes) {
      throw context.shape_error("an input with an axis " + std::string(option) + " = " + std::to_string(dim) +
                                " (of a sample, from 0, or from the end)");
    }
    return static_cast<std::size_t>(dim < 0 ? dim + axes : dim);
  }
  // The sizes that an option gives to `values` values, -1 replaced by what remains. `what` has the values.
  static Shape sizes_for(std::int64_t values, const Options& options, const LayerContext& context, const char* option,
                         const std::string& what) {
    Shape wanted = options.integers(option);
    std::int64_t known = 1;
    for (const std::int64_t n : wanted) known *= n < 0 ? 1 : n;
    const auto open = std::count(wanted.begin(), wanted.end(), -1);
    if (open > 1) {
      throw context.error("expected at most one -1, found " + std::string(option) + " = " + shape_text(wanted));
    }
    if (open == 1 && known > 0 && values % known == 0) {
      *std::find(wanted.begin(), wanted.end(), -1) = values / known;
      known = values;
    }
    if (known != values) {
      throw context.shape_error(what + " of as many values as " + option + " = " + shape_text(wanted));
    }
    return wanted;
  }
  // Leading axes of x kept, and the sample's made `output`.
  at::Tensor reshaped(const at::Tensor& x, const Pass& pass) const {
    Shape shape(x.sizes().begin(), x.sizes().begin() + (pass.members() > 0 ? 2 : 1));
    shape.insert(shape.end(), output.begin(), output.end());
    return x.reshape(shape);
  }
};

class Identity final : public Moves {
 public:
  Identity(const Options&, LayerContext& context) : Moves(context) {}
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return x; }
};

class Flatten final : public Moves {
 public:
  Flatten(const Options& options, LayerContext& context) : Moves(context) {
    if (output.empty()) {
      output = {1};
      return;
    }
    const std::size_t first = axis(context, "start_dim", options.integer("start_dim"));
    const std::size_t last = axis(context, "end_dim", options.integer("end_dim"));
    if (first > last) throw context.error("expected start_dim before end_dim");
    const Shape input = output;
    output.assign(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(first));
    std::int64_t joined = 1;
    for (std::size_t i = first; i <= last; ++i) joined *= input[i];
    output.push_back(joined);
    output.insert(output.end(), input.begin() + static_cast<std::ptrdiff_t>(last) + 1, input.end());
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override { return reshaped(x, pass); }
};

class Reshape final : public Moves {
 public:
  Reshape(const Options& options, LayerContext& context) : Moves(context) {
    output = sizes_for(element_count(output), options, context, "shape", "an input");
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override { return reshaped(x, pass); }
};

class Unflatten final : public Moves {
 public:
  Unflatten(const Options& options, LayerContext& context) : Moves(context) {
    const std::size_t at = axis(context, "dim", options.integer("dim"));
    const Shape parts = sizes_for(output[at], options, context, "unflattened_size",
                                  "an axis " + std::to_string(options.integer("dim")));
    output.erase(output.begin() + static_cast<std::ptrdiff_t>(at));
    output.insert(output.begin() + static_cast<std::ptrdiff_t>(at), parts.begin(), parts.end());
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override { return reshaped(x, pass); }
};

class Permute final : public Moves {
 public:
  Permute(const Options& options, LayerContext& context) : Moves(context) {
    const std::vector<std::int64_t> order = options.integers("dims");
    Shape input = output;
    std::vector<bool> used(input.size());
    output.clear();
    for (const std::int64_t dim : order) {
      const std::size_t from = axis(context, "dims", dim);
      if (used[from]) throw context.error("expected each axis once, found dims = " + shape_text(order));
      used[from] = true;
      from_.push_back(static_cast<std::int64_t>(from));
      output.push_back(input[from]);
    }
    if (order.size() != input.size()) {
      throw context.shape_error("an input of " + std::to_string(order.size()) +
                                " axes for dims = " + shape_text(order));
    }
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const std::int64_t leading = pass.members() > 0 ? 2 : 1;
    Shape order;
    for (std::int64_t i = 0; i < leading; ++i) order.push_back(i);
    for (const std::int64_t from : from_) order.push_back(leading + from);
    return x.permute(order);
  }

 private:
  std::vector<std::int64_t> from_;
};

class Transpose final : public Moves {
 public:
  Transpose(const Options& options, LayerContext& context)
      : Moves(context),
        first_(axis(context, "dim0", options.integer("dim0"))),
        second_(axis(context, "dim1", options.integer("dim1"))) {
    std::swap(output[first_], output[second_]);
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const std::int64_t leading = pass.members() > 0 ? 2 : 1;
    return x.transpose(leading + static_cast<std::int64_t>(first_), leading + static_cast<std::int64_t>(second_));
  }

 private:
  std::size_t first_, second_;
};

Option axis_option(std::string name, std::string doc, std::int64_t at) {
  return Option(std::move(name), std::move(doc) + "; axes of a sample count from 0, or from −1 at the end")
      .integer()
      .or_default(at)
      .positional();
}

}  // namespace

void register_shape(Registry& registry) {
  registry.add(Entry("nn.Flatten", "layer", "Joins axes of a sample into one axis: [1, 8, 8] becomes [64].")
                   .with(axis_option("start_dim", "first axis to join", 0))
                   .with(axis_option("end_dim", "last axis to join", -1))
                   .example("nn.Flatten()"),
               layer_kind<Flatten>());
  registry.add(Entry("nn.Unflatten", "layer", "Divides an axis of a sample into several: [64] becomes [1, 8, 8].")
                   .with(Option("dim", "the axis; axes of a sample count from 0, or from −1 at the end")
                             .integer()
                             .positional()
                             .required())
                   .with(Option("unflattened_size", "the new sizes; one may be -1, which stands for what remains")
                             .integer()
                             .at_least(-1)
                             .many()
                             .positional()
                             .required())
                   .example("nn.Unflatten(0, { 1, 8, 8 })"),
               layer_kind<Unflatten>());
  registry.add(Entry("nn.Identity", "layer", "Returns its input.").example("nn.Identity()"), layer_kind<Identity>());
  registry.add(
      Entry("nn.Reshape", "layer", "Gives the values of a sample another shape.")
          .with(Option("shape", "new shape of a sample; one size may be -1, which stands for all remaining elements")
                    .integer()
                    .at_least(-1)
                    .array()
                    .required())
          .example("nn.Reshape { 16, 4, 4 }"),
      layer_kind<Reshape>());
  registry.add(
      Entry("nn.Permute", "layer", "Puts the axes of a sample into another order.")
          .with(
              Option(
                  "dims",
                  "the number of the old axis for each new axis; axes of a sample count from 0, or from −1 at the end")
                  .integer()
                  .many()
                  .positional()
                  .required())
          .example("nn.Permute { dims = { 1, 2, 0 } }"),
      layer_kind<Permute>());
  registry.add(
      Entry("nn.Transpose", "layer", "Exchanges two axes of a sample: [length, features] becomes [features, length].")
          .with(axis_option("dim0", "one of the two axes", -2))
          .with(axis_option("dim1", "the other axis", -1))
          .example("nn.Transpose()"),
      layer_kind<Transpose>());
}

}  // namespace trainlab
