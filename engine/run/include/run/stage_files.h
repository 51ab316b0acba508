// Which files of a stage belong together: once summary.json says that a stage has ended well, this says which other
// files must be there, and looks at them.
//
// A stage without a summary, or one that was interrupted or has failed, is never found incomplete: whoever goes on with
// it finds out what is there.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/value.h"
#include "run/commit.h"

namespace trainlab {

// An Error{run} for each file that is missing or damaged among those that a stage of this kind leaves: of a fit
// model.json, the last checkpoint and rows, of a task the rows, of a sweep or an ensemble the study, and the same files
// of its best trial or its members. Made for lists of many runs: summaries and model.json are read, and no checkpoint
// and no rows, which need only be there.
std::vector<Error> damages_of_stage(const std::filesystem::path& folder, const std::string& kind);

// Error{run} unless metrics.jsonl of a fit or a task has all rows that its last checkpoint counts.
void check_rows(const std::filesystem::path& folder);
// Error{run} unless model.json of a fit is there.
void check_model(const std::filesystem::path& folder);
// Error{run} unless the folder of a sweep has study.db.
void check_study(const std::filesystem::path& folder);
// Error{run} unless the trial or member in the folder `model`, whose weights the result in `folder` names, has a
// summary. Where a study lies in a database, other machines may have trained its trials into folders of their own.
void check_trial(const std::filesystem::path& folder, const std::filesystem::path& model);

// The weights that a fit keeps, by its checkpoints in `folder` and its summary (nil where there is none, or none that
// can be read): `best` of the result where the fit keeps the best weights, else the tensors of the result itself. Their
// bytes have been compared with their hashes. nullopt if there are none yet.
//
// Beside best weights a prediction takes the state of the data from the last checkpoint, and this state is the same in
// all checkpoints of a fit. So where the last one is damaged and the best weights are whole, the result is the
// checkpoint before with these best weights, and `pass_over` receives the damage. Error{recipe} naming a file that is
// damaged or missing if the kept weights are.
std::optional<Commit> kept_commit(const std::filesystem::path& folder, const Value& summary,
                                  const std::function<void(const Error&)>& pass_over);

// The damage of weights as Error{run}, with the command that says what can still be used of the run of `folder`.
Error damaged_weights(const std::filesystem::path& folder, const Error& damage);

// Before a stage of this kind that has ended goes on: Error{run} unless a fit has a checkpoint that is whole, with its
// best weights, and a sweep its study. Without these a stage would begin again, and replace what it has. Compares the
// bytes of a fit.
void check_goes_on(const std::filesystem::path& folder, const std::string& kind);

}  // namespace trainlab
