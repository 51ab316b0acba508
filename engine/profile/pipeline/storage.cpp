// How fast the files of the data are read, and whether they come from storage or from the system's cache.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/clock.h"
#include "core/error.h"
#include "core/host.h"
#include "profile/pipeline.h"

namespace trainlab {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{64} << 20;
constexpr double most_reading = 1;
constexpr double few = 0.1;                // share of the bytes in the cache up to which reads are called cold
constexpr std::int64_t block_size = 4096;  // a multiple of all usual sizes of blocks, in which O_DIRECT reads

struct Freed {
  void operator()(void* block) const { std::free(block); }
};
using Blocks = std::unique_ptr<char, Freed>;

Blocks blocks_of(std::int64_t bytes) {
  return Blocks(static_cast<char*>(std::aligned_alloc(block_size, static_cast<std::size_t>(bytes))));
}

// The bytes of a place, at most `most_bytes` of them.
class Opened {
 public:
  explicit Opened(const FilePlace& place, int flags = 0)
      : fd_(open(place.path.c_str(), O_RDONLY | O_CLOEXEC | flags)), offset_(place.offset) {
    if (fd_ < 0) throw recipe_error(place.name + " cannot be read: " + std::strerror(errno));
    size_ = place.size >= 0 ? place.size : std::max<std::int64_t>(lseek(fd_, 0, SEEK_END) - offset_, 0);
    size_ = std::min(size_, most_bytes);
  }
  ~Opened() { close(fd_); }
  Opened(const Opened&) = delete;

  std::int64_t size() const { return size_; }
  void drop() const { posix_fadvise(fd_, offset_, size_, POSIX_FADV_DONTNEED); }

  // How many of the bytes the system keeps in memory; nullopt where it does not tell. It tells those alone who own the
  // file or may write it, and says of all other files that it keeps everything.
  std::optional<std::int64_t> kept() const {
    struct stat status {};
    if (fstat(fd_, &status) != 0) return std::nullopt;
    const bool is_told = geteuid() == 0 || geteuid() == status.st_uid ||
                         faccessat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd_)).c_str(), W_OK, AT_EACCESS) == 0;
    if (!is_told) return std::nullopt;
    const std::int64_t page = sysconf(_SC_PAGESIZE), begin = offset_ / page * page;
    if (size_ == 0) return 0;
    const auto length = static_cast<std::size_t>(offset_ + size_ - begin);
    void* const at = mmap(nullptr, length, PROT_READ, MAP_SHARED, fd_, begin);
    if (at == MAP_FAILED) return std::nullopt;
    std::vector<unsigned char> pages((length + static_cast<std::size_t>(page) - 1) / static_cast<std::size_t>(page));
    const bool is_known = mincore(at, length, pages.data()) == 0;
    munmap(at, length);
    if (!is_known) return std::nullopt;
    const auto count = std::ranges::count_if(pages, [](unsigned char flags) { return (flags & 1) != 0; });
    return size_ * count / std::ssize(pages);
  }

  // Whether the file lies in memory, where no read is cold.
  bool is_in_memory() const {
    struct statfs system {};
    return fstatfs(fd_, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
  }

  // Reads the whole blocks in which the bytes lie, as O_DIRECT needs it. Returns how many of the bytes came.
  std::int64_t read() const {
    const std::int64_t begin = offset_ / block_size * block_size;
    const std::int64_t wanted = (offset_ + size_ - begin + block_size - 1) / block_size * block_size;
    const Blocks blocks = blocks_of(std::max(wanted, block_size));
    std::int64_t done = 0;
    while (done < wanted) {
      const ssize_t count = pread(fd_, blocks.get() + done, static_cast<std::size_t>(wanted - done), begin + done);
      if (count <= 0) break;
      done += count;
    }
    return std::clamp<std::int64_t>(done - (offset_ - begin), 0, size_);
  }

 private:
  int fd_;
  std::int64_t offset_, size_ = 0;
};

// How many bytes of these files the system keeps; nullopt where it does not tell of one of them.
std::optional<std::int64_t> kept_of(std::span<const FilePlace> places) {
  std::int64_t sum = 0;
  for (const FilePlace& place : places) {
    const std::optional<std::int64_t> kept = Opened(place).kept();
    if (!kept) return std::nullopt;
    sum += *kept;
  }
  return sum;
}

// Whether reads of the file can pass the system's cache.
bool reads_directly(const FilePlace& place) {
  const Opened file(place);
  if (file.is_in_memory() || file.size() == 0) return false;
  const int fd = open(place.path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (fd < 0) return false;
  const Blocks block = blocks_of(block_size);
  const bool is_read = pread(fd, block.get(), static_cast<std::size_t>(block_size), 0) > 0;
  close(fd);
  return is_read;
}

}  // namespace

FilesOfData look_at_files(const std::vector<FilePlace>& places, std::int64_t samples) {
  std::int64_t bytes = 0;
  for (const FilePlace& place : places) bytes += Opened(place).size();
  const std::optional<std::int64_t> kept = kept_of(places);
  FilesOfData files{
      .bytes = static_cast<double>(bytes) / static_cast<double>(places.size()) * static_cast<double>(samples),
      .room = static_cast<double>(free_memory())};
  if (kept && bytes > 0) files.kept = static_cast<double>(*kept) / static_cast<double>(bytes);
  return files;
}

StorageSpeed measure_storage(const std::vector<FilePlace>& places) {
  // The cache of all files is dropped before the first is read, because the system may read ahead into the next file.
  std::int64_t wanted = 0;
  std::size_t count = 0;
  for (; count < places.size() && wanted < most_bytes; ++count) {
    const Opened file(places[count]);
    file.drop();
    wanted += file.size();
  }
  const auto asked = std::span(places).first(count);
  const std::optional<std::int64_t> kept = kept_of(asked);
  StorageSpeed speed;
  if (kept) speed.is_cold = static_cast<double>(*kept) <= few * static_cast<double>(wanted);
  int flags = 0;
  if (!speed.is_cold.value_or(false) && std::ranges::all_of(asked, reads_directly)) {
    flags = O_DIRECT;
    speed.is_cold = true;
  }
  for (const FilePlace& place : asked) {
    if (speed.seconds >= most_reading) break;
    const double begin = steady_seconds();
    speed.bytes += static_cast<double>(Opened(place, flags).read());
    speed.seconds += steady_seconds() - begin;
    ++speed.files;
  }
  return speed;
}

}  // namespace trainlab
