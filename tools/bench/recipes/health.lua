-- One small fit with a fault of the caller's choice, or without: `trainlab` must name the fault, or be silent. See
-- health.py, which has the cases.
local nn, optim, init = lab.nn, lab.optim, lab.init

local function number(name, value, doc) return lab.param { name, value, type = "number", doc = doc } end
local function whole(name, value, doc) return lab.param { name, value, type = "integer", doc = doc } end
local function choice(name, choices, doc)
  return lab.param { name, choices[1], type = "choice", choices = choices, doc = doc }
end

local family = choice("family", { "mlp", "cnn", "transformer", "recurrent" }, "kind of model")
local activation = choice("activation", { "ReLU", "Tanh", "Sigmoid", "GELU", "SiLU", "LeakyReLU", "ELU" },
  "of mlp and cnn")
local inner = choice("inner", { "GELU", "ReLU", "Tanh" }, "activation within the blocks of the transformer")
local cell = choice("cell", { "LSTM", "GRU", "RNN" }, "layer of the recurrent nets")
local norm = choice("norm", { "none", "batch" }, "between layers of mlp and cnn")
local depth, width = whole("depth", 2, "hidden layers"), whole("width", 64, "features of a hidden layer")
local dropout = number("dropout", 0, "share of features that mlp and cnn drop")
local rule = choice("optim", { "SGD", "Adam", "RMSprop", "NAdam", "Lion", "Adagrad" }, "the optimizer")
local schedule = choice("schedule", { "none", "cosine", "wsd", "multi_step", "linear", "one_cycle" },
  "how the rate falls")
local lr, momentum = number("lr", 0.05, "learning rate"), number("momentum", 0, "of SGD")
local decay = number("decay", 0, "weight decay")
local batch, epochs = whole("batch", 50, "samples of a step"), whole("epochs", 8, "passes over the data")
local std = number("std", -1, "deviation of initial weights; below 0: as usual")
local bias = number("bias", 0, "initial biases; 0: as usual")
local scale, shift = number("scale", 1, "factor of the inputs"), number("shift", 0, "added to the inputs")
local source = choice("source", { "digits", "blobs", "spirals" }, "the data; mlp learns all of them")
local values = choice("values", { "usual", "normalised", "logarithms", "missing", "filled", "copies" },
  "what the inputs are")
local copied = number("copied", 1, "share of the samples of \"copies\" that are there twice")
local labels = choice("labels", { "usual", "random", "one", "rare", "noisy", "mostly_noisy" }, "what the labels are")
local wrong = number("wrong", -1, "share of the labels that are drawn anew; below 0: as `labels` says")
local rare = number("rare", 0.02, "share of the second class of \"rare\"")
local loss = choice("loss", { "cross_entropy", "nll" }, "nll takes logarithms of probabilities")
local action = choice("action", { "tell", "fix" }, "what follows a verdict")
local samples = whole("samples", 1200, "of training")
local peers = lab.param { "peers", false, type = "boolean", doc = "tell what the rules of other tools read" }

local wrong_share = wrong >= 0 and wrong or ({ random = 1, noisy = 0.3, mostly_noisy = 0.9 })[labels] or 0

local function map_labels(rows)
  local list = {}
  for i = 1, rows.shape[1] do
    local label = rows[i - 1]:item()
    if math.random() < wrong_share then label = math.random(0, 9) end
    if labels == "one" then label = i == 1 and 9 or 0 end
    if labels == "rare" then label = math.random() < rare and 1 or 0 end
    list[i] = label
  end
  return lab.tensor(list, { dtype = "int64" })
end

-- A share of about 1,800 samples is there twice.
local function copies()
  local once = math.floor(1800 / (1 + copied) + 0.5)
  local x = lab.tensor.randn({ once, 1, 8, 8 }, { seed = lab.seed })
  local y = x:flatten(1):matmul(lab.tensor.randn({ 64, 10 }, { seed = lab.seed + 1 })):argmax(1)
  local again = math.floor(once * copied + 0.5)
  return lab.ops.cat({ x, x:narrow(0, 0, again) }), lab.ops.cat({ y, y:narrow(0, 0, again) })
end

-- The values of one sample in a hundred are missing; or those of three in a thousand are filled with an enormous
-- number.
local function spoil(rows)
  local added = {}
  for i = 1, rows.shape[1] do
    added[i] = values == "missing" and math.random() < 0.01 and 0 / 0
      or values == "filled" and math.random() < 0.003 and 1e20 or 0
  end
  return rows + lab.tensor(added):reshape { -1, 1, 1, 1 }
end

local data = lab.data.digits()
if source == "blobs" then data = lab.data.blobs { samples = 1797, classes = 10, features = 16 } end
if source == "spirals" then data = lab.data.spirals { samples = 1797, noise = 0.01 } end
if values == "copies" then data = lab.data.tensors(copies) end
if values == "missing" or values == "filled" then data = data:map("x", spoil) end
if values == "logarithms" then data = data:map("x", function(rows) return rows:log() end) end
if scale ~= 1 or shift ~= 0 then data = data:map("x", function(rows) return rows * scale + shift end) end
if labels ~= "usual" or wrong >= 0 then data = data:map("y", map_labels) end

