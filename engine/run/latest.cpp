#include "run/latest.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "run/folder.h"
#include "run/manifest.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

// 7 for "007"; nothing for a name that is not a run's number.
std::optional<std::int64_t> number_of(const std::string& name) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = failed == std::errc() && end == name.data() + name.size() && number >= 0;
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace

fs::path latest_run(const fs::path& runs) {
  std::map<std::int64_t, fs::path> numbered;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(runs, ignored)) {
    if (const auto number = number_of(entry.path().filename().string())) numbered.emplace(*number, entry.path());
  }
  for (auto run = numbered.rbegin(); run != numbered.rend(); ++run) {
    if (fs::exists(manifest_path(run->second), ignored) && is_finished(read_summary(run->second))) return run->second;
  }
  return {};
}

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
