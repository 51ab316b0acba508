-- The nets of tools/bench/budgets.py and precision.py: a deep MLP with dropout, a transformer, and convolutions, on
-- numbers that mean nothing.
-- tools/bench/peers/checkpointed.py has the same nets.
local nn = lab.nn
local kind = lab.param { "net", "mlp", doc = "mlp, transformer or cnn" }
local steps = lab.param { "steps", 20, doc = "steps of the training", min = 1 }

local nets = {
  mlp = function()
    return {
      batch = 512,
      data = lab.data.blobs { samples = 4096, features = 64, classes = 10 },
      model = nn.Sequential {
        nn.Repeat(64, nn.Sequential { nn.Linear(256), nn.GELU(), nn.Dropout(0.1) }), nn.Linear(10),
      },
    }
  end,
  transformer = function()
    return {
      batch = 16,
      data = lab.data.tensors { columns = { "x", "y" }, load = function()
        local x = lab.tensor.randn({ 1024, 65 }, { seed = 1 }):mul(1000):abs():to("int64"):remainder(26)
        return x:narrow(1, 0, 64), x:narrow(1, 1, 64)
      end },
      model = nn.Sequential {
        nn.Embedding(26, 128), nn.PositionalEmbedding(),
        nn.Repeat(12, nn.TransformerEncoderLayer(4, { causal = true })), nn.LayerNorm(), nn.Linear(26),
      },
    }
  end,
  cnn = function()
    return {
      batch = 32,
      data = lab.data.tensors { columns = { "x", "y" }, load = function()
        return lab.tensor.randn({ 512, 64, 32, 32 }, { seed = 1 }), lab.tensor.arange(512):remainder(10):to("int64")
      end },
      model = nn.Sequential {
        nn.Repeat(4, nn.Sequential { nn.Conv2d(64, 3, { padding = 1 }), nn.BatchNorm2d(), nn.ReLU() }),
        nn.Flatten(), nn.Linear(10),
      },
    }
  end,
}
local net = nets[kind]()

return lab.fit {
  name = "memory", data = net.data, model = net.model, batch = net.batch, loss = "cross_entropy",
  optim = lab.optim.AdamW { lr = 1e-3 }, steps = steps,
}
