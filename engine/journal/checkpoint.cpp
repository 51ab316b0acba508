#include "journal/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

// Commits of `last`, newest first: the names sort by step. None where there is no folder. Raises Error{run} for a
// folder that cannot be listed: whoever took its checkpoints for none would begin again, or remove what they need.
std::vector<fs::path> commits(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("last-") && name.ends_with(".json")) found.push_back(entry.path());
  }
  if (failed && failed != std::errc::no_such_file_or_directory)
    throw run_error("cannot list the checkpoints in " + folder.string() + ": " + failed.message());
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename(), y = b.filename();
    return x.size() != y.size() ? x.size() > y.size() : x > y;
  });
  return found;
}

// JSON has no NaN or infinity; in a checkpoint they must come back as they were.
Value encoded(const Value& value) {
  if (value.is_number() && !value.is_integer() && !std::isfinite(value.number())) {
    return Value::Map{{"@number", number_text(value.number())}};
  }
  if (value.is_list()) {
    Value::List list;
    for (const Value& element : value.list()) list.push_back(encoded(element));
    return list;
  }
  if (value.is_map()) {
    Value::Map map;
    for (const auto& [key, element] : value.map()) map.emplace(key, encoded(element));
    return map;
  }
  return value;
}

Value decoded(const Value& value) {
  if (value.is_list()) {
    Value::List list;
    for (const Value& element : value.list()) list.push_back(decoded(element));
    return list;
  }
  if (!value.is_map()) return value;
  if (const Value& text = value["@number"]; text.is_string()) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return text.string() == "inf" ? infinity : text.string() == "-inf" ? -infinity : std::nan("");
  }
  Value::Map map;
  for (const auto& [key, element] : value.map()) map.emplace(key, decoded(element));
  return map;
}

// A commit's content with the hash that verifies it.
Value sealed(Value info) {
  info.set("commit_hash", Value());
  info = encoded(info);
  info.set("commit_hash", fingerprint(info));
  return info;
}

// A commit's content, if its hash is right.
Value read_commit(const fs::path& path) {
  Value info = parse_json(read_file(path, info_limit), path.string());
  const Value hash = info["commit_hash"];
  info.set("commit_hash", Value());
  if (!hash.is_string() || hash.string() != fingerprint(info)) {
    throw recipe_error(path.string() + ": not what was committed (hash differs)");
  }
  if (!info["step"].is_integer() || !info["file"].is_string() || !info["hash"].is_string()) {
    throw recipe_error(path.string() + ": step, file or hash is missing");
  }
  return decoded(info);
}

fs::path kept_file(const fs::path& folder, const std::string& name) { return folder / (name + ".safetensors"); }

void check_hash(const fs::path& file, const std::string& hash) {
  if (hash_file(file) != hash) {
    throw recipe_error(file.string() + ": its bytes are not those that were committed (hash differs)");
  }
}

// A commit whose files are those that were committed; `best` is nil without best weights.
struct Commit {
  std::string stem;
  Value info, best;
};

Commit verified(const fs::path& folder, const fs::path& path, bool with_best) {
  const auto check_file = [&](const Value& info) { check_hash(folder / info["file"].string(), info["hash"].string()); };
  Commit commit{.stem = path.stem().string(), .info = read_commit(path), .best = {}};
  check_file(commit.info);
  if (const Value& kept = commit.info["kept"]; kept.is_map()) {
    for (const auto& [name, hash] : kept.map()) check_hash(kept_file(folder, name), hash.string());
  }
  if (const Value& stem = commit.info["best_weights"]; stem.is_string() && with_best) {
    commit.best = read_commit(folder / (stem.string() + ".json"));
    check_file(commit.best);
  }
  return commit;
}

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
    verified(folder, path, false);
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
        Commit commit = verified(folder, path, with_best);
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
  return all.empty() ? 0 : std::stoll(all.front().stem().string().substr(std::string_view("last-").size()));
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
    write_atomic(to / (stem + ".json"), to_json(sealed(info), 1) + "\n");
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
  write_atomic(folder_ / (stem + ".json"), to_json(sealed(std::move(info)), 1) + "\n", folder_sync);
}

std::string CheckpointFolder::keep(const std::string& name, const NamedTensors& tensors) const {
  return save_safetensors(kept_file(folder_, name), tensors);
}

NamedTensors CheckpointFolder::kept(const std::string& name) const {
  return load_safetensors(kept_file(folder_, name)).tensors;
}

void CheckpointFolder::commit_best(const BestWeights& best) { write_best(best, FolderSync::now); }

void CheckpointFolder::write_best(const BestWeights& best, FolderSync folder_sync) {
  if (best_on_disk_ == best.step) return;
  Value info;
  info.set("format", 1);
  info.set("step", best.step);
  commit_file(stem_of("best", best.step), best.tensors, std::move(info), folder_sync);
  best_on_disk_ = best.step;
}

void CheckpointFolder::commit(const Checkpoint& checkpoint) {
  Value info = checkpoint.info;
  info.set("format", 1);
  info.set("step", checkpoint.step);
  if (checkpoint.best) {
    write_best(*checkpoint.best, FolderSync::with_next_file);
    info.set("best_weights", stem_of("best", checkpoint.best->step));
  }
  if (!checkpoint.kept.empty()) info.set("kept", Value::Map(checkpoint.kept.begin(), checkpoint.kept.end()));
  const std::string stem = stem_of("last", checkpoint.step);
  commit_file(stem, checkpoint.tensors, std::move(info));
  remove_old(stem);
}

void CheckpointFolder::remove_old(const std::string& newest) const {
  std::set<std::string> keep{newest};
  const std::vector<fs::path> all = commits(folder_);
  for (std::size_t i = 0; i < all.size() && i < kept_checkpoints; ++i) keep.insert(all[i].stem().string());
  for (const fs::path& commit : all) {
    if (!keep.contains(commit.stem().string())) continue;
    try {
      const Value best = read_commit(commit)["best_weights"];
      if (best.is_string()) keep.insert(best.string());
    } catch (const Error&) {
      // The commit may name best weights, and may be readable another time: all stays until it is an older one.
      return;
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
  return load(folder, verified(folder, all.front(), true));
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
