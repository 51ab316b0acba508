#include "transform.h"

#include "core/function_error.h"
#include "core/value.h"
#include "data/batch_object.h"
#include "data/rng_object.h"
#include "set/sources.h"

namespace trainlab {

namespace {

std::string form_of(const at::Tensor& t) {
  return t.defined() ? dtype_name(t.scalar_type()) + " " + shape_text(t.sizes()) : "nothing";
}

// Sizes may change from batch to batch, but for the number of samples.
bool same_form(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && a.scalar_type() == b.scalar_type() && a.dim() == b.dim() && a.size(0) == b.size(0);
}

// Labels [B] that became shares [B, classes].
bool became_shares(const at::Tensor& now, const at::Tensor& before, std::int64_t classes) {
  return now.defined() && classes > 0 && before.scalar_type() == at::kLong && before.dim() == 1 &&
         now.is_floating_point() && now.sizes() == at::IntArrayRef({before.size(0), classes});
}

}  // namespace

Batch transformed(const Part& part, Batch batch, const Key& key) {
  const Dataset& data = *part.data;
  const Key place = key.fold("transform")
                        .fold(static_cast<std::uint64_t>(batch.epoch))
                        .fold(static_cast<std::uint64_t>(batch.position));
  for (std::size_t i = 0; i < part.transforms.size(); ++i) {
    Callable& function = *part.transforms[i];
    const auto object = std::make_shared<BatchObject>();
    for (std::size_t c = 0; c < batch.columns.size(); ++c) object->columns[data.columns[c].name] = batch.columns[c];
    object->index = batch.index;
    object->size = batch.size;
    const Key own = place.fold(i);
    function.rekey(own);
    const std::vector<Argument> arguments{std::shared_ptr<Object>(object),
                                          std::shared_ptr<Object>(std::make_shared<RngObject>(own.fold("rng")))};
    const std::vector<Argument> results = function.call(arguments);
    const auto* given = results.size() == 1 ? std::get_if<std::shared_ptr<Object>>(&results[0]) : nullptr;
    const auto result = given ? std::dynamic_pointer_cast<BatchObject>(*given) : nullptr;
    if (!result) throw function_error(function, "a transform gives back the batch").hint("end it with: return batch");
    for (std::size_t c = 0; c < batch.columns.size(); ++c) {
      const std::string& name = data.columns[c].name;
      const at::Tensor now = result->columns[name];
      at::Tensor& column = batch.columns[c];
      if (!same_form(now, column) && !(name == "y" && became_shares(now, column, data.classes))) {
        throw function_error(
            function, "the transform changed column " + name + " from " + form_of(column) + " to " + form_of(now))
            .hint("the dtype and the numbers of samples and axes stay; data:map may change the dtype and axes");
      }
      column = now;
    }
  }
  return batch;
}

namespace {

DataParts transform(const Options& spec, const DataContext& context) {
  DataParts parts = open_source(spec.child("source"), context);
  const std::shared_ptr<Callable> function = spec.function("run");
  parts.train.transforms.push_back(function);
  if (spec.string("parts") == "train") return parts;
  if (parts.val) parts.val->transforms.push_back(function);
  if (parts.test) parts.test->transforms.push_back(function);
  return parts;
}

}  // namespace

void register_transform(Registry& registry) {
  registry.add(
      Entry("data:transform", "data", "Passes each batch through a function of the recipe.")
          .with(Option("run", "changes the batch and returns the batch")
                    .function("function(batch, rng) → batch")
                    .required()
                    .positional())
          .with(Option("parts", "the parts whose batches are passed through the function")
                    .choice({"train", "all"})
                    .or_default("train"))
          .returns("data")
          .example(
              "data:transform(function(batch, rng)\n"
              "  batch.x = batch.x * rng:uniform(0.9, 1.1) + lab.tensor.randn(batch.x.shape, { seed = rng:seed() })\n"
              "  return batch\n"
              "end)")
          .note(
              "The function is called on the recipe's thread, in the order of the batches, and always after :augment, "
              "whatever the order in the chain. The loader's threads do not call the function ahead of time. `rng` "
              "gives random numbers, which are "
              "keyed by (seed, epoch, batch), as are math.random and tensors drawn without a seed: a resumed run draws "
              "the same numbers. Comes after :split. Columns keep their dtype, their number of axes and of samples; "
              "other sizes may change from batch to batch, where the layers of the model take them (docs/layers.md). "
              "Labels y may become shares, float [B, classes]."),
      DataFactory{transform});

  registry.add(Entry("rng:uniform", "method", "Draws a number uniformly from low ≤ x < high.")
                   .with(Option("low", "smallest number").number().or_default(0.0).positional())
                   .with(Option("high", "upper end, not included").number().or_default(1.0).positional())
                   .returns("number")
                   .example("rng:uniform(0.9, 1.1)"));
  registry.add(Entry("rng:normal", "method", "Draws a normally distributed number.")
                   .with(Option("mean", "the mean").number().or_default(0.0).positional())
                   .with(Option("std", "the standard deviation").number().at_least(0).or_default(1.0).positional())
                   .returns("number")
                   .example("rng:normal(0, 0.1)"));
  registry.add(Entry("rng:integer", "method", "Draws a whole number from low … high, both included.")
                   .with(Option("low", "smallest number")
                             .integer()
                             .at_least(-largest_exact / 4)
                             .at_most(largest_exact / 4)
                             .required()
                             .positional())
                   .with(Option("high", "largest number")
                             .integer()
                             .at_least(-largest_exact / 4)
                             .at_most(largest_exact / 4)
                             .required()
                             .positional())
                   .returns("integer")
                   .example("rng:integer(0, 9)"));
  registry.add(Entry("rng:seed", "method", "Draws a number for the option `seed` of functions that draw tensors.")
                   .returns("integer")
                   .example("lab.tensor.randn(batch.x.shape, { seed = rng:seed() })"));
}

}  // namespace trainlab
