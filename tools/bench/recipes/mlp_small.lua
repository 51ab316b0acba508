-- MLP 64-32-10 on digits, batch 32: the step is overhead, not arithmetic.
local nn = lab.nn
local epochs = lab.param { "epochs", 40, min = 1, doc = "passes over the training part" }
return lab.fit {
  name = "mlp_small", data = lab.data.digits():split { train = 0.8, val = 0.2, seed = 1 },
  model = nn.Sequential { nn.Flatten(), nn.Linear(32), nn.ReLU(), nn.Linear(10) },
  loss = "cross_entropy", metrics = { "accuracy" }, optim = lab.optim.AdamW { lr = 1e-3 }, batch = 32, epochs = epochs,
}
