#include "core/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <system_error>
#include <utility>

#include "core/as_error.h"
#include "core/error.h"
#include "core/host.h"
#include "core/reader.h"
#include "core/reading.h"
#include "core/temporaries.h"

namespace trainlab {

namespace fs = std::filesystem;

int FileCalls::open(const fs::path& path, int flags, int mode) { return ::open(path.c_str(), flags, mode); }
std::int64_t FileCalls::write(int fd, std::string_view bytes) { return ::write(fd, bytes.data(), bytes.size()); }
int FileCalls::sync(int fd) { return ::fsync(fd); }
int FileCalls::close(int fd) { return ::close(fd); }
int FileCalls::rename(const fs::path& from, const fs::path& to) { return ::rename(from.c_str(), to.c_str()); }
int FileCalls::remove(const fs::path& path) { return ::remove(path.c_str()); }
int FileCalls::make_directory(const fs::path& path) { return ::mkdir(path.c_str(), 0777); }
int FileCalls::truncate(const fs::path& path, std::int64_t length) { return ::truncate(path.c_str(), length); }
int FileCalls::reserve(int fd, std::int64_t offset, std::int64_t bytes) {
  errno = ::posix_fallocate(fd, offset, bytes);
  return errno == 0 ? 0 : -1;
}

Error file_failure(const std::string& operation, const fs::path& path) {
  const int code = errno;
  std::string message = "cannot " + operation + " " + path.string() + ": " + std::strerror(code);
  switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
      return run_error("disk full or failing: " + message)
          .hint("everything saved before is intact: free space, then resume the run");
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOENT:
    case ENOTDIR: return usage_error(std::move(message));
    default: return run_error(std::move(message));
  }
}

namespace {

FileCalls system_calls;
std::atomic<FileCalls*> current_calls{&system_calls};

void write_all(int fd, const fs::path& path, std::string_view bytes) {
  while (!bytes.empty()) {
    errno = ENOSPC;  // for a device that takes nothing and gives no reason
    const std::int64_t written = file_calls().write(fd, bytes);
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      throw file_failure("write", path);
    }
  }
}

void sync_all(int fd, const fs::path& path) {
  while (file_calls().sync(fd) != 0) {
    // EINVAL: a file system that cannot sync this (a folder, a pipe).
    if (errno == EINVAL) return;
    if (errno != EINTR) throw file_failure("sync", path);
  }
}

// A descriptor open for writing; one that close() has not closed is on its way out of a failure.
class Descriptor {
 public:
  Descriptor(int fd, const fs::path& path) : fd_(fd), path_(path) {}
  ~Descriptor() {
    if (fd_ >= 0) file_calls().close(fd_);
  }
  Descriptor(const Descriptor&) = delete;

  void close() {
    // After EINTR Linux has closed it; a second call could close another thread's file.
    if (file_calls().close(std::exchange(fd_, -1)) != 0 && errno != EINTR) throw file_failure("close", path_);
  }

 private:
  int fd_;
  const fs::path& path_;
};

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

// "a pipe", "a socket" or "a device" where one lies at the path; else null.
const char* special_file(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return nullptr;  // opening says why
  if (S_ISFIFO(status.st_mode)) return "a pipe";
  if (S_ISSOCK(status.st_mode)) return "a socket";
  return S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode) ? "a device" : nullptr;
}

// Raises Error{recipe} where a file would take the place of a pipe, a device or a socket.
void check_replaces_no_special_file(const fs::path& path) {
  const char* const found = special_file(path);
  if (!found) return;
  throw recipe_error("cannot write " + path.string() + ": expected a regular file or nothing, found " + found)
      .hint("a file takes the place of what is there; name another path");
}

// Opens a new file beside `path`. Names that an earlier process of the same id has left are passed over.
std::pair<int, fs::path> open_temporary(const fs::path& path) {
  while (true) {
    fs::path temporary = next_temporary(folder_of(path) / path.filename());
    const int fd = file_calls().open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return {fd, std::move(temporary)};
    if (errno != EEXIST && errno != EINTR) throw file_failure("create", path);
  }
}

}  // namespace

void sync_folder(const fs::path& folder) {
  const int fd = file_calls().open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) throw file_failure("open the folder", folder);
  Descriptor descriptor(fd, folder);
  sync_all(fd, folder);
  descriptor.close();
}

Error as_error(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&exception)) return run_error("out of memory").lacking_memory();
  if (const auto* error = dynamic_cast<const fs::filesystem_error*>(&exception); error && !error->path1().empty()) {
    errno = error->code().value();
    return file_failure("use", error->path1());
  }
  if (const auto* error = dynamic_cast<const std::system_error*>(&exception)) {
    if (error->code() != std::errc::resource_unavailable_try_again)
      return run_error("the system refused a call: " + error->code().message());
    return run_error("the system gives no further thread: " + error->code().message())
        .hint("end other programs, or raise the limit of processes: ulimit -u, or that of the container");
  }
  return run_error(std::string("internal error: ") + exception.what());
}

FileCalls& file_calls() { return *current_calls; }

ScopedFileCalls::ScopedFileCalls(FileCalls& calls) : before_(current_calls.exchange(&calls)) {}

ScopedFileCalls::~ScopedFileCalls() { current_calls = before_; }

