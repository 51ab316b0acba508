-- Regression on a table: numeric and categorical columns, missing values, one numeric target.
--   trainlab recipes/tabular.lua
--   trainlab recipes/tabular.lua --data mine.csv --target price
local nn, optim, sched, stop = lab.nn, lab.optim, lab.sched, lab.stop

local path = lab.param {
  "data", type = "path", optional = true, doc = "a CSV file (default: the heating table beside the recipe)",
}
local target = lab.param { "target", "heat_mwh", doc = "the column to predict" }
local lr = lab.param { "lr", 3e-3, doc = "peak learning rate", min = 0 }
local width = lab.param { "width", 64, doc = "hidden units", min = 1 }

return lab.fit {
  name     = "tabular",
  data     = lab.data.csv { path = path or "data/heating.csv", target = target }
               :split { train = 0.7, val = 0.15, test = 0.15, seed = 3 }
               :normalize(),
  model    = nn.Sequential { nn.Linear(width), nn.SiLU(), nn.Linear(width), nn.SiLU(), nn.Linear(1) },
  loss     = "huber",
  metrics  = { "mae", "rmse", "r2" },
  optim    = optim.AdamW { lr = lr, weight_decay = 1e-3, decay_norms_and_biases = false },
  schedule = sched.cosine { warmup = "2 epochs" },
  batch    = 32,
  epochs   = 60,
  clip     = 1.0,
  stop     = stop.patience { patience = 10 },
}
