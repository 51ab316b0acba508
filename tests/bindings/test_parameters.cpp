#include "run/flag.h"
#include "support.h"

namespace trainlab::parameters_test {

using trainlab::testing::Sandbox;

TEST_CASE("a parameter has its default, or what was given last") {
  Sandbox sandbox;
  const std::string recipe =
      "local p = lab.param { 'lr', 3e-3, doc = 'rate', min = 0 }\nreturn lab.stage { value = p }";
  CHECK(sandbox.value(recipe) == Value(3e-3));
  sandbox.given = {{"lr", "0.5", "grid.toml:1"}, {"lr", "0.25", "--lr"}};
  CHECK(sandbox.value(recipe) == Value(0.25));
  CHECK(sandbox.declared["lr"] == Value(0.25));
}

TEST_CASE("the type comes from the default, or is named") {
  Sandbox sandbox;
  sandbox.given = {{"n", "12", "--n"}, {"x", "3", "--x"},   {"b", "true", "--b"},
                   {"s", "12", "--s"}, {"p", "a/b", "--p"}, {"c", "cnn", "--c"}};
  sandbox.execute(
      "lab.param { 'n', 3 } lab.param { 'x', 0.5 } lab.param { 'b', false } lab.param('s', 'text')\n"
      "lab.param { 'p', 'data', type = 'path' } lab.param { 'c', 'mlp', choices = { 'mlp', 'cnn' } } lab.param('q', "
      "'data', { type = 'path' })");
  CHECK(sandbox.declared["n"] == Value(12));
  CHECK(sandbox.declared["x"] == Value(3.0));
  CHECK(sandbox.declared["b"] == Value(true));
  CHECK(sandbox.declared["s"] == Value("12"));
  CHECK(sandbox.declared["p"] == Value((sandbox.folder.path() / "a/b").string()));
  CHECK(sandbox.declared["q"] == Value((sandbox.folder.path() / "data").string()));
  CHECK(sandbox.declared["c"] == Value("cnn"));
}

TEST_CASE("a given value that does not fit is wrong usage") {
  struct Row {
    const char* declaration;
    const char* given;
    const char* text;
  };
  const Row row =
      GENERATE(Row{"'p', 3", "1.5", "--p: expected an integer, found \"1.5\""},
               Row{"'p', 3, min = 1, max = 5", "6", "--p: expected an integer ≥ 1 and ≤ 5, found \"6\""},
               Row{"'p', 3", "9007199254740993", "--p: expected an integer, found \"9007199254740993\""},
               Row{"'p', 0.5, min = 0", "-1", "--p: expected a number ≥ 0, found \"-1\""},
               Row{"'p', 0.5", "nan", "--p: expected a number, found \"nan\""},
               Row{"'p', 0.5", "inf", "--p: expected a number, found \"inf\""},
               Row{"'p', 0.5", "", "--p: expected a number, found \"\""},
               Row{"'p', 0.5", "1 2", "--p: expected a number, found \"1 2\""},
               Row{"'p', true", "yes", "--p: expected true or false, found \"yes\""},
               Row{"'p', 'a', choices = { 'a', 'b', 'c' }", "d", "--p: expected \"a\", \"b\" or \"c\", found \"d\""},
               Row{"'p', type = 'path'", "", "--p: expected a path, found \"\""});
  CAPTURE(row.declaration, row.given);
  Sandbox sandbox;
  sandbox.given = {{"p", row.given, "--p"}};
  const Error error = sandbox.fails(std::string("local p = lab.param { ") + row.declaration + " }");
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(error.path() + ": " + error.message() == row.text);
}

TEST_CASE("a declaration that contradicts itself is an error of the recipe") {
  struct Row {
    const char* declaration;
    const char* text;
  };
  const Row row = GENERATE(Row{"'a-b', 1", "expected a name of letters, digits and _, found \"a-b\""},
                           Row{"'p'", "has neither a default nor a type"},
                           Row{"'p', {}", "expected a boolean, number or string as default, found"},
                           Row{"'p', 'x', type = 'integer'", "expected an integer as default, found \"x\""},
                           Row{"'p', 5, max = 3", "expected an integer ≤ 3 as default, found 5"},
                           Row{"'p', 'x', min = 3", "min and max belong to numbers, this is a string"},
                           Row{"'p', 'x', type = 'choice'", "a choice without choices"},
                           Row{"'p', 1, type = 'float'", "lab.param.type: expected"},
                           Row{"'p', 1, dco = 'x'", "did you mean 'doc'?"});
  CAPTURE(row.declaration);
  Sandbox sandbox;
  const Error error = sandbox.fails(std::string("local a\nlocal p = lab.param { ") + row.declaration + " }");
  CHECK(error.kind() == ErrorKind::recipe);
  CHECK_THAT(error.what(), Catch::StartsWith("x.lua:2: ") && Catch::Contains(row.text));
  CHECK_THAT(sandbox.fails("lab.param { 'p', 1 }\nlab.param { 'p', 2 }").what(),
             Catch::StartsWith("x.lua:2: lab.param \"p\": declared twice, first at x.lua:1"));
}

TEST_CASE("a flag of a command on a recipe is no name for a parameter") {
  Sandbox sandbox;
  sandbox.flags = {common_flag("seed"), {.name = "step", .type = switch_type(), .help = ""}};
  for (const Flag& flag : sandbox.flags) {
    const Error error = sandbox.fails("lab.param { '" + flag.name + "', 1 }");
    CHECK(error.kind() == ErrorKind::recipe);
    CHECK_THAT(error.what(), Catch::Contains("--" + flag.name + " has a meaning of its own in every recipe"));
  }
  sandbox.execute("lab.param { 'steps', 1 }");
}

TEST_CASE("what was given and is not declared is wrong usage") {
  Sandbox sandbox;
  sandbox.given = {{"lrr", "1", "--lrr"}};
  const Error error = sandbox.fails("lab.param { 'lr', 1.0 }");
  CHECK(error.kind() == ErrorKind::usage);
  CHECK_THAT(error.what(), Catch::Contains("--lrr: the recipe has no parameter 'lrr'\n  hint: did you mean --lr?"));

  bool ran = false;
  sandbox.run = [&](const auto&) {
    ran = true;
    return Value(Value::Map{});
  };
  CHECK(sandbox.fails("lab.param { 'lr', 1.0 } lab.run(lab.stage {})").kind() == ErrorKind::usage);
  CHECK_FALSE(ran);  // told before work begins
}

TEST_CASE("an optional parameter is nil where it is not given") {
  Sandbox sandbox;
  CHECK(sandbox.execute("assert(lab.param { 'data', type = 'path', optional = true } == nil)").ended == false);
}

TEST_CASE("a parameter without default must be given, but not for --help") {
  const std::string recipe =
      "#!/usr/bin/env trainlab\n-- digits.lua: a small classifier\n--   in two lines\n\nlocal x = 1 -- not this\n"
      "lab.param { 'data', type = 'path', doc = 'folder' }\nlab.param { 'lr', 3e-3, doc = 'peak learning rate', min = "
      "0 }\n"
      "lab.param { 'model', 'mlp', choices = { 'mlp', 'cnn' } }\nlab.param { 'flag', false }\n"
      "lab.run(lab.stage {})\nerror('not reached')";
  Sandbox sandbox;
  const Error error = sandbox.fails(recipe);
  CHECK(error.kind() == ErrorKind::usage);
  CHECK_THAT(error.what(), Catch::Contains("the recipe needs a value for --data: a path"));

  sandbox.describe = true;
  sandbox.run = [](const auto&) -> Value { throw ExecutionEnds(); };
  CHECK(sandbox.execute(recipe).ended);
  CHECK(sandbox.parameters->help("recipes/x.lua", sandbox.recipe->text()) ==
        "digits.lua: a small classifier\n  in two lines\n\n"
        "trainlab recipes/x.lua [--PARAMETER VALUE…]\n\n"
        "Parameters:\n"
        "  --data PATH     folder (required)\n"
        "  --lr NUMBER     peak learning rate (≥ 0; default 0.003)\n"
        "  --model CHOICE  (\"mlp\" or \"cnn\"; default mlp)\n"
        "  --flag BOOLEAN  (default false)\n");
}

}  // namespace trainlab::parameters_test
