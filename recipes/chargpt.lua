-- A character-level language model: a small GPT, with nanoGPT's setting for training on a CPU as its default.
--
--   trainlab recipes/chargpt.lua --text tinyshakespeare.txt
--   trainlab predict runs/chargpt/001 --prompt "ROMEO:" --length 300 --temperature 0.8
local nn, init, optim, sched = lab.nn, lab.init, lab.optim, lab.sched

local text = lab.param { "text", type = "path", doc = "a text file" }
local steps = lab.param { "steps", 2000, doc = "optimizer steps", min = 1 }
local batch = lab.param { "batch", 12, doc = "number of windows in a batch", min = 1 }
local context = lab.param { "context", 64, doc = "number of characters in a window", min = 2 }
local layers = lab.param { "layers", 4, doc = "transformer blocks", min = 1 }
local heads = lab.param { "heads", 4, doc = "attention heads", min = 1 }
local width = lab.param { "width", 128, doc = "number of features of a character", min = 1 }
local dropout = lab.param { "dropout", 0.0, type = "number", doc = "dropout in the blocks", min = 0, max = 0.9 }
local lr = lab.param { "lr", 1e-3, doc = "peak learning rate; it falls to a tenth", min = 0 }

local data = lab.data.text { path = text, context = context }:split { train = 0.9, val = 0.1 }
local vocabulary = data.train.classes
-- Initial values as in GPT-2: the more projections into the residual stream there are, the smaller they start.
local small, residual = init.normal(0.02), init.normal(0.02 / math.sqrt(2 * layers))

return lab.fit {
  name  = "chargpt",
  data  = data,
  model = nn.Sequential {
    nn.Shared("tokens", nn.Embedding(vocabulary, width)),
    nn.PositionalEmbedding(),
    nn.Dropout(dropout),
    nn.Repeat(layers, nn.TransformerEncoderLayer(heads, { causal = true, bias = false, dropout = dropout })),
    nn.LayerNorm { bias = false },
    nn.Shared("tokens", nn.Linear(vocabulary, { bias = false })),
  },
  init  = {
    ["shared.tokens.weight"] = small, ["2.weight"] = small, ["*in_proj_weight"] = small, ["*linear1.weight"] = small,
    ["*linear2.weight"] = residual, ["*out_proj.weight"] = residual,
  },
  loss     = "cross_entropy",
  metrics  = { "bits_per_character" },
  optim    = optim.AdamW { lr = lr, betas = { 0.9, 0.99 }, weight_decay = 0.1, decay_norms_and_biases = false },
  schedule = sched.cosine { warmup = "100 steps", floor = 0.1 },
  clip     = 1.0,
  batch    = batch,
  steps    = steps,
  validate = "250 steps",
}
