-- MNIST (or any set in the same files, such as Fashion-MNIST) with a multilayer perceptron or a small CNN.
--   trainlab recipes/mnist.lua --data DIR                      DIR holds the four IDX files, gzip or plain
--   trainlab recipes/mnist.lua --data DIR --model cnn --epochs 2
local nn, optim, sched = lab.nn, lab.optim, lab.sched

local data = lab.param { "data", type = "path", doc = "folder with the IDX files" }
local kind = lab.param { "model", "mlp", type = "choice", choices = { "mlp", "cnn" }, doc = "kind of model" }
local lr = lab.param { "lr", 2e-3, doc = "peak learning rate", min = 0 }
local epochs = lab.param { "epochs", 5, doc = "passes over the training part", min = 1 }
local batch = lab.param { "batch", 64, doc = "samples per step", min = 1 }

local models = {
  mlp = nn.Sequential { nn.Flatten(), nn.Linear(128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(10) },
  cnn = nn.Sequential {
    nn.Conv2d(16, 3, { padding = 1 }), nn.ReLU(), nn.MaxPool2d(2),   -- 28 × 28 → 14 × 14
    nn.Conv2d(32, 3, { padding = 1 }), nn.ReLU(), nn.MaxPool2d(2),   -- 14 × 14 → 7 × 7
    nn.Flatten(), nn.Linear(64), nn.ReLU(), nn.Linear(10),
  },
}

return lab.fit {
  name     = "mnist",
  data     = lab.data.mnist { path = data }:split { train = 0.95, val = 0.05, seed = 1 }:normalize(),
  model    = models[kind],
  loss     = "cross_entropy",
  metrics  = { "accuracy" },
  optim    = optim.AdamW { lr = lr, weight_decay = 0.01 },
  schedule = sched.cosine { warmup = "5%" },
  batch    = batch,
  epochs   = epochs,
}
