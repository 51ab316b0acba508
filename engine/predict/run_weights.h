// Weights and optimizer state of a run, for a training that begins with them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tensor/named_tensors.h"

namespace trainlab {

// The kept weights of the model behind a run's result, by the names of the model ("2.weight"). `path`: as for
// find_stage(). `model`: which one, if the run has several. Error{usage} as read_kept(), and for an ensemble.
NamedTensors weights_of_run(const std::filesystem::path& path, const std::optional<std::string>& model);

// The state of the optimizer after the last step behind a run's result, by the names of the optimizer. Error{usage}
// where there is no checkpoint.
NamedTensors optimizer_of_run(const std::filesystem::path& path);

}  // namespace trainlab
