// The object `run` of callbacks.
#include "objects/run_handle.h"

#include <cmath>

#include "support.h"

namespace trainlab::run_handle_test {

using trainlab::testing::returned_function;
using trainlab::testing::Sandbox;

namespace {

class FakeRun final : public RunHandle {
 public:
  std::int64_t step() const override { return 12; }
  std::int64_t epoch() const override { return 3; }
  std::int64_t samples() const override { return 640; }
  double metric(const std::string& name) const override {
    if (name != "val.loss") throw recipe_error("there is no metric '" + name + "'").hint("did you mean 'val.loss'?");
    return std::nan("");
  }
  std::vector<std::string> metric_names() const override { return {"val.loss"}; }
  void stop(const std::string& reason) override { calls.push_back("stop " + reason); }
  void set_lr(SetRate rate) override { calls.push_back("set_lr " + number_text(rate.rate) + " " + rate.place); }
  std::optional<SetRate> set_rate() const override { return {}; }
  void save(const std::string& name) override { calls.push_back("save " + name); }
  void log(const std::string& name, Logged value) override {
    calls.push_back("log " + name + " " + number_text(number_of(value)));
  }
  void artifact(const std::string& name, const Artifact& content) override {
    calls.push_back("artifact " + name + " " + std::get<std::string>(content));
  }

  Objects models() const override { return {}; }
  Objects optimizers() const override { return {}; }
  double rate() const override { return 0.1; }
  Value speed() const override { return Value::Map{{"shares", Value::Map{{"input", 0.25}}}}; }

