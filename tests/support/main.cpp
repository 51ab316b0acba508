// main() of every test program, in a library of its own: Catch2's implementation is compiled once.
//
// A program's tests run in a folder made for the program and removed at its end, which is also the folder for temporary
// files and for figures of the machine. What they write lies nowhere else, wherever the program was started, and two
// programs do not meet.
#define CATCH_CONFIG_RUNNER
#include <stdlib.h>

#include <catch2/catch.hpp>

#include "temporary_folder.h"

int main(int argc, char** argv) {
  const trainlab::test::TemporaryFolder folder;
  // Programs that do not run as root, as the server of PostgreSQL, work below it too.
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
  std::filesystem::current_path(folder.path());
  for (const char* place : {"TMPDIR", "XDG_CACHE_HOME"}) ::setenv(place, folder.path().c_str(), 1);
  return Catch::Session().run(argc, argv);
}
