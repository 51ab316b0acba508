-- recipes/day.lua: a day of a model in service, in at most ten minutes. Today's readings are mixed with yesterday's.
-- The weights of the newest model and fresh ones train for the same time, with three seeds each, and today's model
-- begins with what came out better. It is served if it is not worse than the model that is served now.
--   for day in 1 2 3; do trainlab recipes/day.lua --day $day; done
-- runs/day/current is the run to serve.
local nn = lab.nn

local day   = lab.param { "day", 1, doc = "the day whose readings are new", min = 1 }
local trial = lab.param { "trial", "10 s", doc = "for how long each beginning trains, with each seed" }
lab.budget { time = "10 min" }

-- The readings of a day are told apart into four classes by two axes, which turn by ten degrees from day to day.
local function readings(of)
  return lab.data.tensors(function()
    local x, turn = lab.tensor.randn({ 4000, 8 }, { seed = of }), math.rad(10 * of)
    local u, v = x[{ {}, 0 }], x[{ {}, 1 }]
    local along, across = u * math.cos(turn) + v * math.sin(turn), v * math.cos(turn) - u * math.sin(turn)
    local is_above = (across + x[{ {}, 2 }] * x[{ {}, 3 }]):gt(0)
    return x, along:gt(0):to("int64") * 2 + is_above:to("int64")
  end)
end

local data = readings(day):split { train = 0.6, val = 0.2, test = 0.2, seed = 1 }
if day > 1 then data = data:append { readings(day - 1), share = 0.3 } end

local function fit(more)
  local options = {
    data    = data,
    model   = nn.Sequential { nn.Linear(64), nn.ReLU(), nn.Linear(64), nn.ReLU(), nn.Linear(4) },
    loss    = "cross_entropy",
    metrics = { "accuracy" },
    optim   = lab.optim.AdamW { lr = 1e-3 },
    batch   = 64,
  }
  for name, value in pairs(more) do options[name] = value end
  return lab.fit(options)
end

-- The loss that a beginning reaches in the time of a trial, as the mean over three seeds.
local function tried(name, init)
  return lab.run(lab.ensemble {
    name = name, seeds = 3, metric = "val.loss",
    build = function() return fit { name = "trial", init = init, time = trial } end,
  }).mean_member["val.loss"]
end

local newest = lab.latest "day" -- nil on the first day
local init = newest and lab.warm_start { from = newest }
if newest then
  local warm, fresh = tried("warm", init), tried("fresh")
  print(("val.loss after %s: %.4f from the newest model's weights, %.4f from fresh ones"):format(trial, warm, fresh))
  if fresh < warm then init = nil end
end

return fit {
  name    = "day",
  init    = init,
  epochs  = 60,
  stop    = lab.stop.patience { patience = 8 },
  -- By the test part: the epoch that is kept was chosen on the validation part, where the served model was not.
  promote = { metric = "test.loss", not_worse_than = "current" },
}
