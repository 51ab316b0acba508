#include <csignal>

#include "bindings/set_options.h"
#include "run/stage.h"
#include "support.h"

namespace trainlab::recipe_test {

using trainlab::testing::returned_function;
using trainlab::testing::Sandbox;
using trainlab::testing::test_registry;

TEST_CASE("a recipe returns a stage or nil") {
  Sandbox sandbox;
  CHECK(sandbox.execute("return lab.stage { name = 'a' }").stage->value["name"] == Value("a"));
  CHECK_FALSE(sandbox.execute("return nil").stage);
  CHECK_FALSE(sandbox.execute("local a = 1").stage);
  CHECK(sandbox.execute("#!/usr/bin/env trainlab\nreturn lab.stage { name = 'b' }").stage->value["@at"] ==
        Value("x.lua:2"));
  CHECK_THAT(sandbox.fails("return 42").what(),
             Catch::StartsWith("x.lua:1: a recipe returns a stage, found the number 42"));
  CHECK_THAT(sandbox.fails("return lab.nn.ReLU()").what(),
             Catch::StartsWith("x.lua:1: a recipe returns a stage, found nn.ReLU"));
  CHECK_THAT(sandbox.fails("return {}").what(), Catch::StartsWith("x.lua:1: a recipe returns a stage, found a table"));
}

TEST_CASE("lab.run gives the result as a fresh table") {
  Sandbox sandbox;
  std::vector<std::string> ran;
  sandbox.run = [&](const std::shared_ptr<const Spec>& spec) {
    ran.push_back(spec->value["name"].string());
    return parse_json(R"({"metrics": {"val.loss": 0.5}, "best": null, "steps": 12})", "test");
  };
  CHECK(
      sandbox.value(
          "local s = lab.stage { name = 'first' }\nlocal a, b = lab.run(s), lab.run(s)\na.steps = 1\n"
          "return lab.stage { name = 'second', value = { b.steps, b.metrics['val.loss'], b.best == nil, a ~= b } }") ==
      Value(Value::List{12, 0.5, true, true}));
  CHECK(ran == std::vector<std::string>{"first", "first"});
  CHECK_THAT(sandbox.fails("lab.run(12)").what(),
             Catch::StartsWith("x.lua:1: lab.run takes a stage, found the number 12"));
  CHECK_THAT(sandbox.fails("lab.run()").what(), Catch::StartsWith("x.lua:1: lab.run takes a stage, found nothing"));
}

TEST_CASE("lab.run and lab.param have their places") {
  Sandbox sandbox;
  CHECK_THAT(sandbox.fails("lab.run(lab.stage {})\nlab.param { 'p', 1 }").what(),
             Catch::StartsWith("x.lua:2: lab.param \"p\": declared after a stage has run"));
  const auto run =
      returned_function(sandbox.execute("return lab.stage { call = function()\n lab.run(lab.stage {}) end }"));
  CHECK_THROWS_WITH(run->call({}), Catch::StartsWith("x.lua:2: lab.run inside a function that the engine calls"));
  const auto param =
      returned_function(sandbox.execute("return lab.stage { call = function()\n lab.param { 'p', 1 } end }"));
  CHECK_THROWS_WITH(param->call({}), Catch::StartsWith("x.lua:2: lab.param inside a function that the engine calls"));
}

TEST_CASE("lab.run works inside a coroutine, with callbacks") {
  Sandbox sandbox;
  sandbox.run = [](const std::shared_ptr<const Spec>& spec) {
    const Argument two[] = {Value(2)};
    return Value(Value::Map{{"y", std::get<Value>(spec->function(spec->value["call"])->call(two).at(0))}});
  };
  CHECK(sandbox.value("local f = coroutine.wrap(function() coroutine.yield(1) local r = lab.run(lab.stage { call = "
                      "function(x) return x * 21 end }) coroutine.yield(r.y) end)\n"
                      "return lab.stage { value = { f(), f() } }") == Value(Value::List{1, 42}));
}

TEST_CASE("the host can end the execution at lab.run") {
  Sandbox sandbox;
  sandbox.run = [](const auto&) -> Value { throw ExecutionEnds(); };
  const Recipe::Outcome outcome =
      sandbox.execute("pcall(lab.run, lab.stage {})\nprint('went on')\nreturn lab.stage {}");
  CHECK(outcome.ended);
  CHECK_FALSE(outcome.stage);
  CHECK(sandbox.printed.empty());
}

TEST_CASE("a missing recipe is named") {
  Sandbox sandbox;
  sandbox.execute("");
  Parameters parameters({}, sandbox.folder.path(), false, {}, nullptr);
  LuaHost host;
  host.registry = &test_registry();
  Recipe recipe(std::move(host), {sandbox.folder.path() / "none.lua", {}, "none.lua"}, parameters, {});
  CHECK_THROWS_WITH(recipe.execute(), Catch::Contains("none.lua"));
}

TEST_CASE("what differs between executions elsewhere is the same here") {
  const std::string text = R"(
    local names, t = {}, { z = 1, a = 2, [3] = 3, [1] = 1, m = 4, [2.5] = 5, [-1] = 6 }
    for k in pairs(t) do names[#names + 1] = tostring(k) end
    local random = {}
    for i = 1, 5 do random[i] = math.random(1000) end
    random[6] = math.random()
    math.randomseed(3)
    random[7] = math.random(-5, 5)
    return lab.stage { value = { table.concat(names, ' '), random, os.time(), os.date('!%Y-%m-%d') } })";
  Sandbox first, second;
  const Value value = first.value(text);
  CHECK(second.value(text) == value);
  CHECK(value.list()[0] == Value("-1 1 2.5 3 a m z"));
  CHECK(value.list()[2] == Value(1'700'000'000));
  CHECK(value.list()[3] == Value("2023-11-14"));
}

TEST_CASE("pairs allows what Lua's own allows") {
  Sandbox sandbox;
  CHECK(sandbox.value(
            "local t, n = { a = 1, b = 2, c = 3 }, 0\nfor k in pairs(t) do t[k] = nil n = n + 1 end\n"
            "local u, seen = { a = 1, b = 2 }, {}\nfor k, v in pairs(u) do u.b = nil seen[#seen + 1] = k .. v end\n"
            "return lab.stage { value = { n, next(t) == nil, table.concat(seen) } }") ==
        Value(Value::List{3, true, "a1"}));
}

TEST_CASE("random numbers of a callback depend on its key only") {
  Sandbox sandbox;
  const auto function = returned_function(
      sandbox.execute("return lab.stage { call = function() return math.random(1e9), math.random(1e9) end }"));
  const auto draw = [&](Key key) {
    function->rekey(key);
    const std::vector<Argument> drawn = function->call({});
    return std::pair(std::get<Value>(drawn.at(0)).integer(), std::get<Value>(drawn.at(1)).integer());
  };
  const auto first = draw(Key(1).fold("callback").fold(12));
  CHECK(draw(Key(1).fold("callback").fold(13)) != first);
  CHECK(draw(Key(1).fold("callback").fold(12)) == first);
}

TEST_CASE("a stage that calls functions leaves the recipe's random numbers alone") {
  const std::string recipe =
      "local before = math.random(1e9)\n"
      "lab.run(lab.stage { call = function() math.randomseed(4) return math.random(1e9) end })\n"
      "return lab.stage { value = { before, math.random(1e9), math.random() } }";
  Sandbox stored;  // its stage is finished: nothing is called
  const Value alone = stored.value(recipe);
  Sandbox first;
  first.run = [](const std::shared_ptr<const Spec>& stage) {
    const auto function = stage->function(stage->value["call"]);
    for (std::uint64_t step = 0; step < 3; ++step) {
      function->rekey(Key(step));
      function->call({});
    }
    return Value(Value::Map{});
  };
  CHECK(first.value(recipe) == alone);

  // Also when the function fails and the recipe goes on.
  first.run = [](const std::shared_ptr<const Spec>& stage) {
    const auto function = stage->function(stage->value["call"]);
    function->rekey(Key(1));
    CHECK_THROWS_AS(function->call({}), Error);
    return Value(Value::Map{});
  };
  CHECK(first.value("local before = math.random(1e9)\n"
                    "lab.run(lab.stage { call = function() math.random() error('x') end })\n"
                    "return lab.stage { value = { before, math.random(1e9), math.random() } }") == alone);
}

TEST_CASE("random numbers have their limits") {
  Sandbox sandbox;
  CHECK(sandbox.value("local low, high, sum = 9, 0, 0 for i = 1, 20000 do local x = math.random(3, 8) low, high = "
                      "math.min(low, x), math.max(high, x) sum = sum + x end\n"
                      "return lab.stage { value = { low, high, math.abs(sum / 20000 - 5.5) < 0.05 } }") ==
        Value(Value::List{3, 8, true}));
  CHECK_THAT(sandbox.fails("math.random(0)").what(), Catch::Contains("nothing lies between"));
  CHECK_THAT(sandbox.fails("math.random(2^60)").what(), Catch::Contains("beyond 2^53"));
}

TEST_CASE("--set changes options of stages") {
  Sandbox sandbox;
  const Spec stage = *sandbox
                          .execute(
                              "local nn = lab.nn\nreturn lab.stage { name = 's', epochs = 3, optim = lab.optim.SGD {}, "
                              "model = nn.Sequential { nn.ReLU(), nn.Linear(4) } }")
                          .stage;
  const auto with = [&](const char* text, bool returned) {
    return SetOptions({text}).apply(test_registry(), stage, returned).value;
  };
  SetOptions set({"optim.lr=0.5", "model[2].out=7", "loader.threads=2", "other:epochs=9", "s:epochs=4"});
  const Value changed = set.apply(test_registry(), stage, true).value;
  CHECK(changed["optim"]["lr"] == Value(0.5));
  CHECK(changed["model"]["layers"].list()[1]["out"] == Value(7));
  CHECK(changed["loader"]["threads"] == Value(2));
  CHECK(changed["epochs"] == Value(4));
  CHECK_THROWS_WITH(set.check_all_used(), Catch::Contains("--set other:epochs=9: the recipe has no stage \"other\""));
  CHECK(with("epochs=9", false)["epochs"] == Value(3));  // not the returned one

  CHECK(with("epochs=nil", true)["epochs"].is_nil());
  CHECK(with("value=[0.9, 1, [\"a\"]]", true)["value"] == Value(Value::List{0.9, 1, Value::List{"a"}}));
  CHECK(with("loader={ threads = 3 }", true)["loader"]["threads"] == Value(3));

  struct Row {
    const char* text;
    const char* message;
  };
  const Row row =
      GENERATE(Row{"value=[0.9,", "--set value=[0.9,: expected a list or a table as in TOML, found [0.9, ("},
               Row{"epoch=3", "--set epoch=3: stage: there is no option 'epoch'\n  hint: did you mean 'epochs'?"},
               Row{"epochs=x", "--set epochs=x: stage.epochs: expected an integer ≥ 1, found \"x\""},
               Row{"model[3].out=1", "--set model[3].out=1: there is no model[3]"},
               Row{"epochs.x=1", "epochs is 3, which has no option 'x'"}, Row{"optim.lr", "expected PATH=VALUE"},
               Row{"model[x]=1", "expected a position from 1"}, Row{"=1", "expected the path of an option"});
  CAPTURE(row.text);
  try {
    with(row.text, true);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK_THAT(error.what(), Catch::Contains(row.message));
  }
}

}  // namespace trainlab::recipe_test
