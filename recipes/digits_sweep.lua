-- recipes/digits_sweep.lua: which learning rate, width and optimizer suit the digits
local nn, space = lab.nn, lab.space

local trials  = lab.param { "trials", 32, doc = "points of the space to try", min = 1 }
local workers = lab.param { "processes", 2, doc = "processes that train trials", min = 1 }

local data = lab.data.digits():split { train = 0.8, val = 0.2, seed = 7 }

return lab.sweep {
  name    = "search",
  space   = {
    lr       = space.log(1e-4, 1e-1),
    width    = space.choice { 16, 32, 64 },
    optim    = space.choice { "AdamW", "SGD" },
    momentum = space.uniform(0, 0.99):when("optim", "SGD"),
  },
  sampler = lab.sampler.tpe(),
  pruner  = lab.pruner.asha { min = 2, reduction = 3 },
  metric  = "val.accuracy",
  trials  = trials,
  workers = workers,
  build   = function(hp)
    local options = { lr = hp.lr }
    if hp.optim == "SGD" then options.momentum = hp.momentum end
    return lab.fit {
      name    = "member",
      data    = data,
      model   = nn.Sequential { nn.Flatten(), nn.Linear(hp.width), nn.ReLU(), nn.Linear(10) },
      loss    = "cross_entropy",
      metrics = { "accuracy" },
      optim   = lab.optim[hp.optim](options),
      batch   = 32,
      epochs  = 10,
    }
  end,
}
