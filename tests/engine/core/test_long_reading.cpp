// The line about a large file that is being read.
#include "core/long_reading.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "support/temporary_folder.h"

namespace trainlab::long_reading_test {

TEST_CASE("a large file is told while it is read, a small one never") {
  const test::TemporaryFolder folder;
  const std::filesystem::path large = folder.path() / "large.csv", small = folder.path() / "small.csv";
  for (const auto& [path, bytes] : {std::pair{large, std::uintmax_t{3} << 30}, {small, std::uintmax_t{1000}}}) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    REQUIRE(file);
    std::fclose(file);
    std::filesystem::resize_file(path, bytes);
  }
  std::string line;
  std::atomic<bool> is_told = false;
  on_long_reading([&](const std::string& told) {
    line = told;
    is_told = true;
    is_told.notify_one();
  });
  {
    const LongReading reading(large, 0);
    is_told.wait(false);
  }
  CHECK(line == "reading " + large.string() + " (3.0 GiB) …");
  line.clear();
  { const LongReading reading(small, 0); }
  { const LongReading reading(large, 1000); }  // over before
  on_long_reading({});
  CHECK(line.empty());
}

}  // namespace trainlab::long_reading_test
