-- A generative adversarial network on digits: two models, two optimizers, a training step of its own.
--
--   trainlab recipes/gan.lua        then look at artifacts/samples.png
local nn, optim, ops = lab.nn, lab.optim, lab.ops

local epochs = lab.param { "epochs", 60, doc = "passes over the data", min = 1 }
local noise = 32

local function bce(logits, value)
  return ops.binary_cross_entropy_with_logits(logits, ops.full_like(logits, value))
end

return lab.fit {
  name   = "gan",
  data   = lab.data.digits(),
  input  = { g = { noise }, d = { 1, 8, 8 } },
  model  = {
    -- Without batch norm the generator collapses to a few shapes.
    g = nn.Sequential { nn.Linear(128), nn.BatchNorm1d(), nn.LeakyReLU(0.2),
                        nn.Linear(128), nn.BatchNorm1d(), nn.LeakyReLU(0.2),
                        nn.Linear(64), nn.Sigmoid(), nn.Reshape { 1, 8, 8 } },
    d = nn.Sequential {
      nn.Flatten(), nn.Linear(128), nn.LeakyReLU(0.2), nn.Linear(128), nn.LeakyReLU(0.2), nn.Linear(1),
    },
  },
  -- Short running means, because the gradients change with the other model; and a slower discriminator.
  optim  = { g = optim.Adam { lr = 1e-3, betas = { 0.5, 0.9 } }, d = optim.Adam { lr = 5e-4, betas = { 0.5, 0.9 } } },
  batch  = 64,
  epochs = epochs,
  monitor = "train.d_loss", goal = "min",

  step = function(run, batch)
    local g, d = run.model.g, run.model.d
    local fake = g:forward(lab.tensor.randn({ batch.size, noise }, { device = batch.x.device }))

    local d_loss = (bce(d:forward(batch.x), 0.9) + bce(d:forward(fake:detach()), 0)) / 2
    run.optim.d:zero_grad()
    d_loss:backward()
    run.optim.d:step()

    local g_loss = bce(d:forward(fake), 1)
    run.optim.g:zero_grad()
    g_loss:backward()
    run.optim.g:step()
    return { d_loss = d_loss, g_loss = g_loss }
  end,

  on = {
    finish = function(run)
      local g = run.model.g:eval()
      local images = g:forward(lab.tensor.randn({ 64, noise }, { seed = 1, device = g:parameters()[1].device }))
      run:artifact("samples.png", images:repeat_interleave(4, 2):repeat_interleave(4, 3))      -- 4 × 4 pixels for each
    end,
  },
}
