-- An LSTM learns to continue a wave: from 32 noisy points of a sine of unknown period and phase the next one.
--
--   trainlab recipes/sine.lua --noise 0.2
local nn, optim, sched = lab.nn, lab.optim, lab.sched

local noise = lab.param { "noise", 0.05, doc = "deviation of the noise on the points", min = 0 }
local epochs = lab.param { "epochs", 30, doc = "passes over the data", min = 1 }
local waves, points = 2000, 32

-- x [waves, points, 1]; y [waves, 1] is the next point, without noise.
local data = lab.data.tensors(function()
  local period = lab.tensor.rand({ waves, 1 }, { seed = 1 }) * 20 + 10
  local phase = lab.tensor.rand({ waves, 1 }, { seed = 2 }) * (2 * math.pi)
  local time = lab.tensor.arange(points + 1):unsqueeze(0)
  local wave = (time * (2 * math.pi) / period + phase):sin()
  local seen = wave:narrow(1, 0, points) + lab.tensor.randn({ waves, points }, { seed = 3 }) * noise
  return seen:unsqueeze(-1), wave:narrow(1, points, 1)
end)

return lab.fit {
  name     = "sine",
  data     = data:split { train = 0.8, val = 0.1, test = 0.1, seed = 1 },
  model    = nn.Sequential { nn.LSTM(32, { output = "last" }), nn.Linear(1) },
  loss     = "mse",
  metrics  = { "mae", "r2" },
  optim    = optim.Adam { lr = 1e-2 },
  schedule = sched.cosine { warmup = "5%" },
  clip     = 1.0,
  batch    = 64,
  epochs   = epochs,
}
