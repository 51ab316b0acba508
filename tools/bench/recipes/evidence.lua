-- A small training on digits that stop.evidence may end: see evidence.py.
local nn, optim = lab.nn, lab.optim

local kind = lab.param {
  "kind", "SGD", type = "choice", choices = { "SGD", "momentum", "AdamW" }, doc = "the optimizer",
}
local wrong = lab.param { "wrong", 0, type = "number", doc = "share of wrong labels", min = 0, max = 1 }
local times = lab.param { "times", 0, doc = "readings in a row with which the rule stops; 0: no rule", min = 0 }
local epochs = lab.param { "epochs", 60, doc = "epochs of the whole training", min = 1 }

local optimizers = {
  SGD = optim.SGD { lr = 0.1 },
  momentum = optim.SGD { lr = 0.03, momentum = 0.9 },
  AdamW = optim.AdamW { lr = 1e-3 },
}

local function with_wrong_labels(rows)
  local list = {}
  for i = 1, rows.shape[1] do
    list[i] = math.random() < wrong and math.random(0, 9) or rows[i - 1]:item()
  end
  return lab.tensor(list, { dtype = "int64" })
end

return lab.fit {
  name = "evidence",
  data = lab.data.digits():map("y", with_wrong_labels):split { train = 0.6, val = 0.4, seed = 3 },
  model = nn.Sequential { nn.Flatten(), nn.Linear(64), nn.ReLU(), nn.Linear(64), nn.ReLU(), nn.Linear(10) },
  loss = "cross_entropy", metrics = { "accuracy" }, optim = optimizers[kind], batch = 64, epochs = epochs,
  stop = times > 0 and lab.stop.evidence { times = times } or nil,
}
