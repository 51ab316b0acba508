-- Classification of a table, judged by k-fold cross-validation: what heats a house, from its size and demand.
-- Every row validates once. The mean and deviation over the folds are printed and written to artifacts/folds.txt of the
-- last stage, which trains the final model on all rows.
--   trainlab recipes/kfold.lua
--   trainlab recipes/kfold.lua --data mine.csv --target class --folds 10
local nn, optim, sched = lab.nn, lab.optim, lab.sched

local path = lab.param {
  "data", type = "path", optional = true, doc = "a CSV file (default: the heating table beside the recipe)",
}
local target = lab.param { "target", "heater", doc = "the column of classes" }
local classes = lab.param { "classes", 3, doc = "number of classes of the target", min = 2 }
local folds = lab.param { "folds", 5, doc = "number of folds", min = 2 }
local epochs = lab.param { "epochs", 30, doc = "passes over the training rows", min = 1 }

local function fit(name, data, on)
  return lab.fit {
    name     = name,
    data     = data:normalize(),
    model    = nn.Sequential {
      nn.Linear(64), nn.SiLU(), nn.Dropout(0.1), nn.Linear(32), nn.SiLU(), nn.Linear(classes),
    },
    loss     = "cross_entropy",
    metrics  = { "accuracy" },
    optim    = optim.AdamW { lr = 3e-3, weight_decay = 0.01 },
    schedule = sched.cosine { warmup = "5%" },
    batch    = 64,
    epochs   = epochs,
    on       = on,
  }
end

local all = lab.data.csv { path = path or "data/heating.csv", target = target, task = "classification" }

local sum, squares = 0, 0
for index = 0, folds - 1 do
  local result = lab.run(fit("fold" .. index, all:fold { k = folds, index = index, stratify = true, seed = 7 }))
  local accuracy = result.metrics["val.accuracy"]
  sum, squares = sum + accuracy, squares + accuracy * accuracy
end
local mean = sum / folds
local deviation = math.sqrt(math.max(0, (squares - folds * mean * mean) / (folds - 1)))
local text = ("accuracy %.4f, deviation %.4f over %d folds"):format(mean, deviation, folds)
print(text)

return fit("all", all, { finish = function(run) run:artifact("folds.txt", text .. "\n") end })
