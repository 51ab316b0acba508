#include "train/checkpoint.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/error.h"
#include "core/files.h"

namespace trainlab {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kept_checkpoints = 2;
constexpr std::int64_t info_limit = std::int64_t{1} << 28;  // bytes of a .json that is believed

std::string stem_of(const char* kind, std::int64_t step) {
  std::string digits = std::to_string(step);
  if (digits.size() < 9) digits.insert(0, 9 - digits.size(), '0');
  return std::string(kind) + "-" + digits;
}

// Commits of `last`, newest first: the names sort by step.
std::vector<fs::path> commits(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("last-") && name.ends_with(".json")) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename(), y = b.filename();
    return x.size() != y.size() ? x.size() > y.size() : x > y;
  });
  return found;
}

NamedTensors load_checked(const fs::path& folder, const Value& info) {
  const fs::path file = folder / info["file"].string();
  if (hash_file(file) != info["hash"].string()) {
    throw recipe_error(file.string() + ": its bytes are not those that were committed (hash differs)");
  }
  return load_safetensors(file).tensors;
}

}  // namespace

CheckpointFolder::CheckpointFolder(fs::path folder, std::function<void(const std::string&)> say)
    : folder_(std::move(folder)), say_(std::move(say)) {
  make_directories(folder_);
}

// The .json is written after the tensors it vouches for.
void CheckpointFolder::commit_file(const std::string& stem, const NamedTensors& tensors, Value info) const {
  const std::string file = stem + ".safetensors";
  info.set("file", file);
  info.set("hash", save_safetensors(folder_ / file, tensors));
  write_atomic(folder_ / (stem + ".json"), to_json(info, 1) + "\n");
}

void CheckpointFolder::commit_best(const BestWeights& best) {
  if (best_on_disk_ == best.step) return;
  Value info;
  info.set("format", 1);
  info.set("step", best.step);
  commit_file(stem_of("best", best.step), best.tensors, std::move(info));
  best_on_disk_ = best.step;
}

void CheckpointFolder::commit(const Checkpoint& checkpoint) {
  Value info = checkpoint.info;
  info.set("format", 1);
  info.set("step", checkpoint.step);
  if (checkpoint.best) {
    commit_best(*checkpoint.best);
    info.set("best_weights", stem_of("best", checkpoint.best->step));
  }
  commit_file(stem_of("last", checkpoint.step), checkpoint.tensors, std::move(info));
  remove_old();
}

void CheckpointFolder::remove_old() const {
  std::set<std::string> keep;
  const std::vector<fs::path> all = commits(folder_);
  for (std::size_t i = 0; i < all.size() && i < kept_checkpoints; ++i) {
    keep.insert(all[i].stem().string());
    try {
      const Value best = parse_json(read_file(all[i], info_limit), all[i].string())["best_weights"];
      if (best.is_string()) keep.insert(best.string());
    } catch (const Error&) {
      // A damaged older commit names nothing that must stay.
    }
  }
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string stem = entry.path().stem().string();
    const bool numbered = stem.starts_with("last-") || stem.starts_with("best-");
    if (numbered && !keep.contains(stem)) old.push_back(entry.path());
  }
  // A commit goes before its tensors, so that no .json ever names a file that is gone.
  std::sort(old.begin(), old.end(), [](const fs::path& a, const fs::path& b) {
    return (a.extension() == ".json") > (b.extension() == ".json");
  });
  for (const fs::path& path : old) remove_file(path);
}

Checkpoint CheckpointFolder::load(const fs::path& commit) const {
  Checkpoint checkpoint;
  checkpoint.info = parse_json(read_file(commit, info_limit), commit.string());
  checkpoint.step = checkpoint.info["step"].integer();
  checkpoint.tensors = load_checked(folder_, checkpoint.info);
  if (const Value& stem = checkpoint.info["best_weights"]; stem.is_string()) {
    const fs::path path = folder_ / (stem.string() + ".json");
    const Value best = parse_json(read_file(path, info_limit), path.string());
    checkpoint.best = BestWeights{.step = best["step"].integer(), .tensors = load_checked(folder_, best)};
  }
  return checkpoint;
}

std::optional<Checkpoint> CheckpointFolder::newest() {
  const std::vector<fs::path> all = commits(folder_);
  for (const fs::path& path : all) {
    std::string reason;
    try {
      Checkpoint checkpoint = load(path);
      if (checkpoint.best) best_on_disk_ = checkpoint.best->step;
      return checkpoint;
    } catch (const Error& error) {
      reason = error.message();
    } catch (const std::logic_error&) {
      reason = path.string() + ": not a checkpoint's commit";  // valid JSON of another shape
    }
    say_("checkpoint " + path.stem().string() + " is damaged and was passed over: " + reason);
  }
  if (!all.empty()) say_("no complete checkpoint is left; this starts again from the first step");
  return std::nullopt;
}

void CheckpointFolder::save(const std::string& name, const NamedTensors& tensors, const Value& info) const {
  commit_file(name, tensors, info);
}

}  // namespace trainlab
