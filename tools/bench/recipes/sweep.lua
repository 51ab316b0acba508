-- Trials of a small net on the digits, at random: what a sweep adds to its arithmetic, and what a stack saves.
local nn = lab.nn
local trials = lab.param { "trials", 64, doc = "points to try" }
local width = lab.param { "width", 32, doc = "units of each hidden layer" }
local depth = lab.param { "depth", 1, doc = "hidden layers" }
local epochs = lab.param { "epochs", 10, doc = "of each fit" }
local batch = lab.param { "batch", 32, doc = "samples of a step" }
local data = lab.data.digits():split { train = 0.8, val = 0.2, seed = 7 }

local layers = { nn.Flatten() }
for _ = 1, depth do
  layers[#layers + 1] = nn.Linear(width)
  layers[#layers + 1] = nn.ReLU()
end
layers[#layers + 1] = nn.Linear(10)

return lab.sweep {
  name = "sweep", trials = trials, workers = 2, metric = "val.accuracy", sampler = lab.sampler.random(),
  space = { lr = lab.space.log(1e-4, 1e-1), weight_decay = lab.space.log(1e-5, 1e-1) },
  build = function(hp)
    return lab.fit {
      name = "member", data = data, loss = "cross_entropy", metrics = { "accuracy" }, batch = batch, epochs = epochs,
      model = nn.Sequential(layers), optim = lab.optim.AdamW { lr = hp.lr, weight_decay = hp.weight_decay },
    }
  end,
}
