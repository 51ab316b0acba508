#include "core/scratch_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/as_error.h"
#include "core/files.h"
#include "core/temporaries.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

fs::path nearest_folder(fs::path folder) {
  if (folder.empty()) return fs::temp_directory_path();
  std::error_code ignored;
  folder = fs::absolute(folder);
  while (!fs::is_directory(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

}  // namespace

ScratchFile::ScratchFile(const fs::path& folder) : folder_(nearest_folder(folder)) {}

ScratchFile::~ScratchFile() {
  for (const auto& [bytes, blocks] : free_) {
    for (const Block& block : blocks) ::munmap(block.address, static_cast<std::size_t>(bytes));
  }
  if (fd_ >= 0) file_calls().close(fd_);
}

void ScratchFile::open() {
  fd_ = file_calls().open(folder_, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ >= 0) return;
  // Not every file system makes files without names. There the name is given and taken away, and the folder's next
  // run removes the name of a process that was killed in between.
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) throw file_failure("make a file in", folder_);
  const fs::path name = next_temporary(folder_ / "scratch");
  fd_ = file_calls().open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd_ < 0) throw file_failure("make a file in", folder_);
  file_calls().remove(name);
}

ScratchFile::Block ScratchFile::take(std::int64_t bytes) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::lock_guard lock(mutex_);
  Block block{.offset = end_, .bytes = (bytes + page - 1) / page * page};
  std::vector<Block>& free = free_[block.bytes];
  if (!free.empty()) {
    block = free.back();
    free.pop_back();
    return block;
  }
  if (fd_ < 0) open();
  while (file_calls().reserve(fd_, block.offset, block.bytes) != 0) {
    if (errno != EINTR) throw file_failure("reserve " + std::to_string(bytes) + " bytes of a file in", folder_);
  }
  block.address = ::mmap(nullptr, static_cast<std::size_t>(block.bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                         static_cast<off_t>(block.offset));
  if (block.address == MAP_FAILED) throw file_failure("map a file into memory in", folder_);
  end_ += block.bytes;
  return block;
}

void ScratchFile::give_back(const Block& block) noexcept {
  const std::lock_guard lock(mutex_);
  free_[block.bytes].push_back(block);
}

void ScratchFile::read_ahead(const Block& block) noexcept {
  ::madvise(block.address, static_cast<std::size_t>(block.bytes), MADV_WILLNEED);
}

void ScratchFile::write_behind(const Block& block) const noexcept {
  ::sync_file_range(fd_, block.offset, block.bytes, SYNC_FILE_RANGE_WRITE);
  ::madvise(block.address, static_cast<std::size_t>(block.bytes), MADV_DONTNEED);
}

void ScratchFile::forget(const Block& block) const noexcept {
  ::madvise(block.address, static_cast<std::size_t>(block.bytes), MADV_DONTNEED);
  ::posix_fadvise(fd_, block.offset, block.bytes, POSIX_FADV_DONTNEED);
}

void ScratchFile::check() const {
  if (fd_ < 0 || ::sync_file_range(fd_, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE) == 0) return;
  // Other errors are those of a file system that does not know the call.
  if (errno == EIO || errno == ENOSPC || errno == EDQUOT) throw file_failure("write a file in", folder_);
}

}  // namespace trainlab
