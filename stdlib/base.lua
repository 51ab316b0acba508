-- Functions that are better said in Lua: pairs in a fixed order, xpcall, coroutines that cannot nest without end.
-- Called with the table of globals and the limits of the state.
local globals, limits = ...

-- Held here: what a recipe does to the globals must not reach into these functions.
local next, pcall, rawget, type, error = globals.next, globals.pcall, globals.rawget, globals.type, globals.error
local sort, create, native_resume = globals.table.sort, globals.coroutine.create, globals.coroutine.resume

local function check_function(f, name, position)
  if type(f) ~= "function" then
    error("bad argument #" .. position .. " to '" .. name .. "' (function expected, got " .. type(f) .. ")", 3)
  end
end

-- Lua's own order of keys differs between two executions of the same recipe. Here: numbers ascending, then texts, then
-- the rest as Lua has it. The keys are those at the start; one whose value has become nil since is left out.
function globals.pairs(t)
  if type(t) ~= "table" then
    error("bad argument #1 to 'pairs' (table expected, got " .. type(t) .. ")", 2)
  end
  local numbers, texts, others = {}, {}, {}
  for key in next, t do
    local kind = type(key)
    local list = kind == "number" and numbers or kind == "string" and texts or others
    list[#list + 1] = key
  end
  sort(numbers)
  sort(texts)
  for i = 1, #texts do numbers[#numbers + 1] = texts[i] end
  for i = 1, #others do numbers[#numbers + 1] = others[i] end
  local i = 0
  return function()
    while i < #numbers do
      i = i + 1
      local value = rawget(t, numbers[i])
      if value ~= nil then return numbers[i], value end
    end
  end, t, nil
end

-- The handler runs after the call has been unwound: inside it, it would be beyond the reach of the limits.
local function handled(handler, ok, ...)
  if ok then return true, ... end
  return false, handler((...))
end

function globals.xpcall(f, handler, ...)
  check_function(handler, "xpcall", 2)
  return handled(handler, pcall(f, ...))
end

-- Each resume in a resume takes stack of the engine itself, and there is no catching its end.
local depth = 0

local function left(...)
  depth = depth - 1
  return ...
end

local function check_depth()
  if depth >= limits.coroutines then
    error("coroutines resumed inside each other more than " .. limits.coroutines .. " deep", 3)
  end
  depth = depth + 1
end

local function passed(ok, ...)
  if ok then return ... end
  error((...), 0)
end

function globals.coroutine.resume(co, ...)
  if type(co) ~= "thread" then
    error("bad argument #1 to 'resume' (coroutine expected, got " .. type(co) .. ")", 2)
  end
  check_depth()
  return left(native_resume(co, ...))
end

function globals.coroutine.wrap(f)
  check_function(f, "wrap", 1)
  local co = create(f)
  return function(...)
    check_depth()
    return passed(left(native_resume(co, ...)))
  end
end
