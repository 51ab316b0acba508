// Commits: the .json files in checkpoints/, each of which vouches for the tensors beside it by their hash.
//
// checkpoints/{last,best}-STEP.safetensors is followed by its .json. What the tensors mean is the journal's matter
// (journal/checkpoint.h); whether they are those that were written can be told without LibTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/value.h"

namespace trainlab {

// The name of the files of a checkpoint, without their endings: "last-000000092". `kind` is last or best.
std::string commit_stem(const char* kind, std::int64_t step);
// The step in the name of such a file; -1 for another name.
std::int64_t step_of_commit(const std::filesystem::path& path);

// Commits of `last`, newest first: the names sort by step. None where there is no folder. Raises Error{run} for a
// folder that cannot be listed: whoever took its checkpoints for none would begin again, or remove what they need.
std::vector<std::filesystem::path> commits(const std::filesystem::path& folder);

// A commit's content with the hash that verifies it.
Value sealed_commit(Value info);
// A commit's content, if its hash is right. Error{recipe} if the file is damaged.
Value read_commit(const std::filesystem::path& path);

// The file of tensors that several commits of a folder name.
std::filesystem::path kept_tensors(const std::filesystem::path& folder, const std::string& name);

// A commit whose files are those that were committed; `best` is nil without best weights.
struct Commit {
  std::string stem;
  Value info, best;
};

// Reads the commit STEM.json and the bytes of its own tensors. Error{recipe} naming the file that is damaged.
Value verified_tensors(const std::filesystem::path& folder, const std::string& stem);

// Reads the commit at `path` in `folder` and the bytes of all files for which it vouches. Error{recipe} naming the file
// that is damaged.
Commit verified_commit(const std::filesystem::path& folder, const std::filesystem::path& path, bool with_best);

}  // namespace trainlab
