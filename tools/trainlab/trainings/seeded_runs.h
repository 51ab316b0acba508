// Trains a recipe with one seed after another, each in a run folder that the caller chooses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "core/value.h"
#include "run/request.h"
#include "run/supervisor.h"

namespace trainlab::cli {

// The folders PARENT/001, PARENT/002, …, the newest last.
std::vector<std::filesystem::path> numbered(const std::filesystem::path& parent);
// Makes the next of these folders. Raises Error{usage} where this is impossible.
std::filesystem::path made_folder(const std::filesystem::path& parent);

// A command that trains several runs, as a record in its folder tells of it.
struct EarlierCommand {
  std::filesystem::path folder;
  bool has_ended = false;
  std::optional<std::string> change_of_data = {};  // since then: "the part val of the data has changed"
};
// The newest command in these folders that asked the same of the same data; nullopt where there is none. `read` gives
// nullopt for a folder of another question. Says so where a command has not ended and does not go on, because its data
// have changed.
std::optional<EarlierCommand> same_command(
    const Arguments& given, const std::filesystem::path& parent,
    const std::function<std::optional<EarlierCommand>(const std::filesystem::path&)>& read);

// Two commands ask for the same recipe where these values are equal: its path and bytes, and the parameters.
Value asked_of(const std::filesystem::path& recipe, std::span<const GivenParameter> parameters);
// The trainings that a request asks for: the recipe, as asked_of() gives it, and the options.
Value asked_by(const Request& request);
// The folder of a command that trains several runs: the newest of these folders in which the same was asked of the same
// data if that command has not ended, so that it goes on; else a new one. In `asked`, `training` is what asked_by()
// gives, whose options need not be equal where they change nothing of a training, and `data` what data_of() gives
// (trainings/facts.h), which the records of earlier versions lack. Says so where a command does not go on because its
// data have changed.
std::filesystem::path folder_for(const Arguments& given, const std::filesystem::path& parent, const Value& asked);
// Such a folder's file asked.json, { asked, has_ended }; nil where there is none.
Value asked_in(const std::filesystem::path& folder);
void mark_ended(const std::filesystem::path& folder);

// Whether a training with a result lies in the folder. A fit that failed because its loss is not finite has a result.
bool has_result(const std::filesystem::path& folder);
// Trains the recipe of the request with this seed in this folder, unless it has a result, and shows no progress.
// Returns the outcome of a training that has none. `until`: see Supervisor::run().
std::optional<Outcome> train_with_seed(Request request, const std::filesystem::path& folder, std::int64_t seed,
                                       std::optional<double> until = std::nullopt);
// Whether the training was stopped because its time was over. It has left a checkpoint, with which it goes on.
bool has_run_out_of_time(const Outcome& outcome);
// Raises Error{usage} where a source of the recipe has changed between two runs of it, which lie in one folder.
void check_same_sources(const std::filesystem::path& recipe, const std::filesystem::path& first,
                        const std::filesystem::path& now);

}  // namespace trainlab::cli
