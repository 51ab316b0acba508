-- MNIST with MLP 784-128-10 or a small CNN, batch 64.
local nn = lab.nn
local data = lab.param { "data", type = "path", doc = "folder with the IDX files" }
local kind = lab.param { "model", "mlp", type = "choice", choices = { "mlp", "cnn" }, doc = "kind of model" }
local epochs = lab.param { "epochs", 3, min = 1, doc = "passes over the training part" }
local models = {
  mlp = nn.Sequential { nn.Flatten(), nn.Linear(128), nn.ReLU(), nn.Linear(10) },
  cnn = nn.Sequential {
    nn.Conv2d(8, 3, { padding = 1 }), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 3, { padding = 1 }), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(10),
  },
}
return lab.fit {
  name = "mnist", data = lab.data.mnist { path = data }:split { train = 0.9, val = 0.1, seed = 1 },
  model = models[kind], loss = "cross_entropy", metrics = { "accuracy" }, optim = lab.optim.AdamW { lr = 1e-3 },
  batch = 64, epochs = epochs,
}
