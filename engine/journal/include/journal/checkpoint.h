// Checkpoints of one member: checkpoints/{last,best}-STEP.safetensors, each followed by its .json with the hash,
// which is the commit.
//
// The two newest of `last` are kept, and the best weights that they name. What is older goes only after a new
// checkpoint is committed, so at any moment, whatever fails, one complete checkpoint is there. No time or host is in
// a tensor file: equal states give equal bytes.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/value.h"
#include "tensor/safetensors.h"

namespace trainlab {

struct BestWeights {
  std::int64_t step = 0;
  NamedTensors tensors;  // model.… only
};

struct Checkpoint {
  std::int64_t step = 0;
  NamedTensors tensors;  // model.…, optim.…, data.…
  Value info;            // everything else that the continued run needs
  std::map<std::string, std::string> kept = {};  // files of keep() that it counts on, and their hashes
  std::optional<BestWeights> best;
};

class CheckpointFolder {
 public:
  // `say` receives one line for each damaged checkpoint that is passed over.
  CheckpointFolder(std::filesystem::path folder, std::function<void(const std::string&)> say);

  // Writes best weights (once per step that they come from), then `last`, then removes what is not needed any more.
  void commit(const Checkpoint& checkpoint);

  // Writes checkpoints/NAME.safetensors, which checkpoints from now on name in `kept` instead of holding its tensors.
  // Returns its hash.
  std::string keep(const std::string& name, const NamedTensors& tensors) const;
  // Reads one back.
  NamedTensors kept(const std::string& name) const;

  // Writes best weights alone, when no checkpoint will follow.
  void commit_best(const BestWeights& best);

  // The newest complete checkpoint; a damaged one is named, set aside, and the one before it taken. Where only the best
  // weights are damaged everywhere, the newest without them. nullopt where there is none.
  std::optional<Checkpoint> newest();

  // The step of the newest commit of `folder`, by its name; 0 where there is none.
  static std::int64_t newest_step(const std::filesystem::path& folder);

  // Copies the newest commit of `from` to `to`, as the beginning of another fit that goes on from there: the reason for
  // which that one has stopped stays behind. Nothing where `from` has none.
  static void take_over(const std::filesystem::path& from, const std::filesystem::path& to);

  // The newest complete checkpoint of `folder`, for who only reads: nothing is written or set aside. nullopt where there
  // is none; Error{recipe} naming the file where the newest is damaged.
  static std::optional<Checkpoint> read_newest(const std::filesystem::path& folder);

  // checkpoints/NAME.safetensors with its .json: weights that a recipe asked to keep.
  void save(const std::string& name, const NamedTensors& tensors, const Value& info) const;

 private:
  void commit_file(const std::string& stem, const NamedTensors& tensors, Value info) const;
  bool usable(const std::filesystem::path& commit) const;
  void set_aside(const std::filesystem::path& commit) const;
  void remove_old(const std::string& newest) const;

  std::filesystem::path folder_;
  std::function<void(const std::string&)> say_;
  std::optional<std::int64_t> best_on_disk_;
};

}  // namespace trainlab
