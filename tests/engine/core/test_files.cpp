#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <set>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/as_error.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/reading.h"
#include "engine/core/sample_registry.h"

namespace trainlab::files_test {

namespace fs = std::filesystem;
using sample::error_of;

namespace {

// A folder of the test's own, empty at the start.
fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::temp_directory_path() / ("trainlab-files-" + name);
  fs::remove_all(folder);
  fs::create_directory(folder);
  return folder;
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

// Makes call number `fail_at` fail (from 1), before or instead of doing anything. Closing never leaks.
class FailingCalls : public FileCalls {
 public:
  FailingCalls(int fail_at, int code) : fail_at_(fail_at), code_(code) {}

  int open(const fs::path& path, int flags, int mode) override {
    return fails() ? -1 : FileCalls::open(path, flags, mode);
  }
  std::int64_t write(int fd, std::string_view bytes) override {
    if (fails()) return -1;
    return FileCalls::write(fd, bytes.substr(0, 5));  // short writes throughout
  }
  int sync(int fd) override { return fails() ? -1 : FileCalls::sync(fd); }
  int close(int fd) override {
    const int result = FileCalls::close(fd);
    return fails() ? -1 : result;
  }
  int rename(const fs::path& from, const fs::path& to) override { return fails() ? -1 : FileCalls::rename(from, to); }
  int make_directory(const fs::path& path) override { return fails() ? -1 : FileCalls::make_directory(path); }
  int truncate(const fs::path& path, std::int64_t length) override {
    return fails() ? -1 : FileCalls::truncate(path, length);
  }

  int calls() const { return calls_; }

 private:
  bool fails() {
    if (++calls_ != fail_at_) return false;
    errno = code_;
    return true;
  }

