#include "core/reading.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>

#include "core/error.h"
#include "core/words.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

std::atomic<bool> reading_is_limited{false};
std::mutex reading_mutex;
std::vector<fs::path> read_folders, readable_roots;  // as --read says them; with what the process needs, links resolved

bool lies_below(const fs::path& folder, const fs::path& path) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// Links resolved as far as the path exists.
fs::path links_resolved(const fs::path& path) {
  std::error_code failed;
  fs::path plain = fs::weakly_canonical(fs::absolute(path), failed);
  if (failed) plain = fs::absolute(path).lexically_normal();
  return plain.has_filename() ? plain : plain.parent_path();  // "DIR/"
}

}  // namespace

void limit_reading(const std::vector<fs::path>& folders) {
  const std::lock_guard lock(reading_mutex);
  read_folders = folders;
  readable_roots.clear();
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) throw usage_error("--read: there is no folder " + folder.string());
    readable_roots.push_back(links_resolved(folder));
  }
  reading_is_limited = true;
}

void allow_reading(const fs::path& path) {
  if (!reading_is_limited) return;
  const std::lock_guard lock(reading_mutex);
  readable_roots.push_back(links_resolved(path));
}

void check_reading(const fs::path& path) {
  if (!reading_is_limited) return;
  const fs::path real = links_resolved(path);
  const std::lock_guard lock(reading_mutex);
  if (std::ranges::any_of(readable_roots, [&](const fs::path& folder) { return lies_below(folder, real); })) return;
  const bool is_link = real != fs::absolute(path).lexically_normal();
  throw recipe_error("cannot read " + path.string() + (is_link ? ", which is " + real.string() : "") +
                     ": expected a path in the folders of --read, found one outside")
      .hint("--read allows " + joined(read_folders, ", ", [](const fs::path& folder) { return folder.string(); }) +
            ", beside the folder of the recipe and that of the run");
}

}  // namespace trainlab
