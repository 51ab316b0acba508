-- 64 trials of a small net on the digits, at random: what a sweep adds to its arithmetic
local nn = lab.nn
local trials  = lab.param { "trials", 64, doc = "points to try" }
local processes = lab.param { "processes", 2, doc = "processes that train" }
local stack = lab.param { "stack", true, doc = "stack trials where it pays off" }
local data = lab.data.digits():split { train = 0.8, val = 0.2, seed = 7 }

return lab.sweep {
  name = "sweep", trials = trials, workers = processes, metric = "val.accuracy", sampler = lab.sampler.random(),
  stack = stack and "auto" or false,
  space = { lr = lab.space.log(1e-4, 1e-1), weight_decay = lab.space.log(1e-5, 1e-1) },
  build = function(hp)
    return lab.fit {
      name = "member", data = data, loss = "cross_entropy", metrics = { "accuracy" }, batch = 32, epochs = 10,
      model = nn.Sequential { nn.Flatten(), nn.Linear(32), nn.ReLU(), nn.Linear(10) },
      optim = lab.optim.AdamW { lr = hp.lr, weight_decay = hp.weight_decay },
    }
  end,
}
