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
      Row{"run.metrics.x = 1", "the fields of run cannot be set"}, Row{"setmetatable(run, {})", "table expected"},
      Row{"run.state.f = print", "run.state.f: expected data, found a function"});
  CAPTURE(row.body);
  try {
    call(row.body);
    run->read_state();
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

TEST_CASE_METHOD(Fixture, "a state that is no data names the place") {
  call("run.state.f = { print }");
  CHECK_THROWS_WITH(run->read_state(), Catch::Contains("run.state.f[1]: expected data, found a function"));
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
