// Tensors in Lua: making, arithmetic, operators, autograd, errors.
#include <ATen/ops/arange.h>

#include "support.h"
#include "tensor/tensor_object.h"
#include "tensor/types.h"

namespace trainlab::tensors_test {

using trainlab::testing::returned_function;
using trainlab::testing::Sandbox;

namespace {

// The text that the recipe returns: return lab.stage { value = … }.
std::string text(Sandbox& sandbox, const std::string& body) {
  return sandbox
      .value(
          "local ops, T = lab.ops, lab.tensor\nlocal function show(t) return (tostring(t):gsub('%s+', ' ')) "
          "end\nreturn lab.stage { value = (function() " +
          body + " end)() }")
      .string();
}

std::string error(Sandbox& sandbox, const std::string& body) {
  return sandbox.fails("local ops, T = lab.ops, lab.tensor local t = T { {1, 2, 3}, {4, 5, 6} }\n" + body).what();
}

}  // namespace

TEST_CASE("tensors from tables") {
  Sandbox sandbox;
  struct Row {
    const char* code;
    const char* shown;
  };
  const Row row =
      GENERATE(Row{"T { {1, 2}, {3, 4.5} }", "[[1, 2], [3, 4.5]] float32 [2, 2] cpu"}, Row{"T(3)", "3 float32 [] cpu"},
               Row{"T { 1, 2, dtype = 'int64' }", "[1, 2] int64 [2] cpu"},
               Row{"T({ 1, 0 }, { dtype = 'bool' })", "[true, false] bool [2] cpu"},
               Row{"T { true, false }", "[true, false] bool [2] cpu"}, Row{"T {}", "[] float32 [0] cpu"},
               Row{"T({ 1 }, { requires_grad = true })", "[1] float32 [1] cpu, requires grad"},
               Row{"T.zeros(2, 3)", "[[0, 0, 0], [0, 0, 0]] float32 [2, 3] cpu"},
               Row{"T.ones({ 2 }, { dtype = 'float64' })", "[1, 1] float64 [2] cpu"},
               Row{"T.full({ 2 }, 7)", "[7, 7] float32 [2] cpu"}, Row{"T.arange(4)", "[0, 1, 2, 3] int64 [4] cpu"},
               Row{"T.arange(0, 1, 0.25)", "[0, 0.25, 0.5, 0.75] float32 [4] cpu"},
               Row{"T.zeros({ 2 }, { requires_grad = true })", "[0, 0] float32 [2] cpu, requires grad"},
               Row{"T.arange(2000)", "[0, 1, 2, …, 1997, 1998, 1999] int64 [2000] cpu"},
               Row{"T.zeros(1000000, 0)", "[[], [], [], …, [], [], []] float32 [1000000, 0] cpu"});
  CAPTURE(row.code);
  CHECK(text(sandbox, std::string("return show(") + row.code + ")") == row.shown);
}

TEST_CASE("randint takes its sizes as a list and as numbers, after one bound and after two") {
  Sandbox sandbox;
  struct Row {
    const char* code;
    const char* shape;
  };
  const Row row = GENERATE(Row{"T.randint(10, { 3 })", "3"}, Row{"T.randint(10, { 2, 3 })", "2,3"},
                           Row{"T.randint(10, 3)", "3"}, Row{"T.randint(5, 10, { 2, 3 })", "2,3"},
                           Row{"T.randint(5, 10, 3)", "3"}, Row{"T.randint(5, 10, 2, 3)", "2,3"},
                           Row{"T.randint(5, 10, {})", ""}, Row{"T.randint(5, 10, 4, { seed = 1 })", "4"},
                           Row{"T.randint({ low = 5, high = 10, size = { 4 } })", "4"},
                           Row{"T.randint(10, { 4 }, { requires_grad = true, dtype = 'float64' })", "4"});
  CAPTURE(row.code);
  const std::string body = std::string("local t = ") + row.code +
                           " assert(t:max():item() < 10 and t:min():item() >= 0) return table.concat(t.shape, ',')";
  CHECK(text(sandbox, body) == row.shape);
  CHECK(text(sandbox, "return tostring(T.randint(5, 6, 2, 3):eq(5):all():item())") == "true");
}

TEST_CASE("randint says which bounds and sizes it expects") {
  Sandbox sandbox;
  CHECK_THAT(error(sandbox, "T.randint(10, 2, 3)"), Catch::Contains("from=10 >= to=2"));
  CHECK_THAT(error(sandbox, "T.randint(10, 2.5)"),
             Catch::Contains("argument 2 (high): expected an integer, found 2.5"));
  CHECK_THAT(error(sandbox, "T.randint(10)"), Catch::Contains("missing"));
}

TEST_CASE("arithmetic, operators and methods are ATen's") {
  Sandbox sandbox;
  struct Row {
    const char* code;
    const char* shown;
  };
  const Row row = GENERATE(
      Row{"a + b", "[11, 22] float32 [2] cpu"}, Row{"a + 1", "[2, 3] float32 [2] cpu"},
      Row{"1 + a", "[2, 3] float32 [2] cpu"}, Row{"a - b", "[-9, -18] float32 [2] cpu"},
      Row{"1 - a", "[0, -1] float32 [2] cpu"}, Row{"a * b", "[10, 40] float32 [2] cpu"},
      Row{"2 * a", "[2, 4] float32 [2] cpu"}, Row{"b / a", "[10, 10] float32 [2] cpu"},
      Row{"2 / a", "[2, 1] float32 [2] cpu"}, Row{"b % 7", "[3, 6] float32 [2] cpu"},
      Row{"7 % a", "[0, 1] float32 [2] cpu"}, Row{"a ^ 2", "[1, 4] float32 [2] cpu"},
      Row{"2 ^ a", "[2, 4] float32 [2] cpu"}, Row{"-a", "[-1, -2] float32 [2] cpu"},
      Row{"a:lt(1.5)", "[true, false] bool [2] cpu"}, Row{"ops.add(a, b, { alpha = 2 })", "[21, 42] float32 [2] cpu"},
      Row{"a:view(2, 1)", "[[1], [2]] float32 [2, 1] cpu"}, Row{"a:view { 1, 2 }", "[[1, 2]] float32 [1, 2] cpu"},
      Row{"a:sum()", "3 float32 [] cpu"}, Row{"a:sum(0, true)", "[3] float32 [1] cpu"},
      Row{"a:sum { 0 }", "3 float32 [] cpu"}, Row{"a:sum({ dim = 0, keepdim = true })", "[3] float32 [1] cpu"},
      Row{"ops.cat({ a, b }, 0)", "[1, 2, 10, 20] float32 [4] cpu"},
      Row{"ops.stack { a, b }", "[[1, 2], [10, 20]] float32 [2, 2] cpu"}, Row{"a:to('int64')", "[1, 2] int64 [2] cpu"},
      Row{"a:to({ dtype = 'float64' })", "[1, 2] float64 [2] cpu"}, Row{"select(2, a:max(0))", "1 int64 [] cpu"},
      Row{"ops.where(a:gt(1), a, 0)", "[0, 2] float32 [2] cpu"},
      Row{"ops.where(a:gt(1), 1, 0)", "[0, 1] float32 [2] cpu"}, Row{"a:clamp(nil, 1.5)", "[1, 1.5] float32 [2] cpu"},
      Row{"ops.mse_loss(a, b, 'sum')", "405 float32 [] cpu"},
      Row{"ops.mse_loss(a, b, { reduction = 'none' })", "[81, 324] float32 [2] cpu"},
      Row{"ops.empty(2)", "[0, 0] float32 [2] cpu"}, Row{"a:add_(1)", "[2, 3] float32 [2] cpu"});
  CAPTURE(row.code);
  CHECK(text(sandbox, std::string("local a, b = T { 1, 2 }, T { 10, 20 } return show(") + row.code + ")") == row.shown);
}

TEST_CASE("what is not a tensor comes out as Lua's own") {
  Sandbox sandbox;
  CHECK(text(sandbox,
             "local a = T { {1, 2}, {3, 4} } return table.concat({ a.shape[1], a.shape[2], a.ndim, a:dim(), a:numel(), "
             "a.dtype, a.device, a[1][0]:item(), #a, a:size(0), tostring(a:is_floating_point()), "
             "a:tolist()[2][1], tostring(a == a), tostring(a == 1), tostring(T{true}:item()), #a:unbind(0), "
             "ops.result_type(a, T{1, dtype='float64'}) }, ' ')") ==
        "2 2 2 2 4 float32 cpu 3 2 2 true 3 true false true 2 float64");
}

TEST_CASE("indices count from 0, and ranges leave their end out") {
  Sandbox sandbox;
  struct Row {
    const char* code;
    const char* shown;
  };
  const Row row =
      GENERATE(Row{"t[0]", "[0, 1, 2, 3] int64 [4] cpu"}, Row{"t[-1]", "[8, 9, 10, 11] int64 [4] cpu"},
               Row{"t[{1, -1}]", "7 int64 [] cpu"}, Row{"t[{ {0, 2}, 1 }]", "[1, 5] int64 [2] cpu"},
               Row{"t[{ {}, {0, 4, 2} }]", "[[0, 2], [4, 6], [8, 10]] int64 [3, 2] cpu"},
               Row{"t[{ {1}, 0 }]", "[4, 8] int64 [2] cpu"}, Row{"t[{ {-2, -1} }]", "[[4, 5, 6, 7]] int64 [1, 4] cpu"},
               Row{"t[t:gt(9)]", "[10, 11] int64 [2] cpu"},
               Row{"t[{ {}, T { 3, 0, dtype = 'int64' } }]", "[[3, 0], [7, 4], [11, 8]] int64 [3, 2] cpu"},
               Row{"t[T { 2, dtype = 'int64' }]", "[[8, 9, 10, 11]] int64 [1, 4] cpu"},
               Row{"t[{}]", "[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]] int64 [3, 4] cpu"});
  CAPTURE(row.code);
  CHECK(text(sandbox, std::string("local t = T.arange(12):view(3, 4) return show(") + row.code + ")") == row.shown);
}

TEST_CASE("assignment changes the tensor in place") {
  Sandbox sandbox;
  CHECK(text(sandbox,
             "local t = T.zeros(2, 3) t[0] = 1 t[{1, {1, 3}}] = T { 5, 6 } t[{1, 0}] = T { 9, dtype = 'int64' }[0] "
             "t[t:gt(5)] = -1 t[{ {}, T { 1, dtype = 'int64' } }] = 7 return show(t)") ==
        "[[1, 7, 1], [-1, 7, -1]] float32 [2, 3] cpu");
}

TEST_CASE("gradients") {
  Sandbox sandbox;
  CHECK(text(sandbox,
             "local w = T({ 1, 2 }, { requires_grad = true }) local x = T { 3, 4 }; (w * x):sum():backward() "
             "local first = show(w.grad) w.grad = nil assert(w.grad == nil); (w * w):backward(T { 1, 10 }) "
             "local free = lab.no_grad(function(a) return a * 2 end, w) assert(not free:requires_grad()) "
             "assert(not pcall(lab.no_grad, function() error('x') end)) assert((w * 2):requires_grad()) "
             "w:requires_grad(false) return first .. show(w.grad) .. tostring(w:requires_grad())") ==
        "[3, 4] float32 [2] cpu[2, 40] float32 [2] cpufalse");
}

TEST_CASE("a scope releases what its function made and does not return") {
  Sandbox sandbox;
  CHECK(text(sandbox,
             "local kept local a, b = lab.scope(function(n) kept = T.zeros(n) local inner = lab.scope(function() "
             "return kept + 1 end) "
             "return inner * 2, { x = kept - 1 } end, 2) "
             "return show(a) .. show(b.x) .. tostring(kept)") ==
        "[2, 2] float32 [2] cpu[-1, -1] float32 [2] cpua tensor that was released");
  CHECK_THAT(error(sandbox, "lab.scope(function() local x = t + 1 error('inside') end)"),
             Catch::Contains("x.lua:2: inside"));
  // Scopes that raise leave the ones around them as they were, and nothing in Lua's memory.
  CHECK(
      text(
          sandbox,
          "local function raise() lab.scope(function() lab.scope(function() error('inside') end) end) end "
          "local function many(n) for i = 1, n do pcall(raise) end collectgarbage() return collectgarbage('count') end "
          "local kept lab.scope(function() kept = T.zeros(1) pcall(raise) end) "
          "local before = many(10) local grown = many(20000) - before "
          "return tostring(kept) .. ' ' .. (grown < 32 and 'same' or grown)") == "a tensor that was released same");
}

TEST_CASE("integers that a dtype cannot hold are refused") {
  Sandbox sandbox;
  struct Row {
    const char* code;
    const char* message;
  };
  const Row row = GENERATE(
      Row{"T({ 300 }, { dtype = 'uint8' })", "lab.tensor: expected numbers from 0 to 255 for dtype uint8, found 300"},
      Row{"T({ -1 }, { dtype = 'uint8' })", "found -1"}, Row{"T({ 128 }, { dtype = 'int8' })", "from -128 to 127"},
      Row{"T({ 1e300 }, { dtype = 'int64' })", "expected numbers of 64 bits for dtype int64, found 1e+300"},
      Row{"T({ 2^63 }, { dtype = 'int64' })", "expected numbers of 64 bits"},
      Row{"T({ 2^31 }, { dtype = 'int32' })", "from -2147483648 to 2147483647"},
      Row{"T({ 0/0 }, { dtype = 'int64' })", "expected whole numbers for dtype int64"},
      Row{"local u = T({ 1, 2 }, { dtype = 'uint8' }) u[0] = 256",
          "expected numbers from 0 to 255 for dtype uint8, found 256"},
      Row{"local u = T({ 1, 2 }, { dtype = 'int64' }) u[u:eq(1)] = 1e300", "expected numbers of 64 bits"},
      Row{"local u = T({ 1, 2 }, { dtype = 'int64' }) u[0] = 0.5", "expected whole numbers for dtype int64, found 0.5"},
      Row{"T({ 1 }, { device = 5 })", "device: expected \"cpu\", \"cuda\" or \"cuda:N\", found the number 5"},
      Row{"T.randn({ 2 }, { seed = -1 })", "'seed': expected an integer from 0 to 2^53, found -1"});
  CAPTURE(row.code);
  CHECK_THAT(error(sandbox, row.code), Catch::Contains(row.message));
  CHECK(text(sandbox, "return show(T({ -2^63, 2^53 }, { dtype = 'int64' }):eq(-2^63)) .. show(T({ 1 }):to('cpu'))") ==
        "[true, false] bool [2] cpu[1] float32 [1] cpu");
}

TEST_CASE("errors name the operator, the argument, shapes and dtypes") {
  Sandbox sandbox;
  struct Row {
    const char* code;
    const char* message;
  };
  const Row row = GENERATE(
      Row{"ops.matmul(t, 'x')", "x.lua:2: lab.ops.matmul: argument 2 (other): expected a tensor, found \"x\""},
      Row{"ops.matmul(t)", "lab.ops.matmul: argument 2 (other): missing; expected a tensor"},
      Row{"ops.matmul(t, t)",
          "lab.ops.matmul: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3) (self float32 [2, 3], other float32 "
          "[2, 3])"},
      Row{"t:matmul(T.arange(3))", "lab.ops.matmul: "},
      Row{"t:sum({ dimm = 1 })", "there is no argument 'dimm'\n  hint: did you mean 'dim'?"},
      Row{"t:softmax(1.5)", "lab.ops.softmax: argument 2 (dim): expected an integer, found 1.5"},
      Row{"t:softmax(0, { dtype = 'float99' })", "'dtype': expected a dtype"},
      Row{"t:softmax(0, { dim = 1 })", "'dim' is given twice, by position and by name"},
      Row{"t:relu(1)", "lab.ops.relu: expected at most 1 argument, found 2"},
      Row{"ops.stack({ t, 3 })", "argument 1 (tensors): expected a list of tensors, found a list of different things"},
      Row{"ops.relu(print)", "argument 1 (self): expected a tensor, found a function"},
      Row{"ops.maktul(t, t)", "lab.ops has no 'maktul'\n  hint: did you mean lab.ops.matmul?"},
      Row{"t:matmull(t)", "a tensor has no 'matmull'\n  hint: did you mean 'matmul'?"},
      Row{"t:zeros()", "a tensor has no 'zeros'\n  hint: the operator is called lab.ops.zeros"},
      Row{"return t == t:clone()", "tensors cannot be compared by == and ~=\n  hint: a:eq(b) and a:ne(b)"},
      Row{"return t ~= t:clone()", "a:equal(b) is true"}, Row{"local b = t < t", "a:lt(b)"},
      Row{"t.shape = 3", "the field 'shape' of a tensor cannot be set"},
      Row{"t:release() t:release() local b = t + 1",
          "lab.ops.add: argument 1 (self): a tensor was used after it had been released"},
      Row{"t:release() return t.shape", "a tensor was used after it had been released"},
      Row{"t:item()", "tensor:item: expected a tensor of one element, found float32 [2, 3]"},
      Row{"T.zeros(1):expand(2^33):tolist()",
          "tensor:tolist: expected at most 134217728 elements, which the memory of Lua can hold, found float32 "
          "[8589934592]"},
      Row{"ops.cat(setmetatable({ t, t }, { __mode = 'v' }))",
          "lab.ops.cat: argument 1 (tensors): expected a list of tensors, found a table whose metatable has __mode"},
      Row{"ops.sum(t, { 0, keepdim = true })", "lab.ops.sum: the last argument has names and positions"},
      Row{"ops.as_strided_(t, { 9 }, { 0 })", "lab.ops has no 'as_strided_'"},
      Row{"T { 2^53, dtype = 'int64' }:add(1):item()", "has no exact Lua number"},
      Row{"T { 2^53, dtype = 'int64' }:add(1):tolist()", "the integer 9007199254740993 has no exact Lua number"},
      Row{"t:backward()", "tensor:backward: no tensor from which this tensor was computed requires a gradient"},
      Row{"T({ 1, 2 }, { requires_grad = true }):mul(2):backward()",
          "tensor:backward: expected a scalar, found float32 [2]"},
      Row{"local w = T({ 1 }, { requires_grad = true }) local y = w:exp() y:add_(1) y:sum():backward()",
          "modified by an inplace operation"},
      Row{"T { 1, dtype = 'int64' }:requires_grad(true)", "tensor:requires_grad: "},
      Row{"T { {1, 2}, {3} }", "lab.tensor: [2]: expected a list of 2, as the one before it, found 1"},
      Row{"T { {1}, 2 }", "lab.tensor: [2]: expected a list of 1, found 2"},
      Row{"T { 1, {2} }", "lab.tensor: [2]: expected a number, found a list"},
      Row{"T { 1, 'x' }", "lab.tensor: [2]: expected numbers or lists of them, found \"x\""},
      Row{"T { 1.5, dtype = 'int64' }", "expected whole numbers for dtype int64, found 1.5"},
      Row{"T({ 1 }, { dtyp = 'int64' })", "there is no option 'dtyp'\n  hint: did you mean 'dtype'?"},
      Row{"T.emptyy()", "lab.tensor has no 'emptyy'"}, Row{"T.x = 1", "lab.tensor cannot be changed"},
      Row{"return t[2]",
          "index 2 is outside of axis 0, which has 2 elements\n  hint: indices count from 0; the shape is [2, 3]"},
      Row{"return lab.tensor.zeros { 6, 1, 2, 4 }[{ 0, {}, 2, 0 }]",
          "index 2 is outside of axis 2, which has 2 elements\n  hint: indices count from 0; the shape is [6, 1, 2, "
          "4]"},
      Row{"return t[{0, 0, 0}]", "too many indices for float32 [2, 3]"},
      Row{"return t[0.5]", "expected a whole number as index, found the number 0.5"},
      Row{"return t[{ {1, 2, -1} }]", "expected a step of at least 1, found -1"},
      Row{"return t[T { 0.5 }]", "expected indices (int64) or a mask (bool)"},
      Row{"return t[print]", "expected an index, found a function"},
      Row{"t[0] = 'x'", "expected a number or a tensor, found \"x\""},
      Row{"ops.scaled_dot_product_attention(t, t, t, nil, 0.5)", "'dropout_p' must be 0"},
      Row{"lab.no_grad(3)", "lab.no_grad: expected a function"}, Row{"setmetatable(t, {})", "table expected"},
      Row{"ops.lab = 1", "lab.ops cannot be changed"});
  CAPTURE(row.code);
  CHECK_THAT(error(sandbox, row.code), Catch::Contains(row.message));
}

TEST_CASE("random operators draw from the recipe's stream, and from a seed where one is given") {
  Sandbox sandbox;
  const char* body =
      "local a, b = T.randn({ 40 }), T.randn(40) local c, d = T.randn({ 40 }, { seed = 1 }), T.randn({ 40 }, { seed = "
      "1 }) "
      "assert(not a:equal(b)) assert(c:equal(d)) assert(not c:equal(a)) "
      "local m = T.ones(100):dropout(0.5, true) assert(m:sum():item() ~= 100) assert(T.ones(100):dropout(0.5, "
      "false):sum():item() == 100) "
      "return show(a) .. show(ops.bernoulli(T.full({ 8 }, 0.5))) .. show(T.randperm(8)) .. show(m) .. "
      "show(a:abs():multinomial(3))";
  const std::string first = text(sandbox, body);
  Sandbox again;
  CHECK(text(again, body) == first);
}

TEST_CASE("a callback's draws are those of its key") {
  Sandbox sandbox;
  const auto function = returned_function(
      sandbox.execute("return lab.stage { call = function() return lab.tensor.randn(4):sum():item() end }"));
  const auto draw = [&](std::uint64_t key) {
    function->rekey(Key(key));
    return std::get<Value>(function->call({}).at(0)).number();
  };
  const double first = draw(1);
  CHECK(draw(2) != first);
  CHECK(draw(1) == first);
}

TEST_CASE("tensors go into a recipe's function and come back") {
  Sandbox sandbox;
  const auto function =
      returned_function(sandbox.execute("return lab.stage { call = function(t) return t * 2, t end }"));
  const auto tensor = std::make_shared<TensorObject>(at::arange(3));
  const Argument arguments[] = {std::shared_ptr<Object>(tensor)};
  const std::vector<Argument> results = function->call(arguments);
  const auto& doubled = dynamic_cast<const TensorObject&>(*std::get<std::shared_ptr<Object>>(results.at(0)));
  CHECK(doubled.tensor.equal(at::arange(3).mul(2)));
  CHECK(dynamic_cast<const TensorObject&>(*std::get<std::shared_ptr<Object>>(results.at(1)))
            .tensor.is_same(tensor->tensor));
}

}  // namespace trainlab::tensors_test
