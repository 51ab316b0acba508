// Entries for hand-written loops: lab.build, lab.optimizer, lab.schedule and the objects that they return.
#include "objects/model_object.h"
#include "optim/clip.h"

namespace trainlab {

void register_object_entries(Registry& registry) {
  registry.add(
      Entry("build", "function", "Builds a model with initial weights, for loops written by hand.")
          .with(Option("model", "the layers").entry("layer").required().positional())
          .with(Option("input",
                       "sizes of a sample without the batch axis: { } if a sample is a single number, a table by name "
                       "for a model that reads several columns")
                    .integer()
                    .at_least(1)
                    .many()
                    .keyed()
                    .required())
          .with(Option("integers", "the input holds whole numbers (token ids)").boolean().or_default(false))
          .with(Option("seed", "seed of the initial weights (default: lab.seed)").integer().at_least(0))
          .with(Option("dtype", "type of weights and arithmetic").choice({"float32", "float64"}).or_default("float32"))
          .with(Option("compute",
                       "type in which layers multiply matrices and convolve, from weights in float32 (default: dtype). "
                       "In \"float16\" small gradients become 0 unless the loop multiplies the loss, and divides the "
                       "gradients")
                    .choice({"bfloat16", "float16"}))
          .with(Option("device", "where the model lives: \"cpu\", \"cuda:0\" (default: the run's --device)").string())
          .returns("model")
          .example("local model = lab.build(nn.Sequential { nn.Linear(32), nn.ReLU(), nn.Linear(10) },\n"
                   "                        { input = { 64 }, seed = ctx.seed })"));
  registry.add(
      Entry("recompute", "function",
            "Calls a function of which nothing is kept for the backward pass: that pass calls the function again.")
          .with(Option("f", "the function").function("function(x) → tensor").required().positional())
          .with(Option("x", "the tensor that the function gets").any().required().positional())
          .returns("the tensor that the function returns")
          .example("local y = lab.recompute(function(x) return x:matmul(self.up):gelu():matmul(self.down) end, x)")
          .note(
              "For parts of the forward pass of an nn.Module, and of loops written by hand, on the CPU. Only x and the "
              "result are kept in between. Gradients have the same bits as without: the second call has the random "
              "numbers of the first. The function must not change the values that it uses. Other tensors that it uses "
              "from around it must stay as they are until the backward pass has ended."));
  registry.add(Entry("optimizer", "function", "An optimizer over tensors, for loops written by hand.")
                   .with(Option("optim", "the optimizer").entry("optimizer").required().positional())
                   .with(Option("parameters", "model:parameters(), or a list of tensors that require gradients")
                             .any()
                             .required()
                             .positional())
                   .with(clip_option())
                   .with(Option("maximize", "takes steps that enlarge the loss").boolean().or_default(false))
                   .returns("optimizer")
                   .example("local opt = lab.optimizer(lab.optim.SGD { lr = 0.1 }, model:parameters())"));
  registry.add(Entry("schedule", "function", "A schedule's factors, for loops written by hand.")
                   .with(Option("schedule", "the schedule").entry("schedule").required().positional())
                   .with(Option("steps", "length of the run in steps").integer().at_least(1).required())
                   .with(Option("steps_per_epoch", "number of steps in an epoch, needed for durations in epochs")
                             .integer()
                             .at_least(1))
                   .returns("schedule")
                   .example("opt.lr = 0.1 * schedule:factor(step)"));
  registry.add(
      Entry("scale_lr", "function",
            "The learning rate for another batch size, from one that was found for a known batch size.")
          .with(Option("lr", "the rate that is good at `from`").number().at_least(0).required().positional())
          .with(Option("from", "size of the batch for which the rate was found").integer().at_least(1).required())
          .with(Option("to", "size of the new batch; with accumulation, of all its parts")
                    .integer()
                    .at_least(1)
                    .required())
          .with(Option("optim", "the optimizer, or its name").entry("optimizer").required())
          .returns("the rate and, second, a length of warm-up for it: \"5%\" where the batch grows, else \"0%\"")
          .example("local lr, warmup = lab.scale_lr(0.1, { from = 64, to = 512, optim = \"SGD\" })")
          .note("With f = to / from the rate is multiplied by f^0.5 for descent with momentum (SGD, ASGD, "
                "SGDScheduleFree), beyond f = 4 by f^0.36 but no less than 2, and by f^0.25 for the optimizers that "
                "divide by the size of past gradients. The exponents were measured on small classifiers; the linear "
                "rule holds only far below the critical batch size. A start: probe half and twice the rate."));

  const auto method = [&](const char* name, const char* doc, const char* result, std::vector<Option> options = {}) {
    Entry entry(name, "method", doc);
    entry.returns(result);
    for (Option& option : options) entry.with(std::move(option));
    registry.add(std::move(entry));
  };
  method("model:forward", "The model's output for a batch.", "tensor",
         {Option("x", "a tensor [B, …], a tensor for each column that the model reads, in order, or a batch")
              .any()
              .required()
              .positional()});
  method("model:parameters", "The tensors that train, as a list.", "table");
  method("model:named_parameters",
         "Iterates over the names and tensors of all parameters, in order: for name, p in model:named_parameters() do.",
         "function, an iterator");
  method("model:tensors",
         "Parameters and buffers by name; they share memory with the model, and t.grad is the gradient at the call. "
         "In on.step of a fit without `step` the gradients are those with which the step was taken.",
         "table");
  method("model:load", "Copies values into the model, by name as in model:tensors(), and returns the model.", "model",
         {Option("tensors", "a table of tensors by name").any().required().positional()});
  method("model:train",
         "Switches dropout and batch statistics to training, in which a model begins, and returns the model.", "model");
  method("model:eval", "Switches dropout and batch statistics to evaluation, and returns the model.", "model");
  method("optimizer:zero_grad", "Deletes the gradients of the optimizer's parameters.", "nil");
  method("optimizer:step", "Takes one step with the present gradients.", "nil",
         {Option("evaluate",
                 "deletes the gradients, computes new gradients and returns the loss; needed by SAM and L-BFGS, which "
                 "evaluate the loss more than once")
              .function("function() → loss")
              .positional()});
  registry.add(Entry("optimizer.lr", "field", "The learning rate of the next steps; can be set.").returns("number"));
  method("schedule:factor", "The factor of the learning rate at a step.", "number",
         {Option("step", "number of the step, from 0").integer().at_least(0).required().positional()});
  registry.add(
      Entry("part.size", "field", "Number of samples of data.train, data.val or data.test.").returns("integer"));
  registry.add(Entry("part.classes", "field", "Number of classes of the data; for a text, the size of its vocabulary.")
                   .returns("integer"));
  method("part:batches", "Iterates once over the part's batches, in order: for batch in data.val:batches(256) do.",
         "function, an iterator",
         {Option("size", "number of samples in a batch").integer().at_least(1).or_default(256).positional(),
          Option("dtype", "type of columns of numbers, that of the model")
              .choice({"float32", "float64"})
              .or_default("float32")});
}

}  // namespace trainlab
