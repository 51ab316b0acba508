// How fast the files of the data are read: from storage where the system drops its cache of them, else from the cache.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/clock.h"
#include "core/error.h"
#include "profile/pipeline.h"

namespace trainlab {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{64} << 20;
constexpr double most_seconds = 1;

class Opened {
 public:
  explicit Opened(const FilePlace& place) : fd_(open(place.path.c_str(), O_RDONLY | O_CLOEXEC)), offset_(place.offset) {
    if (fd_ < 0) throw recipe_error(place.name + " cannot be read: " + std::strerror(errno));
    size_ = place.size >= 0 ? place.size : std::max<std::int64_t>(lseek(fd_, 0, SEEK_END) - offset_, 0);
    size_ = std::min(size_, most_bytes);
  }
  ~Opened() { close(fd_); }
  Opened(const Opened&) = delete;

  std::int64_t size() const { return size_; }
  void drop() const { posix_fadvise(fd_, offset_, size_, POSIX_FADV_DONTNEED); }

  // How many bytes of the file the system keeps in memory.
  std::int64_t kept() const {
    const std::int64_t page = sysconf(_SC_PAGESIZE), begin = offset_ / page * page;
    const auto length = static_cast<std::size_t>(offset_ + size_ - begin);
    if (length == 0) return 0;
    void* const at = mmap(nullptr, length, PROT_READ, MAP_SHARED, fd_, begin);
    if (at == MAP_FAILED) return size_;
    std::vector<unsigned char> pages((length + static_cast<std::size_t>(page) - 1) / static_cast<std::size_t>(page));
    const bool is_known = mincore(at, length, pages.data()) == 0;
    munmap(at, length);
    if (!is_known) return size_;
    return page * std::ranges::count_if(pages, [](unsigned char flags) { return (flags & 1) != 0; });
  }

  std::int64_t read(std::vector<char>& buffer) const {
    buffer.resize(static_cast<std::size_t>(size_));
    std::int64_t done = 0;
    while (done < size_) {
      const ssize_t count = pread(fd_, buffer.data() + done, static_cast<std::size_t>(size_ - done), offset_ + done);
      if (count <= 0) break;
      done += count;
    }
    return done;
  }

 private:
  int fd_;
  std::int64_t offset_, size_ = 0;
};

}  // namespace

StorageSpeed measure_storage(const std::vector<FilePlace>& places) {
  // The cache of all files is dropped before the first is read, because the system may read ahead into the next file.
  std::int64_t wanted = 0, kept = 0;
  std::size_t count = 0;
  for (; count < places.size() && wanted < most_bytes; ++count) {
    const Opened file(places[count]);
    file.drop();
    wanted += file.size();
  }
  for (std::size_t i = 0; i < count; ++i) kept += Opened(places[i]).kept();
  StorageSpeed speed{.is_cold = kept * 10 <= wanted};
  std::vector<char> buffer;
  for (std::size_t i = 0; i < count && speed.seconds < most_seconds; ++i) {
    const double begin = steady_seconds();
    speed.bytes += static_cast<double>(Opened(places[i]).read(buffer));
    speed.seconds += steady_seconds() - begin;
  }
  return speed;
}

}  // namespace trainlab