void write_atomic(const fs::path& path, const std::function<void(const Append&)>& write, FolderSync folder_sync) {
  check_replaces_no_special_file(path);
  const auto [fd, temporary] = open_temporary(path);
  try {
    Descriptor file(fd, path);
    write([&, out = fd](std::string_view bytes) { write_all(out, path, bytes); });
    sync_all(fd, path);
    file.close();
    if (file_calls().rename(temporary, path) != 0) throw file_failure("rename a finished temporary to", path);
  } catch (...) {
    file_calls().remove(temporary);
    throw;
  }
  if (folder_sync == FolderSync::now) sync_folder(folder_of(path));
}

void write_atomic(const fs::path& path, std::span<const std::string_view> parts, FolderSync folder_sync) {
  write_atomic(
      path,
      [&](const Append& append) {
        for (const std::string_view part : parts) append(part);
      },
      folder_sync);
}

void write_atomic(const fs::path& path, std::string_view bytes, FolderSync folder_sync) {
  write_atomic(path, std::span(&bytes, 1), folder_sync);
}

void check_regular(const fs::path& path) {
  const char* const found = special_file(path);
  if (!found) return check_reading(path);
  throw recipe_error("cannot read " + path.string() + ": expected a regular file, found " + found)
      .hint("write what it gives into a file first");
}

std::string unusual_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? "the folder " : "a pipe, device or socket: ";
}

std::string read_file(const fs::path& path, std::int64_t limit) {
  FileReader reader(path);
  const auto memory = static_cast<std::size_t>(usable_memory());
  const std::size_t expected = reader.expected_size();
  if (expected >= memory && static_cast<std::size_t>(limit) >= memory) {
    throw recipe_error("cannot read " + path.string() + ": its " + std::to_string(expected) +
                       " bytes are more than the memory of this machine, " + std::to_string(memory) + " bytes");
  }
  const std::size_t most = std::min(static_cast<std::size_t>(limit), memory);
  std::string bytes;
  std::size_t size = 0;
  // One byte more than expected: then the end shows in the same call.
  for (std::size_t room = expected + 1; size <= most; room = std::size_t{1} << 16) {
    room = std::min(room, most + 1 - size);
    bytes.resize(size + room);
    const std::size_t got = reader.read({bytes.data() + size, room});
    size += got;
    if (got < room) break;
  }
  if (size > most) {
    throw recipe_error("cannot read " + path.string() + ": expected at most " + std::to_string(most) + " bytes");
  }
  bytes.resize(size);
  return bytes;
}

std::string first_bytes(const fs::path& path, std::size_t most) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  std::string bytes(most, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file) throw usage_error("cannot read " + path.string() + ": " + std::strerror(errno));
  file.read(bytes.data(), static_cast<std::streamsize>(most));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

void check_output(const std::string& flag, const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw usage_error("expected a file, found the folder " + path.string()).in(flag);
  try {
    check_replaces_no_special_file(path);
    const auto [fd, temporary] = open_temporary(path);
    file_calls().close(fd);
    file_calls().remove(temporary);
  } catch (const Error& error) {
    throw usage_error(error.message()).in(flag).hint(error.hint());
  }
}

std::optional<std::string> output_failure(const std::string& flag, const std::function<void()>& write) {
  try {
    write();
    return std::nullopt;
  } catch (const std::exception& exception) {
    return flag + ": " + as_error(exception).headline();
  }
}

void make_directories(const fs::path& path) {
  std::error_code ignored;  // what cannot be looked at cannot be made either, and then says why
  if (path.empty() || fs::is_directory(path, ignored)) return;
  make_directories(path.parent_path());
  if (file_calls().make_directory(path) == 0) {
    sync_folder(folder_of(path));
    return;
  }
  const int code = errno;
  if (code == EEXIST && fs::is_directory(path, ignored)) return;  // another process was faster
  errno = code == EEXIST ? ENOTDIR : code;
  throw file_failure("make the folder", path);
}

void remove_file(const fs::path& path) {
  if (file_calls().remove(path) != 0 && errno != ENOENT) throw file_failure("remove", path);
}

bool rename_folder(const fs::path& from, const fs::path& to) {
  if (file_calls().rename(from, to) == 0) return true;
  if (errno == ENOENT) return false;
  throw file_failure("rename " + from.string() + " to", to);
}

void truncate_file(const fs::path& path, std::int64_t length) {
  if (file_calls().truncate(path, length) != 0) throw file_failure("shorten", path);
}

AppendFile::AppendFile(const fs::path& path) : path_(path) {
  fd_ = file_calls().open(path_, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ < 0) throw file_failure("open", path_);
  size_ = ::lseek(fd_, 0, SEEK_END);
  if (size_ > 0) return;
  try {
    sync_folder(folder_of(path_));  // it may be new
  } catch (...) {
    file_calls().close(fd_);
    throw;
  }
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) file_calls().close(fd_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      is_synced_(other.is_synced_) {}

void AppendFile::append(std::string_view bytes) {
  is_synced_ = false;
  try {
    write_all(fd_, path_, bytes);
  } catch (...) {
    file_calls().truncate(path_, size_);
    throw;
  }
  size_ += static_cast<std::int64_t>(bytes.size());
}

void AppendFile::sync() {
  if (is_synced_) return;
  sync_all(fd_, path_);
  is_synced_ = true;
}

}  // namespace trainlab
