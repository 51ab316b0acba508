// lab.warm_start: a training that begins with the weights of an earlier one, as they are or shrunk and perturbed.
#include "model/initial.h"
#include "predict/kept_weights.h"
#include "run_weights.h"
#include "weights_options.h"

namespace trainlab {
namespace {

// Runs a reading of the run's folder. The error is the recipe's, which asks for a missing run.
template <class Read>
NamedTensors from_run(const Options& init, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    Error wrong = init.error("from", error.message());
    throw wrong.hint(error.hint());
  }
}

StoredValues::Tensors read_weights(const Options& init) {
  const auto model = init.given("model") ? std::optional(init.string("model")) : std::nullopt;
  return {.by_name = from_run(init, [&] { return weights_of_run(init.string("from"), model); })};
}

Mixture mixture(const Options& init) { return {.stored = init.number("shrink"), .own = init.number("perturb")}; }

NamedTensors read_optimizer(const Options& init) {
  if (!init.boolean("optimizer")) return {};
  const Mixture mixed = mixture(init);
  if (mixed.stored != 1 || mixed.own != 0) {
    throw init
        .error("optimizer", "the state belongs to weights as they were, not to weights that are shrunk or perturbed")
        .hint("leave out `optimizer`, or `shrink` and `perturb`");
  }
  return from_run(init, [&] { return optimizer_of_run(init.string("from")); });
}

}  // namespace

void register_warm_start(Registry& registry) {
  registry.add(
      Entry("warm_start", "init", "The weights of an earlier run, to go on training with new data.")
          .with(
              Option("from",
                     "the earlier run: its folder, a folder in its stages/, or runs/NAME/latest for the newest run of "
                     "that name that has ended")
                  .path()
                  .required()
                  .positional())
          .with(Option("shrink", "factor of the earlier weights").number().at_least(0).at_most(1).or_default(1.0))
          .with(Option("perturb", "factor of freshly drawn weights, which are added")
                    .number()
                    .at_least(0)
                    .or_default(0.0))
          .with(Option("optimizer", "go on with the state of the earlier optimizer, too").boolean().or_default(false))
          .with(except_option())
          .with(model_option())
          .with(partial_option())
          .example("local begin = lab.warm_start { from = \"runs/daily/007\", shrink = 0.4, perturb = 0.1 }")
          .note(
              "A value for the option init of lab.fit. With shrink = 0.4 and perturb = 0.1 a net that had learned the "
              "noise of earlier data forgets enough of it (Ash and Adams 2020, \"On Warm-Starting Neural Network "
              "Training\"); on clean data the earlier weights as they are need fewer steps. Running statistics are "
              "taken as they are. The state of an optimizer is that after the earlier run's last step."),
      StoredValues{.read = read_weights, .option = "from", .mixture = mixture, .optimizer = read_optimizer});
}

}  // namespace trainlab
