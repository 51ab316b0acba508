#include "run/latest.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "run/folder.h"
#include "run/manifest.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

fs::path latest_but(const fs::path& runs, const fs::path& other) {
  std::map<int, fs::path, std::greater<>> numbered;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(runs, ignored)) {
    const auto number = run_number(entry.path().filename().string());
    if (number && entry.path() != other) numbered.emplace(*number, entry.path());
  }
  for (const auto& [number, run] : numbered) {
    if (fs::exists(manifest_path(run), ignored) && is_finished(read_summary(run))) return run;
  }
  return {};
}

}  // namespace

fs::path latest_run(const fs::path& runs) { return latest_but(runs, {}); }

fs::path latest_beside(const fs::path& run) { return latest_but(run.parent_path(), run); }

fs::path with_latest(const fs::path& path, const std::function<fs::path(const fs::path& runs)>& find) {
  if (std::ranges::find(path, fs::path("latest")) == path.end()) return path;
  fs::path resolved;
  for (const fs::path& part : path) {
    std::error_code ignored;
    if (part != "latest" || fs::exists(fs::symlink_status(resolved / part, ignored))) {
      resolved /= part;
      continue;
    }
    const fs::path run = find(resolved);
    if (run.empty()) {
      throw usage_error("no run in " + resolved.string() + " has ended yet, so that none is the latest")
          .hint("in a recipe, lab.latest \"NAME\" is nil before the first run of that name has ended");
    }
    resolved = run;
  }
  return resolved;
}

}  // namespace trainlab
