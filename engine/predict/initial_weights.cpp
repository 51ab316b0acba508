// init.weights: trained weights as initial values.
#include "core/files.h"
#include "model/initial.h"
#include "predict/kept_weights.h"
#include "predict/stage_predictor.h"
#include "run/folder.h"
#include "tensor/named_tensors.h"

namespace trainlab {
namespace {

namespace fs = std::filesystem;

// Files of checkpoints have "model.2.weight" among other tensors, those of models written by hand "2.weight".
NamedTensors of_file(const fs::path& path) {
  NamedTensors all = load_safetensors(path).tensors;
  NamedTensors weights = tensors_below(all, "model.");
  return weights.empty() ? all : weights;
}

NamedTensors of_run(const Options& init, const fs::path& path) {
  const std::vector<StoredModel> models = models_behind(find_stage(path, std::nullopt).folder);
  if (models.size() > 1) {
    throw usage_error("an ensemble of " + std::to_string(models.size()) + " models has no single one")
        .hint("the folder of its first member is " + models.front().folder.string());
  }
  const auto name = init.given("model") ? std::optional(init.string("model")) : std::nullopt;
  const std::filesystem::path& folder = models.front().folder;
  return tensors_below(read_kept(folder, read_model(folder, name)).weights, "model.");
}

NamedTensors read(const Options& init) {
  const fs::path path = init.string("path");
  std::error_code ignored;
  const bool is_run = fs::is_directory(path, ignored);
  if (!is_run && init.given("model")) {
    throw init.error("model", "names a model of a run, and " + path.string() + " is not a run's folder");
  }
  try {
    return is_run ? of_run(init, path) : of_file(path);
  } catch (const Error& error) {
    // The error is the recipe's, which asks for a missing run or file.
    Error wrong = init.error("path", error.message());
    throw wrong.hint(error.hint());
  }
}

}  // namespace

void register_initial_weights(Registry& registry) {
  registry.add(
      Entry("init.weights", "init",
            "Trained weights from a run or a file, matched by the names of parameters and buffers.")
          .with(Option("path",
                       "a run's folder, a folder in its stages/ or that of a trial, for the weights that were kept there "
                       "(of a sweep's best trial), or a .safetensors file")
                    .path()
                    .required()
                    .positional())
          .with(
              Option("except", "patterns of names of tensors that keep the model's own initial values").string().many())
          .with(Option("model", "name of the model, if the run has several").string())
          .example("init = lab.init.weights { \"runs/pretrained/001\", except = { \"5.*\" } }")
          .note("A value for the option init of lab.fit. Alone it sets all parameters and buffers; in a table by "
                "pattern it sets those whose names match the pattern. Each of them must be in the file, under the same "
                "name and with the same shape; other tensors in the file are ignored."),
      StoredValues{read});
}

}  // namespace trainlab
