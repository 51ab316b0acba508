-- recipes/seed_ensemble.lua: sixteen seeds of one small net; the best four together are better than each alone
local nn = lab.nn

local seeds = lab.param { "seeds", 16, doc = "members that are trained", min = 1 }
local keep  = lab.param { "keep", 4, doc = "members that are kept", min = 1 }

local data = lab.data.digits():split { train = 0.7, val = 0.15, test = 0.15, seed = 7 }

return lab.ensemble {
  name    = "ensemble",
  seeds   = seeds,
  keep    = keep,
  metric  = "val.loss",
  workers = 2,
  build   = function()
    return lab.fit {
      name    = "member",
      data    = data,
      model   = nn.Sequential { nn.Flatten(), nn.Linear(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(10) },
      loss    = "cross_entropy",
      metrics = { "accuracy" },
      optim   = lab.optim.AdamW { lr = 3e-3 },
      batch   = 32,
      epochs  = 20,
    }
  end,
}