  int fail_at_, code_, calls_ = 0;
};

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

}  // namespace

TEST_CASE("write_atomic joins its parts and replaces what was there") {
  const fs::path folder = fresh_folder("write");
  const fs::path path = folder / "a.txt";
  const std::string binary("\0\xFF\n", 3);
  const std::vector<std::string_view> parts{"one ", "", binary, "three"};
  write_atomic(path, parts);
  CHECK(content(path) == "one " + binary + "three");
  write_atomic(path, "");
  CHECK(content(path).empty());
  CHECK(names_in(folder) == std::set<std::string>{"a.txt"});
}

TEST_CASE("whichever call of write_atomic fails, the old or the new content is there and no temporary") {
  const fs::path folder = fresh_folder("fail");
  const fs::path path = folder / "a.txt";
  const std::vector<std::string_view> parts{"new ", "content"};
  for (const int code : {ENOSPC, EIO, EACCES, EMFILE}) {
    const std::size_t descriptors = open_descriptors();
    bool finished = false;
    int renamed = 0;
    for (int fail_at = 1; !finished; ++fail_at) {
      write_atomic(path, "old");
      FailingCalls calls(fail_at, code);
      CAPTURE(fail_at, code);
      std::string error;
      {
        const ScopedFileCalls scope(calls);
        error = error_of([&] { write_atomic(path, parts); });
      }
      finished = calls.calls() < fail_at;
      CHECK((error == "no error") == finished);
      // Only syncing the folder comes after the rename: open, sync, close.
      const bool is_new = content(path) == "new content";
      renamed += is_new && !finished;
      CHECK((is_new || content(path) == "old"));
      CHECK(names_in(folder) == std::set<std::string>{"a.txt"});
      CHECK(open_descriptors() == descriptors);
    }
    CHECK(renamed == 3);
    CHECK(content(path) == "new content");
  }
}

TEST_CASE("a call that was interrupted is made again") {
  const fs::path folder = fresh_folder("interrupted");
  const fs::path path = folder / "a.txt";
  for (int fail_at = 1; fail_at <= 9; ++fail_at) {
    FailingCalls calls(fail_at, EINTR);
    const ScopedFileCalls scope(calls);
    const std::string text = "content " + std::to_string(fail_at);
    const std::string error = error_of([&] { write_atomic(path, text); });
    CAPTURE(fail_at, error);
    // rename and opening a folder know no EINTR; what they say is reported.
    if (error == "no error") {
      CHECK(content(path) == text);
    } else {
      CHECK((error.find("cannot rename") != std::string::npos ||
             error.find("cannot open the folder") != std::string::npos));
    }
  }
}

TEST_CASE("failures say what failed and whose matter it is") {
  const fs::path folder = fresh_folder("kinds");
  const auto fail = [&](int code) {
    FailingCalls calls(1, code);
    const ScopedFileCalls scope(calls);
    try {
      write_atomic(folder / "a.txt", "x");
    } catch (const Error& error) {
      return error;
    }
    throw std::logic_error("no error");
  };
  for (const int code : {ENOSPC, EDQUOT, EFBIG, EIO}) {
    const Error error = fail(code);
    CHECK(error.kind() == ErrorKind::run);
    CHECK(error.message().find("disk full") == 0);
    CHECK(error.message().find((folder / "a.txt").string()) != std::string::npos);
    CHECK(error.hint().find("free space") != std::string::npos);
  }
  for (const int code : {EACCES, EPERM, EROFS, ENOENT, ENOTDIR}) CHECK(fail(code).kind() == ErrorKind::usage);
  CHECK(fail(EMFILE).kind() == ErrorKind::run);
  CHECK(error_of([&] { write_atomic(folder / "none" / "a.txt", "x"); }) ==
        "cannot create " + (folder / "none" / "a.txt").string() + ": No such file or directory");
}

TEST_CASE("a failure of std::filesystem is told like any other, and other exceptions as what they are") {
  const fs::path gone = fresh_folder("listed") / "gone";
  try {
    fs::directory_iterator entries(gone);
    FAIL("a folder that is not there was listed");
  } catch (const std::exception& exception) {
    const Error error = as_error(exception);
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(error.message() == "cannot use " + gone.string() + ": No such file or directory");
  }
  CHECK(as_error(recipe_error("mine")).message() == "mine");
  CHECK(as_error(std::bad_alloc()).message() == "out of memory");
  CHECK(as_error(std::runtime_error("a bug")).message() == "internal error: a bug");
  const Error thread = as_error(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
  CHECK(thread.message() == "the system gives no further thread: Resource temporarily unavailable");
  CHECK_THAT(thread.hint(), Catch::Contains("ulimit -u"));
  CHECK(as_error(std::system_error(std::make_error_code(std::errc::operation_not_permitted))).message() ==
        "the system refused a call: Operation not permitted");
}

TEST_CASE("temporaries that a killed process left are passed over") {
  const fs::path folder = fresh_folder("left");
  std::vector<fs::path> opened;
  class Recording : public FileCalls {
   public:
    explicit Recording(std::vector<fs::path>& seen) : seen_(seen) {}
    int open(const fs::path& path, int flags, int mode) override {
      seen_.push_back(path);
      // Somebody else was there a moment ago.
      if (seen_.size() == 1) std::ofstream(path) << "left";
      return FileCalls::open(path, flags, mode);
    }
    std::vector<fs::path>& seen_;
  } calls(opened);
  {
    const ScopedFileCalls scope(calls);
    write_atomic(folder / "a.txt", "mine");
  }
  CHECK(content(folder / "a.txt") == "mine");
  REQUIRE(opened.size() == 3);  // a temporary that is there, one that is not, the folder
  CHECK(content(opened[0]) == "left");
  CHECK(opened[0].filename().string().starts_with(".a.txt."));
  CHECK(opened[0].extension() == ".tmp");
}

TEST_CASE("read_file reads all bytes, and no more than allowed") {
  const fs::path folder = fresh_folder("read");
  const std::string bytes = std::string("\0\r\n", 3) + std::string(300000, 'a');
  write_atomic(folder / "a", bytes);
  CHECK(read_file(folder / "a") == bytes);
  CHECK(read_file(folder / "a", static_cast<std::int64_t>(bytes.size())) == bytes);
  CHECK(error_of([&] { read_file(folder / "a", 10); }) ==
        "cannot read " + (folder / "a").string() + ": expected at most 10 bytes");
  write_atomic(folder / "empty", "");
  CHECK(read_file(folder / "empty").empty());
  CHECK(error_of([&] { read_file(folder / "none"); }) ==
        "cannot read " + (folder / "none").string() + ": No such file or directory");
  CHECK(error_of([&] { read_file(folder); }).find("Is a directory") != std::string::npos);
  const std::string device = error_of([] { read_file("/dev/zero", 1 << 20); });
  CHECK(device.find("cannot read /dev/zero: expected a regular file, found a device") == 0);
  const fs::path pipe = folder / "pipe";
  // A file with a hole as large as no memory is.
  write_atomic(folder / "giant", "");
  truncate_file(folder / "giant", std::int64_t{1} << 43);
  const std::string giant = error_of([&] { read_file(folder / "giant"); });
  CHECK(giant.find("more than the memory of this machine") != std::string::npos);
  CHECK(error_of([&] { read_file(folder / "giant", 10); }).find("expected at most 10 bytes") != std::string::npos);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(error_of([&] { read_file(pipe); }).find("expected a regular file, found a pipe") != std::string::npos);
  // A file does not take their places.
  const std::string taken = error_of([&] { write_atomic(pipe, "x"); });
  CHECK(taken.find("cannot write " + pipe.string() + ": expected a regular file or nothing, found a pipe") == 0);
  CHECK(fs::is_fifo(pipe));
  CHECK(read_file("/proc/self/comm").back() == '\n');
}

TEST_CASE("whether a file could be written is known without writing it") {
  const fs::path folder = fresh_folder("could-write");
  const auto refusal = [](const fs::path& path) { return error_of([&] { check_output("--trace", path); }); };
  check_output("--trace", folder / "t.json");
  CHECK(fs::is_empty(folder));
  const fs::path away = folder / "no" / "t.json", pipe = folder / "pipe";
  CHECK(refusal(away) == "--trace: cannot create " + away.string() + ": No such file or directory");
  CHECK(refusal(folder) == "--trace: expected a file, found the folder " + folder.string());
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(refusal(pipe).find("--trace: cannot write " + pipe.string() + ": expected a regular file or nothing") == 0);
  CHECK(refusal(folder / std::string(250, 'x')).find("File name too long") != std::string::npos);
  FailingCalls full(1, ENOSPC);
  const ScopedFileCalls guard(full);
  CHECK(refusal(folder / "t.json").find("--trace: disk full or failing: cannot create ") == 0);
}

TEST_CASE("an output that cannot be written is told in a line, and raises nothing") {
  const fs::path folder = fresh_folder("output");
  CHECK_FALSE(output_failure("--html", [&] { write_atomic(folder / "p", "x"); }));
  CHECK(output_failure("--html", [&] { write_atomic(folder / "no" / "p", "x"); }) ==
        "--html: cannot create " + (folder / "no" / "p").string() + ": No such file or directory");
  CHECK(output_failure("--html", [] { throw std::bad_alloc(); }) == "--html: out of memory");
}

TEST_CASE("folders are made with their parents, and only once") {
  const fs::path folder = fresh_folder("folders");
  make_directories(folder / "a" / "b" / "c");
  make_directories(folder / "a" / "b" / "c");
  CHECK(fs::is_directory(folder / "a" / "b" / "c"));
  write_atomic(folder / "file", "x");
  CHECK(error_of([&] { make_directories(folder / "file" / "a"); }).find("Not a directory") != std::string::npos);
  CHECK(error_of([&] { make_directories(folder / "file"); }).find("cannot make the folder") == 0);

  for (int fail_at = 1;; ++fail_at) {
    FailingCalls calls(fail_at, ENOSPC);
    const fs::path path = folder / std::to_string(fail_at) / "x";
    const ScopedFileCalls scope(calls);
    const std::string error = error_of([&] { make_directories(path); });
    if (calls.calls() < fail_at) {
      CHECK(error == "no error");
      CHECK(fail_at == 9);  // two folders, each made and then its parent opened, synced, closed
      break;
    }
    CHECK(error.find("disk full") == 0);
  }
}

TEST_CASE("a folder is renamed, unless the folder or its new place is not there") {
  const fs::path folder = fresh_folder("rename");
  make_directories(folder / "a");
  write_atomic(folder / "a" / "file", "1");
  CHECK_FALSE(rename_folder(folder / "missing", folder / "b"));
  CHECK_FALSE(rename_folder(folder / "a", folder / "missing" / "a"));
  CHECK(rename_folder(folder / "a", folder / "b"));
  CHECK(content(folder / "b" / "file") == "1");
  make_directories(folder / "a");
  CHECK(error_of([&] { rename_folder(folder / "a", folder / "b"); }).find("cannot rename") == 0);
}

TEST_CASE("files are removed and shortened") {
  const fs::path folder = fresh_folder("remove");
  write_atomic(folder / "a", "12345");
  truncate_file(folder / "a", 2);
  CHECK(content(folder / "a") == "12");
  remove_file(folder / "a");
  remove_file(folder / "a");
  CHECK(names_in(folder).empty());
  CHECK(error_of([&] { truncate_file(folder / "a", 0); }).find("cannot shorten") == 0);
  make_directories(folder / "full" / "x");
  CHECK(error_of([&] { remove_file(folder / "full"); }).find("cannot remove") == 0);
}

TEST_CASE("an AppendFile grows by whole records, whichever call fails") {
  const fs::path folder = fresh_folder("append");
  const fs::path path = folder / "a.jsonl";
  for (int fail_at = 1;; ++fail_at) {
    remove_file(path);
    const std::size_t descriptors = open_descriptors();
    FailingCalls calls(fail_at, ENOSPC);
    const std::string error = error_of([&] {
      const ScopedFileCalls scope(calls);
      AppendFile file(path);
      file.append("record 1\n");
      file.append("record 22\n");
      file.sync();
    });
    CAPTURE(fail_at, error);
    const std::string text = content(path);
    CHECK((text.empty() || text == "record 1\n" || text == "record 1\nrecord 22\n"));
    CHECK(open_descriptors() == descriptors);
    if (calls.calls() < fail_at) {
      CHECK(error == "no error");
      CHECK(text == "record 1\nrecord 22\n");
      break;
    }
    // A failing close at the end has nothing to report: sync() has said that all is safe.
    CHECK((error.find("disk full") == 0 || text == "record 1\nrecord 22\n"));
  }
}

TEST_CASE("an AppendFile syncs what was appended once, and again after a sync that failed") {
  AppendFile file(fresh_folder("sync") / "a");
  file.append("1\n");
  {
    FailingCalls calls(1, ENOSPC);
    const ScopedFileCalls scope(calls);
    CHECK(error_of([&] { file.sync(); }).find("disk full") == 0);
  }
  FailingCalls calls(100, ENOSPC);
  const ScopedFileCalls scope(calls);
  file.sync();
  CHECK(calls.calls() == 1);
  file.sync();
  CHECK(calls.calls() == 1);
  file.append("2\n");
  file.sync();
  CHECK(calls.calls() == 3);
}

TEST_CASE("an AppendFile goes on at the end and can be moved") {
  const fs::path folder = fresh_folder("append2");
  write_atomic(folder / "a", "12\n");
  AppendFile first(folder / "a");
  CHECK(first.size() == 3);
  AppendFile second(std::move(first));
  second.append("3\n");
  CHECK(second.size() == 5);
  CHECK(content(folder / "a") == "12\n3\n");
}

TEST_CASE("a device without space is a full disk") {
  if (!fs::exists("/dev/full")) {
    WARN("skipped: no /dev/full");
    return;
  }
  AppendFile file("/dev/full");
  CHECK(error_of([&] { file.append("x"); }).find("disk full or failing: cannot write /dev/full: No space left") == 0);
}

// hashlib.blake2b(data, digest_size=32)
TEST_CASE("with a limit only files in certain folders are read, links resolved") {
  const fs::path open = fresh_folder("open"), closed = fresh_folder("closed");
  std::ofstream(open / "in") << "in";
  std::ofstream(closed / "out") << "out";
  fs::create_symlink(closed / "out", open / "link");
  fs::create_directory_symlink(open, closed / "back");
  CHECK(read_file(open / "link") == "out");

  struct NoLimit {  // for the other tests of this process
    ~NoLimit() { limit_reading({"/"}); }
  } const after;
  limit_reading({open});
  CHECK(read_file(open / "in") == "in");
  CHECK(read_file(closed / "back" / "in") == "in");
  CHECK(read_file(open / ".." / open.filename() / "in") == "in");
  for (const fs::path& path : {closed / "out", open / ".." / closed.filename() / "out", closed / "missing"}) {
    const std::string error = error_of([&] { read_file(path); });
    CHECK_THAT(error, Catch::StartsWith("cannot read " + path.string()));
    CHECK_THAT(error, Catch::Contains(": expected a path in the folders of --read, found one outside"));
    CHECK_THAT(error, Catch::Contains("--read allows " + open.string()));
  }
  CHECK_THROWS_WITH(read_file(open / "link"),
                    Catch::Contains("link, which is " + (closed / "out").string() + ": expected a path"));
  CHECK_THROWS_AS(hash_file(closed / "out"), Error);
  // A folder whose name begins alike is another folder.
  const fs::path alike = fresh_folder("open-too");
  std::ofstream(alike / "in") << "in";
  CHECK_THROWS_AS(read_file(alike / "in"), Error);

  allow_reading(closed / "out");
  CHECK(read_file(closed / "out") == "out");
  CHECK_THROWS_WITH(limit_reading({open / "none"}), Catch::StartsWith("--read: there is no folder "));
}

TEST_CASE("hashes are BLAKE2b-256, of bytes, parts and files alike") {
  CHECK(hash_bytes("") == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  CHECK(hash_bytes("abc") == "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  const std::vector<std::string_view> parts{"a", "", "bc"};
  CHECK(hash_parts(parts) == hash_bytes("abc"));
  const fs::path folder = fresh_folder("hash");
  const std::string letters(300000, 'a');
  write_atomic(folder / "a", letters);
  CHECK(hash_file(folder / "a") == "f739bfb94f0e9f82d2b86461ab672b39f84cbd21fd0fd9d818d77947bc9067dc");
  CHECK(error_of([&] { hash_file(folder / "none"); }).find("cannot read") == 0);
}

TEST_CASE("a process that has ended and was not waited for has ended") {
  CHECK_FALSE(has_ended(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);  // leaves it as it is
  CHECK(has_ended(child));
  CHECK(::waitpid(child, nullptr, 0) == child);
  CHECK(has_ended(child));
}

}  // namespace trainlab::files_test
