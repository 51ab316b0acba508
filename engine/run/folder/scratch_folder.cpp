#include "run/scratch_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "core/temporaries.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

// Whether the name is one that next_temporary() gives on this machine and in this container. `own` is such a name:
// .trainlab-profile.MACHINE.PID-N.tmp.
bool is_like(const std::string& name, const std::string& own) {
  constexpr const char* ending = ".tmp";
  const std::size_t mark = own.rfind('.', own.rfind('.') - 1) + 1;
  if (name.compare(0, mark, own, 0, mark) != 0 || !name.ends_with(ending)) return false;
  const std::string process = name.substr(mark, name.size() - mark - std::string(ending).size());
  const std::size_t dash = process.find('-');
  const auto are_digits = [](const std::string& text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return c >= '0' && c <= '9'; });
  };
  return dash != std::string::npos && are_digits(process.substr(0, dash)) && are_digits(process.substr(dash + 1));
}

constexpr const char* hint = "the environment variable TMPDIR names another folder for temporary files";

fs::path next_name(const fs::path& parent) { return next_temporary(parent / "trainlab-profile"); }

}  // namespace

void ScratchFolder::remove_abandoned() {
  std::error_code ignored;
  const fs::path parent = fs::temp_directory_path(ignored);
  const std::string own = next_name(parent).filename().string();
  for (fs::directory_iterator entry(parent, ignored), end; entry != end; entry.increment(ignored)) {
    const fs::path& path = entry->path();
    struct stat status {};
    if (!is_like(path.filename().string(), own) || !is_abandoned_temporary(path)) continue;
    if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) continue;
    fs::remove_all(path, ignored);
  }
}

ScratchFolder::ScratchFolder() {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  while (!failed) {
    path_ = next_name(parent);
    if (::mkdir(path_.c_str(), S_IRWXU) == 0) return;
    // A name that is taken was that of a killed process with the same number.
    if (errno != EEXIST) failed = {errno, std::generic_category()};
  }
  const char* given = ::getenv("TMPDIR");
  const std::string where = !parent.empty() ? parent.string() : given ? given : "/tmp";
  throw run_error("cannot make a folder for temporary files in " + where + ": " + failed.message()).hint(hint);
}

Error ScratchFolder::explained(Error error, const fs::path& folder) {
  if (error.kind() == ErrorKind::run && error.message().find(folder.string()) != std::string::npos) error.hint(hint);
  return error;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace trainlab
