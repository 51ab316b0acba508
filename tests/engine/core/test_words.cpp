#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/words.h"

namespace trainlab::test_words {
namespace {

struct Named {
  std::string name;
};

TEST_CASE("lists are joined") {
  const std::vector<std::string> words{"a", "b", "c"};
  CHECK(joined(words) == "a, b, c");
  CHECK(joined(words, " | ") == "a | b | c");
  CHECK(joined(std::vector<std::string>{}) == "");
  CHECK(joined(std::vector<std::string>{"", "b"}) == ", b");
  CHECK(joined(std::vector<Named>{{"x"}, {"y"}}, ", ", &Named::name) == "x, y");
  CHECK(joined(std::vector<int>{1, 2}, ";", [](int n) { return std::to_string(n); }) == "1;2");
  CHECK(joined(std::map<std::string, int>{{"one", 1}, {"two", 2}}, ", ", &std::pair<const std::string, int>::first) ==
        "one, two");
}

TEST_CASE("long lists are cut with a sign or a number of what is left out") {
  const std::vector<std::string> words{"a", "b", "c"};
  CHECK(joined_start(words, 3) == "a, b, c");
  CHECK(joined_start(words, 2) == "a, b, …");
  CHECK(joined_start(std::vector<Named>{{"x"}, {"y"}}, 1, &Named::name) == "x, …");
  CHECK(joined_and_more(std::set<std::string>{"b", "a"}, 2) == "a, b");
  CHECK(joined_and_more(words, 1) == "a and 2 more");
}

TEST_CASE("a field of CSV is in quotes where it has to be") {
  CHECK(csv_field("") == "");
  CHECK(csv_field("trial 3") == "trial 3");
  CHECK(csv_field("trial 3, seed 2") == "\"trial 3, seed 2\"");
  CHECK(csv_field("12\" disc") == "\"12\"\" disc\"");
  CHECK(csv_field("a\nb") == "\"a\nb\"");
  CHECK(csv_field("a\rb") == "\"a\rb\"");
}

TEST_CASE("a number of things is in the plural unless it is one") {
  CHECK(counted(1, "thread") == "1 thread");
  CHECK(counted(0, "thread") == "0 threads");
  CHECK(counted(std::size_t{3}, "field") == "3 fields");
}

TEST_CASE("texts are trimmed at both ends") {
  CHECK(trimmed(" \ta b\t ") == "a b");
  CHECK(trimmed("a") == "a");
  CHECK(trimmed("a\r") == "a\r");
  CHECK(trimmed("a\r", " \r") == "a");
  CHECK(trimmed(" \t ") == "");
}

}  // namespace
}  // namespace trainlab::test_words
