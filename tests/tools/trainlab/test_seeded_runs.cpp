// The folders of commands that train several runs.
#include <catch2/catch.hpp>

#include "support/temporary_folder.h"
#include "trainings/seeded_runs.h"

namespace trainlab::seeded_runs_test {

using namespace cli;
using namespace test;

TEST_CASE("a command goes on in the newest folder in which the same was asked, whatever was asked since") {
  const TemporaryFolder folder;
  const std::filesystem::path parent = folder.path() / "r";
  CHECK(folder_for(parent, "one") == parent / "001");
  CHECK(folder_for(parent, "another") == parent / "002");
  CHECK(folder_for(parent, "one") == parent / "001");
  mark_ended(parent / "001");
  CHECK(folder_for(parent, "one") == parent / "003");
  CHECK(folder_for(parent, "one") == parent / "003");
  mark_ended(parent / "003");
  mark_ended(parent / "002");
  CHECK(folder_for(parent, "another") == parent / "004");
}

}  // namespace trainlab::seeded_runs_test
