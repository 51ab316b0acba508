-- Fits and a task, each of which waits for one thing: `trainlab profile` must say for which. See verdicts.py.
local nn, ops, optim = lab.nn, lab.ops, lab.optim

local case = lab.param {
  "case", "none", type = "choice", doc = "what the steps wait for",
  choices = { "none", "transform", "decode", "augment", "storage", "threads", "functions", "reads", "validate",
              "metrics", "step_metrics", "commit", "optimizer", "embedding", "tiny", "gemm", "elementwise", "transfer",
              "capacity" },
}
local model = lab.param {
  "model", "mlp", type = "choice", doc = "what is trained; the loop is an MLP in a lab.task",
  choices = { "mlp", "cnn", "gpt", "loop" },
}
local size = lab.param {
  "size", 1, doc = "how much the steps wait: 1 for about as long as they train", min = 1, max = 3,
}
local width = lab.param { "width", 1, doc = "factor of the widths of the model", min = 1 }
local batch = lab.param { "batch", 0, doc = "samples in a batch; 0: the model's usual number", min = 0 }
local steps = lab.param { "steps", 1000000, doc = "steps of the training; the loop rounds them up to epochs", min = 1 }
local images = lab.param { "images", "", doc = "archive of JPEG files: train/CLASS/FILE" }
local text = lab.param { "text", "", doc = "a text file" }

-- Turns of an empty loop that take about as long as a step of the model on one core.
local turns = ({ mlp = 5e5, cnn = 4e6, gpt = 8e6, loop = 5e5 })[model] * ({ 1, 3, 10 })[size]
local function busy(part)
  for _ = 1, turns / (part or 1) do end
end
local function by_size(...) return (select(size, ...)) end

local function pixels(samples, channels, side)
  return lab.data.tensors(function()
    return lab.tensor.randn({ samples, channels, side, side }, { seed = 1 }),
      lab.tensor.randint(4, { samples }, { seed = 2 })
  end)
end
-- Rows of numbers below `rows`, four in each.
local function words(rows)
  return lab.data.tensors(function()
    return lab.tensor.randint(rows, { 4000, 4 }, { seed = 1 }), lab.tensor.randint(4, { 4000 }, { seed = 2 })
  end)
end
local function blobs(features) return lab.data.blobs { samples = 4000, features = features, classes = 4 } end

local function gpt(context, features, layers, rows)
  local source = lab.data.text { text, context = context }:split { train = 0.9, val = 0.01 }
  return source, nn.Sequential {
    nn.Embedding(rows or source.train.classes, features), nn.PositionalEmbedding(),
    nn.Repeat(layers, nn.TransformerEncoderLayer(4, { causal = true })), nn.Linear(source.train.classes),
  }
end

local fit = {
  name = case, loss = "cross_entropy", optim = optim.SGD { lr = 1e-4 }, steps = steps, validate = "500 steps",
}
-- A small model of each kind for images of this side: the transformer reads an image as a row of 4 patches. Its
-- batches are those of the others, because the time of the input goes with the samples of a step.
local function of_images(side, classes)
  if model == "gpt" then fit.batch = 128 end
  local patch = nn.AvgPool2d(side / (model == "gpt" and 2 or 4))
  if model == "gpt" then
    return nn.Sequential {
      patch, nn.Flatten(1), nn.Transpose(), nn.Linear(16), nn.TransformerEncoderLayer(2), nn.Flatten(),
      nn.Linear(classes),
    }
  end
  if model == "mlp" then
    return nn.Sequential { patch, nn.Flatten(), nn.Linear(32), nn.ReLU(), nn.Linear(classes) }
  end
  return nn.Sequential { patch, nn.Flatten(), nn.Linear(classes) }
end

if model == "mlp" then
  fit.data, fit.batch = blobs(64):split { val = 0.1 }, 128
  fit.model = nn.Sequential { nn.Linear(512 * width), nn.ReLU(), nn.Linear(128 * width), nn.ReLU(), nn.Linear(4) }
elseif model == "cnn" then
  fit.data, fit.batch = pixels(1000, 1, 28):split { val = 0.1 }, 32
  fit.model = nn.Sequential {
    nn.Conv2d(8 * width, 3, { padding = 1 }), nn.ReLU(), nn.Conv2d(16 * width, 3, { padding = 1 }), nn.ReLU(),
    nn.MaxPool2d(4), nn.Flatten(), nn.Linear(4),
  }
elseif model == "gpt" then
  fit.data, fit.model = gpt(64, 64 * width, 2)
  fit.batch = 8
