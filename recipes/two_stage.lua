-- recipes/two_stage.lua: a search for good hyperparameters, then many seeds of the best, of which the best four vote
local nn, space = lab.nn, lab.space

local trials = lab.param { "trials", 16, doc = "points of the space to try", min = 1 }
local seeds  = lab.param { "seeds", 8, doc = "members of the ensemble", min = 1 }
local epochs = lab.param { "epochs", 10, doc = "passes over the training part in each fit", min = 1 }

local data = lab.data.digits():split { train = 0.7, val = 0.15, test = 0.15, seed = 7 }

local function build(hp)
  return lab.fit {
    name    = "member",
    data    = data,
    model   = nn.Sequential { nn.Flatten(), nn.Linear(hp.width), nn.ReLU(), nn.Linear(10) },
    loss    = "cross_entropy",
    metrics = { "accuracy" },
    optim   = lab.optim.AdamW { lr = hp.lr },
    batch   = 32,
    epochs  = epochs,
  }
end

local found = lab.run(lab.sweep {
  name          = "search",
  space         = { lr = space.log(1e-4, 1e-1), width = space.int(16, 64, { step = 16 }) },
  sampler       = lab.sampler.tpe(),
  pruner        = lab.pruner.asha { min = 2, reduction = 3 },
  metric        = "val.accuracy",
  trials        = trials,
  seeds         = 2,
  workers       = 2,
  deterministic = true, -- the same result for any number of processes
  build         = build,
})

return lab.ensemble {
  name = "final", params = found.best.params, seeds = seeds, keep = math.min(4, seeds), metric = "val.loss",
  workers = 2, build = build,
}
