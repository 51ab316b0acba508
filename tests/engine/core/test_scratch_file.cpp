// Memory in a file without a name: its content stays, the folder stays empty, and a full disk is an error.
#include "core/scratch_file.h"

#include <fcntl.h>
#include <catch2/catch.hpp>
#include <cerrno>
#include <numeric>
#include <span>

#include "core/files.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace trainlab::scratch_file_test {

namespace fs = std::filesystem;
using test::error_of;
using test::TemporaryFolder;

namespace {

constexpr std::int64_t mega = std::int64_t{1} << 20;

std::span<unsigned char> bytes_of(const ScratchFile::Block& block) {
  return {static_cast<unsigned char*>(block.address), static_cast<std::size_t>(block.bytes)};
}

void number(const ScratchFile::Block& block, unsigned char first) {
  std::iota(bytes_of(block).begin(), bytes_of(block).end(), first);
}

bool is_numbered(const ScratchFile::Block& block, unsigned char first) {
  for (const unsigned char one : bytes_of(block))
    if (one != first++) return false;
  return true;
}

class Refusing final : public FileCalls {
 public:
  // Fails open() with flags that include `flags`, and reserve(), with these errors; 0: none.
  Refusing(int flags, int open_error, int reserve_error)
      : flags_(flags), open_error_(open_error), reserve_error_(reserve_error) {}
  int open(const fs::path& path, int flags, int mode) override {
    if (open_error_ == 0 || (flags & flags_) != flags_) return FileCalls::open(path, flags, mode);
    errno = open_error_;
    return -1;
  }
  int reserve(int fd, std::int64_t offset, std::int64_t bytes) override {
    if (reserve_error_ == 0) return FileCalls::reserve(fd, offset, bytes);
    errno = reserve_error_;
    return -1;
  }

 private:
  int flags_, open_error_, reserve_error_;
};

}  // namespace

TEST_CASE("blocks of a scratch file keep their content, and leave no file") {
  const TemporaryFolder folder;
  ScratchFile file(folder.path() / "not" / "there");
  const ScratchFile::Block first = file.take(mega), second = file.take(5);
  CHECK(first.bytes == mega);
  CHECK(second.bytes >= 5);
  CHECK(fs::is_empty(folder.path()));
  number(first, 1);
  number(second, 7);
  for (int i = 0; i < 2; ++i) {
    file.write_behind(first);
    file.write_behind(second);
    file.check();
    file.forget(first);
    ScratchFile::read_ahead(first);
    CHECK(is_numbered(first, 1));
    CHECK(is_numbered(second, 7));
  }
  file.give_back(first);
  CHECK(is_numbered(second, 7));
  // The space serves again.
  const ScratchFile::Block again = file.take(mega - 1);
  CHECK(again.address == first.address);
  CHECK(again.offset == first.offset);
  file.give_back(again);
  file.give_back(second);
}

TEST_CASE("a file system without nameless files serves too") {
  const TemporaryFolder folder;
  Refusing calls(O_TMPFILE, EOPNOTSUPP, 0);
  const ScopedFileCalls scope(calls);
  ScratchFile file(folder.path());
  const ScratchFile::Block block = file.take(mega);
  CHECK(fs::is_empty(folder.path()));
  number(block, 3);
  file.write_behind(block);
  CHECK(is_numbered(block, 3));
  file.give_back(block);
}

TEST_CASE("a full disk is told when a block is taken") {
  const TemporaryFolder folder;
  ScratchFile file(folder.path());
  const ScratchFile::Block before = file.take(mega);
  number(before, 1);
  {
    Refusing calls(0, 0, ENOSPC);
    const ScopedFileCalls scope(calls);
    CHECK(error_of([&] { file.take(mega); }) ==
          "disk full or failing: cannot reserve 1048576 bytes of a file in " + folder.path().string() +
              ": No space left on device\n  hint: everything saved before is intact: free space, then resume the run");
  }
  CHECK(is_numbered(before, 1));
  const ScratchFile::Block after = file.take(mega);
  CHECK(after.offset == mega);
  file.give_back(after);
  file.give_back(before);

  Refusing calls(O_RDWR, EACCES, 0);
  const ScopedFileCalls scope(calls);
  ScratchFile other(folder.path());
  CHECK(error_of([&] { other.take(1); }) == "cannot make a file in " + folder.path().string() + ": Permission denied");
  other.check();
}

}  // namespace trainlab::scratch_file_test
