-- A small fit on a part of MNIST, for tools/bench/more_data.py: all parts of one pool have the same validation part.
local nn = lab.nn
local mnist = lab.param { "mnist", type = "path", doc = "the folder of MNIST" }
local samples = lab.param { "samples", 2000, min = 2000, doc = "training samples, at most 8000" }
local pool = lab.param { "pool", 1, min = 1, doc = "seed of the samples among which the parts are drawn" }
local hidden = lab.param { "hidden", 64, min = 0, doc = "hidden units; 0 for a linear model" }
local metric = lab.param { "metric", "val.loss", doc = "the metric that is forecast" }

-- The validation part has 2,000 samples, which take() keeps.
local data = lab.data.mnist(mnist):take(10000, { seed = pool }):split { train = 0.8, val = 0.2, seed = 7 }:take(samples)
local layers = { nn.Flatten() }
if hidden > 0 then
  layers[2], layers[3] = nn.Linear(hidden), nn.ReLU()
end
layers[#layers + 1] = nn.Linear(10)

return lab.fit {
  name    = "part",
  data    = data,
  model   = nn.Sequential(layers),
  loss    = "cross_entropy",
  metrics = { "accuracy" },
  monitor = metric,
  optim   = lab.optim.AdamW { lr = 1e-3 },
  batch   = 32,
  epochs  = 8,
}
