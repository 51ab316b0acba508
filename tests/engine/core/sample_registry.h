// A small registry with an option of every form, and short ways to write entry maps.
#pragma once

#include "core/registry.h"

namespace trainlab::sample {

inline Registry registry() {
  Registry r;
  r.add(Entry("nn.Linear", "layer", "Affine map y = x Wᵀ + b.")
            .with(Option("out", "number of outputs").integer().at_least(1).required().positional())
            .with(Option("bias", "learn an additive bias").boolean().or_default(true))
            .example("nn.Linear(64)")
            .note("Initialised as PyTorch does."));
  r.add(Entry("nn.ReLU", "layer", "max(0, x)."));
  r.add(
      Entry("nn.Conv2d", "layer", "Convolution over two dimensions.")
          .with(Option("out", "number of channels").integer().at_least(1).required().positional())
          .with(Option("kernel", "height and width").integer().at_least(1).many(2).required().positional().in("pixels"))
          .with(Option("padding", "zeros on each side").integer().at_least(0).many(2).or_default(0)));
  r.add(Entry("nn.Sequential", "layer", "Layers one after the other.")
            .with(Option("layers", "the layers").entry("layer").array().required())
            .with(Option("label", "a name for printing").string()));
  r.add(Entry("optim.AdamW", "optimizer", "Adam with decoupled weight decay.")
            .with(Option("lr", "learning rate").number().at_least(0).or_default(1e-3))
            .with(Option("betas", "decay of the running means")
                      .number()
                      .at_least(0)
                      .less_than(1)
                      .many(2)
                      .or_default(Value::List{0.9, 0.999})));
  r.add(Entry("optim.SGD", "optimizer", "Stochastic gradient descent.")
            .with(Option("lr", "learning rate").number().more_than(0).required()));
  r.add(Entry("loss.cross_entropy", "loss", "Softmax and negative log-likelihood.")
            .with(Option("smoothing", "label smoothing").number().at_least(0).at_most(1).or_default(0)));
  r.add(Entry("loss.mse", "loss", "Mean squared error."));
  r.add(Entry("stop.patience", "stop", "Ends a run that no longer improves.")
            .with(Option("patience", "validations without improvement").integer().at_least(1).positional().required()));
  r.add(Entry("data.digits", "data", "Handwritten digits."));
  r.add(Entry("data.csv", "data", "Rows of a text file.")
            .with(Option("file", "the file").path().positional().required()));
  r.add(Entry("data:split", "data", "Parts for training, validation and test.")
            .with(Option("train", "share of training examples").number().more_than(0).at_most(1).or_default(0.8)));
  r.add(Entry("data:take", "data", "The first examples.")
            .with(Option("n", "how many").integer().at_least(1).positional().required()));
  r.add(
      Entry("run:stop", "method", "Ends the run after this step.").with(Option("reason", "why").string().positional()));
  r.add(Entry("seed", "field", "The seed of the run.").returns("integer"));
  r.add(Entry("run.step", "field", "Optimizer steps done.").returns("integer"));
  r.add(Entry("tensor", "function", "A tensor from numbers.")
            .with(Option("values", "nested lists of numbers").any().array())
            .with(Option("dtype", "type of the elements").choice({"float32", "int64"}).or_default("float32"))
            .returns("a run"));
  r.add(Entry("tensor.randn", "function", "Normal draws.")
            .with(Option("shape", "sizes").integer().at_least(0).many().positional().required())
            .returns("something else"));
  r.add(Entry("fit", "stage", "Trains one model.")
            .with(Option("model", "the model").entry("layer").required())
            .with(Option("optim", "the optimizer").entry("optimizer").required())
            .with(Option("data", "the data").entry("data"))
            .with(Option("loss", "what is minimised")
                      .entry("loss")
                      .function("function(out, batch) → scalar[, count]")
                      .or_default("cross_entropy"))
            .with(Option("stop", "when to end").entry("stop").function("function(run) → reason | nil").many())
            .with(Option("validate", "how often").duration().or_default("1 epochs"))
            .with(Option("goal", "better is").choice({"min", "max"}))
            .with(Option("batch", "examples per step").integer().at_least(1).or_default(32))
            .with(Option("extra", "free data").any())
            .with(Option("input", "sizes of a sample").integer().at_least(1).many().keyed())
            .with(Option("rules", "optimizers of several models").entry("optimizer").keyed())
            .with(Option("loader", "how batches are made")
                      .fields({Option("threads", "worker threads").integer().at_least(0).or_default(1),
                               Option("drop_last", "leave out a short last batch").boolean().or_default(false)})
                      .or_default(Value::Map{})));
  return r;
}

inline Value entry(std::string_view name, Value::Map options = {}, std::string_view at = "") {
  options.emplace("@", name);
  if (!at.empty()) options.emplace("@at", at);
  return options;
}

inline Value function(int index, std::string_view at = "x.lua:4") {
  return Value::Map{{"@", "function"}, {"index", index}, {"@at", at}};
}

inline Value linear(Value out) { return entry("nn.Linear", {{"out", std::move(out)}}); }

// A fit whose options are all right, but for those given.
inline Value fit(Value::Map options = {}) {
  options.emplace("model", linear(3));
  options.emplace("optim", "AdamW");
  return entry("fit", std::move(options), "x.lua:3");
}

// what() of the Error that `action` raises; "no error" otherwise.
template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace trainlab::sample
