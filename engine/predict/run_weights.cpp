#include "run_weights.h"

#include "journal/checkpoint.h"
#include "predict/kept_weights.h"
#include "predict/stage_predictor.h"
#include "run/folder.h"
#include "tensor/named_tensors.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

// The folder of the fit that trained the run's only model.
fs::path folder_of_model(const fs::path& path) {
  const std::vector<StoredModel> models = models_behind(find_stage(path, std::nullopt).folder);
  if (models.size() > 1) {
    throw usage_error("an ensemble of " + std::to_string(models.size()) + " models has no single one")
        .hint("the folder of its first member is " + models.front().folder.string());
  }
  return models.front().folder;
}

}  // namespace

NamedTensors weights_of_run(const fs::path& path, const std::optional<std::string>& model) {
  const fs::path folder = folder_of_model(path);
  return tensors_below(read_kept(folder, read_model(folder, model)).weights, "model.");
}

NamedTensors optimizer_of_run(const fs::path& path) {
  const fs::path folder = folder_of_model(path);
  const std::optional<Checkpoint> checkpoint = CheckpointFolder::read_newest(folder / "checkpoints");
  if (!checkpoint) throw usage_error("there is no checkpoint in " + folder.string());
  return tensors_below(checkpoint->tensors, "optim.");
}

}  // namespace trainlab
