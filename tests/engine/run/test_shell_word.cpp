// A shell that reads a path as a message writes it gets the path that was meant.
#include "run/shell_word.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

namespace trainlab::shell_word_test {

TEST_CASE("a shell reads the word of a path as the path") {
  for (const char* path :
       {"runs/digits/001", "mv ü/it's/r 3", "a\"b", "$HOME", "`id`", "a;b", "*", "", "''", "a\\b", "~", "~root"}) {
    const std::string command = "printf %s " + shell_word(path);
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe);
    std::string read;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) read += static_cast<char>(c);
    CHECK(::pclose(pipe) == 0);
    CHECK(read == path);
  }
  CHECK(shell_word("runs/digits/001") == "runs/digits/001");
}

}  // namespace trainlab::shell_word_test
