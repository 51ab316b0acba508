// Parameters of a trial in Lua, and functions of a recipe that build a stage from them.
#include "core/params.h"

#include "support.h"

namespace trainlab::params_test {

using trainlab::testing::returned_function;
using trainlab::testing::Sandbox;

namespace {

const Value::Map trial = {{"lr", 0.1}, {"optim", "AdamW"}, {"momentum", Value()}, {"seed", 11}};

struct Fixture {
  std::shared_ptr<Callable> function(const std::string& body) {
    return returned_function(sandbox.execute("return lab.stage { call = function(hp)\n" + body + "\nend }"));
  }
  Value call(const std::string& body) { return std::get<Value>(function(body)->call(arguments).at(0)); }
  std::shared_ptr<const Spec> build(const std::string& body) { return function(body)->build(arguments); }

  Sandbox sandbox;
  const std::vector<Argument> arguments = {std::make_shared<Params>(trial)};
};

}  // namespace

TEST_CASE_METHOD(Fixture, "parameters read by name, inactive ones as nil, unknown ones are an error") {
  CHECK(call("return { hp.lr, hp.optim, hp.momentum == nil, hp.seed }") == Value(Value::List{0.1, "AdamW", true, 11}));
  CHECK(call("local n = {} for name in pairs(hp) do n[#n + 1] = name end table.sort(n) return n") ==
        Value(Value::List{"lr", "optim", "seed"}));
  CHECK_THROWS_WITH(call("return hp.lrr"),
                    Catch::StartsWith("x.lua:2: the space has no parameter 'lrr'\n  hint: did you mean 'lr'?"));
  CHECK_THROWS_WITH(call("return hp.width"), Catch::Contains("no parameter 'width'\n  hint: it has lr, momentum, "
                                                             "optim, seed"));
  CHECK_THROWS_WITH(call("return hp[1]"), Catch::Contains("the space has no parameter the number 1"));
  CHECK_THROWS_WITH(call("hp.width = 3"), Catch::Contains("no parameter 'width'"));
  CHECK(call("hp.momentum = 0.5 return hp.momentum") == Value(0.5));
  CHECK(call("return { (pcall(setmetatable, hp, nil)), getmetatable(hp) }") == Value(Value::List{false, false}));
}

TEST_CASE_METHOD(Fixture, "as data they keep the names that have no value") {
  CHECK(call("return hp") == Value(trial));
  CHECK(call("return { best = hp }")["best"] == Value(trial));
  const auto stage = build("return lab.stage { value = hp }");
  CHECK(stage->value["value"] == Value(trial));
}

TEST_CASE("the best parameters of a sweep can be handed on") {
  Sandbox sandbox;
  const Value pareto = Value::List{Value::Map{{"trial", 1}, {"params", trial}}};
  sandbox.run = [&](const auto&) {
    return Value(Value::Map{{"kind", "sweep"}, {"best", Value::Map{{"params", trial}}}, {"pareto", pareto}});
  };
  const std::string run = "local found = lab.run(lab.stage { name = 'search' })\n";
  CHECK(sandbox.value(run + "return lab.stage { value = found.best.params }") == Value(trial));
  CHECK(sandbox.value(run + "return lab.stage { value = found.pareto }") == pareto);
  CHECK_THAT(sandbox.fails(run + "return lab.stage { value = found.best.params.rate }").what(),
             Catch::StartsWith("x.lua:2: the space has no parameter 'rate'"));
}

TEST_CASE_METHOD(Fixture, "a function builds a stage, with functions in it") {
  const auto stage = build(
      "return lab.stage { optim = lab.optim.SGD { lr = hp.lr }, call = function(x) return x + hp.seed "
      "end }");
  CHECK(stage->value["optim"]["lr"] == Value(0.1));
  const Argument one[] = {Value(1)};
  CHECK(std::get<Value>(stage->function(stage->value["call"])->call(one).at(0)) == Value(12));
}

TEST_CASE_METHOD(Fixture, "what is no stage is told with the function's position") {
  const auto text_of = [&](const std::string& body) -> std::string {
    try {
      build(body);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK_THAT(text_of(""), Catch::StartsWith("x.lua:1: build returned nothing; expected lab.fit { … }"));
  CHECK_THAT(text_of("return nil"), Catch::StartsWith("x.lua:1: build returned nil; expected"));
  CHECK_THAT(text_of("return 3"), Catch::StartsWith("x.lua:1: build returned the number 3; expected"));
  CHECK_THAT(text_of("return lab.optim.SGD {}"), Catch::StartsWith("x.lua:1: build returned optim.SGD; expected"));
  CHECK_THAT(text_of("local s = lab.stage {}\ns.epochs = 0\nreturn s"),
             Catch::StartsWith("x.lua:2: stage.epochs: expected an integer ≥ 1, found 0"));
  CHECK_THAT(text_of("error('too wide')"), Catch::StartsWith("x.lua:2: too wide"));
}

}  // namespace trainlab::params_test
