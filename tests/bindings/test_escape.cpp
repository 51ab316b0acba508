// Attempts to get out of the sandbox, to poison the host, or to see what must not be seen. Each row is a recipe that
// must either give a harmless result or fail with the given words, and must end in time.
#include "bindings/large_stack.h"
#include "support.h"

namespace trainlab::escape_test {

using trainlab::testing::Sandbox;

namespace {

struct Attempt {
  const char* what;
  const char* recipe;
  const char* message;  // part of the error; nullptr: no error
};

// Names that a recipe must not find, wherever it looks for them.
const char* const kAbsent[] = {"load",   "loadstring", "loadfile", "dofile", "getfenv", "setfenv", "newproxy", "gcinfo",
                               "module", "io",         "package",  "debug",  "jit",     "ffi",     "rawequals"};

const Attempt kAttempts[] = {
    {"environment of the host", "return getfenv(0)", "'getfenv' is not defined"},
    {"environment of a library function", "setfenv(print, {})", "'setfenv' is not defined"},
    {"environment from a coroutine", "coroutine.wrap(function() return getfenv(0) end)()", "'getfenv' is not defined"},
    {"text to code", "loadstring('return os')()", "'loadstring' is not defined"},
    {"reader to code", "load(function() end)", "'load' is not defined"},
    {"function to bytecode", "return string.dump(print)", "attempt to call field 'dump'"},
    {"bytecode by the metatable of strings", "return (''):dump()", "attempt to call method 'dump'"},
    {"metatable of strings", "assert(getmetatable('') == false)", nullptr},
    {"setting the metatable of a string", "setmetatable('', {})", "table expected"},
    {"native libraries by require", "require 'os'", "module \"os\" is not there"},
    {"native io by require", "require 'io'", "module \"io\" is not there"},
    {"native debug by require", "require 'debug'", "module \"debug\" is not there"},
    {"globals by require", "require '_G'", "module \"_G\" is not there"},
    {"FFI by require", "require 'ffi'", "module \"ffi\" is not there"},
    {"a 64-bit literal", "local a = 1LL", "expected a number, found one of LuaJIT's native numbers"},
    {"an unsigned literal in a function within a function",
     "return function() return function() local n = 2ULL end end", "one of LuaJIT's native numbers"},
    {"an imaginary literal in a table", "return { a = { 1, 2i } }", "one of LuaJIT's native numbers"},
    {"a 64-bit literal in hexadecimal", "return lab.tensor{1} + 0x7fLL", "one of LuaJIT's native numbers"},
    {"a 64-bit number from a text", "assert(tonumber('1LL') == nil and tonumber('2i') == nil)", nullptr},
    {"a 64-bit number from a text, by arithmetic", "return '1LL' + 1", "attempt to perform arithmetic"},
    {"a 64-bit number from a text, by bits", "return bit.tobit('1LL')", "number expected"},
    {"a 64-bit number from a text, by format", "return ('%d'):format('1LL')", "number expected"},
    {"letters of a literal that are none", "local t = { 1, LL = 2 } -- 1LL\nassert(t.LL == 2 and '1LL' ~= [[2i]])",
     nullptr},
    {"a module's name with a zero", "require 'ok\\0x'", "expected a module's name"},
    {"raw buffers", "require 'string.buffer'", "module \"string.buffer\" is not there"},
    {"table.new", "require 'table.new'", "module \"table.new\" is not there"},
    {"native code", "package.loadlib('libc.so.6', 'system')", "'package' is not defined"},
    {"a path outside", "require '../../x'", "expected a module's name"},
    {"an absolute path", "require '/etc/passwd'", "expected a module's name"},
    {"a path by dots", "require '..x'", "expected a module's name"},
    {"a file of the working folder", "require './json'", "expected a module's name"},
    {"the registry", "debug.getregistry()", "'debug' is not defined"},
    {"the compiler", "jit.off()", "'jit' is not defined"},
    {"metatable of a constructor's table",
     "local l = lab.nn.ReLU(); assert(getmetatable(l) == false); setmetatable(l, nil)", "protected metatable"},
    {"metatable of lab", "assert(getmetatable(lab) == false); lab.evil = 1", "lab cannot be changed"},
    {"a constructor replaced", "lab.nn.Linear = print", "lab.nn cannot be changed"},
    {"raw access to lab", "rawset(lab, 'evil', 1)", "table expected"},
    {"a finalizer", "newproxy(true)", "'newproxy' is not defined"},
    {"a finalizer of a table does not run",
     "local t = setmetatable({}, {__gc = function() while true do end end}); t = nil; collectgarbage()", nullptr},
    {"the collector stopped", "collectgarbage('stop')", "invalid option 'stop'"},
    {"a process", "os.execute('true')", "attempt to call field 'execute'"},
    {"the environment's variables", "os.getenv('HOME')", "attempt to call field 'getenv'"},
    {"a file removed", "os.remove('x')", "attempt to call field 'remove'"},
    {"a file renamed", "os.rename('x', 'y')", "attempt to call field 'rename'"},
    {"a temporary name", "os.tmpname()", "attempt to call field 'tmpname'"},
    {"the end of the process", "os.exit(0)", "attempt to call field 'exit'"},
    {"the locale", "os.setlocale('C')", "attempt to call field 'setlocale'"},
    {"a file", "io.open('x')", "'io' is not defined"},
    {"a global set", "x = 1", "assignment to 'x'"},
    {"a global read", "return undefined_name", "'undefined_name' is not defined"},
    {"the metatable of the globals", "assert(getmetatable(_G) == false); setmetatable(_G, {})", "protected metatable"},
    {"many results", "return unpack({}, 1, 1e8)", "too many results"},
    {"a huge range of results", "return unpack({}, 0, 2^31 - 1)", "too many results"},
    {"many bytes", "local s = ('x'):rep(1e7); return s:byte(1, -1)", "string slice too long"},
    {"300 brackets", "return nil, ('x'):find(('('):rep(300))", "too many"},
    {"endless recursion", "local function f() return 1 + f() end f()", "stack overflow"},
    {"recursion by a metamethod",
     "local t = setmetatable({}, {}); getmetatable(t).__index = function(s, k) return s[k .. 'x'] end; return t.a",
     "stack overflow"},
    {"recursion by gsub", "local function f(s) return (s:gsub('.', f)) end f('x')", "stack overflow"},
    {"recursion by sort", "local function f() table.sort({3, 1, 2}, function(a, b) f() return a < b end) end f()",
     "stack overflow"},
    {"recursion by tostring",
     "local t = setmetatable({}, {}); getmetatable(t).__tostring = function(s) return tostring(s) end; tostring(t)",
     "stack overflow"},
    {"coroutines in each other", "local function d() return coroutine.wrap(d)() end d()", "more than 100 deep"},
    {"coroutines in each other, by resume",
     "local ok, e local function d() ok, e = coroutine.resume(coroutine.create(d)) assert(ok, e) end d()",
     "more than 100 deep"},
    {"an address of a table", "assert(tostring({}) == 'table' and ('%s'):format({}) == 'table')", nullptr},
    {"an address of a function", "assert(tostring(print) == 'function' and ('%s'):format(print) == 'function')",
     nullptr},
    {"an address of a coroutine", "assert(tostring(coroutine.create(print)) == 'thread')", nullptr},
    {"an address by format", "return ('%p'):format({})", "no '%p'"},
    {"an address by flags and format", "return ('%-20p'):format({})", "no '%p'"},
    {"an error that is a table", "error(setmetatable({}, {__tostring = function() while true do end end}))",
     "raised a table as an error"},
    {"an error that is nil", "error(nil)", "raised a nil as an error"},
    {"a tostring that gives no text", "print(setmetatable({}, {__tostring = function() return 1 end}))",
     "must return a string"},
    {"metamethods of a configuration",
     "return lab.stage { value = setmetatable({}, {__index = function() error('ran') end, __len = function() return 9 "
     "end}) }",
     nullptr},
    {"a table in itself", "local t = {}; t.t = {t}; return lab.stage { value = t }", "contains itself"},
    {"a deep table", "local t = {}; for i = 1, 1e6 do t = {t} end return lab.stage { value = t }",
     "nested deeper than 100"},
    {"a table that doubles at each level",
     "local t = {1}; for i = 1, 60 do t = {t, t} end return lab.stage { value = t }", "more than a million values"},
    {"bytes of the lexer", "\x1BLJ\x02", "compiled Lua"},
    {"a name with the mark of entries", "return lab.stage { value = { ['@'] = 'nn.Linear' } }",
     "names that begin with @ are taken"},
    {"a view of foreign memory", "lab.ops._reshape_alias(lab.tensor.zeros(4), {4096}, {1})",
     "lab.ops has no '_reshape_alias'"},
    {"a view of foreign memory, by a method", "lab.tensor.zeros(4):_reshape_alias({4096}, {1})", "_reshape_alias"},
    {"a view beyond the storage", "lab.tensor.zeros(4):as_strided({4096}, {1})", "out of bounds for storage"},
    {"a sparse tensor with indices that nobody checks",
     "local T = lab.tensor lab.ops._sparse_coo_tensor_unsafe(T({{100000}}, {dtype = 'int64'}), T{1}, {4}):to_dense()",
     "lab.ops has no '_sparse_coo_tensor_unsafe'"},
    {"a sparse tensor with indices outside of its shape",
     "local T = lab.tensor lab.ops.sparse_coo_tensor(T({{100000}}, {dtype = 'int64'}), T{1}, {4}):to_dense()",
     "size is inconsistent with indices"},
    {"indices of a sparse tensor changed after they were checked",
     "local T = lab.tensor local i = T({{1}}, {dtype = 'int64'}) local s = lab.ops.sparse_coo_tensor(i, T{1}, {4}) "
     "i:fill_(100000) assert(s:to_dense():sum():item() == 1)",
     nullptr},
    {"indices that a sparse tensor hands out", "local s = lab.tensor.ones(4):to_sparse() s:indices():fill_(100000)",
     "indices"},
    {"what forward saved changed behind the back of backward", "lab.tensor.zeros(4):data()", "data"},
    {"an inner part of a backward pass",
     "local T = lab.tensor lab.ops.embedding_dense_backward(T.ones(1, 4), T({100000}, {dtype = 'int64'}), 4, -1, "
     "false)",
     "lab.ops has no 'embedding_dense_backward'"},
    {"an entry's kind given as an option", "return lab.stage { ['@'] = 'nn.Linear' }",
     "names that begin with @ are taken"},
};

}  // namespace

TEST_CASE("attempts to leave the sandbox fail") {
  const Attempt attempt = GENERATE(from_range(std::begin(kAttempts), std::end(kAttempts)));
  CAPTURE(attempt.what, attempt.recipe);
  std::optional<Error> error;
  on_large_stack([&] {
    Sandbox sandbox;
    sandbox.limits.instructions = 50'000'000;
    try {
      sandbox.execute(attempt.recipe);
    } catch (const Error& raised) {
      error = raised;
    }
  });
  if (attempt.message) {
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::recipe);
    CHECK_THAT(error->what(), Catch::Contains(attempt.message));
    CHECK(error->file() == "x.lua");
    CHECK(error->line() == 1);
  } else {
    CHECK(!error);
  }
}

