// The weights that a fit keeps, read from its folder.
#pragma once

#include <filesystem>

#include "tensor/safetensors.h"
#include "train/model_file.h"

namespace trainlab {

struct KeptWeights {
  NamedTensors weights;  // of the one model: "model.2.weight", buffers included
  NamedTensors data;     // DataParts::state of the training data
};

// Those that the fit would test: the best, where it keeps the best, or their average; of one that is not finished the
// best or last so far. Error{usage} where there are none yet, Error{recipe} for damaged files.
KeptWeights read_kept(const std::filesystem::path& stage_folder, const ModelFile& model);

// Adds the entry init.weights, which is implemented by StoredValues.
void register_predict(Registry& registry);

}  // namespace trainlab
