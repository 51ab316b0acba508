-- An autoencoder of digits: 64 pixels through a bottleneck and back; the target is the input itself.
--
--   trainlab recipes/autoencoder.lua --width 4
local nn, optim, sched = lab.nn, lab.optim, lab.sched

local width = lab.param { "width", 8, doc = "numbers that a digit is squeezed into", min = 1 }
local epochs = lab.param { "epochs", 40, doc = "longest training, in passes over the data", min = 1 }

return lab.fit {
  name     = "autoencoder",
  data     = lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1, seed = 7 },
  model    = nn.Sequential {
    nn.Flatten(),
    nn.Linear(48), nn.ReLU(), nn.Linear(width),
    nn.Linear(48), nn.ReLU(), nn.Linear(64), nn.Sigmoid(),
    nn.Reshape { 1, 8, 8 },
  },
  loss     = lab.loss.mse { target = "x" },
  optim    = optim.AdamW { lr = 3e-3 },
  schedule = sched.cosine { warmup = "5%" },
  batch    = 64,
  epochs   = epochs,
}
