-- One to four stages, each of which would go on for far longer than any budget, in ten kinds: what a budget makes of
-- them. A recipe of one stage is a fit or, of the later kinds, a search. `budget` is the number of seconds that the run
-- has: by `--within`, or where the recipe has a budget of money, by that.
local nn, optim, sched = lab.nn, lab.optim, lab.sched
local stages = lab.param { "stages", 1, min = 1, max = 4 }
local kind = lab.param { "kind", 1, min = 1, max = 10 }
local budget = lab.param { "budget", 10, min = 1 }
local data = lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1, seed = 7 }

local function perceptron(...)
  local layers = { nn.Flatten() }
  for _, width in ipairs { ... } do
    layers[#layers + 1] = nn.Linear(width)
    layers[#layers + 1] = nn.ReLU()
  end
  layers[#layers + 1] = nn.Linear(10)
  return nn.Sequential(layers)
end

local function convolutions()
  return nn.Sequential {
    nn.Conv2d(8, 3, { padding = 1 }), nn.ReLU(), nn.Conv2d(16, 3, { padding = 1 }), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(10),
  }
end

local kinds = {
  { model = function() return perceptron(64) end, find = "lr" },
  {
    model = function() return perceptron(512, 512) end, fit = { schedule = sched.cosine { warmup = "5%" } },
    own = { time = "24 h", promote = { metric = "test.loss", not_worse_than = "current" } },
  },
  { model = convolutions, find = "batch" },
  {
    model = function() return perceptron(32) end, fit = { validate = "25 steps", keep = "last" },
    -- The loops of a task, which the fourth stage has, are not counted.
    budget = stages < 4 and { flops = budget * 1e9 },
  },
  {
    model = convolutions, fit = { batch = 256, checkpoint = "1 epochs" },
    budget = { money = budget .. " EUR", prices = "prices.toml" },
  },
  { model = function() return perceptron(64) end, search = { pruner = lab.pruner.asha { min = 1 } } },
  { model = function() return perceptron(32) end, search = { seeds = 3, stack = false } },
  { model = function() return perceptron(64) end, search = { scheduler = lab.scheduler.asha { max = 4 } } },
  { model = function() return perceptron(32) end, search = { confirm = { top = 4, seeds = 3 } } },
  { model = function() return perceptron(64) end, search = { workers = 2 } },
}
local this = kinds[kind]
if this.budget then lab.budget(this.budget) end

local function with(options, more)
  for name, value in pairs(more or {}) do options[name] = value end
  return options
end

local function fit(name, lr, more)
  return lab.fit(with(with({
    name = name, data = data, loss = "cross_entropy", metrics = { "accuracy" }, model = this.model(),
    optim = optim.AdamW { lr = lr },
  }, this.fit), more))
end
local function build(hp) return fit("member", hp.lr, { epochs = 4 }) end
-- A fit that is no trial: only such a fit may be promoted.
local function stage(name, lr) return fit(name, lr, this.own or { epochs = 1000000 }) end
local function search()
  return lab.sweep(with({
    name = "search", space = { lr = lab.space.log(1e-4, 1e-1) }, metric = "val.loss", trials = 1000000, build = build,
  }, this.search))
end

if stages > 3 then
  lab.run(lab.task { name = "loop", run = function(ctx)
    local model = lab.build(nn.Sequential { nn.Flatten(), nn.Linear(10) }, { input = { 1, 8, 8 }, seed = ctx.seed })
    local opt = lab.optimizer(optim.SGD { lr = 0.1 }, model:parameters())
    for batch in ctx:batches(data.train, { size = 64, epochs = 1000000, save = { model, opt } }) do
      local loss = lab.ops.cross_entropy_loss(model:forward(batch.x), batch.y)
      opt:zero_grad(); loss:backward(); opt:step()
    end
  end })
end
if stages > 2 then lab.run(this.find and lab.find[this.find] { fit = stage("first", 1e-2) } or stage("first", 1e-2)) end
if stages == 1 then return this.search and search() or stage("only", 1e-3) end
local found = lab.run(search())
return lab.ensemble {
  name = "final", params = found.best.params, seeds = 100000, keep = 4, metric = "val.loss", build = build,
}
