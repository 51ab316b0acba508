#include <atomic>
#include <condition_variable>
#include <mutex>

#include "bindings/large_stack.h"
#include "run/stage.h"
#include "support.h"

namespace trainlab::limits_test {

using trainlab::testing::returned_function;
using trainlab::testing::Sandbox;

TEST_CASE("a loop that does not end is stopped, wherever it runs") {
  const std::string loop = GENERATE(
      as<std::string>(), "while true do end", "local n = 0 repeat n = n + 1 until false",
      "pcall(function() while true do end end) while true do end",
      "while true do pcall(function() while true do end end) end",
      "xpcall(function() while true do end end, function() while true do end end)",
      "coroutine.wrap(function() while true do end end)()",
      "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
      "local t = setmetatable({}, {__index = function() while true do end end}) return t.x",
      "table.sort({3, 1, 2}, function() while true do end end)", "('x'):gsub('.', function() while true do end end)",
      "print(setmetatable({}, {__tostring = function() while true do end end}))",
      "local function f() return f() end f()", "for _ in function() return 1 end do end");
  CAPTURE(loop);
  Sandbox sandbox;
  sandbox.limits.instructions = 1'000'000;
  const Error error = sandbox.fails("local x = 1\n" + loop);
  CHECK(error.kind() == ErrorKind::recipe);
  CHECK_THAT(error.what(), Catch::StartsWith("x.lua:2: stopped after 1,000,000 instructions"));
}

TEST_CASE("instructions are counted anew for each callback and after work of the engine") {
  Sandbox sandbox;
  sandbox.limits.instructions = 1'000'000;
  // Each part alone stays below the limit; together they are far above it.
  const std::string part = "for i = 1, 200000 do end\n";
  sandbox.execute("for k = 1, 20 do " + part +
                  " lab.run(lab.stage { name = 's' .. k }) end\n"
                  "return lab.stage { call = function(n) for i = 1, n do end return n end }");
  const Recipe::Outcome outcome =
      sandbox.execute("return lab.stage { call = function(n)\n for i = 1, n do end return n end }");
  const auto function = returned_function(outcome);
  for (int i = 0; i < 10; ++i) {
    const Argument small[] = {Value(200'000)};
    CHECK(std::get<Value>(function->call(small).at(0)) == Value(200'000));
  }
  const Argument large[] = {Value(5'000'000)};
  CHECK_THROWS_WITH(function->call(large), Catch::StartsWith("x.lua:2: stopped after 1,000,000 instructions") &&
                                               Catch::Contains("in this callback"));
  const Argument again[] = {Value(1)};
  CHECK(std::get<Value>(function->call(again).at(0)) == Value(1));  // the state is usable afterwards
}

TEST_CASE("memory is limited, whatever takes it") {
  const std::string recipe = GENERATE(
      as<std::string>(), "local s = 'x' while true do s = s .. s end", "local t = {} for i = 1, 1e9 do t[i] = i end",
      "local t = {} while true do t = {t} end", "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
      "local t = {} for i = 1, 1e9 do t[i] = function() return i end end",
      "local t = {} for i = 1, 1e9 do t[i] = coroutine.create(print) end",
      "local t = {} while true do pcall(function() while true do t[#t + 1] = {} end end) end",
      "local t = {} for i = 1, 1e9 do t[i] = tostring(i) end return table.concat(t)", "local s = ('x'):rep(2 ^ 30)",
      "local s = ('x'):rep(2 ^ 53)", "local s = ('x'):rep(10, ('y'):rep(1e7))");
  CAPTURE(recipe);
  Sandbox sandbox;
  sandbox.limits.memory = 16 << 20;
  const Error error = sandbox.fails("local x = 1\n" + recipe);
  CHECK(error.kind() == ErrorKind::recipe);
  CHECK_THAT(error.what(), Catch::StartsWith("x.lua:2: ") && Catch::Contains("memory limit of recipes"));
}

TEST_CASE("garbage does not count as memory in use") {
  Sandbox sandbox;
  sandbox.limits.memory = 16 << 20;
  CHECK(sandbox.value("local n = 0 for i = 1, 2000 do local s = ('x'):rep(100000) .. i n = n + #s end\n"
                      "return lab.stage { value = n > 2e8 }") == Value(true));
}

TEST_CASE("after memory ran out in a callback, others still run") {
  Sandbox sandbox;
  sandbox.limits.memory = 16 << 20;
  const auto function = returned_function(sandbox.execute(
      "return lab.stage { call = function(n)\n local t = {} for i = 1, n do t[i] = {} end return #t end }"));
  const Argument large[] = {Value(10'000'000)};
  for (int i = 0; i < 3; ++i) CHECK_THROWS_WITH(function->call(large), Catch::StartsWith("x.lua:2: the memory limit"));
  const Argument small[] = {Value(10)};
  CHECK(std::get<Value>(function->call(small).at(0)) == Value(10));
}

TEST_CASE("the limits of a real recipe let it do real work") {
  Sandbox sandbox;  // 1 GiB, 2e9 instructions
  CHECK(sandbox.value("local t = {} for i = 1, 3e6 do t[i] = {i} end return lab.stage { value = #t }") ==
        Value(3'000'000));
}

namespace {

// The watchdog's words about a script that is silent for longer than 0.05 s.
std::optional<Error> heard_of(const std::string& script) {
  std::mutex mutex;
  std::optional<Error> heard;
  Sandbox sandbox;
  sandbox.limits.silence = 0.05;
  sandbox.limits.grace = 0;
  sandbox.silent = [&](const Error& error) {
    const std::lock_guard lock(mutex);
    heard = error;
  };
  sandbox.execute(script);
  sandbox.recipe.reset();  // joins the watchdog
  return heard;
}

}  // namespace

TEST_CASE("a pattern that explodes is noticed, with its line") {
  // The time of this pattern grows fourfold with two characters: it is made longer until it takes well over the limit.
  const std::optional<Error> heard = heard_of(
      "local n = 16\nlocal begin\nrepeat\n n = n + 2\n begin = os.clock()\n local _ = ('a'):rep(n):find(('a?'):rep(n) "
      ".. ('a'):rep(n))\n"
      "until os.clock() - begin > 0.5");
  REQUIRE(heard);
  CHECK(heard->kind() == ErrorKind::recipe);
  CHECK_THAT(heard->what(), Catch::StartsWith("x.lua:6: no answer for 0.05 s (--silence), nor in the 0 s of --grace") &&
                                Catch::Contains("string patterns"));
}

TEST_CASE("a single operator on giant tensors is noticed, with its line") {
  // Each product is larger than the one before it, until one takes well over the limit.
  const std::optional<Error> heard = heard_of(
      "local n = 200\nlocal begin\nrepeat\n n = n + 400\n local a = lab.tensor.ones(n, n)\n begin = os.clock()\n"
      " lab.ops.matmul(a, a)\nuntil os.clock() - begin > 0.5");
  REQUIRE(heard);
  CHECK_THAT(heard->what(), Catch::StartsWith("x.lua:7: no answer for 0.05 s") && Catch::Contains("single operator"));
}

TEST_CASE("time is limited where single instructions take long, and no pcall holds the error back") {
  const std::string loop = GENERATE(as<std::string>(), "while true do pcall(error) end",
                                    "while true do pcall(function() while true do pcall(error) end end) end",
                                    "while true do pcall(function() while true do end end) end",
                                    "local t = {} for i = 1, 1e5 do t[i] = {} end while true do collectgarbage() end",
                                    "local s = ('a'):rep(2 ^ 24) while true do local _ = s:upper() end",
                                    "local s = ('a'):rep(2 ^ 24) while true do pcall(s.find, s, 'b') end",
                                    "local s = ('a'):rep(2 ^ 12) while true do local _ = s:find('.-b') end",
                                    "coroutine.wrap(function() while true do pcall(error) end end)()",
                                    "while true do xpcall(error, function() while true do pcall(error) end end) end");
  CAPTURE(loop);
  Sandbox sandbox;
  sandbox.limits.silence = 0.2;
  std::atomic<int> heard = 0;
  sandbox.silent = [&](const Error&) { ++heard; };
  const Error error = sandbox.fails("local x = 1\n" + loop);
  CHECK(error.kind() == ErrorKind::recipe);
  CHECK_THAT(error.what(), Catch::StartsWith("x.lua:2: stopped after 0.2 s without a call that did work"));
  CHECK(heard == 0);
}

TEST_CASE("the time of a callback is counted anew, and the state is usable after its end") {
  Sandbox sandbox;
  sandbox.limits.silence = 0.2;
  sandbox.silent = [](const Error&) {};
  const auto function = returned_function(
      sandbox.execute("return lab.stage { call = function(n)\n for i = 1, n do pcall(error) end return n end }"));
  const Argument endless[] = {Value(1'000'000'000)};
  CHECK_THROWS_WITH(function->call(endless),
                    Catch::StartsWith("x.lua:2: stopped after 0.2 s") && Catch::Contains("in this callback"));
  const Argument few[] = {Value(1000)};
  for (int i = 0; i < 100; ++i) CHECK(std::get<Value>(function->call(few).at(0)) == Value(1000));
}

TEST_CASE("a standard library that takes long to load is not silent") {
  LuaHost host;
  host.registry = &trainlab::testing::test_registry();
  host.stdlib = {{"long.lua", "for i = 1, 100000 do end"}};
  CHECK_NOTHROW(LuaState(host));
}

TEST_CASE("neither many operators nor long work of the engine is silence") {
  std::atomic<int> heard = 0;
  Sandbox sandbox;
  sandbox.limits.silence = 0.1;
  sandbox.silent = [&](const Error&) { ++heard; };
  sandbox.run = [](const std::shared_ptr<const Spec>&) {
    // Time that passes while the engine works: until the watchdog would have looked several times.
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, std::chrono::milliseconds(300), [] { return false; });
    return Value(Value::Map{});
  };
  sandbox.execute(
      "local begin = os.clock()\nlocal a = lab.tensor.ones(2)\n"
      "while os.clock() - begin < 0.3 do a = lab.ops.mul(a, 1) end\nlab.run(lab.stage {})");
  sandbox.recipe.reset();
  CHECK(heard == 0);
}

TEST_CASE("deep recursion through library functions ends in an error on a large stack") {
  std::string message;
  on_large_stack([&] {
    Sandbox sandbox;
    message = sandbox.fails("local function f(s) return (s:gsub('.', f)) end\nf('x')").what();
  });
  CHECK_THAT(message, Catch::Contains("stack overflow"));
  CHECK_THROWS_AS(on_large_stack([] { throw recipe_error("through"); }), Error);
}

}  // namespace trainlab::limits_test
