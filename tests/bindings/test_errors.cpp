// Errors on their way from C++ into Lua and out again.
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "support.h"
#include "task/task.h"

namespace trainlab::errors_test {

using trainlab::testing::returned_function;
using trainlab::testing::Sandbox;

TEST_CASE("errors of Lua have file, line and traceback") {
  Sandbox sandbox;
  const Error error = sandbox.fails(
      "local function inner(t)\n  return t.x.y\nend\nlocal function outer()\n  local n = inner({})\n  return "
      "n\nend\nouter()\n");
  CHECK(error.kind() == ErrorKind::recipe);
  CHECK(error.file() == "x.lua");
  CHECK(error.line() == 2);
  CHECK(error.what() == std::string("x.lua:2: attempt to index field 'x' (a nil value)\n"
                                    "traceback:\n"
                                    "  x.lua:2: in function 'inner'\n"
                                    "  x.lua:5: in function 'outer'\n"
                                    "  x.lua:8: in the file itself"));
}

TEST_CASE("errors that the recipe raises keep their text and position") {
  Sandbox sandbox;
  CHECK_THAT(sandbox.fails("\nerror('my words')").what(), Catch::Equals("x.lua:2: my words"));
  CHECK_THAT(sandbox.fails("local function check()\n error('blames the caller', 2)\nend\ncheck()").what(),
             Catch::StartsWith("x.lua:4: blames the caller\n"));
  CHECK_THAT(sandbox.fails("\n\nerror('no position', 0)").what(), Catch::Equals("x.lua:3: no position"));
  CHECK_THAT(sandbox.fails("assert(false, 'asserted')").what(), Catch::Equals("x.lua:1: asserted"));
  CHECK_THAT(sandbox.fails("error(42)").what(), Catch::Equals("x.lua:1: 42"));
  CHECK_THAT(sandbox.fails("coroutine.wrap(function()\n error('inside') end)()").what(),
             Catch::Equals("x.lua:2: inside"));
}

TEST_CASE("an error behind a tail call has a line, although Lua forgets the call") {
  Sandbox sandbox;
  sandbox.run = [](const std::shared_ptr<const Spec>& spec) -> Value {
    spec->function(spec->value["call"])->call({});
    return {};
  };
  const auto in_callback = [&](const std::string& body) {
    const Error error = sandbox.fails("local t = lab.tensor { 1 }\nlocal s = lab.stage { call = function()\n" + body +
                                      "\nend }\nlab.run(s)");
    CHECK(error.file() == "x.lua");
    return error.line();
  };
  CHECK(in_callback("  local a = 1\n  return t:sum(2)") == 4);
  CHECK(in_callback("  if t then -- return\n    local a\n  end\n  return error('oh', 0)") == 6);
  // One of two; the function is named then.
  CHECK(in_callback("  if not t then return 1 end\n  return t:sum(2)") == 2);
  const Error error = sandbox.fails("local t = lab.tensor { 1 }\n\nreturn t:sum(2)");
  CHECK(error.file() == "x.lua");
  CHECK(error.line() == 3);
}

TEST_CASE("a stack that overflows is an error with file and line") {
  for (const std::string body : {"return 1 + f(n)", "local ok, e = pcall(f, n) error(e, 0)", "return tostring(f(n))"}) {
    Sandbox sandbox;
    const Error error = sandbox.fails("local f\nf = function(n)\n  " + body + "\nend\nf(1)");
    INFO(error.what());
    CHECK(error.kind() == ErrorKind::recipe);
    CHECK(error.file() == "x.lua");
    CHECK(error.line() == 3);
    CHECK_THAT(error.message(), Catch::StartsWith("stack overflow"));
  }
}

TEST_CASE("Lua's own words about tensors and lists say what to write") {
  struct Row {
    std::string line, hint;
  };
  for (const Row& row : std::vector<Row>{
           {"local a = lab.tensor { 1 } < 0.5", "t:lt(x)"},
           {"local a = 0.5 <= lab.tensor { 1 }", "t:lt(x)"},
           {"local a = lab.tensor { 1 } < lab.tensor { 1 }", "a:lt(b)"},
           {"local list = { { n = 1 } } local a = list[0].n", "count from 1"},
           {"local list = { 1 } local a = list[0] + 1", "count from 1"},
           {"s = lab.stage {}", "local s = lab.run(lab.stage { … })"},
       }) {
    Sandbox sandbox;
    const Error error = sandbox.fails(row.line);
    INFO(error.what());
    CHECK_THAT(error.hint(), Catch::Contains(row.hint));
    CHECK(error.line() == 1);
  }
}

TEST_CASE("errors of syntax have their line") {
  Sandbox sandbox;
  CHECK_THAT(sandbox.fails("local a = 1\nlocal b = = 2\n").what(),
             Catch::StartsWith("x.lua:2: unexpected symbol near '='"));
  CHECK_THAT(sandbox.fails("local a = {").what(),
             Catch::StartsWith("x.lua:1: ") && Catch::Contains("unexpected symbol near '<eof>'"));
}

TEST_CASE("an error of the engine crosses Lua with all its parts") {
  Sandbox sandbox;
  sandbox.run = [](const auto&) -> Value {
    Error error = run_error("the disk is full");
    error.in("checkpoints").hint("free some space");
    throw error;
  };
  const Error error = sandbox.fails("local a\nlab.run(lab.stage {})");
  CHECK(error.kind() == ErrorKind::run);
  CHECK(error.path() == "checkpoints");
  CHECK(error.hint() == "free some space");
  CHECK(error.file() == "x.lua");
  CHECK(error.line() == 2);
  // Also when the recipe catches and raises it again; what it sees is text.
  const Error again = sandbox.fails(
      "local ok, e = pcall(lab.run, lab.stage {})\nassert(type(e) == 'string' and e:find('the disk is "
      "full'))\nerror(e, 0)");
  CHECK(again.kind() == ErrorKind::run);
  CHECK(again.hint() == "free some space");
}

TEST_CASE("every kind of C++ exception becomes an error with its own words") {
  struct Row {
    std::function<void()> raise;
    std::string text;
    ErrorKind kind;
  };
  const std::vector<Row> rows{
      {[] { throw std::runtime_error("told so"); }, "internal error: told so", ErrorKind::run},
      {[] { throw std::bad_alloc(); }, "out of memory", ErrorKind::run},
      {[] { throw usage_error("no such device"); }, "no such device", ErrorKind::usage},
      {[] { TORCH_CHECK(false, "shapes [2] and [3] differ"); }, "shapes [2] and [3] differ", ErrorKind::recipe},
  };
  for (const Row& row : rows) {
    Sandbox sandbox;
    sandbox.run = [&](const auto&) -> Value {
      row.raise();
      return {};
    };
    const Error error = sandbox.fails("lab.run(lab.stage {})");
    CHECK(error.message() == row.text);
    CHECK(error.kind() == row.kind);
    CHECK(error.line() == 1);
  }
}

TEST_CASE("an interruption cannot be caught by the recipe") {
  Sandbox sandbox;
  int runs = 0;
  sandbox.run = [&](const auto&) -> Value {
    ++runs;
    throw Error(ErrorKind::interrupted, "interrupted at step 12");
  };
  const Error error =
      sandbox.fails("for i = 1, 10 do pcall(lab.run, lab.stage { name = 's' .. i }) end\nprint('went on')");
  CHECK(error.kind() == ErrorKind::interrupted);
  CHECK(error.message() == "interrupted at step 12");
  CHECK(runs == 1);
  CHECK(sandbox.printed.empty());
}

namespace {

// Raises when a loop of steps has ended.
class Refuses final : public Observer {
 public:
  explicit Refuses(std::function<void()> raise) : raise_(std::move(raise)) {}
  void validated(const ValidationView&) override { raise_(); }

