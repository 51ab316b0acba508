// The link runs/NAME/current.
#include <catch2/catch.hpp>
#include <filesystem>

#include "core/files.h"
#include "serving.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace trainlab::serving_test {

namespace fs = std::filesystem;
using namespace test;

TEST_CASE("the link leads to the run that was served last, and to no run before that") {
  const TemporaryFolder folder;
  const fs::path runs = folder.path() / "digits";
  for (const char* run : {"001", "002"}) make_directories(runs / run);
  CHECK(served_beside(runs / "001").empty());
  serve_beside(runs / "001", runs / "001");
  CHECK(served_beside(runs / "002") == runs / "001");
  serve_beside(runs / "002", runs / "002");
  CHECK(served_beside(runs / "001") == runs / "002");
  // Relative, so that the folder of the runs can be moved; nothing is left beside the link.
  CHECK(fs::read_symlink(runs / "current") == "002");
  CHECK(std::distance(fs::directory_iterator(runs), {}) == 3);
}

TEST_CASE("the link is durable when the call returns") {
  struct Syncs final : FileCalls {
    int count = 0;
    int sync(int fd) override {
      ++count;
      return FileCalls::sync(fd);
    }
  } syncs;
  const TemporaryFolder folder;
  make_directories(folder.path() / "001");
  const ScopedFileCalls guard(syncs);
  serve_beside(folder.path() / "001", folder.path() / "001");
  CHECK(syncs.count == 1);
}

TEST_CASE("the link can lead to a run elsewhere") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "digits/005", other = folder.path() / "other/003";
  for (const fs::path& each : {run, other}) make_directories(each);
  serve_beside(run, other);
  CHECK(fs::read_symlink(folder.path() / "digits/current") == "../other/003");
  CHECK(served_beside(run) == other);
  CHECK(fs::equivalent(folder.path() / "digits/current", other));
  CHECK_FALSE(fs::exists(fs::symlink_status(folder.path() / "other/current")));
}

TEST_CASE("the link names its run also when the run was deleted") {
  const TemporaryFolder folder;
  make_directories(folder.path() / "001");
  serve_beside(folder.path() / "001", folder.path() / "001");
  fs::remove(folder.path() / "001");
  CHECK(served_beside(folder.path() / "002") == folder.path() / "001");
}

TEST_CASE("a file or a folder that has the name of the link is told, and stays") {
  const TemporaryFolder folder;
  make_directories(folder.path() / "001");
  make_directories(folder.path() / "current");
  CHECK_THAT(error_of([&] { served_beside(folder.path() / "001"); }),
             Catch::Contains("current: expected a link to the run that is served, found something else"));
  CHECK_THAT(error_of([&] { serve_beside(folder.path() / "001", folder.path() / "001"); }),
             Catch::Contains("cannot write the link"));
  CHECK(fs::is_directory(fs::symlink_status(folder.path() / "current")));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2);
}

}  // namespace trainlab::serving_test
