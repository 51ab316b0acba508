#include <algorithm>
#include <filesystem>
#include <vector>

#include "cli/texts.h"
#include "columns.h"
#include "core/error.h"
#include "run/folder.h"
#include "run/manifest.h"

namespace trainlab::cli {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    if (entry.is_directory(failed)) folders.push_back(entry.path());
  }
  return folders;
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
  } catch (const Error&) {
    listed.status = "damaged";
  }
  return listed;
}

std::vector<Listed> all(const fs::path& folder) {
  std::vector<Listed> runs;
  for (const fs::path& name : folders_in(folder / "runs")) {
    for (const fs::path& run : folders_in(name)) {
      std::error_code ignored;
      if (fs::exists(manifest_path(run), ignored)) runs.push_back(look_at(run));
    }
  }
  std::sort(runs.begin(), runs.end(),
            [](const Listed& a, const Listed& b) { return std::pair(a.started, a.run) < std::pair(b.started, b.run); });
  return runs;
}

}  // namespace

std::string list_text(const fs::path& folder) {
  std::vector<std::vector<std::string>> rows = {{"run", "status", "started", "best"}};
  for (const Listed& listed : all(folder)) {
    const Value& best = listed.summary["best"];
    std::string text;
    if (best["value"].is_number()) {
      // A sweep says it once, for all of its trials.
      const Value& metric = best["metric"].is_nil() ? listed.summary["metric"] : best["metric"];
      if (metric.is_string()) text = metric.string() + " ";
      text += short_number(best["value"].number());
    }
    rows.push_back({listed.run.lexically_relative(folder).string(), listed.status, listed.started, text});
  }
  if (rows.size() == 1) return "There are no runs in " + (folder / "runs").string() + ".\n";
  return columns(rows, {false, false, false, false});
}

Value list_value(const fs::path& folder) {
  Value::List runs;
  for (const Listed& listed : all(folder)) {
    runs.push_back(Value::Map{{"run", listed.run.string()},
                              {"status", listed.status},
                              {"started", listed.started},
                              {"best", listed.summary["best"]}});
  }
  return Value::Map{{"runs", std::move(runs)}};
}

}  // namespace trainlab::cli
