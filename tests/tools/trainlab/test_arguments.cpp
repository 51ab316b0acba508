#include <catch2/catch.hpp>
#include <limits>

#include "cli/arguments.h"
#include "commands_of_program.h"
#include "core/error.h"

using namespace trainlab;
using namespace trainlab::cli;

namespace {

Arguments parse(const std::vector<std::string>& words) { return parse_arguments(commands_of_program(), words); }

// The message and hint of the usage error that a line ends with.
std::string refusal(const std::vector<std::string>& words) {
  try {
    parse_arguments(commands_of_program(), words);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a line that begins with a recipe is run") {
  const Arguments a = parse({"digits.lua", "--lr", "0.01", "--width=64", "--shift", "-3", "--name="});
  CHECK(a.command->name == "run");
  CHECK(a.words == std::vector<std::string>{"digits.lua"});
  CHECK(a.parameters ==
        std::vector<GivenParameter>{
            {"lr", "0.01", "--lr"}, {"width", "64", "--width"}, {"shift", "-3", "--shift"}, {"name", "", "--name"}});
  CHECK(parse({"run", "digits.lua"}).command->name == "run");
  CHECK(parse({"check", "digits.lua", "--step", "--lr", "1"}).has("step"));
}

TEST_CASE("common flags stand anywhere") {
  const Arguments a = parse({"--json", "--seed", "7", "digits.lua", "--lr", "1", "--set", "optim.lr=2", "--threads=2",
                             "--set=s:x=y=z", "--out", "o", "--device", "cuda:1", "--quiet", "--params", "p.toml"});
  CHECK(a.has("json"));
  CHECK(a.has("quiet"));
  CHECK(a.flags["seed"] == Value(7));
  CHECK(a.flags["threads"] == Value(2));
  CHECK(a.flags["set"] == Value(Value::List{"optim.lr=2", "s:x=y=z"}));
  CHECK(a.flags["out"] == Value("o"));
  CHECK(a.flags["device"] == Value("cuda:1"));
  CHECK(a.flags["params"] == Value("p.toml"));
  CHECK(a.parameters.size() == 1);
}

TEST_CASE("flags that say how an engine works are taken by each command with an engine") {
  const std::vector<std::vector<std::string>> lines = {
      {"check", "x.lua"}, {"resume", "x"}, {"predict", "x", "--input", "y"}};
  for (const std::vector<std::string>& line : lines) {
    std::vector<std::string> words = {"--json", "--quiet", "--threads", "1", "--device", "cpu"};
    words.insert(words.end(), line.begin(), line.end());
    const Arguments a = parse(words);
    CHECK(a.has("json"));
    CHECK(a.flags["threads"] == Value(1));
  }
}

TEST_CASE("a name that is another command's flag may be a recipe's parameter") {
  const Arguments a = parse({"mnist.lua", "--epochs", "2", "--csv", "x"});
  CHECK(a.parameters.size() == 2);
  CHECK_FALSE(a.has("epochs"));
  CHECK(parse({"extend", "runs/x/001", "--epochs", "60"}).flags["epochs"] == Value(60));
  CHECK(parse({"extend", "runs/x/001", "--steps", "500"}).flags["steps"] == Value(500));
}

TEST_CASE("lines that are refused say why") {
  using Catch::Contains;
  CHECK_THAT(refusal({"--thread", "2", "digits.lua"}),
             Contains("unknown flag --thread") && Contains("did you mean --threads?"));
  CHECK_THAT(refusal({"--learning", "2", "digits.lua"}), Contains("come after its path"));
  CHECK(refusal({"-v"}) == "unknown flag -v\n  hint: `trainlab --help` shows them all");
  CHECK_THAT(refusal({"digits.lua", "--lr"}), Contains("unknown flag --lr, or a parameter without its value"));
  CHECK_THAT(refusal({"digits.lua", "--lr", "--json"}), Contains("needs a value: --lr VALUE or --lr=VALUE"));
  CHECK_THAT(refusal({"digits.lua", "--lr", "1", "--lr=2"}), Contains("given twice"));
  CHECK_THAT(refusal({"digits.lua", "--seed", "1", "--seed", "1"}), Contains("given twice"));
  CHECK_THAT(refusal({"digits.lua", "more"}), Contains("\"more\""));
  CHECK_THAT(refusal({"digits.lua", "-x"}), Contains("unknown flag -x"));
  CHECK_THAT(refusal({"resum", "x"}), Contains("did you mean resume?"));
  CHECK_THAT(refusal({"knead", "x.lua"}), Contains("unknown command or recipe knead"));
  CHECK_THAT(refusal({"run"}), Contains("needs one recipe"));
  CHECK_THAT(refusal({"resume"}), Contains("needs one run folder"));
  CHECK_THAT(refusal({"resume", "x", "--seed", "2"}), Contains("means nothing") && Contains("keeps its parameters"));
  CHECK_THAT(refusal({"resume", "x", "--lr", "2"}), Contains("unknown flag --lr") && Contains("keeps its parameters"));
  CHECK_THAT(refusal({"extend", "x"}), Contains("--epochs N, --steps N or --time TIME of a fit"));
  CHECK_THAT(refusal({"extend", "x", "--epochs", "1", "--steps", "2"}),
             Contains("--epochs N, --steps N or --time TIME of a fit"));
  CHECK_THAT(refusal({"list", "--seed", "1"}), Contains("means nothing"));
  CHECK(refusal({"check", "x.lua", "--out=x"}) == "--out means nothing to `trainlab check`");
  CHECK(refusal({"check", "x.lua", "--within=1s"}) == "--within means nothing to `trainlab check`");
  CHECK(refusal({"predict", "x", "--input=y", "--workers=2"}) == "--workers means nothing to `trainlab predict`");
  CHECK(refusal({"report", "x", "--workers=2"}) == "--workers means nothing to `trainlab report`");
  CHECK(refusal({"list", "--quiet"}) == "--quiet means nothing to `trainlab list`");
  CHECK_THAT(refusal({"predict", "x", "--input", "y", "--json", "--format", "csv"}), Contains("either --json or"));
  CHECK_THAT(refusal({"report", "a", "b", "--csv"}), Contains("one run at a time"));
  CHECK_THAT(refusal({"digits.lua", "--json=1"}), Contains("takes no value"));
  for (const char* flag : {"--out=", "--params=", "--stdlib="}) {
    CHECK_THAT(refusal({"digits.lua", flag}),
               Contains(std::string(flag).substr(0, std::string(flag).size() - 1) + ": expected a path, found \"\""));
    CHECK_THAT(refusal({"digits.lua", "--help", flag}), Contains(": expected a path, found \"\""));
  }
  CHECK_THAT(refusal({"report", "done", ""}), Contains("takes ") && Contains("found \"\""));
  CHECK_THAT(refusal({"extend", "", "--epochs", "3"}), Contains("`trainlab extend` takes one run folder, found \"\""));
  CHECK_THAT(refusal({"completion", "fish"}), Contains("knows bash and zsh, found \"fish\""));
}

TEST_CASE("a flag may stand in place of the words and say what a line works on") {
  using Catch::Contains;
  const Value file = Value::Map{{"type", "file"}, {"operand", "FILE"}};
  const auto flag = [](const char* name, const Value& type) {
    return Value::Map{{"name", name}, {"type", type}, {"help", "x"}, {"repeats", false}, {"needs", ""}};
  };
  const std::vector<Command> commands =
      with_engine_commands(Value::List{Value::Map{{"name", "profile"},
                                                  {"line", "what a step waits for"},
                                                  {"text", ""},
                                                  {"takes_second", true},
                                                  {"choices", Value::List{}},
                                                  {"flags", Value::List{flag("trace", file), flag("apply", file)}}}});
  const auto parse = [&](const std::vector<std::string>& words) { return parse_arguments(commands, words); };
  const Arguments a = parse({"profile", "--attach", "runs/x/001", "--json", "--trace", "t.json"});
  CHECK(a.command->name == "profile");
  CHECK(a.words.empty());
  CHECK(a.flags["attach"] == Value("runs/x/001"));
  CHECK_THROWS_WITH(parse({"profile"}), Contains("needs one recipe or two"));
  CHECK_THROWS_WITH(parse({"profile", "x.lua", "--attach", "runs/x/001"}),
                    Contains("--attach stands in place of one recipe or two, found \"x.lua\" beside it"));
  CHECK_THROWS_WITH(parse({"profile", "--attach", "runs/x/001", "--set", "batch=3"}),
                    Contains("--set means nothing to `trainlab profile --attach`"));
  CHECK_THROWS_WITH(parse({"profile", "--attach", "runs/x/001", "--apply", "x.toml"}),
                    Contains("--apply means nothing to `trainlab profile --attach`"));
  CHECK_THROWS_WITH(parse({"profile", "--attach", "runs/x/001", "--lr", "1"}), Contains("unknown flag --lr"));
}

TEST_CASE("a flag of another command is shown in its place") {
  CHECK(refusal({"--csv", "report", "runs/x/001"}) == "--csv stands after its command: trainlab report … --csv");
  CHECK(refusal({"--epochs=2", "digits.lua"}) ==
        "--epochs stands after its command: trainlab extend … --epochs\n"
        "  hint: a recipe's own parameters come after its path: trainlab RECIPE.lua --epochs VALUE");
  CHECK(refusal({"resume", "runs/x/001", "--epochs", "60"}) ==
        "--epochs means nothing to `trainlab resume`\n  hint: it goes with trainlab extend … --epochs");
  // `trainlab check` takes recipes too: a parameter of this name could not be given to it.
  CHECK(refusal({"digits.lua", "--step", "5"}) == "--step stands after its command: trainlab check … --step");
}

TEST_CASE("values of common flags are checked") {
  using Catch::Contains;
  for (const char* text : {"0", "-1", "x", "1.5", "", "99999", "2 "}) {
    CHECK_THAT(refusal({"x.lua", std::string("--threads=") + text}), Contains("from 1 to 4096"));
  }
  CHECK(parse({"x.lua", "--seed", "9007199254740991"}).flags["seed"] == Value(std::int64_t{9007199254740991}));
  CHECK_THAT(refusal({"x.lua", "--seed", "9007199254740992"}), Contains("--seed"));
  for (const char* text : {"cuda:", "cuda:x", "CPU", "../gpu", ""}) {
    CHECK_THAT(refusal({"x.lua", std::string("--device=") + text}), Contains("auto, cpu, cuda or cuda:N"));
  }
  for (const char* text : {"lr", "=1"})
    CHECK_THAT(refusal({"x.lua", std::string("--set=") + text}), Contains("PATH=VALUE"));
}

TEST_CASE("help") {
  CHECK(parse({"--help"}).has("help"));
  CHECK_FALSE(parse({}).command);
  CHECK(parse({"-h"}).has("help"));
  CHECK(parse({"resume", "--help"}).command->name == "resume");
  const Arguments recipe = parse({"digits.lua", "--help"});
  CHECK(recipe.has("help"));
  CHECK(recipe.words.size() == 1);
  const std::string program = program_help(commands_of_program());
  for (const Command& command : commands_of_program()) {
    INFO(command.name);
    CHECK_THAT(program, Catch::Contains("\n  " + command.name + " ") && Catch::Contains(command.line));
    for (const Flag& flag : command.flags) CHECK_THAT(command_help(command), Catch::Contains("--" + flag.name));
  }
  for (const Flag& flag : common_flags()) {
    CHECK_THAT(program, Catch::Contains("\n  --" + flag.name));
    INFO("a recorded flag says what holds without it, because manifests are read by its kind: --" << flag.name);
    CHECK_FALSE((flag.recorded && flag.otherwise.is_nil()));
  }
  const auto line_of = [](const char* name) { return usage_line(*command_named(commands_of_program(), name)); };
  CHECK(line_of("run") == "trainlab [run] RECIPE.lua [--apply FILE] [--latest NAME] [--PARAMETER VALUE…] [flags]");
  CHECK(line_of("check") == "trainlab check RECIPE.lua [--step] [--PARAMETER VALUE…] [flags]");
  CHECK(line_of("extend") ==
        "trainlab extend RUN --epochs N | --steps N | --time TIME | --trials N [--within TIME] [flags]");
  CHECK(line_of("predict") == "trainlab predict RUN --input FILE | --prompt TEXT [flags]");
  CHECK(line_of("report") == "trainlab report RUN… [--csv | --json] [--html FILE] [flags]");
  CHECK(line_of("help") == "trainlab help [NAME…] [--man] [flags]");
  CHECK(line_of("completion") == "trainlab completion bash | zsh [flags]");
  CHECK_FALSE(command_named(commands_of_program(), "nn.Linear"));
  CHECK(asks_for_json(std::vector<std::string>{"--nonsense", "--json"}));
}

TEST_CASE("a command that is one more record is parsed, helped with and completed") {
  std::vector<Command> commands = commands_of_program();
  commands.push_back({.name = "weigh",
                      .line = "how heavy a run is",
                      .words = {.operand = "RUN", .what = "one run folder", .least = 1, .most = 1},
                      .flags = {{.name = "unit", .type = choice_type("U", {"kg", "lb"}), .help = "of weight"}}});
  const std::vector<std::string> line = {"weigh", "runs/x/001", "--unit", "lb", "--json"};
  const Arguments a = parse_arguments(commands, line);
  CHECK(a.command->name == "weigh");
  CHECK(a.flags == Value(Value::Map{{"unit", "lb"}, {"json", true}}));

  using Catch::Contains;
  const auto refused = [&](const std::vector<std::string>& words) {
    CHECK_THROWS_AS(parse_arguments(commands_of_program(), words), Error);
    try {
      parse_arguments(commands, words);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(refused({"weihg", "x"}), Contains("did you mean weigh?"));
  CHECK_THAT(refused({"weigh", "x", "--unit", "t"}), Contains("--unit: expected kg or lb, found \"t\""));
  CHECK_THAT(refused({"weigh", "x", "--unti", "kg"}),
             Contains("unknown flag --unti") && Contains("did you mean --unit?"));
  CHECK_THAT(refused({"weigh", "x", "--seed", "1"}), Contains("--seed means nothing to `trainlab weigh`"));
  CHECK_THAT(refused({"weigh"}), Contains("`trainlab weigh` needs one run folder"));

  CHECK_THAT(program_help(commands), Contains("\n  weigh            how heavy a run is\n"));
  CHECK(command_help(commands.back()) ==
        "  trainlab weigh RUN [--unit U] [flags]\n\n  --unit U         of weight\n"
        "\nFlags, anywhere on the line: --json\n");
  for (const char* shell : {"bash", "zsh"})
    CHECK_THAT(completion_script(commands, shell), Contains("--unit) offers='kg lb'"));
}

TEST_CASE("flags go through the engine's table of commands as they are") {
  using Catch::Contains;
  for (const Command& command : all_commands()) {
    for (const Flag& flag : command.flags) {
      INFO(command.name << " --" << flag.name);
      const Flag back = flag_from(parse_json(to_json(to_value(flag)), "a flag"));
      CHECK(back.help == flag.help);
      CHECK(back.repeats == flag.repeats);
      CHECK(back.type.operand == flag.type.operand);
      CHECK(back.type.words == flag.type.words);
      CHECK(back.type.names == flag.type.names);
      CHECK(to_value(back) == to_value(flag));
    }
  }
  CHECK(to_value(Flag{"n", whole_type("N", 1, 9), "a number"})["type"] ==
        Value(Value::Map{{"type", "whole"}, {"operand", "N"}, {"low", 1}, {"high", 9}}));
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const Flag whole{"n", whole_type("N", -largest, largest), "a number"};
  const Flag back = flag_from(parse_json(to_json(to_value(whole)), "a flag"));
  CHECK(to_value(back)["type"] ==
        Value(Value::Map{{"type", "whole"}, {"operand", "N"}, {"low", -largest}, {"high", largest}}));
  CHECK(back.type.read("--n", std::to_string(largest)) == Value(largest));
  const Flag number = flag_from(to_value(Flag{"t", number_type("T", 0, 1, "from 0 to 1"), "a share"}));
  CHECK(number.type.read("--t", "0.5") == Value(0.5));
  CHECK_THROWS_WITH(number.type.read("--t", "2"), Contains("--t: expected a number from 0 to 1, found \"2\""));
  CHECK(command_named(commands_of_program(), "check") == &commands_of_program()[1]);
}

TEST_CASE("no command restates a common flag with another type") {
  for (const Command& command : commands_of_program()) {
    for (const Flag& flag : command.flags) {
      for (const Flag& common : common_flags()) {
        if (flag.name != common.name) continue;
        INFO(command.name << " --" << flag.name);
        CHECK(flag.type.operand == common.type.operand);
        CHECK(flag.repeats == common.repeats);
      }
    }
  }
}
