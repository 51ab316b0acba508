// Checkpoints of one member: checkpoints/{last,best}-STEP.safetensors, each followed by its .json with the hash,
// which is the commit.
//
// The two newest of `last` are kept, and the best weights that they name. Older checkpoints are removed only after a
// new checkpoint is committed, so one complete checkpoint exists at any moment, whatever fails. A tensor file holds no
// time and no host: equal states give equal bytes.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/value.h"
#include "tensor/safetensors.h"

namespace trainlab {

struct BestWeights {
  std::int64_t step = 0;
  NamedTensors tensors;  // model.… only
};

struct Checkpoint {
  std::int64_t step = 0;
  NamedTensors tensors;                          // model.…, optim.…, data.…
  Value info;                                    // all other data that the continued run needs
  std::map<std::string, std::string> kept = {};  // files of keep() that belong to the checkpoint, and their hashes
  std::optional<BestWeights> best;
};

class CheckpointFolder {
 public:
  // `say` receives one line for each damaged checkpoint that is skipped.
  CheckpointFolder(std::filesystem::path folder, std::function<void(const std::string&)> say);

  // Writes best weights (once for each step from which they come), then `last`, then removes checkpoints that are not
  // needed any more.
  void commit(const Checkpoint& checkpoint);

  // Writes checkpoints/NAME.safetensors and returns its hash. Later checkpoints name this file in `kept` instead of
  // holding its tensors.
  std::string keep(const std::string& name, const NamedTensors& tensors) const;
  // Reads the tensors that keep() wrote.
  NamedTensors kept(const std::string& name) const;

  // Writes best weights alone, when no checkpoint will follow.
  void commit_best(const BestWeights& best);

  // The newest complete checkpoint. A damaged checkpoint is reported and set aside, and the checkpoint before it is
  // taken. If the best weights are damaged in all checkpoints, the newest checkpoint without best weights is taken.
  // nullopt if there is none.
  std::optional<Checkpoint> newest();

  // The step of the newest checkpoint that is not after `step`; 0 if there is none, and where `step` is 0.
  std::int64_t newest_until(std::int64_t step) const;
  // Removes the checkpoints after `step`, or all of them where `step` is 0.
  void go_back(std::int64_t step);

  // The info of the newest commit in `folder`; nil if there is none, or if it is damaged.
  static Value newest_info(const std::filesystem::path& folder);

  // The step of the newest commit in `folder`, by its name; 0 if there is none.
  static std::int64_t newest_step(const std::filesystem::path& folder);

  // Whether newest() would find a checkpoint in `folder`. Writes nothing; reads the files of a checkpoint.
  static bool has_complete(const std::filesystem::path& folder);

  // Copies the newest complete checkpoint of `from` to `to`, where another fit continues from it: the reason for which
  // the first fit stopped is not copied. False if there is none. `say` receives one line for each damaged checkpoint
  // that is passed over.
  static bool take_over(const std::filesystem::path& from, const std::filesystem::path& to,
                        const std::function<void(const std::string&)>& say);

  // The newest complete checkpoint of `folder`, read without writing or setting aside any file. nullopt if there is
  // none; Error{recipe} naming the file if the newest checkpoint is damaged.
  static std::optional<Checkpoint> read_newest(const std::filesystem::path& folder);

  // The checkpoint with the weights that the fit in `stage_folder` keeps, found by kept_commit() of run/stage_files.h;
  // nullopt if there are none yet. Error{run} naming the file if these weights are damaged or missing.
  static std::optional<Checkpoint> read_kept(const std::filesystem::path& stage_folder,
                                             const std::function<void(const Error&)>& pass_over);

  // Writes checkpoints/NAME.safetensors with its .json: weights that a recipe asked to keep.
  void save(const std::string& name, const NamedTensors& tensors, const Value& info) const;

 private:
  void write_best(const BestWeights& best, FolderSync folder_sync);
  void commit_file(const std::string& stem, const NamedTensors& tensors, Value info,
                   FolderSync folder_sync = FolderSync::now) const;
  void set_aside(const std::filesystem::path& commit) const;
  void remove_old(const std::string& newest);

  std::filesystem::path folder_;
  std::function<void(const std::string&)> say_;
  std::optional<std::int64_t> best_on_disk_;
  std::map<std::string, Value> best_of_;  // the name of the best weights, or nil, by the name of a kept commit
};

}  // namespace trainlab
