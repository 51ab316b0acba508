#include <catch2/catch.hpp>

#include "cli/arguments.h"
#include "core/error.h"

using namespace trainlab;
using namespace trainlab::cli;

namespace {

Arguments parse(const std::vector<std::string>& words) { return parse_arguments(words); }

// The message and hint of the usage error that a line ends with.
std::string refusal(const std::vector<std::string>& words) {
  try {
    parse_arguments(words);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a line that begins with a recipe is run") {
  const Arguments a = parse({"digits.lua", "--lr", "0.01", "--width=64", "--shift", "-3", "--name="});
  CHECK(a.command == "run");
  CHECK(a.words == std::vector<std::string>{"digits.lua"});
  CHECK(a.parameters ==
        std::vector<GivenParameter>{
            {"lr", "0.01", "--lr"}, {"width", "64", "--width"}, {"shift", "-3", "--shift"}, {"name", "", "--name"}});
  CHECK(parse({"run", "digits.lua"}).command == "run");
  CHECK(parse({"check", "digits.lua", "--step", "--lr", "1"}).step);
}

TEST_CASE("common flags stand anywhere") {
  const Arguments a = parse({"--json", "--seed", "7", "digits.lua", "--lr", "1", "--set", "optim.lr=2", "--threads=2",
                             "--set=s:x=y=z", "--out", "o", "--device", "cuda:1", "--quiet", "--params", "p.toml"});
  CHECK(a.json);
  CHECK(a.quiet);
  CHECK(a.seed == 7);
  CHECK(a.threads == 2);
  CHECK(a.set == std::vector<std::string>{"optim.lr=2", "s:x=y=z"});
  CHECK(a.out == "o");
  CHECK(a.device == "cuda:1");
  CHECK(a.params == "p.toml");
  CHECK(a.parameters.size() == 1);
}

TEST_CASE("flags that say how a command works are taken by each") {
  const std::vector<std::vector<std::string>> lines = {
      {"list"}, {"report", "x"}, {"help"}, {"resume", "x"}, {"predict", "x", "--input", "y"}};
  for (const std::vector<std::string>& line : lines) {
    std::vector<std::string> words = {"--json", "--quiet", "--threads", "1", "--device", "cpu", "--workers", "2"};
    words.insert(words.end(), line.begin(), line.end());
    const Arguments a = parse(words);
    CHECK(a.json);
    CHECK(a.threads == 1);
  }
}

TEST_CASE("a name that is another command's flag may be a recipe's parameter") {
  const Arguments a = parse({"mnist.lua", "--epochs", "2", "--step", "5", "--csv", "x"});
  CHECK(a.parameters.size() == 3);
  CHECK_FALSE(a.epochs);
  CHECK(parse({"extend", "runs/x/001", "--epochs", "60"}).epochs == 60);
  CHECK(parse({"extend", "runs/x/001", "--steps", "500"}).steps == 500);
}

TEST_CASE("lines that are refused say why") {
  using Catch::Contains;
  CHECK_THAT(refusal({"--thread", "2", "digits.lua"}),
             Contains("unknown flag --thread") && Contains("did you mean --threads?"));
  CHECK_THAT(refusal({"--learning", "2", "digits.lua"}), Contains("come after its path"));
  CHECK_THAT(refusal({"digits.lua", "--lr"}), Contains("--lr needs a value"));
  CHECK_THAT(refusal({"digits.lua", "--lr", "--json"}), Contains("--lr needs a value"));
  CHECK_THAT(refusal({"digits.lua", "--lr", "1", "--lr=2"}), Contains("given twice"));
  CHECK_THAT(refusal({"digits.lua", "--seed", "1", "--seed", "1"}), Contains("given twice"));
  CHECK_THAT(refusal({"digits.lua", "more"}), Contains("\"more\""));
  CHECK_THAT(refusal({"digits.lua", "-x"}), Contains("unknown flag -x"));
  CHECK_THAT(refusal({"resum", "x"}), Contains("did you mean resume?"));
  CHECK_THAT(refusal({"profile", "x.lua"}), Contains("unknown command or recipe profile"));
  CHECK_THAT(refusal({"run"}), Contains("needs one recipe"));
  CHECK_THAT(refusal({"resume"}), Contains("needs one run folder"));
  CHECK_THAT(refusal({"resume", "x", "--seed", "2"}), Contains("means nothing") && Contains("keeps its parameters"));
  CHECK_THAT(refusal({"resume", "x", "--lr", "2"}), Contains("unknown flag --lr"));
  CHECK_THAT(refusal({"extend", "x"}), Contains("--epochs N or --steps N of a fit"));
  CHECK_THAT(refusal({"extend", "x", "--epochs", "1", "--steps", "2"}), Contains("--epochs N or --steps N of a fit"));
  CHECK_THAT(refusal({"list", "--seed", "1"}), Contains("means nothing"));
  CHECK_THAT(refusal({"predict", "x", "--input", "y", "--json", "--format", "csv"}), Contains("either --json or"));
  CHECK_THAT(refusal({"report", "a", "b", "--csv"}), Contains("one run at a time"));
  CHECK_THAT(refusal({"digits.lua", "--json=1"}), Contains("takes no value"));
}

TEST_CASE("values of common flags are checked") {
  using Catch::Contains;
  for (const char* text : {"0", "-1", "x", "1.5", "", "99999", "2 "}) {
    CHECK_THAT(refusal({"x.lua", std::string("--threads=") + text}), Contains("from 1 to 4096"));
  }
  CHECK(parse({"x.lua", "--seed", "9007199254740991"}).seed == 9007199254740991);
  CHECK_THAT(refusal({"x.lua", "--seed", "9007199254740992"}), Contains("--seed"));
  for (const char* text : {"gpu", "cuda:", "cuda:x", "CPU", ""}) {
    CHECK_THAT(refusal({"x.lua", std::string("--device=") + text}), Contains("auto, cpu, cuda or cuda:N"));
  }
  for (const char* text : {"lr", "=1"})
    CHECK_THAT(refusal({"x.lua", std::string("--set=") + text}), Contains("PATH=VALUE"));
}

TEST_CASE("help") {
  CHECK(parse({"--help"}).help);
  CHECK(parse({}).command.empty());
  CHECK(parse({"-h"}).help);
  CHECK(parse({"resume", "--help"}).command == "resume");
  const Arguments recipe = parse({"digits.lua", "--help"});
  CHECK(recipe.help);
  CHECK(recipe.words.size() == 1);
  for (const char* command : {"run", "check", "resume", "extend", "list", "report", "help"}) {
    CHECK(command_help(command));
    CHECK_THAT(program_help(), Catch::Contains(command));
  }
  CHECK_FALSE(command_help("nn.Linear"));
  CHECK(asks_for_json(std::vector<std::string>{"--nonsense", "--json"}));
}
