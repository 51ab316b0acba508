#include "core/bytes.h"

#include <catch2/catch.hpp>

namespace trainlab::bytes_test {

TEST_CASE("numbers of bytes are read with their unit") {
  CHECK(bytes_of("300 B") == 300);
  CHECK(bytes_of("4GB") == 4'000'000'000);
  CHECK(bytes_of("1.5 GiB") == 3 << 29);
  CHECK(bytes_of("0.5kB") == 500);
  CHECK(bytes_of("10 KB") == 10'000);
  CHECK(bytes_of("80%", 1000) == 800);
  CHECK(bytes_of("100%", 1000) == 1000);
  CHECK_FALSE(bytes_of("120%", 1000));
  for (const char* text :
       {"", "4", "GB", "4 gb", "4  GB", "-1 GB", "0 B", "0.1 B", "nan GB", "4 GB more", "9e30 TB", "80%"}) {
    INFO(text);
    CHECK_FALSE(bytes_of(text));
  }
}

}  // namespace trainlab::bytes_test
