#include "journal/checkpoint.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "run/commit.h"
#include "run/folder.h"
#include "run/stage_files.h"

namespace trainlab {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kept_checkpoints = 2;

Checkpoint load(const fs::path& folder, Commit commit) {
  const auto tensors = [&](const Value& info) { return load_safetensors(folder / info["file"].string()).tensors; };
  Checkpoint checkpoint;
  checkpoint.step = commit.info["step"].integer();
  checkpoint.tensors = tensors(commit.info);
  if (const Value& kept = commit.info["kept"]; kept.is_map()) {
    for (const auto& [name, hash] : kept.map()) checkpoint.kept.emplace(name, hash.string());
  }
  if (!commit.best.is_nil())
    checkpoint.best = BestWeights{.step = commit.best["step"].integer(), .tensors = tensors(commit.best)};
  checkpoint.info = std::move(commit.info);
  return checkpoint;
}

bool is_usable(const fs::path& folder, const fs::path& path) {
  try {
    verified_commit(folder, path, false);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The newest commit whose files are those that were committed. Where the best weights of all commits are damaged, the
// newest commit without its best weights. `say` receives a line for each damage, and `pass_over` each commit that is of
// no use.
std::optional<Commit> newest_complete(const fs::path& folder, const std::function<void(const std::string&)>& say,
                                      const std::function<void(const fs::path&)>& pass_over) {
  const std::vector<fs::path> all = commits(folder);
  std::set<fs::path> useless;
  for (const bool with_best : {true, false}) {
    for (const fs::path& path : all) {
      if (useless.contains(path)) continue;
      try {
        Commit commit = verified_commit(folder, path, with_best);
        if (!with_best) {
          commit.info.set("best_weights", Value());
          say("damage: the best weights so far are damaged; going on without them");
        }
        return commit;
      } catch (const Error& error) {
        // A file that cannot be read now may be whole: only wrong content counts as damage.
        if (error.kind() != ErrorKind::recipe) throw;
        if (is_usable(folder, path)) continue;
        say("damage: checkpoint " + path.stem().string() + " is damaged and was passed over: " + error.message());
        pass_over(path);
        useless.insert(path);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::int64_t CheckpointFolder::newest_step(const fs::path& folder) {
  const std::vector<fs::path> all = commits(folder);
  return all.empty() ? 0 : step_of_commit(all.front());
}

Value CheckpointFolder::newest_info(const fs::path& folder) {
  const std::vector<fs::path> all = commits(folder);
  if (all.empty()) return {};
  try {
    return read_commit(all.front());
  } catch (const Error&) {
    return {};
  }
}

bool CheckpointFolder::has_complete(const fs::path& folder) {
  return newest_complete(
             folder, [](const std::string&) {}, [](const fs::path&) {})
      .has_value();
}

bool CheckpointFolder::take_over(const fs::path& from, const fs::path& to,
                                 const std::function<void(const std::string&)>& say) {
  const std::optional<Commit> newest = newest_complete(from, say, [](const fs::path&) {});
  if (!newest) return false;
  make_directories(to);
  const auto copy = [&](const std::string& stem, const Value& info) {
    // Such files are written once: both may have the same bytes on the disk.
    const fs::path source = from / (stem + ".safetensors"), target = to / (stem + ".safetensors");
    std::error_code failed;
    fs::create_hard_link(source, target, failed);
    if (failed) write_atomic(target, read_file(source));
    write_atomic(to / (stem + ".json"), to_json(sealed_commit(info), 1) + "\n");
  };
  Value info = newest->info;
  if (!newest->best.is_nil()) copy(info["best_weights"].string(), newest->best);
  // The reason that ended the other fit must not end this fit.
  info.set("stop_reason", Value());
  info.set("failure", Value());
  copy(newest->stem, info);  // last: it makes the rest count
  return true;
}

CheckpointFolder::CheckpointFolder(fs::path folder, std::function<void(const std::string&)> say)
    : folder_(std::move(folder)), say_(std::move(say)) {
  make_directories(folder_);
  // Removes files that a killed process left half written.
  std::error_code ignored;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    if (entry.path().extension() == ".tmp") left.push_back(entry.path());
  }
  for (const fs::path& path : left) remove_file(path);
}

// The .json is written after the tensors for which it vouches. Whoever reads it compares the hash of the tensors' file,
// so a .json whose tensors were lost with the power is passed over, and the folder is synced once for both.
void CheckpointFolder::commit_file(const std::string& stem, const NamedTensors& tensors, Value info,
                                   FolderSync folder_sync) const {
  const std::string file = stem + ".safetensors";
  info.set("file", file);
  info.set("hash", save_safetensors(folder_ / file, tensors, {}, FolderSync::with_next_file));
  write_atomic(folder_ / (stem + ".json"), to_json(sealed_commit(std::move(info)), 1) + "\n", folder_sync);
}

std::string CheckpointFolder::keep(const std::string& name, const NamedTensors& tensors) const {
  return save_safetensors(kept_tensors(folder_, name), tensors);
}

NamedTensors CheckpointFolder::kept(const std::string& name) const {
  return load_safetensors(kept_tensors(folder_, name)).tensors;
}

void CheckpointFolder::commit_best(const BestWeights& best) { write_best(best, FolderSync::now); }

void CheckpointFolder::write_best(const BestWeights& best, FolderSync folder_sync) {
  if (best_on_disk_ == best.step) return;
  Value info;
  info.set("format", 1);
  info.set("step", best.step);
  commit_file(commit_stem("best", best.step), best.tensors, std::move(info), folder_sync);
  best_on_disk_ = best.step;
}

void CheckpointFolder::commit(const Checkpoint& checkpoint) {
  Value info = checkpoint.info;
  info.set("format", 1);
  info.set("step", checkpoint.step);
  if (checkpoint.best) {
    write_best(*checkpoint.best, FolderSync::with_next_file);
    info.set("best_weights", commit_stem("best", checkpoint.best->step));
  }
  Value best = info["best_weights"];
  if (!checkpoint.kept.empty()) info.set("kept", Value::Map(checkpoint.kept.begin(), checkpoint.kept.end()));
  const std::string stem = commit_stem("last", checkpoint.step);
  commit_file(stem, checkpoint.tensors, std::move(info));
  best_of_.insert_or_assign(stem, std::move(best));
  remove_old(stem);
}

void CheckpointFolder::remove_old(const std::string& newest) {
  std::set<std::string> keep{newest};
  const std::vector<fs::path> all = commits(folder_);
  for (std::size_t i = 0; i < all.size() && i < kept_checkpoints; ++i) keep.insert(all[i].stem().string());
  std::map<std::string, Value> best_of;
  for (const fs::path& commit : all) {
    const std::string stem = commit.stem().string();
    if (!keep.contains(stem)) continue;
    try {
      const auto known = best_of_.find(stem);
      best_of.emplace(stem, known == best_of_.end() ? read_commit(commit)["best_weights"] : known->second);
    } catch (const Error&) {
      // The commit may name best weights, and may be readable another time: all stays until it is an older one.
      return;
    }
  }
  best_of_ = std::move(best_of);
  for (const auto& [stem, best] : best_of_)
    if (best.is_string()) keep.insert(best.string());
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

std::int64_t CheckpointFolder::newest_until(std::int64_t step) const {
  if (step == 0) return 0;
  for (const fs::path& commit : commits(folder_))
    if (step_of_commit(commit) <= step) return step_of_commit(commit);
  return 0;
}

void CheckpointFolder::go_back(std::int64_t step) {
  for (const fs::path& commit : commits(folder_)) {
    if (step == 0 || step_of_commit(commit) > step) remove_file(commit);
  }
  remove_old("");
  best_on_disk_.reset();
}

std::optional<Checkpoint> CheckpointFolder::newest() {
  const bool had_commits = newest_step(folder_) > 0;
  std::optional<Commit> commit = newest_complete(folder_, say_, [&](const fs::path& damaged) { set_aside(damaged); });
  if (commit) {
    Checkpoint checkpoint = load(folder_, std::move(*commit));
    if (checkpoint.best) best_on_disk_ = checkpoint.best->step;
    return checkpoint;
  }
  if (had_commits) say_("damage: no complete checkpoint is left; this starts again from the first step");
  return std::nullopt;
}

std::optional<Checkpoint> CheckpointFolder::read_newest(const fs::path& folder) {
  const std::vector<fs::path> all = commits(folder);
  if (all.empty()) return std::nullopt;
  return load(folder, verified_commit(folder, all.front(), true));
}

std::optional<Checkpoint> CheckpointFolder::read_kept(const fs::path& stage_folder,
                                                      const std::function<void(const Error&)>& pass_over) {
  try {
    const fs::path folder = stage_folder / "checkpoints";
    std::optional<Commit> commit = kept_commit(folder, read_summary(stage_folder), pass_over);
    if (!commit) return std::nullopt;
    return load(folder, std::move(*commit));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::recipe) throw;
    throw damaged_weights(stage_folder, error);
  }
}

// Out of the way of those that are whole, and still there to be looked at.
void CheckpointFolder::set_aside(const fs::path& commit) const {
  for (const char* extension : {".json", ".safetensors"}) {
    fs::path from = commit;
    from.replace_extension(extension);
    if (fs::exists(from)) file_calls().rename(from, folder_ / ("damaged-" + from.filename().string()));
  }
}

void CheckpointFolder::save(const std::string& name, const NamedTensors& tensors, const Value& info) const {
  commit_file(name, tensors, info);
}

}  // namespace trainlab
