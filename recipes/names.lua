-- An LSTM reads the letters of a surname and tells its language.
--
--   trainlab recipes/names.lua
--   trainlab recipes/names.lua --data mine.csv --text word --target kind
local nn, optim, sched, stop = lab.nn, lab.optim, lab.sched, lab.stop

local path = lab.param {
  "data", type = "path", optional = true, doc = "a CSV file (default: common surnames of five languages)",
}
local text = lab.param { "text", "name", doc = "the column of words" }
local target = lab.param { "target", "language", doc = "the column of classes" }
local epochs = lab.param { "epochs", 60, doc = "longest training, in passes over the data", min = 1 }

local data = lab.data.csv { path = path or "data/surnames.csv", text = text, target = target, task = "classification" }
  :split { train = 0.7, val = 0.15, test = 0.15, seed = 1, stratify = true }

return lab.fit {
  name     = "names",
  data     = data,
  model    = nn.Sequential {
    nn.Embedding(64, 24), nn.Dropout(0.2),
    nn.LSTM(64, { bidirectional = true, output = "last" }), nn.Dropout(0.4),
    nn.Linear(data.train.classes),
  },
  loss     = lab.loss.cross_entropy { label_smoothing = 0.1 },
  metrics  = { "accuracy", "f1" },
  optim    = optim.AdamW { lr = 5e-3, weight_decay = 0.05 },
  schedule = sched.cosine { warmup = "5%" },
  clip     = 1.0,
  batch    = 32,
  epochs   = epochs,
  stop     = stop.patience { metric = "val.loss", patience = 15 },
}
