// Files: every byte that trainlab writes goes through one interface, so that tests can make the Nth call fail.
//
// Rules (DESIGN: "Files"): temporary + fsync + rename + directory fsync; whoever reads checks lengths and hashes.
// All functions raise Error naming the path, the operation and the system's reason; ENOSPC, EDQUOT, EFBIG and EIO are
// Error{run} ("disk full"), EACCES, EPERM, EROFS, ENOENT and ENOTDIR of a folder Error{usage}. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainlab {

// The system calls that write, each with the meaning and errno of its POSIX namesake (−1 and errno on failure).
class FileCalls {
 public:
  virtual ~FileCalls() = default;
  virtual int open(const std::filesystem::path& path, int flags, int mode);
  virtual std::int64_t write(int fd, std::string_view bytes);
  virtual int sync(int fd);
  virtual int close(int fd);
  virtual int rename(const std::filesystem::path& from, const std::filesystem::path& to);
  virtual int remove(const std::filesystem::path& path);
  virtual int make_directory(const std::filesystem::path& path);
  virtual int truncate(const std::filesystem::path& path, std::int64_t length);
  virtual int reserve(int fd, std::int64_t offset, std::int64_t bytes);  // posix_fallocate
};

FileCalls& file_calls();
// Replaces the calls for the life of the guard (tests only; not while other threads write).
class ScopedFileCalls {
 public:
  explicit ScopedFileCalls(FileCalls& calls);
  ~ScopedFileCalls();
  ScopedFileCalls(const ScopedFileCalls&) = delete;

 private:
  FileCalls* before_;
};

// When a new file's name becomes durable: before the call returns, or when the caller writes the next file to the same
// folder. After a loss of power the later file may be there and the earlier file not, so whoever reads the later file
// must notice that the earlier file is missing.
enum class FolderSync { now, with_next_file };

// Writes the parts one after the other to a temporary file beside `path`, syncs, renames, syncs the folder.
// Either the old or the new content is there afterwards, whatever fails. No part is copied. A process that is killed
// may leave its temporary behind: a hidden file whose name ends in ".tmp". Error{recipe} for the path of a pipe, a
// device or a socket, which a file must not replace.
void write_atomic(const std::filesystem::path& path, std::span<const std::string_view> parts,
                  FolderSync folder_sync = FolderSync::now);
void write_atomic(const std::filesystem::path& path, std::string_view bytes, FolderSync folder_sync = FolderSync::now);
// As above, for content that is made while it is written: `write` gives it piece by piece.
using Append = std::function<void(std::string_view bytes)>;
void write_atomic(const std::filesystem::path& path, const std::function<void(const Append&)>& write,
                  FolderSync folder_sync = FolderSync::now);

// Makes renames and new names in the folder durable.
void sync_folder(const std::filesystem::path& folder);

// Raises Error{recipe} when a pipe, a device or a socket is there, from which reading might wait or never end. Whoever
// opens a file that a user or a recipe names asks first.
void check_regular(const std::filesystem::path& path);
// "the folder " or "a pipe, device or socket: ", before the name of something that is there and is no regular file.
std::string unusual_file(const std::filesystem::path& path);

// Whole file. Raises Error{recipe} when missing, unreadable, not regular, longer than `limit` bytes or larger than the
// memory of this machine.
std::string read_file(const std::filesystem::path& path, std::int64_t limit = std::numeric_limits<std::int64_t>::max());

// The first `most` bytes of a file, or fewer where the file ends before; empty where there is no such file. Raises
// Error{usage} where the file cannot be read.
std::string first_bytes(const std::filesystem::path& path, std::size_t most);
// A file that a flag of the command line names for a result ("--html"). Asked before the work: Error{usage} that begins
// with the flag where no file of this path could be written now, and where a folder or a special file is there.
void check_output(const std::string& flag, const std::filesystem::path& path);
// Writes it after the work. A failure takes no result along: the function raises nothing, and returns a line that says
// what failed, for the end of the command, whose exit code is then that of ErrorKind::run.
std::optional<std::string> output_failure(const std::string& flag, const std::function<void()>& write);

// Makes the folders of the path that are missing, durably.
void make_directories(const std::filesystem::path& path);
void remove_file(const std::filesystem::path& path);  // no error where it does not exist
// Gives a folder another path on the same disk, in one step. False where it, or the folder that it is to lie in, does
// not exist. A power loss may take the step back.
bool rename_folder(const std::filesystem::path& from, const std::filesystem::path& to);
void truncate_file(const std::filesystem::path& path, std::int64_t length);

// A file that grows by whole records. append() writes unbuffered, in order, and takes back what a failed call has
// written of a record; sync() makes what was appended since the last sync() durable. Belongs to one thread.
class AppendFile {
 public:
  explicit AppendFile(const std::filesystem::path& path);  // made when missing, opened at its end
  ~AppendFile();
  AppendFile(AppendFile&&) noexcept;
  AppendFile(const AppendFile&) = delete;
  void append(std::string_view bytes);
  void sync();
  std::int64_t size() const { return size_; }

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  std::int64_t size_ = 0;
  bool is_synced_ = false;  // whoever wrote the file before may have been killed
};

// Hex BLAKE2b-256 of the bytes; of the file's bytes (streamed).
std::string hash_bytes(std::string_view bytes);
std::string hash_file(const std::filesystem::path& path);
// Hash of parts as if they were joined.
std::string hash_parts(std::span<const std::string_view> parts);

}  // namespace trainlab