  std::vector<std::string> calls;
};

struct Fixture {
  std::vector<Argument> call(const std::string& body) {
    const auto function =
        returned_function(sandbox.execute("return lab.stage { call = function(run, x)\n" + body + "\nend }"));
    const Argument arguments[] = {run, Value(1)};
    return function->call(arguments);
  }
  Sandbox sandbox;
  std::shared_ptr<FakeRun> run = std::make_shared<FakeRun>();
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a callback reads the run") {
  const std::vector<Argument> results = call(
      "return run.step, run.epoch, run.samples, run.metrics['val.loss'] ~= run.metrics['val.loss'], tostring(run), "
      "run");
  CHECK(std::get<Value>(results.at(0)) == Value(12));
  CHECK(std::get<Value>(results.at(1)) == Value(3));
  CHECK(std::get<Value>(results.at(2)) == Value(640));
  CHECK(std::get<Value>(results.at(3)) == Value(true));  // a NaN
  CHECK(std::get<Value>(results.at(4)) == Value("run"));
  CHECK(std::get<std::shared_ptr<Object>>(results.at(5)) == run);
}

TEST_CASE_METHOD(Fixture, "a callback reads where the time has gone") {
  const std::vector<Argument> results = call("return run.profile.shares.input, run.profile.shares.evaluation == nil");
  CHECK(std::get<Value>(results.at(0)) == Value(0.25));
  CHECK(std::get<Value>(results.at(1)) == Value(true));
}

TEST_CASE_METHOD(Fixture, "a callback acts on the run") {
  call(
      "run:stop('good enough') run:set_lr(1e-3) run:save('early') run:log('t', 0.5) run:artifact('notes.txt', 'text')");
  CHECK(run->calls == std::vector<std::string>{"stop good enough", "set_lr 0.001 x.lua:2", "save early", "log t 0.5",
                                               "artifact notes.txt text"});
}

TEST_CASE_METHOD(Fixture, "wrong use of the run is an error at its line") {
  struct Row {
    const char* body;
    const char* message;
  };
  const Row row = GENERATE(
      Row{"return run.metrics['val.los']", "there is no metric 'val.los'\n  hint: did you mean 'val.loss'?"},
      Row{"return run.stpe", "run has no 'stpe'\n  hint: did you mean run.step?"},
      Row{"run.step = 3", "the fields of run cannot be set"}, Row{"run:stop()", "run:stop.reason: missing"},
      Row{"run.stop('x')", "expected a run object, found \"x\""},
      Row{"run:set_lr(-1)", "run:set_lr.rate: expected a number ≥ 0, found -1"},
      Row{"run:log('x', {})", "run:log.value: expected a number"},
      Row{"run.metrics.x = 1", "the fields of run cannot be set"}, Row{"setmetatable(run, {})", "table expected"});
  CAPTURE(row.body);
  try {
    call(row.body);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Catch::Contains(row.message));
  }
  CHECK(run->calls.empty());
}

TEST_CASE_METHOD(Fixture, "run.state is one table for the whole run, and can be read for a checkpoint") {
  run->state.value = parse_json(R"({"count": 4, "list": [1, 2]})", "test");
  const auto function = returned_function(
      sandbox.execute("return lab.stage { call = function(run) local s = run.state s.count = s.count + 1 "
                      "s.list[#s.list + 1] = s.count assert(s == run.state) return s.count end }"));
  const Argument arguments[] = {run};
  function->call(arguments);
  CHECK(std::get<Value>(function->call(arguments).at(0)) == Value(6));
  REQUIRE(run->read_state);
  CHECK(run->read_state().value == parse_json(R"({"count": 6, "list": [1, 2, 5, 6]})", "test"));

  // Another run has a state of its own, also at the same address.
  run = std::make_shared<FakeRun>();
  run->state.value = parse_json(R"({"count": 1, "list": []})", "test");
  const Argument other[] = {run};
  CHECK(std::get<Value>(function->call(other).at(0)) == Value(2));
}

TEST_CASE_METHOD(Fixture, "a loop of calls that do no work does not escape the limit") {
  sandbox.limits.instructions = 1'000'000;
  const char* cheap = GENERATE("run:log('x', 1)", "run:stop('x')", "run:set_lr(1)", "local x = run.metrics['val.loss']",
                               "local x = run.state");
  CAPTURE(cheap);
  CHECK_THROWS_WITH(call("while true do " + std::string(cheap) + " end"),
                    Catch::StartsWith("x.lua:2: stopped after 1,000,000 instructions"));
}

TEST_CASE_METHOD(Fixture, "instructions are counted anew after a file was written") {
  sandbox.limits.instructions = 1'000'000;
  call("for k = 1, 20 do for i = 1, 200000 do end run:artifact('n' .. k, 'text') end");
  CHECK(run->calls.size() == 20);
}

TEST_CASE_METHOD(Fixture, "what cannot be saved of a state is found when the function ends, and left out") {
  struct Row {
    const char* body;
    const char* fault;  // the path and what follows it
    const char* saved;
  };
  const Row row = GENERATE(
      Row{"s.f = print", ".f: expected data or a tensor, found a function", R"({"x": 1})"},
      Row{"s.h = { 1, { fn = print, y = 2 } }", ".h[2].fn: expected data or a tensor, found a function",
          R"({"h": [1, {"y": 2}], "x": 1})"},
      Row{"s.h = { 1, print, 3 }", ".h[2]: expected data or a tensor, found a function", R"({"h": [], "x": 1})"},
      Row{"s.c = coroutine.create(print)", ".c: expected data or a tensor, found a thread", R"({"x": 1})"},
      Row{"s.c = { d = s }", ".c.d: a table that contains itself", R"({"c": [], "x": 1})"},
      Row{"s[1] = 7", ": a table with both positions and names ('x')", R"({"x": 1})"},
      Row{"s[0.5] = 7", ": expected positions from 1, found [0.5]", R"({"x": 1})"},
      Row{"s[true] = 7", ": expected a name or a position as key, found true", R"({"x": 1})"},
      Row{"s.t = '\\255'", ".t: a text that is not UTF-8", R"({"x": 1})"},
      Row{"s.r = run", ".r: expected data or a tensor, found an object of type run", R"({"x": 1})"},
      Row{"s.l = lab.nn.ReLU()", ".l: expected data or a tensor, found nn.ReLU { … }", R"({"x": 1})"});
  CAPTURE(row.body);
  call("local s = run.state\ns.x = 1\n" + std::string(row.body));
  REQUIRE(run->state_fault());
  CHECK_THAT(run->state_fault()->what(), Catch::StartsWith("x.lua:1: run.state" + std::string(row.fault)));
  CHECK_THAT(run->state_fault()->what(), Catch::Contains("holds numbers, booleans, texts, tensors, and lists and "
                                                         "tables by name of these"));
  CHECK(to_json(run->present_state().value) == to_json(parse_json(row.saved, "test")));
}

TEST_CASE_METHOD(Fixture, "a tensor that no file can hold is found in a state") {
  call("run.state.z = lab.tensor({ 1 }, { dtype = 'complex64' })");
  REQUIRE(run->state_fault());
  CHECK_THAT(run->state_fault()->what(), Catch::Contains("run.state.z: expected a tensor that a file can hold, found a "
                                                         "tensor of dtype complex64"));
}

TEST_CASE_METHOD(Fixture, "what was put into a large state is found at a checkpoint at the latest") {
  const auto function =
      returned_function(sandbox.execute("local calls = 0\nreturn lab.stage { call = function(run) calls = calls + 1\n"
                                        "if calls == 1 then for i = 1, 100000 do run.state[i] = i end end\n"
                                        "if calls == 3 then run.state[100001] = print end end }"));
  const Argument arguments[] = {run};
  for (int i = 0; i < 3; ++i) function->call(arguments);
  const ScriptState saved = run->present_state();
  CHECK(saved.value.list().size() == 100'000);
  REQUIRE(run->state_fault());
  CHECK_THAT(run->state_fault()->what(), Catch::StartsWith("x.lua:2: run.state[100001]: expected data"));
}

TEST_CASE_METHOD(Fixture, "a state with too many values is saved up to the limit") {
  call("local s = run.state s.a = 1 s.b = {} for i = 1, 1100000 do s.b[i] = 0 end");
  REQUIRE(run->state_fault());
  CHECK_THAT(run->state_fault()->what(), Catch::Contains("more than a million values"));
}

TEST_CASE_METHOD(Fixture, "a run that was kept in the recipe does not keep its state from ending") {
  const auto function = returned_function(
      sandbox.execute("local kept\nreturn lab.stage { call = function(run) kept = run run.state.x = 1 end }"));
  const Argument arguments[] = {run};
  function->call(arguments);
  sandbox.recipe.reset();       // closes the state, releases the object
  CHECK(run.use_count() == 2);  // here and in `arguments`
}

}  // namespace trainlab::run_handle_test
