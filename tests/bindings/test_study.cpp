// lab.study in recipes: ask, report, tell; what is refused; what a study says of itself.
#include <cmath>

#include "support.h"

namespace trainlab::study_test {

using trainlab::testing::Sandbox;

namespace {

// A recipe with a study of x in 0 … 1 that is chosen at random; more options may follow.
std::string with_study(const std::string& options, const std::string& body) {
  return "local study = lab.study { space = { x = lab.space.uniform(0, 1) }, sampler = lab.sampler.random() " +
         options + " }\n" + body;
}

Value value(const std::string& recipe) {
  Sandbox sandbox;
  return sandbox.value(recipe);
}

std::string failure(const std::string& recipe) {
  Sandbox sandbox;
  return sandbox.fails(recipe).what();
}

}  // namespace

TEST_CASE("ask, tell, best and trials") {
  const Value all = value(R"(
    local study = lab.study {
      space = { lr = lab.space.log(1e-4, 1e-1), optim = lab.space.choice { "AdamW", "SGD" },
                momentum = lab.space.uniform(0, 0.99):when("optim", "SGD"), batch = 64 },
      sampler = lab.sampler.random { seed = 3 }, goal = "max" }
    for k = 1, 20 do
      local trial = study:ask()
      assert(trial.number == k - 1 and tostring(trial) == "trial " .. k - 1)
      local p = trial.params
      assert(p == trial.params and p.batch == 64 and p.lr >= 1e-4 and p.lr <= 0.1)
      assert((p.momentum == nil) == (p.optim == "AdamW"))
      study:tell(trial, p.lr)
    end
    return lab.stage { value = { best = study.best, trials = study.trials, count = #study } })");
  CHECK(all["count"] == Value(20));
  double highest = 0;
  std::int64_t at = 0;
  for (const Value& trial : all["trials"].list()) {
    CHECK(trial["state"] == Value("complete"));
    CHECK(trial["value"] == trial["params"]["lr"]);
    CHECK(trial["params"].map().contains("momentum"));
    if (trial["value"].number() > highest) {
      highest = trial["value"].number();
      at = trial["number"].integer();
    }
  }
  CHECK(all["best"]["trial"] == Value(at));
  CHECK(all["best"]["value"] == Value(highest));
  CHECK(all["best"]["params"] == all["trials"].list()[static_cast<std::size_t>(at)]["params"]);
}

TEST_CASE("a study draws the same each time, from its seed or that of the run") {
  const auto drawn = [](const std::string& options) {
    return value(
        "local study = lab.study { space = { x = lab.space.uniform(0, 1) } " + options +
        " }\nlocal all = {}\nfor k = 1, 30 do local t = study:ask() all[k] = t.params.x study:tell(t, t.params.x) "
        "end\nreturn lab.stage { value = all }");
  };
  CHECK(drawn("") == drawn(", seed = 7"));  // the sandbox's seed
  CHECK(drawn(", seed = 8") != drawn(", seed = 7"));
  CHECK(drawn(", seed = 8") == drawn(", sampler = lab.sampler.tpe { seed = 8 }"));
}

TEST_CASE("NaN fails a trial, infinity is a value, a finished trial does not change") {
  CHECK(value(with_study("", R"(
    local a, b, c, d = study:ask(), study:ask(), study:ask(), study:ask()
    study:tell(a, 0 / 0)
    assert(study.best == nil)
    study:tell(b.number, 1 / 0)
    assert(study.best.trial == 1)
    c:report(1, 5)
    c:report(2, 4)
    study:tell(c, nil, { state = "pruned" })
    study:tell(d, nil, { state = "failed" })
    local states = {}
    for i, t in ipairs(study.trials) do states[i] = t.state .. " " .. tostring(t.value) end
    return lab.stage { value = { states, study.trials[3].reports } })")) ==
        Value(Value::List{Value::List{"failed nil", "complete inf", "pruned 4", "failed nil"}, Value::List{5, 4}}));
  const std::string twice = with_study("", "local t = study:ask()\nstudy:tell(t, 1)\n");
  CHECK_THAT(failure(twice + "study:tell(t, 2)"),
             Catch::StartsWith("x.lua:4: trial 0 has ended (complete): a finished trial does not change"));
  CHECK_THAT(failure(twice + "t:report(1, 2)"), Catch::StartsWith("x.lua:4: trial 0 has ended (complete)"));
  CHECK_THAT(failure(twice + "t:should_prune()"), Catch::StartsWith("x.lua:4: trial 0 has ended (complete)"));
}

TEST_CASE("several objectives have a front of best trials") {
  CHECK(value(R"(
    local space = { x = lab.space.int(0, 9) }
    local study = lab.study { space = space, sampler = lab.sampler.grid(), goal = { "min", "max" } }
    for trial in study.ask, study do
      local x = trial.params.x
      study:tell(trial, { math.abs(x - 3), x < 6 and x or 0 })
    end
    local front = {}
    for i, best in ipairs(study.pareto) do
      assert(best.values[2] == best.params.x)
      front[i] = best.trial
    end
    assert(study.trials[1].values[1] == 3)
    local _, why = study:ask()
    return lab.stage { value = { front, why, #study } })") ==
        Value(Value::List{Value::List{3, 4, 5}, "the space is used up", 10}));
  CHECK_THAT(failure(with_study(", goal = { 'min', 'min' }", "return study.best")),
             Catch::Contains("several objectives has no single best trial") && Catch::Contains("study.pareto"));
  CHECK_THAT(failure(with_study(", goal = { 'min', 'min' }", "study:tell(study:ask(), 1)")),
             Catch::Contains("study:tell.value: expected 2 values, found 1"));
}

TEST_CASE("given points come first, constraints hold for all") {
  CHECK(value(R"(
    local study = lab.study {
      space = { a = lab.space.int(1, 8), b = lab.space.int(1, 8) }, sampler = lab.sampler.random(),
      enqueue = { { a = 2, b = 3 }, { b = 1 } }, constraints = function(hp) return hp.a * hp.b <= 16 end }
    study:enqueue { a = 4 }
    local seen = {}
    for k = 1, 40 do
      local p = study:ask().params
      assert(p.a * p.b <= 16)
      if k <= 3 then seen[k] = { p.a, p.b } end
    end
    assert(seen[1][1] == 2 and seen[1][2] == 3 and seen[2][2] == 1 and seen[3][1] == 4)
    return lab.stage { value = true })") == Value(true));
  CHECK_THAT(failure(with_study(", enqueue = { x = 2 }", "")),
             Catch::StartsWith("x.lua:1: lab.study.enqueue[1].x: expected a number in 0 … 1, found 2"));
  CHECK_THAT(failure(with_study("", "study:enqueue { y = 2 }")),
             Catch::StartsWith("x.lua:2: study:enqueue: the space has no parameter 'y'"));
  CHECK_THAT(failure(with_study(", constraints = function() return 3 end", "study:ask()")),
             Catch::Contains("constraints: expected true or false of the function at x.lua:1, found 3"));
  CHECK_THAT(failure(with_study(", constraints = function(hp) return hp.y < 3 end", "study:ask()")),
             Catch::StartsWith("x.lua:1: the space has no parameter 'y'"));
  CHECK_THAT(failure(with_study(", constraints = function() return false end", "study:ask()")),
             Catch::Contains("constraints: none of 10000 points of the space"));
}

TEST_CASE("a pruner answers from what was reported") {
  CHECK(value(with_study(", pruner = lab.pruner.median { startup = 2 }", R"(
    local answers = {}
    for k = 1, 4 do
      local trial = study:ask()
      assert(not trial:should_prune())
      for step = 1, 3 do trial:report(step, k) end
      answers[k] = trial:should_prune()
      study:tell(trial, k)
    end
    return lab.stage { value = answers })")) == Value(Value::List{false, false, true, true}));
  // As many as a deterministic study may have open, and what it then may see.
  CHECK(value(with_study(", deterministic = true, pruner = lab.pruner.median { startup = 1 }", R"(
    local open, answers = {}, {}
    for k = 1, 8 do
      open[k] = study:ask()
      open[k]:report(1, k)
      answers[k] = open[k]:should_prune()
    end
    local none, why = study:ask()
    assert(none == nil)
    for k = 2, 8 do study:tell(open[k], k) end
    assert(study:ask() == nil)
    study:tell(open[1], 1)
    local last = study:ask()
    last:report(1, 2)
    return lab.stage { value = { answers, why, last.number, last:should_prune() } })")) ==
        Value(Value::List{Value::List{false, false, false, false, false, false, false, false}, "others must end first",
                          8, true}));
}

TEST_CASE("a report has a value for each objective, by which a pruner ranks") {
  const std::string two = ", goal = { 'min', 'max' }, pruner = lab.pruner.asha()";
  // The third is the worst by the first objective and the best by the second, the fourth is worse than others in both.
  CHECK(value(with_study(two, R"(
    local answers = {}
    for k, values in ipairs { { 1, 5 }, { 2, 6 }, { 9, 9 }, { 8, 4 } } do
      local trial = study:ask()
      trial:report(1, values)
      answers[k] = trial:should_prune()
      study:tell(trial, nil, { state = "pruned" })
    end
    local last = study.trials[4]
    return lab.stage { value = { answers, last.values, last.reports[1] } })")) ==
        Value(Value::List{Value::List{false, false, false, true}, Value::List{8, 4}, Value::List{8, 4}}));
  const auto reported = [&](const std::string& report) { return failure(with_study(two, "study:ask():" + report)); };
  CHECK_THAT(reported("report(1, 2)"), Catch::StartsWith("x.lua:2: trial:report.value: expected 2 values, found 1"));
  CHECK_THAT(reported("report(1, { 2, 'x' })"),
             Catch::StartsWith("x.lua:2: trial:report.value[2]: expected a number, found \"x\""));
  CHECK_THAT(failure(with_study("", "study:ask():report(1, { 2, 3 })")),
             Catch::Contains("trial:report.value: expected 1 value, found 2"));
  CHECK_THAT(failure(with_study(", goal = { 'min', 'max' }, pruner = lab.pruner.wilcoxon()", "")),
             Catch::Contains("lab.study.pruner: expected a study of one objective, found 2"));
  // Means over repeats.
  CHECK(value(with_study("", R"(
    local trial = study:ask()
    trial:report(1, 4)
    trial:report(2, 3)
    trial:report(1, 1, 2)
    study:tell(trial, nil, { state = "pruned" })
    return lab.stage { value = { study.trials[1].reports, study.trials[1].value } })")) ==
        Value(Value::List{Value::List{2.5, 3}, 2.5}));
}

TEST_CASE("a study in a file goes on where it ended, and is shared") {
  Sandbox sandbox;
  const std::string open = R"(
    local function open(more)
      local options = { space = { x = lab.space.uniform(0, 1) }, sampler = lab.sampler.random(), file = "s.db",
                        enqueue = { { x = 0.25 } }, pruner = lab.pruner.median { startup = 1 } }
      for name, value in pairs(more or {}) do options[name] = value end
      return lab.study(options)
    end
    local a = open()
  )";
  const Value first = sandbox.value(open + R"(
    assert(#a == 1)
    local b = open { sampler = lab.sampler.sobol() }
    local one, two, three = a:ask(), b:ask(), a:ask()
    assert(one.params.x == 0.25 and one.number == 0 and two.number == 1 and three.number == 2 and #b == 3)
    one:report(1, 3)
    a:tell(one, 3)
    assert(b.best.value == 3 and b.best.params.x == 0.25)
    two:report(1, 4)
    assert(two:should_prune())
    b:tell(two, nil, { state = "pruned" })
    assert(not pcall(b.tell, b, 2, 1))
    a:enqueue { x = 0.5 }
    return lab.stage { value = { three.params.x, a.trials[2].value } })");
  CHECK(first.list()[1] == Value(4));
  const Value second = sandbox.value(open + R"(
    assert(#a == 4 and a.best.trial == 0)
    local three, four = a:ask(), a:ask()
    a:tell(three, 1 / 0)
    a:tell(four, 0 / 0)
    local third, fourth = a.trials[3].state, a.trials[4].state
    return lab.stage { value = { three.number, three.params.x, four.params.x, third, fourth } })");
  CHECK(second == Value(Value::List{2, first.list()[0], 0.5, "complete", "failed"}));
  CHECK_THAT(sandbox.fails(open + "a:tell(2, 1)").what(), Catch::Contains("trial 2 has ended (complete)"));
  CHECK_THAT(sandbox.fails(open + "local b = open()\nlocal t = b:ask()\na:tell(t.number, 1)").what(),
             Catch::Contains("trial 4 runs elsewhere"));
  CHECK_THAT(sandbox.fails(open + "open { goal = 'max' }").what(),
             Catch::Contains("lab.study.file: ") && Catch::Contains("s.db holds a study with another goal"));
  CHECK_THAT(sandbox.fails(open + "open { space = { x = lab.space.uniform(0, 2) } }").what(),
             Catch::Contains("a study with another space"));
  CHECK_THAT(sandbox.fails("lab.study { space = { y = 1 }, file = 'x.lua' }").what(),
             Catch::Contains("lab.study.file: expected a name that ends in .db"));
  CHECK_THAT(sandbox.fails("lab.study { space = { y = 1 }, file = 'none/x.db' }").what(),
             Catch::Contains("file: there is no folder "));
}

TEST_CASE("what a function of the recipe raises leaves a study in a file as it was") {
  Sandbox sandbox;
  CHECK(sandbox.value(R"(
    local broken = true
    local study = lab.study { space = { x = lab.space.uniform(0, 1) }, file = "s.db", sampler = lab.sampler.random(),
      constraints = function(hp) if broken then error("not now") end return true end }
    local other = lab.study { space = { x = lab.space.uniform(0, 1) }, file = "s.db" }
    for k = 1, 3 do other:tell(other:ask(), k) end
    for k = 1, 2 do assert(not pcall(study.ask, study)) end
    broken = false
    study:tell(study:ask(), 0)
    return lab.stage { value = { #study, study.best.value } })") == Value(Value::List{4, 0}));
}

TEST_CASE("wrong calls are told") {
  CHECK_THAT(failure("lab.study {}"), Catch::StartsWith("x.lua:1: lab.study.space: missing"));
  CHECK_THAT(failure("lab.study { space = lab.space.uniform(0, 1) }"),
             Catch::StartsWith("x.lua:1: lab.study.space: expected a table of parameters by name"));
  CHECK_THAT(failure("lab.study { space = { x = lab.sampler.random() } }"),
             Catch::Contains("lab.study.space.x: expected") && Catch::Contains("found a sampler (sampler.random)"));
  CHECK_THAT(failure("lab.study { space = { x = lab.space.uniform(0, 1) }, sampler = lab.sampler.grid() }"),
             Catch::Contains("lab.study.sampler.points: the range of 'x' has infinitely many values"));
  CHECK_THAT(failure("lab.study { space = { x = lab.space.uniform(0, 1) }, sampler = lab.sampler.pbt() }"),
             Catch::Contains("lab.sampler has no 'pbt'") && Catch::Contains("did you mean lab.scheduler.pbt?"));
  const auto told = [](const std::string& call) { return failure(with_study("", "local t = study:ask()\n" + call)); };
  CHECK_THAT(told("study:tell(t)"), Catch::StartsWith("x.lua:3: study:tell.value: missing; expected a number") &&
                                        Catch::Contains("state = \"failed\""));
  CHECK_THAT(told("study:tell(t, 'x')"),
             Catch::StartsWith("x.lua:3: study:tell.value: expected a number, found \"x\""));
  CHECK_THAT(told("study:tell(t, 1, { state = 'pruned' })"),
             Catch::Contains("study:tell.value: expected no value, found"));
  CHECK_THAT(told("study:tell(t, nil, { state = 'done' })"),
             Catch::Contains("study:tell.state: expected \"complete\""));
  CHECK_THAT(told("study:tell(t, nil, { stat = 'failed' })"), Catch::Contains("there is no option 'stat'"));
  CHECK_THAT(told("study:tell(7, 1)"), Catch::StartsWith("x.lua:3: there is no trial 7"));
  CHECK_THAT(told("study:tell('a', 1)"), Catch::Contains("expected a trial object, found \"a\""));
  CHECK_THAT(told("study.tell(t, 1)"), Catch::Contains("expected a study object"));
  CHECK_THAT(told("study:enqueue { x = 0.5 }\nstudy:tell(1, 1)"), Catch::StartsWith("x.lua:4: trial 1 waits"));
  CHECK_THAT(told("t:report(0, 1)"), Catch::StartsWith("x.lua:3: trial:report.step: expected an integer ≥ 1, found the "
                                                       "number 0"));
  CHECK_THAT(told("t:report(1)"), Catch::StartsWith("x.lua:3: trial:report.value: expected a number, found nothing"));
  CHECK_THAT(told("return t.params.y"), Catch::StartsWith("x.lua:3: the space has no parameter 'y'"));
  CHECK_THAT(told("return t.value"), Catch::Contains("trial has no 'value'"));
  CHECK_THAT(told("local other = lab.study { space = { x = 1 } }\nother:tell(t, 1)"),
             Catch::Contains("study:tell.trial: the trial belongs to another study"));
}

TEST_CASE("a loop that gets no trials does not escape the limit") {
  Sandbox sandbox;
  sandbox.limits.instructions = 100'000;
  const char* body = GENERATE("while true do study:ask() end", "while true do pcall(study.tell, study, t, 1) end",
                              "while true do pcall(t.should_prune, t) end");
  CAPTURE(body);
  CHECK_THAT(sandbox
                 .fails("local study = lab.study { space = { x = 1 }, sampler = lab.sampler.grid() }\n"
                        "local t = study:ask()\nstudy:tell(t, 1)\n" +
                        std::string(body))
                 .what(),
             Catch::StartsWith("x.lua:4: stopped after 100,000 instructions"));
}

}  // namespace trainlab::study_test
