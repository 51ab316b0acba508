#include "core/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"

namespace trainlab {

namespace {

Error cannot_read(const std::filesystem::path& path) {
  return recipe_error("cannot read " + path.string() + ": " + std::strerror(errno));
}

}  // namespace

FileReader::FileReader(std::filesystem::path path) : path_(std::move(path)) {
  check_regular(path_);
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) throw cannot_read(path_);
}

FileReader::~FileReader() { ::close(fd_); }

std::size_t FileReader::read(std::span<char> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::read(fd_, out.data() + done, out.size() - done);
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw cannot_read(path_);
    }
  }
  done_ += static_cast<std::int64_t>(done);
  return done;
}

std::int64_t FileReader::at_most() const {
  return std::max<std::int64_t>(static_cast<std::int64_t>(expected_size()) - done_, 0);
}

void FileReader::read_at(std::uint64_t begin, std::span<char> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(begin));
    if (got == 0) throw recipe_error("cannot read " + path_.string() + ": the file ended early; did it change?");
    if (got < 0 && errno != EINTR) throw cannot_read(path_);
    if (got < 0) continue;
    begin += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::size_t FileReader::expected_size() const {
  struct stat status {};
  return ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0;
}

}  // namespace trainlab
