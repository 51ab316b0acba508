#include "trainings/ended_trainings.h"

#include <charconv>
#include <set>
#include <vector>

#include "cli/requests.h"
#include "core/error.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/latest.h"
#include "run/manifest.h"
#include "trainings/seeded_runs.h"

namespace trainlab::cli {

namespace fs = std::filesystem;
using report::shown_path;

namespace {

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(manifest_path(folder), ignored);
}

// Each folder once, by its own name: `promote` leaves a link `current` beside the runs, to one of these.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::set<fs::path> seen;
  for (const bool of_links : {false, true}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      std::error_code ignored;
      if (entry.is_symlink() != of_links || !entry.is_directory(ignored)) continue;
      if (seen.insert(fs::canonical(entry.path(), ignored)).second) folders.push_back(entry.path());
    }
  }
  return folders;
}

void add_fit(EndedTrainings& all, const fs::path& run) {
  const StageRecord stage = find_stage(run, std::nullopt);
  if (stage.kind != "fit") {
    throw usage_error("expected runs of a fit, found the " + stage.kind + " in " + shown_path(run));
  }
  const Manifest manifest = read_manifest(run);
  if (!all.run.empty()) {
    const Manifest first = read_manifest(all.run);
    if (first.recipe_hash() != manifest.recipe_hash() || first.parameters != manifest.parameters ||
        first.setting("set") != manifest.setting("set")) {
      throw usage_error(shown_path(all.run) + " and " + shown_path(run) +
                        " are runs of different recipes or parameters")
          .hint("put the runs of each recipe into a folder of their own");
    }
  } else {
    all.run = run;
  }
  const std::int64_t seed = manifest.setting("seed").integer();
  const auto [other, is_new] = all.by_seed.emplace(seed, stage.folder);
  if (!is_new) {
    throw usage_error(shown_path(other->second) + " and " + shown_path(run) + " have the same seed, " +
                      std::to_string(seed))
        .hint("each training has a seed of its own: --seed N");
  }
}

// Adds all members, including those that the ensemble has not kept, because the best of many members are not typical of
// a recipe.
void add_members(EndedTrainings& all, const fs::path& run, const fs::path& stage) {
  all.run = run;
  all.is_ensemble = true;
  std::error_code ignored;
  if (!fs::exists(stage / "trials", ignored)) {
    throw usage_error("the ensemble in " + shown_path(run) + " has trained no members");
  }
  for (const fs::path& trial : folders_in(stage / "trials")) {
    const std::string name = trial.filename().string();
    std::int64_t number = 0;
    const auto [rest, code] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (code != std::errc() || rest != name.data() + name.size()) continue;  // not the folder of a trial
    if (fs::exists(trial / "seed-1", ignored)) all.by_seed.emplace(number + 1, trial / "seed-1");
  }
}

// Whether the run in the folder of a plan that has ended is one that the end of the plan's time has stopped, and that
// the plan leaves out.
bool is_left_out(const fs::path& plan, const fs::path& run) {
  if (asked_in(plan)["has_ended"] != Value(true)) return false;
  const Value summary = read_summary(run);
  return summary.is_nil() || summary["status"] == Value("interrupted");
}

void add_folder(EndedTrainings& all, const std::string& given) {
  const fs::path folder = with_latest(absolute_path(given));
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) throw usage_error("there is no folder " + given);
  if (is_run(folder)) {
    const StageRecord stage = find_stage(folder, std::nullopt);
    if (stage.kind == "ensemble") {
      add_members(all, folder, stage.folder);
    } else {
      add_fit(all, folder);
    }
    return;
  }
  for (const fs::path& below : folders_in(folder)) {
    if (is_run(below) && !is_left_out(folder, below)) add_fit(all, below);
  }
}

}  // namespace

EndedTrainings ended_trainings(std::span<const std::string> words) {
  EndedTrainings all;
  for (const std::string& word : words) {
    const std::size_t before = all.by_seed.size();
    add_folder(all, word);
    if (all.is_ensemble && words.size() > 1) throw usage_error("an ensemble is read alone, without other runs");
    if (all.by_seed.size() == before) {
      throw usage_error("there are no runs in " + word).hint("`trainlab list` shows the runs below this folder");
    }
  }
  return all;
}

}  // namespace trainlab::cli
