#include "support.h"

namespace trainlab::entries_test {

using trainlab::testing::Sandbox;
using trainlab::testing::test_registry;

namespace {

Value stage_of(const std::string& text) {
  Sandbox sandbox;
  const Recipe::Outcome outcome = sandbox.execute(text);
  REQUIRE(outcome.stage);
  return outcome.stage->value;
}

}  // namespace

TEST_CASE("a constructor gives a plain table") {
  Sandbox sandbox;
  CHECK(sandbox.value(R"(
    local l = lab.nn.Linear(64, { bias = false })
    local s = lab.nn.Sequential { l, lab.nn.ReLU() }
    return lab.stage { value = { type(l), l.out, l.bias, l.missing == nil, #s, s[1] == l, tostring(s) } })") ==
        Value(Value::List{"table", 64, false, true, 2, true,
                          "nn.Sequential { nn.Linear { 64, bias = false }, nn.ReLU() }"}));
}

TEST_CASE("positions and names mean the same") {
  const std::string one =
      GENERATE(as<std::string>(), "lab.nn.Conv2d(8, 3, { stride = 2 })", "lab.nn.Conv2d { 8, 3, stride = 2 }",
               "lab.nn.Conv2d { channels = 8, kernel = 3, stride = 2 }",
               "lab.nn.Conv2d { 8, kernel = { 3, 3 }, stride = { 2, 2 } }",
               "lab.nn.Conv2d(8, { 3, 3 }, { stride = 2 })", "lab.nn.Conv2d { 8, { 3, 3 }, stride = 2 }");
  CAPTURE(one);
  const Value model = stage_of("return lab.stage { model = " + one + " }")["model"];
  CHECK(test_registry().print(model) == "nn.Conv2d { 8, 3, stride = 2 }");
  CHECK(model["@at"] == Value("x.lua:1"));
}

TEST_CASE("a list of numbers alone holds the sizes by axis, not the first option and the next") {
  struct Row {
    const char* code;
    const char* printed;
  };
  const Row row =
      GENERATE(Row{"lab.nn.MaxPool2d({ 3, 2 })", "nn.MaxPool2d({ 3, 2 })"},
               Row{"lab.nn.MaxPool2d { 3, 2 }", "nn.MaxPool2d({ 3, 2 })"},
               Row{"lab.nn.MaxPool2d({ 3, 2 }, { 2, 1 })", "nn.MaxPool2d({ 3, 2 }, { 2, 1 })"},
               Row{"lab.nn.MaxPool2d(3, 2)", "nn.MaxPool2d(3, 2)"}, Row{"lab.nn.MaxPool2d { 3 }", "nn.MaxPool2d(3)"},
               Row{"lab.nn.MaxPool2d { { 3, 2 }, 2 }", "nn.MaxPool2d({ 3, 2 }, 2)"},
               Row{"lab.nn.MaxPool2d { 3, 2, ceil = true }", "nn.MaxPool2d(3, 2, true)"},
               Row{"lab.nn.MaxPool2d({ 3, 2 }, { ceil = true })", "nn.MaxPool2d { { 3, 2 }, ceil = true }"});
  CAPTURE(row.code);
  const Value model = stage_of(std::string("return lab.stage { model = ") + row.code + " }")["model"];
  CHECK(test_registry().print(model) == row.printed);
}

TEST_CASE("array options take what stands without a name") {
  CHECK(test_registry().print(stage_of("local nn = lab.nn\nreturn lab.stage { model = nn.Residual { nn.ReLU(), "
                                       "nn.ReLU(), shortcut = nn.Linear(3) } }")["model"]) ==
        "nn.Residual { nn.ReLU(), nn.ReLU(), shortcut = nn.Linear(3) }");
  CHECK(test_registry().print(stage_of(
            "local nn = lab.nn\nreturn lab.stage { model = nn.Sequential(nn.ReLU(), nn.Linear(3)) }")["model"]) ==
        "nn.Sequential { nn.ReLU(), nn.Linear(3) }");
}

TEST_CASE("methods make entries of what stands before the colon") {
  const Value data = stage_of(
      "local d = lab.data.csv('a.csv')\nreturn lab.stage {\n data = d:split { train = 0.8, val = 0.2 } }")["data"];
  CHECK(data["@"] == Value("data:split"));
  CHECK(data["@at"] == Value("x.lua:3"));
  CHECK(data["source"]["@"] == Value("data.csv"));
  CHECK(data["source"]["@at"] == Value("x.lua:1"));
  CHECK(data["train"] == Value(0.8));

  Sandbox sandbox;
  CHECK_THAT(sandbox.fails("lab.data.csv('a').split { train = 1 }").what(),
             Catch::StartsWith("x.lua:1: data:split: expected a data before the colon, found a table"));
}

TEST_CASE("paths are absolute, and relative to the recipe") {
  Sandbox sandbox;
  const Recipe::Outcome outcome =
      sandbox.execute("return lab.stage { data = lab.data.csv { 'sub/../a.csv', label = 'a.csv' } }");
  CHECK(outcome.stage->value["data"]["path"] == Value((sandbox.folder.path() / "a.csv").string()));
  CHECK(outcome.stage->value["data"]["label"] == Value("a.csv"));
  const Recipe::Outcome absolute = sandbox.execute("return lab.stage { data = lab.data.csv '/data/b.csv' }");
  CHECK(absolute.stage->value["data"]["path"] == Value("/data/b.csv"));
}

TEST_CASE("a wrong call is reported at its line") {
  struct Row {
    const char* call;
    const char* text;
  };
  const Row row = GENERATE(
      Row{"lab.nn.MaxPool2d { 3, 2, 1 }",
          "nn.MaxPool2d.kernel: expected an integer ≥ 1, or a list of 2, found a list of 3"},
      Row{"lab.nn.Linear('x')", "nn.Linear.out: expected an integer ≥ 1, found \"x\""},
      Row{"lab.nn.Linear(0)", "nn.Linear.out: expected an integer ≥ 1, found 0"},
      Row{"lab.nn.Linear(1.5)", "nn.Linear.out: expected an integer ≥ 1, found 1.5"},
      Row{"lab.nn.Linear()", "nn.Linear.out: missing; expected an integer ≥ 1"},
      Row{"lab.nn.Linear(1, 2)", "nn.Linear: takes 1 by position (out), found 2"},
      Row{"lab.nn.Linear { 1, out = 2 }", "nn.Linear: 'out' is given twice, by position and by name"},
      Row{"lab.nn.Linear { 1, bais = false }", "nn.Linear: there is no option 'bais'\n  hint: did you mean 'bias'?"},
      Row{"lab.optim.SGD { lr = -1 }", "optim.SGD.lr: expected a number > 0, found -1"},
      Row{"lab.optim.SGD { lr = 0/0 }", "optim.SGD.lr: expected a number > 0, found nan"},
      Row{"lab.optim.SGD { 1 }", "optim.SGD: takes only named options, found 1 without a name (1)"},
      Row{"lab.optim.SDG { }", "lab.optim has no 'SDG'\n  hint: did you mean lab.optim.SGD?"},
      Row{"lab.optm.SGD { }", "lab has no 'optm'\n  hint: did you mean lab.optim?"},
      Row{"lab.nn.Sequential { lab.nn.ReLU }",
          "nn.Sequential[1]: found the constructor nn.ReLU, which was not called\n  hint: write nn.ReLU(…)"},
      Row{"lab.nn.Sequential { lab.nn.ReLU(), nil, lab.nn.ReLU() }",
          "nn.Sequential: a list with a hole: [2] is missing"},
      Row{"lab.nn.Sequential { lab.optim.SGD() }",
          "nn.Sequential[1].SGD: expected a layer, found an optimizer (optim.SGD)"},
      Row{"lab.stage { loader = { thread = 2 } }",
          "stage.loader: there is no option 'thread'\n  hint: did you mean 'threads'?"},
      Row{"lab.stage { epochs = '5' }", "stage.epochs: expected an integer ≥ 1, found \"5\""});
  CAPTURE(row.call);
  Sandbox sandbox;
  const Error error = sandbox.fails(std::string("local a\nlocal b = ") + row.call + "\nreturn nil");
  CHECK_THAT(error.what(), Catch::StartsWith(std::string("x.lua:2: ") + row.text));
  CHECK(error.traceback().empty());  // the message has the position already
}

TEST_CASE("a table that was changed after its construction is checked again") {
  Sandbox sandbox;
  const Error error =
      sandbox.fails("local o = lab.optim.SGD { lr = 0.1 }\nlocal s = lab.stage {\n optim = o }\no.lr = -1\nreturn s");
  CHECK_THAT(error.what(), Catch::StartsWith("x.lua:1: stage.optim.lr: expected a number > 0, found -1"));
  CHECK_THAT(sandbox.fails("local l = lab.nn.ReLU()\nl[1] = 3\nreturn lab.stage { model = l }").what(),
             Catch::StartsWith("x.lua:1: stage.model: expected options by name, found 1 by position"));
  CHECK(test_registry().print(sandbox
                                  .execute("local m = lab.nn.Sequential { lab.nn.ReLU() }\nm[2] = "
                                           "lab.nn.Linear(4)\nreturn lab.stage { model = m }")
                                  .stage->value["model"]) == "nn.Sequential { nn.ReLU(), nn.Linear(4) }");
}

TEST_CASE("lab.seed is the run's seed") {
  Sandbox sandbox;
  CHECK(sandbox.value("return lab.stage { value = lab.seed }") == Value(7));
}

TEST_CASE("the line of a constructor is known where the call is a return") {
  Sandbox sandbox;
  const Recipe::Outcome outcome = sandbox.execute(
      "local nn = lab.nn\nlocal function mlp(n)\n  return nn.Linear(n)\nend\nlocal function relu()\n  local l = "
      "nn.ReLU()\n  return l\nend\n"
      "return lab.stage {\n  model = nn.Sequential { mlp(3), relu() },\n  data = (function() local d = lab.data.csv "
      "'a'\n    return d:split {} end)(),\n}");
  const Value& stage = outcome.stage->value;
  CHECK(stage["@at"] == Value("x.lua:9"));
  CHECK(stage["model"]["@at"] == Value("x.lua:10"));
  CHECK(stage["model"]["layers"].list()[0]["@at"] == Value("x.lua:3"));
  CHECK(stage["model"]["layers"].list()[1]["@at"] == Value("x.lua:6"));
  CHECK(stage["data"]["@at"] == Value("x.lua:12"));
  // A helper with the name of the constructor that it returns; a constructor under another name.
  const auto named = [&](const std::string& text) { return sandbox.execute(text).stage->value["@at"]; };
  CHECK(named("local function stage()\n  return lab.stage {}\nend\nreturn stage()") == Value("x.lua:2"));
  CHECK(named("local stage = lab.stage\nlocal s = stage {}\nreturn s") == Value("x.lua:2"));
  CHECK(named("local f = lab.stage\nlocal function make()\n  local s = f {}\n  return s\nend\nlocal s = make()\nreturn "
              "s") == Value("x.lua:3"));
  CHECK_THAT(sandbox.fails("local a\n\nreturn lab.stage {\n  epochs = 0\n}").what(),
             Catch::StartsWith("x.lua:3: stage.epochs: expected an integer ≥ 1, found 0"));
}

}  // namespace trainlab::entries_test
