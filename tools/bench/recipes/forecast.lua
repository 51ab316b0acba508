-- Many small trainings whose learning curves are then forecast: see forecasts.py.
local nn, optim, sched, space = lab.nn, lab.optim, lab.sched, lab.space

local trials = lab.param { "trials", 240, doc = "trainings", min = 2 }
local draw = lab.param { "draw", 1, doc = "seed of the points that are tried" }
local epochs = lab.param { "epochs", 60, doc = "validations of each", min = 8 }

local schedules = {
  constant = sched.constant(),
  cosine = sched.cosine { warmup = "5%" },
  step = sched.step { every = "40%", factor = 0.2 },
}

-- A share of the labels is wrong, so that curves turn.
local function with_noise(share)
  return function(rows)
    local list = {}
    for i = 1, rows.shape[1] do
      list[i] = math.random() < share and math.random(0, 9) or rows[i - 1]:item()
    end
    return lab.tensor(list, { dtype = "int64" })
  end
end

local clean = lab.data.digits():split { train = 0.6, val = 0.4, seed = 3 }
local noisy = lab.data.digits():map("y", with_noise(0.2)):split { train = 0.6, val = 0.4, seed = 3 }

return lab.sweep {
  name = "curves",
  space = {
    lr = space.log(1e-4, 3e-2),
    width = space.choice { 16, 64 },
    optim = space.choice { "AdamW", "SGD" },
    schedule = space.choice { "constant", "cosine", "step" },
    noise = space.choice { "none", "some" },
  },
  sampler = lab.sampler.random { seed = draw },
  metric = "val.loss",
  trials = trials,
  build = function(hp)
    -- SGD wants rates ten times those of AdamW.
    local rule = hp.optim == "SGD" and optim.SGD { lr = 10 * hp.lr, momentum = 0.9 } or optim.AdamW { lr = hp.lr }
    return lab.fit {
      name = "one", data = hp.noise == "some" and noisy or clean, loss = "cross_entropy", metrics = { "accuracy" },
      model = nn.Sequential { nn.Flatten(), nn.Linear(hp.width), nn.ReLU(), nn.Linear(hp.width), nn.ReLU(),
                              nn.Linear(10) },
      optim = rule, schedule = schedules[hp.schedule], batch = 64, epochs = epochs,
    }
  end,
}
