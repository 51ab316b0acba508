-- Fits each of which waits for one thing, by far: `trainlab profile` must say for which. See verdicts.py.
local nn, optim = lab.nn, lab.optim

local case = lab.param {
  "case", "tiny", type = "choice", doc = "what the fit waits for",
  choices = { "tiny", "gemm", "optimizer", "transform", "images", "reads", "functions", "validate", "commit" },
}
local images = lab.param { "images", "", doc = "archive of JPEG files: train/CLASS/FILE" }

local function blobs(samples, features)
  return lab.data.blobs { samples = samples, features = features, classes = 4 }
end

local function busy(turns)
  for _ = 1, turns do end
end

local mlp = nn.Sequential { nn.Linear(256), nn.ReLU(), nn.Linear(4) }
local fit = {
  name = case, data = blobs(2000, 64):split { val = 0.1 }, model = mlp, loss = "cross_entropy",
  optim = optim.SGD { lr = 1e-3 }, batch = 64, steps = 1e6, validate = "1000 steps",
}

local cases = {
  tiny = function()
    fit.model, fit.batch = nn.Sequential { nn.Linear(4), nn.ReLU(), nn.Linear(4) }, 8
  end,
  gemm = function()
    fit.data = blobs(2000, 1024):split { val = 0.1 }
    fit.model, fit.batch = nn.Sequential { nn.Linear(2048), nn.ReLU(), nn.Linear(1024), nn.ReLU(), nn.Linear(4) }, 128
  end,
  optimizer = function()
    fit.data = blobs(2000, 1024):split { val = 0.1 }
    fit.model, fit.batch = nn.Sequential { nn.Linear(4096), nn.ReLU(), nn.Linear(4) }, 1
    fit.optim = optim.AdamW { lr = 1e-3 }
  end,
  transform = function()
    fit.data = fit.data:transform(function(batch) busy(200000); return batch end)
  end,
  images = function()
    fit.data = lab.data.images { path = images, size = { 64, 64 } }:split { val = 0.01 }
    fit.model = nn.Sequential { nn.AvgPool2d(8), nn.Flatten(), nn.Linear(10) }
  end,
  reads = function()
    local number = lab.tensor { 1 }
    fit.on = { step = function() for _ = 1, 2000 do number:item() end end }
  end,
  functions = function()
    fit.on = { step = function() busy(200000) end }
  end,
  validate = function()
    fit.data, fit.validate = blobs(8000, 64):split { val = 0.9 }, "1 steps"
  end,
  commit = function()
    fit.checkpoint = "1 steps"
  end,
}
cases[case]()
return lab.fit(fit)
