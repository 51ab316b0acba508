-- Layers of one width, whose weights, gradients and state of AdamW take sixteen bytes for each parameter.
local nn = lab.nn
local width = lab.param { "width", 1024, doc = "features of each layer", min = 1 }
local layers = lab.param { "layers", 8, doc = "number of layers", min = 1 }
local steps = lab.param { "steps", 30, doc = "length of the training", min = 1 }

return lab.fit {
  name = "offload",
  data = lab.data.blobs { samples = 4096, features = 64, classes = 10 },
  model = nn.Sequential { nn.Repeat(layers, nn.Sequential { nn.Linear(width), nn.ReLU() }), nn.Linear(10) },
  loss = "cross_entropy",
  optim = lab.optim.AdamW { lr = 1e-4 },
  batch = 64,
  steps = steps,
  checkpoint = "10 steps",
}
