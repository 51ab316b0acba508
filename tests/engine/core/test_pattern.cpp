#include <catch2/catch.hpp>

#include "core/pattern.h"

namespace trainlab::pattern_test {

TEST_CASE("a pattern's star stands for any characters and its question mark for one") {
  CHECK(matches_pattern("3.weight", "3.weight"));
  CHECK(matches_pattern("*.weight", "3.self_attn.out_proj.weight"));
  CHECK(matches_pattern("3.*proj*", "3.self_attn.out_proj.weight"));
  CHECK(matches_pattern("*a*ab", "aaab"));  // a star takes back what it took too soon
  CHECK(matches_pattern("?.weight", "3.weight"));
  CHECK(matches_pattern("**", ""));
  CHECK_FALSE(matches_pattern("*.weight", "3.weight_g"));
  CHECK_FALSE(matches_pattern("?.weight", "13.weight"));
  CHECK_FALSE(matches_pattern("3.weight", "3.weight_g"));
  CHECK_FALSE(matches_pattern("?", ""));
  CHECK_FALSE(matches_pattern("", "3"));
}

}  // namespace trainlab::pattern_test
