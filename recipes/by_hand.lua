-- A training loop written by hand: a classifier of digits without lab.fit. It resumes at the step where it was stopped.
--
--   trainlab recipes/by_hand.lua --epochs 20
local nn, optim, sched, ops = lab.nn, lab.optim, lab.sched, lab.ops

local lr = lab.param { "lr", 3e-3, doc = "peak learning rate", min = 0 }
local epochs = lab.param { "epochs", 10, doc = "passes over the training part", min = 1 }
local size = lab.param { "batch", 64, doc = "number of samples in a batch", min = 1 }

local data = lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1, seed = 7 }
local net = nn.Sequential { nn.Flatten(), nn.Linear(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(10) }

local function accuracy(model, part)
  local right = 0
  model:eval()
  lab.no_grad(function()
    for batch in part:batches(256) do
      right = right + model:forward(batch.x):argmax(-1):eq(batch.y):sum():item()
    end
  end)
  model:train()
  return right / part.size
end

return lab.task {
  name = "by_hand",
  run = function(ctx)
    local model = lab.build(net, { input = { 1, 8, 8 }, seed = ctx.seed })
    local opt = lab.optimizer(optim.AdamW { lr = lr, weight_decay = 0.01 }, model:parameters())
    local steps_per_epoch = math.ceil(data.train.size / size)
    local schedule = lab.schedule(sched.cosine { warmup = "5%" }, { steps = epochs * steps_per_epoch })

    for batch in ctx:batches(data.train, { size = size, epochs = epochs, save = { model, opt } }) do
      opt.lr = lr * schedule:factor(ctx.step)
      local loss = ops.cross_entropy_loss(model:forward(batch.x), batch.y)
      opt:zero_grad()
      loss:backward()
      opt:step()
      ctx:log("train.loss", loss)
      if (ctx.step + 1) % steps_per_epoch == 0 then ctx:log("val.accuracy", accuracy(model, data.val)) end
    end
    ctx:log("test.accuracy", accuracy(model, data.test))
    ctx:save("model", model)
  end,
}
