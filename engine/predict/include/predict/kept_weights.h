// The weights that a fit keeps, read from its folder.
#pragma once

#include <filesystem>
#include <string>

#include "tensor/named_tensors.h"
#include "train/model_file.h"

namespace trainlab {

struct KeptWeights {
  NamedTensors weights;  // weights of one model: "model.2.weight", buffers included
  NamedTensors data;     // DataParts::state of the training data
  std::string warning;   // of a damaged checkpoint without which these are known all the same; empty if there is none
};

// The weights that the fit tests: the best weights if it keeps the best, or their average; for an unfinished fit the
// best or last weights so far. Error{usage} if there are none yet, Error{run} for damaged files.
KeptWeights read_kept(const std::filesystem::path& stage_folder, const ModelFile& model);

// Adds the entries init.weights and warm_start, which are implemented by StoredValues.
void register_predict(Registry& registry);

}  // namespace trainlab
