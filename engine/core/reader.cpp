#include "reader.h"

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

Reader::Reader(std::filesystem::path path) : path_(std::move(path)) {
  check_regular(path_);
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) throw cannot_read(path_);
}

Reader::~Reader() { ::close(fd_); }

std::size_t Reader::read(char* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd_, to + done, size - done);
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw cannot_read(path_);
    }
  }
  return done;
}

std::size_t Reader::expected_size() const {
  struct stat status {};
  return ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0;
}

}  // namespace trainlab
