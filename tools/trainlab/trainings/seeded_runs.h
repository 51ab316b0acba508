// Trains a recipe with one seed after another, each in a run folder that the caller chooses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "run/request.h"
#include "run/supervisor.h"

namespace trainlab::cli {

// The folders PARENT/001, PARENT/002, …, the newest last.
std::vector<std::filesystem::path> numbered(const std::filesystem::path& parent);
// Makes the next of these folders. Raises Error{usage} where this is impossible.
std::filesystem::path made_folder(const std::filesystem::path& parent);

// Trains the recipe of the request with this seed in this folder, and shows no progress.
Outcome train_with_seed(Request request, const std::filesystem::path& folder, std::int64_t seed);
// Whether the training has a result. A fit that failed because its loss is not finite counts as a result.
bool has_trained(const Outcome& outcome);

}  // namespace trainlab::cli
