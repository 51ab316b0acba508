// Declarations of what hand-written loops use: lab.build, lab.optimizer, lab.schedule and the objects that they give.
#include "objects/model_object.h"

namespace trainlab {

void register_object_entries(Registry& registry) {
  registry.add(Entry("build", "function", "Builds a model with initial weights, for loops written by hand.")
                   .with(Option("model", "the layers").entry("layer").required().positional())
                   .with(Option("input", "sizes of a sample, without the batch axis; { } for a single number, by name for "
                                         "a model that reads several columns")
                             .integer()
                             .at_least(1)
                             .many()
                             .keyed()
                             .required())
                   .with(Option("integers", "whole numbers come in: token ids").boolean().or_default(false))
                   .with(Option("seed", "of the initial weights (default: lab.seed)").integer().at_least(0))
                   .with(Option("dtype", "of weights and arithmetic").choice({"float32", "float64"}).or_default("float32"))
                   .with(Option("device", "where the model lives: \"cpu\", \"cuda:0\" (default: the run's --device)").string())
                   .returns("model")
                   .example("local model = lab.build(nn.Sequential { nn.Linear(32), nn.ReLU(), nn.Linear(10) },\n"
                            "                        { input = { 64 }, seed = ctx.seed })"));
  registry.add(Entry("optimizer", "function", "An optimizer over tensors, for loops written by hand.")
                   .with(Option("optim", "which").entry("optimizer").required().positional())
                   .with(Option("parameters", "model:parameters(), or a list of tensors that require grad")
                             .any()
                             .required()
                             .positional())
                   .with(Option("clip", "largest joint L2 norm of the gradients").number().more_than(0))
                   .returns("optimizer")
                   .example("local opt = lab.optimizer(lab.optim.SGD { lr = 0.1 }, model:parameters())"));
  registry.add(Entry("schedule", "function", "A schedule's factors, for loops written by hand.")
                   .with(Option("schedule", "which").entry("schedule").required().positional())
                   .with(Option("steps", "length of the run in steps").integer().at_least(1).required())
                   .with(Option("steps_per_epoch", "for durations in epochs").integer().at_least(1))
                   .returns("schedule")
                   .example("opt.lr = 0.1 * schedule:factor(step)"));

  const auto method = [&](const char* name, const char* doc, const char* result, std::vector<Option> options = {}) {
    Entry entry(name, "method", doc);
    entry.returns(result);
    for (Option& option : options) entry.with(std::move(option));
    registry.add(std::move(entry));
  };
  method("model:forward", "The model's output for a batch.", "tensor",
         {Option("x", "a tensor [B, …], several in the order of the model's columns, or a batch").any().required().positional()});
  method("model:parameters", "A list of the tensors that train.", "table");
  method("model:tensors", "Parameters and buffers by name; they share memory with the model.", "table");
  method("model:load", "Copies values into the model, by name as in model:tensors(). Gives the model.", "model",
         {Option("tensors", "a table of tensors by name").any().required().positional()});
  method("model:train", "Dropout and batch statistics as in training, which is how a model begins. Gives the model.",
         "model");
  method("model:eval", "Dropout and batch statistics as in evaluation. Gives the model.", "model");
  method("optimizer:zero_grad", "Forgets the gradients of its parameters.", "nil");
  method("optimizer:step", "One step with the gradients there are.", "nil",
         {Option("evaluate", "forgets the gradients, makes new ones and returns the loss: for SAM and L-BFGS, which evaluate "
                             "it more than once")
              .function("function() → loss")
              .positional()});
  registry.add(Entry("optimizer.lr", "field", "The learning rate of the coming steps; can be set.").returns("number"));
  method("schedule:factor", "The factor of the learning rate.", "number",
         {Option("step", "from 0").integer().at_least(0).required().positional()});
  registry.add(Entry("part.size", "field", "Samples of data.train, data.val or data.test.").returns("integer"));
  registry.add(Entry("part.classes", "field", "Classes of the data; of a text the size of its vocabulary.").returns("integer"));
  method("part:batches", "Iterates once over the part's batches, in order: for batch in data.val:batches(256) do.",
         "function, an iterator",
         {Option("size", "samples of a batch").integer().at_least(1).or_default(256).positional()});
}

}  // namespace trainlab