end
if batch > 0 then fit.batch = batch end

local cases = {
  transform = function()
    fit.data = fit.data:transform(function(given) busy(); return given end)
  end,
  decode = function()
    local side = by_size(32, 64, 96)
    fit.data = lab.data.images { path = images, size = { side, side } }:split { val = 0.01 }
    fit.model = of_images(side, 10)
  end,
  augment = function()
    local many = {}
    for i = 1, by_size(2, 6, 12) do many[i] = lab.augment.rotate { 20 } end
    fit.data = lab.data.images { path = images, size = { 32, 32 } }:split { val = 0.01 }:augment(many)
    fit.model = of_images(32, 10)
  end,
  -- The archive is one whose reads are slow: bottlenecks.py makes it so.
  storage = function()
    fit.data = lab.data.images { path = images, size = { 32, 32 } }:split { val = 0.01 }
    fit.model, fit.batch = of_images(32, 10), 32
  end,
  -- Images in memory are turned by the one thread of the loader, which takes longer than the step that needs them.
  threads = function()
    local many = {}
    for i = 1, by_size(8, 16, 32) do many[i] = lab.augment.rotate { 20 } end
    fit.data = lab.data.tensors(function()
      return lab.tensor.randint(256, { 1000, 3, 32, 32 }, { dtype = "uint8", seed = 1 }),
        lab.tensor.randint(4, { 1000 }, { seed = 2 })
    end):split { val = 0.1 }:augment(many)
    fit.model, fit.loader = of_images(32, 4), { threads = 1 }
  end,
  functions = function() fit.on = { step = function() busy() end } end,
  reads = function()
    local number = lab.tensor { 1 }
    fit.on = { step = function() for _ = 1, turns / 500 do number:item() end end }
  end,
  validate = function()
    if model ~= "gpt" then fit.data = (model == "cnn" and pixels(1000, 1, 28) or blobs(64)):split { val = 0.5 } end
    fit.validate = by_size("4 steps", "2 steps", "1 steps")
  end,
  metrics = function()
    local batches = model == "gpt" and 10 or 1  -- of a validation
    fit.validate = by_size("4 steps", "2 steps", "1 steps")
    fit.metrics = { { name = "slow", goal = "min", update = function() busy(batches); return 0 end } }
  end,
  -- The recipe measures each batch on which it trains, in its own code.
  step_metrics = function()
    fit.loss = function(out, given)
      out:argmax(-1):tolist()
      busy()
      return ops.cross_entropy_loss(out:reshape { -1, out.shape[#out.shape] }, given.y:reshape { -1 })
    end
  end,
  commit = function()
    fit.checkpoint = by_size("2 steps", "1 steps", "1 steps")
    if size == 3 then fit.optim = optim.AdamW { lr = 1e-4 } end
  end,
  -- AdamW updates all rows of a wide embedding, of which a batch uses few. SOAP multiplies matrices for each kernel.
  optimizer = function()
    local rows = by_size(60000, 100000, 300000)
    fit.optim = optim.AdamW { lr = 1e-4 }
    if model == "mlp" then
      fit.data = words(rows):split { val = 0.1 }
      fit.model = nn.Sequential { nn.Embedding(rows, 64), nn.Flatten(), nn.Linear(128), nn.ReLU(), nn.Linear(4) }
    elseif model == "cnn" then
      local channels = by_size(64, 96, 128)
      fit.optim, fit.batch = optim.SOAP { lr = 1e-4 }, 4
      fit.data = pixels(1000, 1, 8):split { val = 0.1 }
      fit.model = nn.Sequential {
        nn.Conv2d(channels, 3, { padding = 1 }), nn.ReLU(), nn.Conv2d(channels, 3, { padding = 1 }), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4),
      }
    else
      fit.data, fit.model = gpt(16, 64, 2, rows)
      fit.batch = 2
      fit.validate = "100000 steps"
    end
  end,
  -- SGD keeps nothing of the many rows, but their gradient has all of them, of which a batch uses few.
  embedding = function()
    local rows = by_size(60000, 100000, 300000)
    if model == "mlp" then
      fit.data = words(rows):split { val = 0.1 }
      fit.model = nn.Sequential { nn.Embedding(rows, 64), nn.Flatten(), nn.Linear(128), nn.ReLU(), nn.Linear(4) }
    else
      fit.data, fit.model = gpt(16, 64, 2, rows)
      fit.batch = 2
    end
    fit.validate = "100000 steps"
  end,
  tiny = function()
    fit.batch = by_size(8, 4, 1)
    if model == "mlp" then
      fit.data = blobs(8):split { val = 0.1 }
      fit.model = nn.Sequential { nn.Repeat(8, nn.Sequential { nn.Linear(8), nn.ReLU() }), nn.Linear(4) }
    elseif model == "cnn" then
      fit.data = pixels(1000, 1, 4):split { val = 0.1 }
      fit.model = nn.Sequential {
        nn.Repeat(4, nn.Sequential { nn.Conv2d(1, 3, { padding = 1 }), nn.ReLU() }), nn.Flatten(), nn.Linear(4),
      }
    else
      fit.data, fit.model = gpt(4, 8, 2)
    end
  end,
  gemm = function()
    if model == "mlp" then
      local units = by_size(512, 1024, 2048)
      fit.data = blobs(1024):split { val = 0.1 }
      fit.model = nn.Sequential { nn.Linear(units), nn.ReLU(), nn.Linear(units), nn.ReLU(), nn.Linear(4) }
      fit.batch = 256
    elseif model == "cnn" then
      local channels = by_size(32, 64, 128)
      fit.model = nn.Sequential {
        nn.Conv2d(16, 3, { padding = 1 }), nn.ReLU(), nn.Conv2d(channels, 3, { padding = 1 }), nn.ReLU(),
        nn.Conv2d(channels, 3, { padding = 1 }), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4),
      }
    else
      fit.data, fit.model = gpt(64, by_size(128, 256, 384), 2)
      fit.batch = 16
    end
  end,
  elementwise = function()
    local chain = nn.Repeat(by_size(6, 12, 24), nn.LeakyReLU())
    if model == "mlp" then
      fit.data = blobs(8):split { val = 0.1 }
      fit.model = nn.Sequential { nn.Linear(32768), chain, nn.Linear(4) }
    else
      fit.model = nn.Sequential {
        nn.Conv2d(8, 3, { padding = 1 }), nn.Upsample(4), chain, nn.AvgPool2d(16), nn.Flatten(), nn.Linear(4),
      }
    end
  end,
  -- Batches of many numbers, of which the model makes a few at once.
  transfer = function()
    local side = by_size(128, 192, 256)
    fit.data, fit.batch = pixels(512, 3, side):split { val = 0.1 }, 128
    fit.model = nn.Sequential { nn.AvgPool2d(side), nn.Flatten(), nn.Linear(4) }
  end,
  none = function() end,
  -- The memory is limited by bottlenecks.py. Steps that update parameters while they go back cannot be taken in parts.
  capacity = function() fit.memory = { fuse_step = true } end,
}

-- The work that a step of the loop does beside its training, by case.
local extra = {
  functions = function() busy() end,
  reads = function()
    local number = lab.tensor { 1 }
    for _ = 1, turns / 500 do number:item() end
  end,
  step_metrics = function(out)
    out:argmax(-1):tolist()
    busy()
  end,
  tiny = function()
    local x = lab.tensor { 1 }
    for _ = 1, by_size(500, 1500, 5000) do x = x + 1 end
  end,
  gemm = function()
    local side = by_size(512, 768, 1024)
    local x = lab.tensor.ones { side, side }
    for _ = 1, 4 do x = x:matmul(x) * 0 end
  end,
  elementwise = function()
    local x = lab.tensor.ones { 2000000 * size }
    for _ = 1, 4 do x = x * 1.5 end
  end,
}

if model ~= "loop" then
  cases[case]()
  return lab.fit(fit)
end
local data = blobs(64):split { val = 0.1 }
return lab.task {
  name = case,
  run = function(ctx)
    local net = nn.Sequential { nn.Linear(512 * width), nn.ReLU(), nn.Linear(128 * width), nn.ReLU(), nn.Linear(4) }
    local built = lab.build(net, { input = { 64 }, seed = ctx.seed })
    local opt = lab.optimizer(optim.SGD { lr = 1e-4 }, built:parameters())
    local size_of_batch = batch > 0 and batch or 128
    local epochs = math.ceil(steps * size_of_batch / data.train.size)
    for given in ctx:batches(data.train, { size = size_of_batch, epochs = epochs, save = { built, opt } }) do
      local out = built:forward(given.x)
      local loss = ops.cross_entropy_loss(out, given.y)
      opt:zero_grad()
      loss:backward()
      opt:step()
      if extra[case] then extra[case](out) end
    end
  end,
}
