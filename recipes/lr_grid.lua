-- recipes/lr_grid.lua: a grid of learning rates for a small net on MNIST, two seeds each
local nn = lab.nn

local folder = lab.param { "data", type = "path", doc = "folder with the IDX files" }
local epochs = lab.param { "epochs", 2, doc = "passes over the training part in each fit", min = 1 }

local data = lab.data.mnist { path = folder }:split { train = 0.9, val = 0.1, seed = 7 }

return lab.sweep {
  name    = "lr_grid",
  space   = { lr = lab.space.choice { 1e-4, 3e-4, 1e-3, 3e-3, 1e-2 }, optim = lab.space.choice { "AdamW", "SGD" } },
  sampler = lab.sampler.grid(),
  metric  = "val.accuracy",
  seeds   = 2,
  workers = 2,
  build   = function(hp)
    return lab.fit {
      name    = "member",
      data    = data,
      model   = nn.Sequential { nn.Flatten(), nn.Linear(128), nn.ReLU(), nn.Linear(10) },
      loss    = "cross_entropy",
      metrics = { "accuracy" },
      optim   = lab.optim[hp.optim] { lr = hp.lr },
      batch   = 64,
      epochs  = epochs,
    }
  end,
}
