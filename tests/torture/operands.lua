-- trainlab tests/torture/operands.lua: every operation of Lua on every kind of value that a recipe can have, two by
-- two: arithmetic, comparison, calls, reading and writing of fields, and all methods with wrong receivers and
-- arguments. Each must give a value or an error in words for the recipe's author. They are done in the recipe itself,
-- in a coroutine, in the handler of xpcall, while garbage is collected, in callbacks of a fit and a task, and with the
-- objects of stages that have ended. The whole takes minutes; the test cli/operands does one operation in some dozens.
local every = lab.param { "every", 1, doc = "do one of this many operations", min = 1 }
local T, ops, nn = lab.tensor, lab.ops, lab.nn

local inner = { "internal error", "INTERNAL ASSERT", "C++ exception", "c10::", "at::", "std::" }
local counts = { value = 0, error = 0 }

local function judge(what, ok, message)
  counts[ok and "value" or "error"] = counts[ok and "value" or "error"] + 1
  if ok then return end
  assert(type(message) == "string", what .. " raised a " .. type(message))
  for _, words in ipairs(inner) do assert(not message:find(words, 1, true), what .. ": " .. message) end
end

-- All kinds of values, by name. Tensors are made anew each time, because operators change them.
local function values()
  local released, empty = T.ones(2), T.zeros(0, 3)
  released:release()
  local grad = T.ones(2, 2, { requires_grad = true })
  local all = {
    ["false"] = false, zero = 0, one = 1, negative = -1, nan = 0 / 0, infinite = 1 / 0, huge = 2 ^ 53, half = 0.5,
    text = "x", number_text = "1", empty_text = "", table = {}, list = { 1, 2 }, names = { dim = 0 },
    weak = setmetatable({ T.ones(2) }, { __mode = "v" }), func = function(...) return ... end, native = print,
    thread = coroutine.create(function() end), lab = lab, ops = ops, T = T, operator = ops.add, layer = nn.Linear(2),
    optimizer_entry = lab.optim.SGD { lr = 0.1 }, data = lab.data.blobs { samples = 8 },
    range = lab.space.uniform(0, 1), float = T { { 1, 2 }, { 3, 4 } }, scalar = T(1),
    integers = T({ 0, 1 }, { dtype = "int64" }), mask = T { true, false },
    complex = ops.complex(T { 1 }, T { 2 }), half_float = T({ 1, 2 }, { dtype = "float16" }), empty = empty,
    expanded = T.ones(1):expand(4), turned = T { { 1, 2 }, { 3, 4 } }:t(), sparse = T { 1, 0, 2 }:to_sparse(),
    weight = grad, computed = grad * 2, released = released, shape = empty.shape,
  }
  return all
end

local objects = {}  -- of stages, by name: model, optimizer, ctx, run, batch …
local methods = {}  -- names of the methods and fields of objects, told by the error of a wrong name

