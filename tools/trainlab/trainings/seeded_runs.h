// Trains a recipe with one seed after another, each in a run folder that the caller chooses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/value.h"
#include "run/request.h"
#include "run/supervisor.h"

namespace trainlab::cli {

// The folders PARENT/001, PARENT/002, …, the newest last.
std::vector<std::filesystem::path> numbered(const std::filesystem::path& parent);
// Makes the next of these folders. Raises Error{usage} where this is impossible.
std::filesystem::path made_folder(const std::filesystem::path& parent);

// What tells whether two requests ask for the same trainings: the recipe with its bytes, the parameters and the
// options.
Value asked_by(const Request& request);
// The folder of a command that trains several runs: the newest of these folders if the same was asked there and the
// command has not ended, so that it goes on; else a new one. What was asked stands in its file asked.json.
std::filesystem::path folder_for(const std::filesystem::path& parent, const Value& asked);
void mark_ended(const std::filesystem::path& folder);

// Trains the recipe of the request with this seed in this folder, unless a training with a result lies there, and shows
// no progress. A fit that failed because its loss is not finite is a result. Returns the outcome of a training that has
// none.
std::optional<Outcome> train_with_seed(Request request, const std::filesystem::path& folder, std::int64_t seed);
// Raises Error{usage} where a source of the recipe has changed between two runs of it, which lie in one folder.
void check_same_sources(const std::filesystem::path& recipe, const std::filesystem::path& first,
                        const std::filesystem::path& now);

}  // namespace trainlab::cli
