-- The nets and batches of recipes/chargpt.lua and recipes/cifar.lua, each trained by one of the ways of
-- tools/bench/lean.py. Clipping by the norm needs all gradients together, so that fuse_step excludes it: no way clips.
local nn, optim = lab.nn, lab.optim
local path = lab.param { "data", type = "path", doc = "a text, or an archive of images" }
local net = lab.param { "net", "text", doc = "text or images" }
local steps = lab.param { "steps", 300, doc = "steps of the training", min = 1 }
local optimizer = lab.param { "optimizer", "AdamW", doc = "AdamW, Adam, Lion or Adafactor" }
local state = lab.param { "state", "full", doc = "form of the optimizer's state: full, bfloat16 or 8bit" }
local weights = lab.param { "weights", "float32", doc = "float32; bfloat16, rounded stochastic or compensated" }
local fuse = lab.param { "fuse", false, doc = "whether the optimizer steps within the backward pass" }

-- Lion takes a tenth of the rate and ten times the decay, as its authors advise. Adafactor's rate is relative: for each
-- net the best of a few that were tried with another seed.
local function optimized(lr)
  if optimizer == "Adafactor" then return optim.Adafactor { lr = (net == "text" and 40 or 20) * lr } end
  if optimizer == "Adam" then return optim.Adam { lr = lr, betas = { 0.9, 0.99 }, state = state } end
  local times = optimizer == "Lion" and 0.1 or 1
  return optim[optimizer] { lr = times * lr, betas = { 0.9, 0.99 }, weight_decay = 0.1 / times, state = state }
end

local function conv(channels)
  return nn.Sequential { nn.Conv2d(channels, 3, { padding = 1, bias = false }), nn.BatchNorm2d(), nn.ReLU() }
end
local function down(channels)
  return nn.Sequential { conv(channels), nn.MaxPool2d(2) }
end

local small, residual = lab.init.normal(0.02), lab.init.normal(0.02 / math.sqrt(8))
local nets = {
  text = function()
    local data = lab.data.text { path = path, context = 64 }:split { train = 0.9, val = 0.02 }
    local vocabulary = data.train.classes
    return {
      data = data, batch = 12, lr = 1e-3,
      init = {
        ["shared.tokens.weight"] = small, ["2.weight"] = small, ["*in_proj_weight"] = small,
        ["*linear1.weight"] = small, ["*linear2.weight"] = residual, ["*out_proj.weight"] = residual,
      },
      model = nn.Sequential {
        nn.Shared("tokens", nn.Embedding(vocabulary, 128)), nn.PositionalEmbedding(),
        nn.Repeat(4, nn.TransformerEncoderLayer(4, { causal = true, bias = false })), nn.LayerNorm { bias = false },
        nn.Shared("tokens", nn.Linear(vocabulary, { bias = false })),
      },
    }
  end,
  images = function()
    return {
      batch = 128, lr = 3e-3,
      data = lab.data.images { path = path }:take(8000, { seed = 1 }):split { val = 0.2, seed = 1 }
        :normalize { mean = { 0.4914, 0.4822, 0.4465 }, std = { 0.2470, 0.2435, 0.2616 } }
        :augment { lab.augment.crop { padding = 4, fill = "reflect" }, lab.augment.flip() },
      model = nn.Sequential {
        conv(16), down(32), nn.Residual { conv(32), conv(32) }, down(64), down(128),
        nn.Residual { conv(128), conv(128) }, nn.MaxPool2d(4), nn.Flatten(), nn.Linear(10),
      },
    }
  end,
}
local one = nets[net]()

return lab.fit {
  name = "lean", data = one.data, model = one.model, init = one.init, loss = "cross_entropy", batch = one.batch,
  steps = steps, validate = steps .. " steps", optim = optimized(one.lr),
  schedule = lab.sched.cosine { warmup = math.floor(steps / 6) .. " steps", floor = 0.1 },
  precision = weights ~= "float32" and { compute = "bfloat16", weights = "bfloat16", rounding = weights } or "float32",
  memory = { fuse_step = fuse },
}
