#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "columns.h"
#include "core/error.h"
#include "core/words.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "run/stage_files.h"

namespace trainlab::report {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    // A link beside runs, such as `current`, leads to one of them.
    if (entry.is_directory(failed) && !entry.is_symlink(failed)) folders.push_back(entry.path());
  }
  return folders;
}

// Whether the small files of all stages are whole: a list of many runs reads no weights.
bool is_whole(const fs::path& run) {
  return std::ranges::all_of(read_stages(run), [&](const StageRecord& stage) {
    return damages_of_stage(stage_path(run, stage.folder), stage.kind).empty();
  });
}

struct Listed {
  fs::path run;
  std::string status, started;
  Value summary;
};

Listed look_at(const fs::path& run) {
  Listed listed{run, "", "", {}};
  try {
    listed.started = read_manifest(run).started;
    listed.summary = read_summary(run);
    // Without a summary it was killed before it could write one.
    listed.status = holder(run)               ? "running"
                    : listed.summary.is_nil() ? "unfinished"
                                              : listed.summary["status"].string();
    if (listed.status != "running" && !is_whole(run)) listed.status = "damaged";
  } catch (const Error&) {
    listed.status = "damaged";
  }
  return listed;
}

// The depth of DIR/runs/NAME/NNN, which `list .` must find too.
constexpr int deepest = 3;

void find_runs(const fs::path& folder, int depth, std::set<fs::path>& runs) {
  std::error_code ignored;
  if (fs::exists(manifest_path(folder), ignored)) {
    runs.insert(folder);
  } else if (depth < deepest) {
    for (const fs::path& below : folders_in(folder)) {
      if (!below.filename().string().starts_with('.')) find_runs(below, depth + 1, runs);
    }
  }
}

std::vector<Listed> all(const std::vector<fs::path>& folders) {
  std::set<fs::path> found;
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) throw usage_error("there is no folder " + folder.string());
    find_runs((fs::absolute(folder) / "").lexically_normal().parent_path(), 0, found);
  }
  if (folders.empty()) find_runs(fs::absolute("runs"), 0, found);
  std::vector<Listed> runs;
  for (const fs::path& run : found) runs.push_back(look_at(run));
  std::sort(runs.begin(), runs.end(),
            [](const Listed& a, const Listed& b) { return std::pair(a.started, a.run) < std::pair(b.started, b.run); });
  return runs;
}

}  // namespace

std::string list_text(const std::vector<fs::path>& folders) {
  std::vector<std::vector<std::string>> rows = {{"run", "status", "started", "best"}};
  for (const Listed& listed : all(folders)) {
    const Value& best = listed.summary["best"];
    std::string text;
    if (best["value"].is_number()) {
      // A sweep says it once, for all of its trials.
      const Value& metric = best["metric"].is_nil() ? listed.summary["metric"] : best["metric"];
      if (metric.is_string()) text = metric.string() + " ";
      text += short_number(best["value"].number());
    }
    rows.push_back({shown_line(listed.run), listed.status, listed.started, text});
  }
  if (rows.size() == 1) {
    const std::string where = joined(folders, ", ", [](const fs::path& folder) { return folder.string(); });
    return folders.empty() ? "There are no runs in runs/ of this folder; `trainlab list DIR` looks into another.\n"
                           : "There are no runs in " + where + ".\n";
  }
  return columns(rows, {false, false, false, false});
}

Value list_value(const std::vector<fs::path>& folders) {
  Value::List runs;
  for (const Listed& listed : all(folders)) {
    runs.push_back(Value::Map{{"run", listed.run.string()},
                              {"status", listed.status},
                              {"started", listed.started},
                              {"best", listed.summary["best"]}});
  }
  return Value::Map{{"runs", std::move(runs)}};
}

}  // namespace trainlab::report
