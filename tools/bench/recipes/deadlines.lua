-- One to four stages, each of which would go on for far longer than any budget: what `--within` makes of them.
local nn, stages = lab.nn, lab.param { "stages", 1, min = 1, max = 4 }
local data = lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1, seed = 7 }

local function fit(name, width, lr, epochs)
  return lab.fit {
    name = name, data = data, loss = "cross_entropy", metrics = { "accuracy" }, epochs = epochs,
    model = nn.Sequential { nn.Flatten(), nn.Linear(width), nn.ReLU(), nn.Linear(10) },
    optim = lab.optim.AdamW { lr = lr },
  }
end
local function build(hp) return fit("member", 32, hp.lr, 4) end

if stages > 3 then
  lab.run(lab.task { name = "loop", run = function(ctx)
    local model = lab.build(nn.Sequential { nn.Flatten(), nn.Linear(10) }, { input = { 1, 8, 8 }, seed = ctx.seed })
    local opt = lab.optimizer(lab.optim.SGD { lr = 0.1 }, model:parameters())
    for batch in ctx:batches(data.train, { size = 64, epochs = 1000000, save = { model, opt } }) do
      local loss = lab.ops.cross_entropy_loss(model:forward(batch.x), batch.y)
      opt:zero_grad(); loss:backward(); opt:step()
    end
  end })
end
if stages > 2 then lab.run(fit("first", 64, 1e-2, 1000000)) end
if stages == 1 then return fit("only", 64, 1e-3, 1000000) end
local found = lab.run(lab.sweep {
  name = "search", space = { lr = lab.space.log(1e-4, 1e-1) }, metric = "val.loss", trials = 1000000, build = build,
})
return lab.ensemble {
  name = "final", params = found.best.params, seeds = 100000, keep = 4, metric = "val.loss", build = build,
}
