// Where the models of a stage lie.
#pragma once

#include <filesystem>
#include <vector>

namespace trainlab {

// A model of a stage: the folder of the fit that trained the model, and how often an ensemble counts it.
struct StoredModel {
  std::filesystem::path folder;
  double weight = 1;
};

// The models behind the result in a stage's folder, in the order of an ensemble's members, each once. A stage without a
// summary counts as a fit that is under way. Error{usage} if the stage keeps no model, or has none yet; damaged_file().
std::vector<StoredModel> models_behind(const std::filesystem::path& stage_folder);

}  // namespace trainlab