local function with_activation(layers, layer, images)
  layers[#layers + 1] = layer
  if norm == "batch" then layers[#layers + 1] = images and nn.BatchNorm2d() or nn.BatchNorm1d() end
  layers[#layers + 1] = nn[activation]()
  if dropout > 0 then layers[#layers + 1] = nn.Dropout(dropout) end
end

local weights = std == 0 and init.zeros() or std > 0 and init.normal(std) or nil

local layers = {}
if family == "mlp" then
  layers[1] = nn.Flatten()
  for _ = 1, depth do with_activation(layers, nn.Linear(width)) end
elseif family == "cnn" then
  for i = 1, depth do
    with_activation(layers, nn.Conv2d(width / 4, 3, { padding = 1 }), true)
    if i == 1 then layers[#layers + 1] = nn.MaxPool2d(2) end
  end
  layers[#layers + 1] = nn.Flatten()
else
  layers[1] = nn.Reshape { 8, 8 }
  if family == "recurrent" then
    layers[2] = nn[cell](width, { num_layers = math.max(depth - 1, 1), output = "last" })
  else
    layers[2], layers[3] = nn.Linear(width, { init = weights }), nn.PositionalEmbedding { init = init.normal(0.02) }
    layers[4] = nn.Repeat(depth, nn.TransformerEncoderLayer(4, { dropout = 0, activation = nn[inner]() }))
    layers[5], layers[6] = nn.LayerNorm(), nn.Flatten()
  end
end
layers[#layers + 1] = nn.Linear((labels == "rare" or source == "spirals") and 2 or 10, { init = weights })

-- The norms of a transformer keep their weights.
local initial, is_transformer = {}, family == "transformer"
if weights then
  for _, pattern in ipairs(is_transformer and { "*linear*.weight", "*_proj*weight" } or { "*weight*" }) do
    initial[pattern] = weights
  end
end
if bias ~= 0 then initial[is_transformer and "*linear1.bias" or "*bias*"] = init.constant(bias) end

data = data:split { train = samples / 1797, val = 0.2, seed = lab.seed }
if values == "normalised" then data = data:normalize() end

-- The rest of what the rules of other tools read (health_rules.py), as lines of the log: inputs, labels and initial
-- weights, weights and gradients of the first steps and of each epoch's last step, and the accuracy of the training
-- part.
local function share(flags) return flags:to("float32"):mean():item() end

local function tell_weights(step, model, earlier)
  for name, weight in model:named_parameters() do
    local w, g = weight:detach(), weight.grad
    local old = earlier[name]
    print("peers weight", step, name, table.concat(w.shape, "x"), w:std():item(), w:abs():mean():item(),
      old and (w - old):abs():mean():item() or 0, share(w:abs():lt(1e-5)), share(w:lt(0)),
      g and g:abs():mean():item() or 0, g and g:norm():item() or 0, g and share(g:eq(0)) or 0)
    earlier[name] = w:clone()
  end
end

local earlier, epoch_steps, first_steps = {}, math.ceil(samples / batch), 200

local function tell_start(run)
  for all in data.train:batches(samples) do
    print("peers input", all.x:min():item(), all.x:max():item(), all.x:mean():item(), all.x:std():item())
    print("peers labels", table.concat(lab.ops.bincount(all.y):tolist(), " "))
  end
  tell_weights(0, run.model, earlier)
end

local function tell_step(run)
  if run.step <= first_steps or run.step % epoch_steps == 0 then tell_weights(run.step, run.model, earlier) end
end

local function tell_epoch(run)
  for all in data.train:batches(samples) do
    print("peers epoch", run.epoch, share(run.model:forward(all.x):argmax(1):eq(all.y)))
  end
end

local schedules = {
  cosine = lab.sched.cosine {},
  wsd = lab.sched.wsd { decay = "20%" },
  multi_step = lab.sched.multi_step { at = { "80%" }, factor = 0.1 },
  linear = lab.sched.linear { warmup = "5%" },
  one_cycle = lab.sched.one_cycle {},
}

return lab.fit {
  name  = "health",
  data  = data,
  model = nn.Sequential(layers),
  init  = next(initial) and initial or nil,
  loss  = loss, metrics = { "accuracy" }, health = { action = action },
  optim = rule == "SGD" and optim.SGD { lr = lr, momentum = momentum, weight_decay = decay }
    or optim[rule == "Adam" and "AdamW" or rule] { lr = lr, weight_decay = decay },
  schedule = schedules[schedule],
  batch = batch, epochs = epochs, keep = "last",
  on    = peers and { start = tell_start, step = tell_step, validate = tell_epoch } or nil,
}
