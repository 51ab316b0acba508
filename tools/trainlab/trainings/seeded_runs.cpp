#include "trainings/seeded_runs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "run/folder.h"

namespace trainlab::cli {

namespace fs = std::filesystem;

std::vector<fs::path> numbered(const fs::path& parent) {
  std::vector<fs::path> all;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    if (run_number(entry.path().filename().string())) all.push_back(entry.path());
  }
  std::ranges::sort(all, {}, [](const fs::path& path) { return *run_number(path.filename().string()); });
  return all;
}

fs::path made_folder(const fs::path& parent) {
  make_directories(parent);
  const std::vector<fs::path> before = numbered(parent);
  for (int number = before.empty() ? 1 : *run_number(before.back().filename().string()) + 1;; ++number) {
    std::array<char, 16> name{};
    std::snprintf(name.data(), name.size(), "%03d", number);
    const fs::path folder = parent / name.data();
    if (file_calls().make_directory(folder) == 0) return folder;
    if (errno != EEXIST) throw usage_error("cannot make the folder " + folder.string() + ": " + std::strerror(errno));
  }
}

Outcome train_with_seed(Request request, const fs::path& folder, std::int64_t seed) {
  request.command = "run";
  request.options.set("out", folder.string());
  request.options.set("seed", seed);
  request.options.set("quiet", true);
  return Supervisor(Supervisor::find_engine()).run(std::move(request));
}

bool has_trained(const Outcome& outcome) { return outcome.code == 0 || (outcome.code == 3 && !outcome.error); }

}  // namespace trainlab::cli
