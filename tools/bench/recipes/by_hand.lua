-- MNIST with MLP 784-128-10, batch 64, as a loop written by hand.
local nn, ops = lab.nn, lab.ops
local folder = lab.param { "data", type = "path", doc = "folder with the IDX files" }
local epochs = lab.param { "epochs", 2, min = 1, doc = "passes over the training part" }
local data = lab.data.mnist { path = folder }:split { train = 0.9, val = 0.1, seed = 1 }

return lab.task {
  name = "by_hand",
  run = function(ctx)
    local net = nn.Sequential { nn.Flatten(), nn.Linear(128), nn.ReLU(), nn.Linear(10) }
    local model = lab.build(net, { input = { 1, 28, 28 }, seed = ctx.seed })
    local opt = lab.optimizer(lab.optim.AdamW { lr = 1e-3 }, model:parameters())
    for batch in ctx:batches(data.train, { size = 64, epochs = epochs, save = { model, opt } }) do
      local loss = ops.cross_entropy_loss(model:forward(batch.x), batch.y)
      opt:zero_grad()
      loss:backward()
      opt:step()
      ctx:log("train.loss", loss)
    end
    local right = 0
    for batch in data.val:batches(256) do
      right = right + model:forward(batch.x):argmax(-1):eq(batch.y):sum():item()
    end
    ctx:log("val.accuracy", right / data.val.size)
  end,
}
