#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/temporaries.h"
#include "run/folder.h"
#include "run/latest.h"
#include "run/manifest.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

Error cannot(const std::string& what, const fs::path& path, int code) {
  const std::string message = "cannot " + what + " " + path.string() + ": " + std::strerror(code);
  const bool full = code == ENOSPC || code == EDQUOT || code == EIO;
  return full ? run_error(message) : usage_error(message);
}

// The lowest folder on the way to `path` that exists.
fs::path existing_part(fs::path path) {
  std::error_code ignored;
  while (!fs::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  return path;
}

struct flock whole_file(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string lock_text(const fs::path& path) {
  try {
    std::string text = read_file(path, 4096);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (!text.empty()) return text;
  } catch (const Error&) {
  }
  return "another process";  // which has not written its name yet
}

// "host 1234" → "process 1234 on host".
std::string spoken(const std::string& text) {
  const std::size_t space = text.rfind(' ');
  if (space == std::string::npos || text == "another process") return text;
  return "process " + text.substr(space + 1) + " on " + text.substr(0, space);
}

// Whether an entry of a run folder may be left over from a run that ended before its manifest was written.
bool is_left_over(const fs::path& entry) {
  const std::string name = entry.filename().string();
  return name == "lock" || name == "recipe" || name == "log.txt" || is_temporary(entry);
}

// The highest number of a run in `folder`, 0 where there is none. A run there to which a link leads counts though it is
// gone: under its number, another run would take its place without having been promoted.
int last_number(const fs::path& folder) {
  int last = 0;
  std::error_code ignored;
  const auto count = [&last](const fs::path& name) { last = std::max(last, run_number(name.string()).value_or(0)); };
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    count(entry.path().filename());
    if (!entry.is_symlink(ignored)) continue;
    const fs::path run = (folder / fs::read_symlink(entry.path(), ignored)).lexically_normal();
    if (run.parent_path() == folder.lexically_normal()) count(run.filename());
  }
  return last;
}

}  // namespace

void remove_temporaries(const fs::path& run) {
  std::vector<fs::path> left;
  std::error_code failed;
  for (fs::recursive_directory_iterator it(run, failed), end; !failed && it != end; it.increment(failed)) {
    if (is_abandoned_temporary(it->path())) left.push_back(it->path());
  }
  for (const fs::path& path : left) file_calls().remove(path);
}

std::optional<int> run_number(const std::string& name) {
  const bool is_number = name.size() >= 3 && name.size() <= 9 &&
                         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? std::optional(std::stoi(name)) : std::nullopt;
}

void check_outside_runs(const fs::path& folder) {
  std::error_code ignored;
  const fs::path named = fs::absolute(folder).lexically_normal();
  const fs::path meant = with_latest(named, [](const fs::path& runs) {
    const fs::path run = latest_run(runs);
    return run.empty() ? runs / "latest" : run;
  });
  if (meant != named) {
    throw usage_error("no run can begin in " + named.string() + ", which stands for " + meant.string())
        .hint("choose another --out");
  }
  // Where symbolic links lead, as far as the path exists.
  const fs::path real = fs::weakly_canonical(named, ignored);
  const std::optional<fs::path> run = run_around((real.empty() ? named : real).parent_path());
  if (!run) return;
  throw usage_error("no run can begin in " + named.string() + ", which lies in the run " + run->string())
      .hint("choose another --out, or start the command in a folder outside of runs");
}

RunFolder::RunFolder(fs::path path, fs::path root) : path_(std::move(path)), root_(std::move(root)) {}

RunFolder RunFolder::allocate(const fs::path& base, const std::string& name) {
  const fs::path parent = base / "runs" / name;
  check_outside_runs(parent / "001");
  const fs::path root = existing_part(parent);
  while (true) {
    make_directories(parent);
    std::array<char, 16> number{};
    std::snprintf(number.data(), number.size(), "%03d", last_number(parent) + 1);
    const fs::path path = parent / number.data();
    if (file_calls().make_directory(path) == 0) {
      RunFolder folder(path, root);
      folder.lock();
      return folder;
    }
    // Another run has taken the number, or has ended without a trace and taken `parent` away.
    if (errno != EEXIST && errno != ENOENT) throw cannot("make the folder", path, errno);
  }
}

RunFolder RunFolder::open(const fs::path& given) {
  const fs::path path = fs::absolute(given).lexically_normal();
  std::error_code ignored;
  if (!fs::exists(manifest_path(path), ignored)) check_outside_runs(path);
  fs::path root = existing_part(path);
  if (root == path) root.clear();
  make_directories(path);
  RunFolder folder(path, root);
  folder.lock();
  folder.check();
  remove_temporaries(folder.path_);
  return folder;
}

void RunFolder::lock() {
  const fs::path path = path_ / "lock";
  struct stat held = {};
  struct stat named = {};
  do {
    if (fd_ >= 0) file_calls().close(std::exchange(fd_, -1));
    fd_ = file_calls().open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) throw cannot("write into the run folder", path_, errno);
    struct flock lock = whole_file(F_WRLCK);
    if (::fcntl(fd_, F_OFD_SETLK, &lock) != 0) {
      const int code = errno;
      file_calls().close(std::exchange(fd_, -1));
      if (code != EAGAIN && code != EACCES) throw cannot("lock", path, code);
      throw usage_error("the run folder " + path_.string() + " is in use by " + spoken(lock_text(path)))
          .hint("wait until that process ends; a new run may have another folder");
    }
    // Until the lock was ours, its former holder may have removed the file.
  } while (::fstat(fd_, &held) != 0 || ::stat(path.c_str(), &named) != 0 || held.st_ino != named.st_ino);

  const std::string text = holder_name(::getpid()) + "\n";
  if (file_calls().truncate(path, 0) != 0 || file_calls().write(fd_, text) < 0) throw cannot("write", path, errno);
}

void RunFolder::check() {
  std::error_code ignored;
  existed_ = fs::exists(manifest_path(path_), ignored);
  if (existed_) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
    if (is_left_over(entry.path())) continue;
    const std::string found = entry.path().filename().string();
    throw usage_error("the folder " + path_.string() + " is not empty and not a run folder: it holds " + found)
        .hint("choose another --out");
  }
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      root_(std::exchange(other.root_, {})),
      existed_(other.existed_),
      fd_(std::exchange(other.fd_, -1)) {}

RunFolder::~RunFolder() {
  if (fd_ < 0) return;
  std::error_code ignored;
  if (!fs::exists(manifest_path(path_), ignored) && !root_.empty()) {
    fs::remove_all(path_, ignored);
    for (fs::path parent = path_.parent_path(); parent != root_ && ::rmdir(parent.c_str()) == 0;) {
      parent = parent.parent_path();
    }
  } else if (fs::exists(manifest_path(path_), ignored)) {
    remove_temporaries(path_);
    file_calls().truncate(path_ / "lock", 0);
  } else {
    file_calls().remove(path_ / "lock");
  }
  file_calls().close(fd_);
}

std::string holder_name(std::int64_t process) { return host_name() + " " + std::to_string(process); }

std::optional<std::string> holder(const fs::path& run) {
  const fs::path path = run / "lock";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct flock lock = whole_file(F_RDLCK);
  const bool asked = ::fcntl(fd, F_OFD_GETLK, &lock) == 0;
  ::close(fd);
  if (!asked || lock.l_type == F_UNLCK) return std::nullopt;
  return lock_text(path);
}

}  // namespace trainlab
