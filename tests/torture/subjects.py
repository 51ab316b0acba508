"""The runs that are attacked: one of each kind, of a second or two, which end in the same bytes each time."""

FIT = """local nn = lab.nn
return lab.fit {
  name = "f", data = lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1, seed = 7 },
  model = nn.Sequential { nn.Flatten(), nn.Linear(48), nn.BatchNorm1d(), nn.ReLU(), nn.Dropout(0.2), nn.Linear(10) },
  loss = "cross_entropy", metrics = { "accuracy" }, optim = lab.optim.AdamW { lr = 0.01 }, batch = 32, epochs = 40,
  schedule = lab.sched.cosine(), checkpoint = "20 steps",
}
"""

TASK = """local nn, ops = lab.nn, lab.ops
local data = lab.data.digits():split { train = 0.8, val = 0.2, seed = 7 }
local net = nn.Sequential { nn.Flatten(), nn.Linear(16), nn.ReLU(), nn.Linear(10) }
return lab.task { name = "t", state = { sum = 0 }, run = function(ctx)
  local model = lab.build(net, { input = { 1, 8, 8 }, seed = ctx.seed })
  local opt = lab.optimizer(lab.optim.AdamW { lr = 0.01 }, model:parameters())
  for batch in ctx:batches(data.train, { size = 64, epochs = 12, save = { model, opt }, checkpoint = "10 steps" }) do
    local loss = ops.cross_entropy_loss(model:forward(batch.x), batch.y)
    opt:zero_grad(); loss:backward(); opt:step()
    ctx.state.sum = ctx.state.sum + math.random()
    ctx:log("loss", loss)
  end
  ctx:log("sum", ctx.state.sum)
end }
"""

SWEEP = """local nn = lab.nn
local data = lab.data.blobs { samples = 400, seed = 3 }:split { train = 0.5, val = 0.5 }
return lab.sweep {
  name = "s", space = { lr = lab.space.log(1e-3, 1), width = lab.space.choice { 4, 8 } }, metric = "val.loss",
  sampler = lab.sampler.tpe { startup = 4 }, pruner = lab.pruner.asha { min = 2, reduction = 2 }, trials = 24,
  workers = 2, deterministic = true,
  build = function(hp)
    return lab.fit {
      name = "member", data = data, loss = "cross_entropy", batch = 16, epochs = 16, checkpoint = "10 steps",
      model = nn.Sequential { nn.Linear(hp.width), nn.ReLU(), nn.Linear(3) }, optim = lab.optim.SGD { lr = hp.lr },
    }
  end,
}
"""

ENSEMBLE = """local nn = lab.nn
return lab.ensemble {
  name = "e", seeds = 6, workers = 2,
  build = function(hp)
    return lab.fit {
      name = "member", data = lab.data.digits():split { train = 0.6, val = 0.2, test = 0.2, seed = 2 },
      loss = "cross_entropy", metrics = { "accuracy" }, batch = 32, epochs = 10, checkpoint = "20 steps",
      model = nn.Sequential { nn.Flatten(), nn.Linear(24), nn.ReLU(), nn.Linear(10) }, optim = lab.optim.AdamW(),
    }
  end,
}
"""

SUBJECTS = {"fit": FIT, "task": TASK, "sweep": SWEEP, "ensemble": ENSEMBLE}
