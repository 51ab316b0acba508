#include <catch2/catch.hpp>
#include <cstdio>

#include "cli/command.h"
#include "commands_of_program.h"
#include "core/files.h"

using namespace trainlab;
using namespace trainlab::cli;

namespace {

// What bash offers for the last of these words of a line.
std::vector<std::string> completed(const std::vector<std::string>& words) {
  write_atomic("completion.bash", completion_script(commands_of_program(), "bash"));
  std::string command = "bash -c 'source completion.bash; COMP_WORDS=(trainlab";
  for (const std::string& word : words) command += word.empty() ? " \"\"" : " " + word;
  command += "); COMP_CWORD=" + std::to_string(words.size()) + "; _trainlab; printf \"%s\\n\" \"${COMPREPLY[@]}\"'";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::vector<std::string> lines(1);
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += static_cast<char>(c);
    }
  }
  CHECK(::pclose(pipe) == 0);
  lines.pop_back();
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("bash completes commands, flags and values") {
  CHECK(completed({"re"}) == Lines{"resume", "report"});
  CHECK(completed({"extend", "runs/x/001", "--e"}) == Lines{"--epochs"});
  CHECK(completed({"extend", "runs/x/001", "--s"}) == Lines{"--steps", "--silence", "--stdlib"});
  CHECK(completed({"ch"}) == Lines{"check"});
  CHECK(completed({"check", "x.lua", "--st"}) == Lines{"--step", "--stdlib"});
  CHECK(completed({"x.lua", "--st"}) == Lines{"--stdlib"});
  CHECK(completed({"x.lua", "--se"}) == Lines{"--seed", "--set"});
  CHECK(completed({"x.lua", "--device", "c"}) == Lines{"cpu", "cuda"});
  CHECK(completed({"x.lua", "--device", "=", "c"}) == Lines{"cpu", "cuda"});
  CHECK(completed({"x.lua", "--device", "="}) == Lines{"auto", "cpu", "cuda"});
  CHECK(completed({"predict", "runs/x/001", "--format", ""}) == Lines{"csv", "json"});
  CHECK(completed({"completion", ""}) == Lines{"bash", "zsh"});
  CHECK(completed({"help", "co"}) == Lines{"compare", "completion"});
  CHECK(completed({"--threads", "2", "li"}) == Lines{"list"});
}

TEST_CASE("bash completes names of files and folders with spaces") {
  make_directories("runs of mine/a");
  write_atomic("runs of mine.lua", "");
  CHECK(completed({"resume", "runs"}) == Lines{"runs of mine"});
  CHECK(completed({"run", "runs"}) == Lines{"runs of mine", "runs of mine.lua"});
}
