-- A model that is trained again each day on all data so far, begins with yesterday's weights, and is served if it is
-- not worse than the model that is served now. A week in a minute:
--   for day in 1 2 3 4 5 6 7; do trainlab recipes/daily.lua --day $day; done
-- runs/daily/current is the run to serve. Whether the warm start helps:
--   trainlab compare recipes/daily.lua --a begin=fresh --a day=8 --b begin=warm --b day=8 --target val.accuracy=0.96
local nn = lab.nn

local day = lab.param { "day", 1, doc = "the day; each brings 150 samples more", min = 1, max = 8 }
local begin = lab.param {
  "begin", "warm", choices = { "warm", "shrink", "fresh" }, doc = "with yesterday's weights, shrunk ones, or new ones",
}

local yesterday = lab.latest "daily" -- nil on the first day
local init
if yesterday and begin == "warm" then
  init = lab.warm_start { from = yesterday }
elseif yesterday and begin == "shrink" then
  init = lab.warm_start { from = yesterday, shrink = 0.4, perturb = 0.1 }
end

return lab.fit {
  name    = "daily",
  data    = lab.data.digits():split { train = 0.7, val = 0.15, test = 0.15, seed = 3 }
              :take { 150 * day, seed = 3 }
              :normalize(),
  model   = nn.Sequential { nn.Flatten(), nn.Linear(64), nn.ReLU(), nn.Linear(10) },
  loss    = "cross_entropy",
  metrics = { "accuracy" },
  monitor = "val.accuracy",
  init    = init,
  optim   = lab.optim.AdamW { lr = 3e-3 },
  batch   = 32,
  epochs  = 60,
  stop    = lab.stop.patience { patience = 8 },
  -- By the test part: the epoch that is kept was chosen on the validation part, where the served model was not.
  promote = { metric = "test.accuracy", not_worse_than = "current", by = 0.005 },
}