TEST_CASE("no table that a recipe can reach holds a forbidden function") {
  Sandbox sandbox;
  std::string names;
  for (const char* name : kAbsent) names += std::string("'") + name + "', ";
  const std::string recipe = R"(
    local seen, bad = {}, {}
    for _, name in ipairs { )" +
                             names + R"( } do bad[name] = true end
    local function visit(t, path)
      if type(t) ~= 'table' or seen[t] then return end
      seen[t] = true
      for k, v in next, t do
        if bad[k] or (path == '.os' and k ~= 'clock' and k ~= 'date' and k ~= 'time' and k ~= 'difftime') then
          error(path .. '.' .. k)
        end
        visit(v, path .. '.' .. tostring(k))
      end
    end
    visit(_G, '')
    return lab.stage { value = { _G.string ~= nil, seen[table] } })";
  CHECK(sandbox.value(recipe) == Value(Value::List{true, true}));
}

TEST_CASE("what a recipe does to library tables stays in its state") {
  Sandbox first;
  first.execute("string.upper = function() return 'evil' end; math.floor = nil; assert(('x'):upper() == 'evil')");
  Sandbox second;
  CHECK(second.value("return lab.stage { value = ('x'):upper() .. math.floor(1.5) }") == Value("X1"));
}

TEST_CASE("printed text cannot control a terminal, and has an end") {
  Sandbox sandbox;
  sandbox.limits.output = 1 << 20;
  CHECK(sandbox.value("print('a\\27[31m\\7\\tb', {}, nil, 1.5)\nprint('one\\ntwo\\194\\155')\n"
                      "for i = 1, 5000 do print(('x'):rep(1000)) end\nreturn lab.stage { value = 'went on' }") ==
        Value("went on"));
  REQUIRE(sandbox.printed.size() >= 3);
  CHECK(sandbox.printed[0] == "a\\27[31m\\7\tb\ttable\tnil\t1.5");
  CHECK(sandbox.printed[1] == "one");
  CHECK(sandbox.printed[2] == "two\\155");
  CHECK(sandbox.printed.size() == 3 + 1047 + 1);  // lines of 1,001 bytes
  CHECK(sandbox.printed.back() == "this recipe has printed more than 1 MiB: what it prints from here on is dropped");
}

TEST_CASE("the line of a native number is told") {
  const auto line = [](const std::string& text) { return Sandbox().fails(text).line(); };
  CHECK(line("return 1LL") == 1);
  CHECK(line("local a = 1\n\nlocal f = function()\n  return a\nend\nreturn function() return 2ULL end") == 6);
  CHECK(line("local f = function()\n  return 3i\nend\nreturn 1LL") == 2);
  // Lines are counted in one, two or four bytes by the length of the function.
  CHECK(line(std::string(300, '\n') + "return 1LL") == 301);
  CHECK(line("local a = 1" + std::string(300, '\n') + "return 1LL") == 301);
  CHECK(line("local a = 1" + std::string(70000, '\n') + "return 1LL") == 70001);
}

}  // namespace trainlab::escape_test
