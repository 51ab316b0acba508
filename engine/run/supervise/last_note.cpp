#include "run/last_note.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace trainlab {

namespace {

constexpr std::size_t page_size = 4096;

// Texts end in a 0; longer ones are cut.
struct Page {
  std::array<char, 256> operation;
  std::array<char, 3072> file;
  int line;
};
static_assert(sizeof(Page) <= page_size);

Page* engine_page = nullptr;

template <std::size_t N>
void write(std::array<char, N>& to, const char* text) {
  std::size_t i = 0;
  for (; i + 1 < N && text[i] != 0; ++i) to[i] = text[i];
  to[i] = 0;
}

// The engine may have ended while it wrote.
template <std::size_t N>
std::string text(const std::array<char, N>& from) {
  return {from.data(), ::strnlen(from.data(), N)};
}

}  // namespace

LastNote::LastNote() {
  const int made = ::memfd_create("trainlab-note", MFD_CLOEXEC);
  constexpr int beyond_given = 10;  // not among the descriptors that an engine is given, which are set one by one
  if (made >= 0) {
    fd_ = ::fcntl(made, F_DUPFD_CLOEXEC, beyond_given);
    ::close(made);
  }
  if (fd_ >= 0 && ::ftruncate(fd_, page_size) == 0)
    page_ = ::mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (page_ && page_ != MAP_FAILED) return;
  const std::string why = std::strerror(errno);
  ::close(fd_);
  throw run_error("no memory can be shared with the engine: " + why);
}

LastNote::~LastNote() {
  ::munmap(page_, page_size);
  ::close(fd_);
}

LastNote::Words LastNote::read() const {
  const auto& page = *static_cast<const Page*>(page_);
  return {text(page.operation), text(page.file), page.line};
}

void open_last_note() {
  struct stat status {};
  if (::fstat(note_fd, &status) != 0 || status.st_size != page_size) return;
  void* page = ::mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, note_fd, 0);
  ::close(note_fd);
  if (page != MAP_FAILED) engine_page = static_cast<Page*>(page);
}

void write_last_note(const char* operation, const char* file, int line) {
  if (!engine_page) return;
  write(engine_page->file, file);
  engine_page->line = line;
  write(engine_page->operation, operation);
}

void clear_last_note() {
  if (engine_page) engine_page->operation[0] = 0;
}

}  // namespace trainlab
