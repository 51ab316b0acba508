#include "trials/trial_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/files.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view attempt_prefix = "attempt-", repeat_prefix = "seed-";

std::string attempt_name(std::int64_t attempt) { return fmt::format("{}{}", attempt_prefix, attempt); }

// Entries of a folder, which need not exist, whose names begin so.
std::vector<std::string> names_in(const fs::path& folder, std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (std::string name = entry.path().filename(); name.starts_with(prefix)) names.push_back(std::move(name));
  }
  return names;
}

// The attempts that have a folder, the newest first. Other names that begin alike are nobody's attempt.
std::vector<std::int64_t> attempts_in(const fs::path& folder) {
  std::vector<std::int64_t> attempts;
  for (const std::string& name : names_in(folder, attempt_prefix)) {
    const std::int64_t attempt = std::atoll(name.c_str() + attempt_prefix.size());
    if (attempt_name(attempt) == name) attempts.push_back(attempt);
  }
  std::ranges::sort(attempts, std::greater());
  return attempts;
}

// Gives the folder of the newest attempt before this one the number of this attempt. False when there was such a
// folder and an attempt in between has given it another number meanwhile.
bool rename_earlier(const fs::path& folder, std::int64_t attempt) {
  for (const std::int64_t other : attempts_in(folder)) {
    if (other < attempt) return rename_folder(folder / attempt_name(other), folder / attempt_name(attempt));
  }
  return true;
}

// The process of the attempt before may go on writing into files that it has open. metrics.jsonl and event files, which
// lie beside the folders of files that are replaced whole, go on as copies.
void part_from_writers(const fs::path& repeat) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(repeat)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  for (const fs::path& file : files) {
    if (file.extension() == ".tmp") {
      remove_file(file);
    } else {
      write_atomic(file, read_file(file));
    }
  }
}

}  // namespace

TrialFolder::TrialFolder(const fs::path& stage, std::int64_t trial)
    : folder_(stage / "trials" / fmt::format("{:04}", trial)) {}

fs::path TrialFolder::ended(std::int64_t repeat) const { return folder_ / fmt::format("{}{}", repeat_prefix, repeat); }

fs::path TrialFolder::under_way(std::int64_t attempt, std::int64_t repeat) const {
  return folder_ / attempt_name(attempt) / fmt::format("{}{}", repeat_prefix, repeat);
}

void TrialFolder::take_over(std::int64_t attempt, const std::function<void()>& confirm) const {
  if (!fs::exists(folder_)) return;  // as of most trials, whose first attempt this is
  const fs::path own = folder_ / attempt_name(attempt);
  // The next attempt renames `own` before it does anything else. So `own` is gone when the lease is lost after it was
  // confirmed, and the files of a trial that has ended meanwhile, or goes on elsewhere, cannot be taken away.
  const auto take = [&](const fs::path& from) {
    const std::vector<std::string> repeats = names_in(from, repeat_prefix);
    if (repeats.empty()) return;
    make_directories(own);
    confirm();
    for (const std::string& repeat : repeats) {
      if (!fs::exists(own / repeat)) rename_folder(from / repeat, own / repeat);
    }
  };
  if (names_in(own, repeat_prefix).empty()) {
    while (!rename_earlier(folder_, attempt)) {
    }
  } else {
    // A study that was put back to an earlier state has left files under this number. The processes of attempts before
    // are not to find their folders either.
    for (const std::int64_t other : attempts_in(folder_)) {
      const fs::path aside = own / attempt_name(other);
      if (other >= attempt || !rename_folder(folder_ / attempt_name(other), aside)) continue;
      take(aside);
      std::error_code ignored;
      fs::remove_all(aside, ignored);
    }
  }
  // Runs of versions that knew no attempts have the files of trials that have not ended here.
  take(folder_);
  // A study that was put back to an earlier state counts attempts again.
  for (const std::int64_t other : attempts_in(folder_)) {
    if (other > attempt) take(folder_ / attempt_name(other));
  }
  for (const std::string& repeat : names_in(own, repeat_prefix)) part_from_writers(own / repeat);
}

void TrialFolder::settle(std::int64_t attempt) const {
  const std::vector<std::int64_t> attempts = attempts_in(folder_);
  if (attempts.empty()) return;  // settled before
  const std::string own = attempt_name(attempt);
  for (const std::string& repeat : names_in(folder_ / own, repeat_prefix))
    rename_folder(folder_ / own / repeat, folder_ / repeat);
  std::error_code ignored;  // what a process that comes late adds meanwhile is removed another time
  for (const std::int64_t other : attempts) {
    if (other == attempt) {
      fs::remove(folder_ / own, ignored);  // only when it is empty
    } else {
      fs::remove_all(folder_ / attempt_name(other), ignored);
    }
  }
}

}  // namespace trainlab
