-- A small classifier of handwritten digits (8 × 8 pixels, part of trainlab). It stops early and keeps its best weights.
--   trainlab recipes/digits.lua
--   trainlab recipes/digits.lua --lr 0.01 --epochs 20
local nn, optim, sched, stop = lab.nn, lab.optim, lab.sched, lab.stop

local lr = lab.param { "lr", 3e-3, doc = "peak learning rate", min = 0 }
local epochs = lab.param { "epochs", 40, doc = "longest training, in passes over the data", min = 1 }

return lab.fit {
  name     = "digits",
  data     = lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1, seed = 7 },
  model    = nn.Sequential { nn.Flatten(), nn.Linear(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(10) },
  loss     = "cross_entropy",
  metrics  = { "accuracy" },
  optim    = optim.AdamW { lr = lr, weight_decay = 0.01 },
  schedule = sched.cosine { warmup = "5%" },
  batch    = 64,
  epochs   = epochs,
  stop     = stop.patience { metric = "val.loss", patience = 5, min_delta = 1e-3 },
}