local function learn(name, object)
  objects[name] = object
  local _, message = pcall(function() return object.zzzzzzzzzzzzzzzzzzzz end)
  methods[name] = {}
  for member in (tostring(message):match("it has (.*)") or ""):gmatch("[%w_]+") do
    methods[name][#methods[name] + 1] = member
  end
end

local tensor_methods = {
  "item", "tolist", "dim", "numel", "requires_grad", "backward", "release", "size", "add_", "copy_", "sum", "view",
  "index_select", "shape", "grad", "dtype", "t_", "clone",
}
local run_methods = { "step", "metrics", "state", "model", "log", "artifact", "set_lr", "save" }

local binary = {
  function(a, b) return a + b end, function(a, b) return a - b end, function(a, b) return a * b end,
  function(a, b) return a / b end, function(a, b) return a % b end, function(a, b) return a ^ b end,
  function(a, b) return a .. b end, function(a, b) return a == b end, function(a, b) return a < b end,
  function(a, b) return a <= b end, function(a, b) return a[b] end, function(a, b) return a(b) end,
  function(a, b) a[b] = b end, function(a, b) a.grad = b end, function(a, b) a[0] = b end,
  function(a, b) return a[{ b }] end, function(a, b) return ops.add(a, { alpha = b }) end,
  function(a, b) return ops.cat({ a, b }) end, function(a, b) return ops.where(a, b, a) end,
}
local unary = {
  function(a) return -a end, function(a) return #a end, function(a) return not a end,
  function(a) return tostring(a) end, function(a) local f, s, i = pairs(a) return f(s, i) end,
  function(a) local f, s, i = ipairs(a) return f(s, i) end, function(a) return getmetatable(a).__index end,
  function(a) return setmetatable(a, {}) end, function(a) return rawget(a, 1) end, function(a) return next(a) end,
  function(a) return T(a) end, function(a) return T { a } end, function(a) return lab.scope(a) end,
  function(a) return lab.no_grad(a, a) end, function(a) return lab.optimizer(lab.optim.SGD { lr = 1 }, a) end,
  function(a) return ("%s"):format(a) end, function(a) return unpack(a) end, function(a) return T.zeros(a) end,
}

-- `try(what, f, …)` does one operation in one of the surroundings.
local function operations(try, all)
  for name, object in pairs(objects) do all[name] = object end
  for left, a in pairs(all) do
    for i, f in ipairs(unary) do try("unary " .. i .. " of " .. left, f, a) end
    for right, b in pairs(all) do
      for i, f in ipairs(binary) do
        try("binary " .. i .. " of " .. left .. " and " .. right, f, a, b)
      end
    end
    for i, f in ipairs(binary) do
      try("binary " .. i .. " of " .. left .. " and nil", f, a, nil)
      try("binary " .. i .. " of nil and " .. left, f, nil, a)
    end
  end
end

-- All methods with every value as the receiver, and with every value as the argument.
local function calls(try, all)
  for name, object in pairs(objects) do all[name] = object end
  local function each(owner, object, names)
    for _, member in ipairs(names) do
      local found, f = pcall(function() return object[member] end)
      if found and type(f) == "function" then
        for other, value in pairs(all) do
          try(owner .. "." .. member .. "(" .. other .. ")", f, value)
          try(owner .. ":" .. member .. "(" .. other .. ")", f, object, value)
          try(owner .. ":" .. member .. "('n', " .. other .. ")", f, object, "n", value)
          try(owner .. ":" .. member .. "({ " .. other .. " })", f, object, { value })
        end
        try(owner .. ":" .. member .. "()", f, object)
        try(owner .. "." .. member .. "()", f)
      end
    end
  end
  for _, name in ipairs { "float", "scalar", "integers", "sparse", "empty", "complex", "computed", "expanded" } do
    each(name, all[name], tensor_methods)
  end
  for name, object in pairs(objects) do each(name, object, name:find("run") and run_methods or methods[name]) end
end

local function plain(what, f, ...) judge(what, pcall(f, ...)) end
local function in_coroutine(what, f, ...) judge(what, coroutine.resume(coroutine.create(f), ...)) end
local function in_handler(what, f, ...)
  local arguments, count = { ... }, select("#", ...)
  local ok, message
  xpcall(function() error("x") end, function() ok, message = pcall(f, unpack(arguments, 1, count)) end)
  judge(what, ok, message)
end
local function within(what, f, ...) judge(what, pcall(lab.scope, lab.no_grad, f, ...)) end
local calls_made = 0
local function collecting(what, f, ...)
  calls_made = calls_made + 1
  if calls_made % 20 == 0 then collectgarbage() end
  judge(what, pcall(f, ...))
end

local operation = 0
local function sometimes(try)
  return function(...)
    operation = operation + 1
    if operation % every == 0 then try(...) end
  end
end

local function everything(try)
  operations(sometimes(try), values())
  calls(sometimes(try), values())
end

for _, try in ipairs { plain, in_coroutine, in_handler, within, collecting } do everything(try) end

local space = { x = lab.space.uniform(0, 1) }
local data = lab.data.blobs { samples = 40 }:split { val = 0.25 }
local optimizer, model
lab.run(lab.task {
  name = "objects",
  run = function(ctx)
    model = lab.build(nn.Sequential { nn.Linear(3) }, { input = { 2 } })
    optimizer = lab.optimizer(lab.optim.SGD { lr = 0.1 }, model:parameters())
    learn("ctx", ctx)
    learn("model", model)
    learn("optimizer", optimizer)
    learn("schedule", lab.schedule(lab.sched.cosine(), { steps = 10 }))
    local study = lab.study { space = space, sampler = lab.sampler.random() }
    learn("study", study)
    learn("trial", study:ask())
    objects.part, methods.part = data.train, { "batches" }
    for batch in ctx:batches(data.train, { size = 8 }) do
      objects.batch, methods.batch = batch, {}
    end
    objects.loop, methods.loop = ctx:steps(3), {}
    everything(plain)
  end,
})
everything(plain)

local function hold(name, run)
  objects[name], methods[name] = run, {}
  objects[name .. ".metrics"], methods[name .. ".metrics"] = run.metrics, {}
end
local result = lab.run(lab.fit {
  name = "callbacks",
  data = data:transform(function(batch, rng)
    if not objects.rng then
      learn("rng", rng)
      everything(plain)
    end
    return batch
  end),
  model = nn.Sequential { nn.Linear(3) },
  loss = "cross_entropy",
  optim = lab.optim.SGD { lr = 0.01 },
  batch = 10,
  epochs = 1,
  on = {
    validate = function(run)
      hold("run", run)
      everything(collecting)
    end,
  },
})
objects.result, methods.result = result, { "model", "predict", "generate" }
collectgarbage()
everything(plain)
everything(in_coroutine)
print(counts.value .. " values, " .. counts.error .. " errors")