 private:
  std::function<void()> raise_;
};

// Stages of the sandbox are tasks from now on.
void runs_tasks(Sandbox& sandbox, const TaskCompany& company = {}) {
  sandbox.run = [&sandbox, company](const std::shared_ptr<const Spec>& spec) {
    RunSettings settings;
    settings.device = "cpu";
    const StageContext context{
        .name = "t", .folder = sandbox.folder.path(), .settings = &settings, .say = [](const std::string&) {}};
    return run_task(Options(testing::test_registry(), spec, "task"), context, company);
  };
}

}  // namespace

TEST_CASE("an error of a task's observer ends the task, and no pcall in the task holds the error back") {
  const std::vector<std::function<void()>> errors{[] { throw recipe_error("enough"); },
                                                  [] { throw run_error("enough"); },
                                                  [] { throw std::runtime_error("enough"); }};
  // The loop ends by itself, or because the next loop begins.
  for (const std::string next : {"", " if step == 1 then break end end for step in ctx:steps(1, durable) do"}) {
    for (const auto& raise : errors) {
      Sandbox sandbox;
      runs_tasks(sandbox, {.observers = {std::make_shared<Refuses>(raise)}});
      sandbox.execute(
          "print(pcall(lab.run, lab.task { name = 't', run = function(ctx)\n"
          "  local durable = { save = { lab.tensor { 0 } } }\n"
          "  print('held back', pcall(function()\n"
          "    for step in ctx:steps(3, durable) do ctx:log('a', 1)" +
          next +
          " end\n"
          "  end))\n"
          "end }))\n"
          "return lab.stage {}");
      REQUIRE(sandbox.printed.size() == 1);
      CHECK_THAT(sandbox.printed[0], Catch::StartsWith("false\tx.lua:4: ") && Catch::Contains("enough"));
    }
  }
}

TEST_CASE("a wrong use of a task's loops is an error that the recipe may catch") {
  Sandbox sandbox;
  runs_tasks(sandbox);
  sandbox.execute(
      "lab.run(lab.task { name = 't', run = function(ctx)\n"
      "  local first = ctx:steps(3, { save = { lab.tensor { 0 } } })\n"
      "  ctx:steps(3, { save = { lab.tensor { 0 } } })\n"
      "  print(pcall(first))\n"
      "  print('went on')\n"
      "end })\n"
      "return lab.stage {}");
  REQUIRE(sandbox.printed.size() > 1);
  CHECK_THAT(sandbox.printed.front(), Catch::StartsWith("false\tx.lua:4: this loop has ended"));
  CHECK(sandbox.printed.back() == "went on");
}

TEST_CASE("an error in a callback keeps its own line through engine and recipe") {
  Sandbox sandbox;
  sandbox.run = [](const std::shared_ptr<const Spec>& spec) -> Value {
    spec->function(spec->value["call"])->call({});
    return {};
  };
  const Error error =
      sandbox.fails("local s = lab.stage { call = function()\n local t = nil\n return t.x end }\n\nlab.run(s)");
  CHECK(error.line() == 3);
  CHECK(error.message() == "attempt to index local 't' (a nil value)");
  CHECK(error.traceback() == "traceback:\n  x.lua:3: in the function at line 1\n  x.lua:5: in the file itself");
}

TEST_CASE("destructors run when Lua raises through native code") {
  // What guarded() relies on for errors that Lua's own functions raise, such as for want of memory.
  struct Probe {
    explicit Probe(int& n) : count(n) {}
    ~Probe() { ++count; }
    int& count;
  };
  int destroyed = 0;
  Sandbox sandbox;
  sandbox.limits.memory = 16 << 20;
  sandbox.run = [&](const auto&) {
    const Probe probe(destroyed);
    // Its conversion to Lua asks for a string of 64 MiB, which is refused there.
    return Value(Value::Map{{"text", std::string(std::size_t{64} << 20, 'x')}});
  };
  const Error error = sandbox.fails("local r = lab.run(lab.stage {})");
  CHECK_THAT(error.what(), Catch::StartsWith("x.lua:1: the memory limit of recipes is reached"));
  CHECK(destroyed == 1);
}

TEST_CASE("a function called on another thread than its own is a programmer's error") {
  Sandbox sandbox;
  const auto function = returned_function(sandbox.execute("return lab.stage { call = function() return 1 end }"));
  std::string call, rekey;
  std::thread([&] {
    try {
      function->call({});
    } catch (const std::logic_error& error) {
      call = error.what();
    }
    try {
      function->rekey(Key(1));
    } catch (const std::logic_error& error) {
      rekey = error.what();
    }
  }).join();
  CHECK(call == "a Lua state was entered on another thread than its own");
  CHECK(rekey == call);
  CHECK(std::get<Value>(function->call({}).at(0)) == Value(1));
}

TEST_CASE("a function outlives its state harmlessly") {
  Sandbox sandbox;
  const auto function = returned_function(sandbox.execute("return lab.stage { call = function() return 1 end }"));
  sandbox.recipe.reset();
  CHECK_THROWS_AS(function->call({}), std::logic_error);
}

TEST_CASE("what other languages write is answered with what Lua and recipes write") {
  struct Row {
    const char *recipe, *message, *hint;
  };
  const Row row = GENERATE(values<Row>({
      {"local a = 7\na += 2", "'=' expected near '+'", "write a = a + b"},
      {"local a = 7 // 2", "unexpected symbol near '/'", "math.floor(a / b)"},
      {"if 1 != 2 then end", "'then' expected near '!'", "not equal is ~="},
      {"local o = lab.optim.Adam(lr=1e-3)", "')' expected near '='", "optim.Adam { lr = 1e-3 }"},
      {"local t = {\"a\": 1}", "'}' expected near ':'", "[\"any text\"] = 2"},
      {"local s = ('abc')[1:]", "']' expected near ':'", "s:sub(first, last)"},
      {"local a = 1 if true else 2", "'then' expected near 'else'", "condition and a or b"},
      {"local f = loadstring('return 1')", "'loadstring' is not defined", "recipes have no 'loadstring'"},
      {"os.execute('ls')", "attempt to call field 'execute'", "recipes start no programs"},
      {"local a = 2 ** 3", "unexpected symbol near '*'", "a ^ b"},
      {"while True:\n  print(1)\n", "'do' expected", "while … do … end"},
      {"for x in range(3):\n  print(x)\n\n", "'do' expected", "for i = 1, n do"},
      {"if lab.seed:\n  print(1)\nend", "'then' expected", "if … then … end"},
      {"def f(x):\n  return x", "'=' expected near 'f'", "function name(a, b)"},
      {"local f = lambda", "'lambda' is not defined", "function(a, b) return"},
      {"local l, i = { 1 }, 0\nlocal x = l[i] + 1", "arithmetic on a nil value", "list[1] is the first"},
      {"local l, i = { {} }, 0\nlocal x = l[i].x", "index a nil value", "list[1] is the first"},
      {"local l = { 1 }\nlocal x = l[0] .. ''", "concatenate a nil value", "list[1] is the first"},
      {"local a = 'a'\nprint(a + 'b')", "arithmetic on local 'a' (a string value)", "texts are joined by .."},
      {"local t = { n = 'a' }\nprint(t.n + 1)", "arithmetic on field 'n' (a string value)", "texts are joined by .."},
      {"local o = lab.optim.SGD { betas = (0.9, 0.999) }", "')' expected near ','", "{ 0.9, 0.999 }"},
      {"local a, b = (1, 2)", "')' expected near ','", "{ 0.9, 0.999 }"},
      {"for x in lab.tensor{1} do end", "attempt to call a userdata value", "data.train:batches(64)"},
      {"for x in { 1 } do end", "attempt to call a table value", "ipairs(list)"},
      {"for i, x in ipairs(lab.tensor{1}) do end", "bad argument #1 to 'ipairs'", "t:tolist()"},
      {"for i, x in ipairs(print) do end", "bad argument #1 to 'ipairs'", "data.train:batches(64)"},
      {"for i, x in pairs(print) do end", "bad argument #1 to 'pairs'", "data.train:batches(64)"},
      {"local o = lab.optim.SGD({ lab.tensor{1} }, { lr = 1e-3 })", "expected data, found a tensor",
       "lab.optimizer(lab.optim.SGD { lr = 1e-3 }, model:parameters())"},
      {"lab.nn.utils.clip_grad_norm_({}, 1)", "lab.nn has no 'utils'", "clip = { norm = 1 }"},
      {"lab.ops.clip_grad_norm_({}, 1)", "lab.ops has no 'clip_grad_norm_'", "clip = { norm = 1 }"},
      {"clip_grad_norm_({}, 1)", "'clip_grad_norm_' is not defined", "clip = { norm = 1 }"},
      {"local a = lab.tensor{1}.item + 1", "field 'item' (a function value)", "as t:item()"},
      {"local a = lab.tensor{1}:cuda()", "a tensor has no 'cuda'", "t:to(\"cuda\")"},
      {"local a = lab.tensor{1}:cpu()", "a tensor has no 'cpu'", "t:to(\"cpu\")"},
      {"local a = lab.tensor{1}:numpy()", "a tensor has no 'numpy'", "t:tolist()"},
      {"local a = DataLoader(1)", "'DataLoader' is not defined", "a fit makes batches itself"},
      {"local a = lab.DataLoader(1)", "lab has no 'DataLoader'", "a fit makes batches itself"},
      {"local a = F.relu(1)", "'F' is not defined", "lab.ops.relu(x)"},
      {"local a = device('cuda')", "'device' is not defined", "--device cuda"},
      {"if true && false then end", "'then' expected near '&'", "the word is and"},
      {"import torch", "'=' expected near 'torch'", "lab.nn"},
      {"local a = lambda x: x", "function arguments expected", "function(a, b) return"},
      {"local a = None", "'None' is not defined", "Lua's word is nil"},
      {"local a = { True }", "'True' is not defined", "Lua's word is true"},
      {"for i in range(3) do end", "'range' is not defined", "for i = 1, n do"},
      {"local x = torch.zeros(3)", "'torch' is not defined", "lab.tensor"},
      {"local a = table.unpack({ 1 })", "attempt to call field 'unpack'", "unpack(list)"},
      {"require 'torch.nn'", "module \"torch.nn\" is not there", "lab.nn"},
      {"require 'models'", "module \"models\" is not there", "searched: "},
      {"local a = lab.tensor{1, 2}.shape[0]", "t.shape counts from 1, as all Lua tables, found 0", "t.shape[1]"},
      {"local a = lab.tensor{1, 2}.shape[-1]", "t.shape counts from 1", "t:size(-1)"},
      {"local a = lab.tensor{1} < lab.tensor{2}", "< and > do not compare tensors", "a:lt(b)"},
      {"local a = lab.tensor{1, 2}[':']", "a tensor has no ':'", "{} is a whole axis"},
      {"local a = lab.tensor{1, 2}['0:1']", "a tensor has no '0:1'", "a range is { from, to }"},
      {"local a = lab.tensor{ {1, 2} }[{ ':', 0 }]", "[1]: expected a number, { from, to } or a tensor, found \":\"",
       "{} is a whole axis"},
      {"lab.tensor{1, 2}['0:1'] = 3", "the field '0:1' of a tensor cannot be set", "a range is { from, to }"},
      {"local a = lab.tensor{1}:shape()", "attempt to call method 'shape'", "t:size(0)"},
      {"local a = lab.tensor{1}:dtype()", "attempt to call method 'dtype'", "without parentheses"},
      {"local a = lab.tensor{1}:nelement()", "a tensor has no 'nelement'", "t:numel()"},
      {"lab.tensor{1}:sum():backward(true)", "expected a gradient and a table of options, found true",
       "retain_graph = true"},
      {"lab.tensor{1}:sum():backward(nil, { retain_graph = true })", "found a table", "retain_graph = true"},
      {"local l = lab.tensor({ 2 }, { requires_grad = true }):pow(2):sum() l:backward() l:backward()",
       "a backward pass before has freed what they need", "a:backward({ retain_graph = true })"},
      {"local a = trainer.fit(1)", "'trainer' is not defined", "return lab.fit { … }"},
      {"local a = tensor.zeros(3)", "'tensor' is not defined", "did you mean lab.tensor?"},
      {"local a = ops.relu(3)", "'ops' is not defined", "did you mean lab.ops?"},
  }));
  CAPTURE(row.recipe);
  Sandbox sandbox;
  const Error error = sandbox.fails(row.recipe);
  CHECK_THAT(error.message(), Catch::Contains(row.message));
  CHECK_THAT(error.hint(), Catch::Contains(row.hint));
}

TEST_CASE("what stands in a string or a comment is no word of another language") {
  Sandbox sandbox;
  for (const char* recipe : {"local a = 'import x' b", "local a = \"a != b\" b", "local a = [[def f\n!=]] b",
                             "local a = 1 b -- a += 1", "local a --[==[ ]] != ]==] b", "local continue_at = 1 b",
                             "local l = 'for x:'\n-- while True:\nlocal a = = 1"}) {
    CAPTURE(recipe);
    CHECK(sandbox.fails(recipe).hint() == "");
  }
  CHECK(sandbox.fails("local t = { list = nil }\nlocal x = t.list.x -- list[0]").hint() == "");
  CHECK(sandbox.fails("local t = print(1, 2) b").hint() == "");
  CHECK(sandbox.fails("local a = 'a' * 2 -- + 1").hint() == "");
  CHECK_THAT(sandbox.fails("local a = 'x' import b").hint(), Catch::Contains("lab.nn"));
}

TEST_CASE("a shape is a list as others are") {
  Sandbox sandbox;
  CHECK(sandbox.value("local s = lab.tensor.zeros(2, 3).shape\nlocal t = {} for i, n in ipairs(s) do t[i] = n end\n"
                      "return lab.stage { value = { #s, t, s[3] == nil, unpack(s) } }") ==
        Value(Value::List{2, Value::List{2, 3}, true, 2, 3}));
}

}  // namespace trainlab::errors_test
