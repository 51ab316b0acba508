#include <catch2/catch.hpp>

#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "train/artifact.h"

using namespace trainlab;

TEST_CASE("a recipe names its files plainly, and not as checkpoints are named") {
  for (const char* name : {"weights", "best", "a.txt", "last.b"}) CHECK_NOTHROW(check_file_name("run:save", name));
  for (const std::string name : {"", ".", "..", ".hidden", "a/b", "/a", "../a", "last-1", "best-000000001"}) {
    CAPTURE(name);
    try {
      check_file_name("run:save", name);
      FAIL("it was accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::recipe);
      CHECK(error.message() == "run:save: expected a plain file name, found \"" + name + "\"");
    }
  }
}

TEST_CASE("an artifact is written below the stage's folder, over the one before") {
  write_artifact("stage", "note.txt", "one");
  write_artifact("stage", "note.txt", "two");
  CHECK(read_file("stage/artifacts/note.txt") == "two");
  CHECK(std::distance(std::filesystem::directory_iterator("stage/artifacts"), {}) == 1);
}
