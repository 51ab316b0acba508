-- recipes/population.lua: population-based training: eight nets whose learning rates change while they train
local nn, space = lab.nn, lab.space

local population  = lab.param { "population", 8, doc = "nets that train side by side", min = 2 }
local generations = lab.param { "generations", 6, doc = "how often the worst nets take over from the best", min = 1 }

local data = lab.data.digits():split { train = 0.8, val = 0.2, seed = 7 }

return lab.sweep {
  name      = "population",
  space     = { lr = space.log(1e-5, 1e-1), weight_decay = space.log(1e-4, 1) },
  sampler   = lab.sampler.random(),
  scheduler = lab.scheduler.pbt { population = population, interval = 2 },
  metric    = "val.loss",
  trials    = population * generations,
  build     = function(hp)
    return lab.fit {
      name    = "member",
      data    = data,
      model   = nn.Sequential { nn.Flatten(), nn.Linear(32), nn.ReLU(), nn.Linear(10) },
      loss    = "cross_entropy",
      metrics = { "accuracy" },
      optim   = lab.optim.AdamW { lr = hp.lr, weight_decay = hp.weight_decay },
      batch   = 32,
      epochs  = 2 * generations,
    }
  end,
}
