-- REINFORCE (Williams 1992) with a moving baseline on the cart and the pole: a loop of steps that survives kill -9.
--
--   trainlab recipes/reinforce.lua --episodes 300
local nn, optim, ops = lab.nn, lab.optim, lab.ops
local cartpole = require "envs.cartpole"

local episodes = lab.param { "episodes", 300, doc = "episodes to play", min = 1 }
local gamma = lab.param { "gamma", 0.99, doc = "discount of a later reward", min = 0, max = 1 }

-- Discounted sums of the rewards after each step, normalised; each step with a standing pole has the reward 1.
local function returns_of(steps, device)
  local values, sum = {}, 0
  for i = steps, 1, -1 do
    sum = 1 + gamma * sum
    values[i] = sum
  end
  local tensor = lab.tensor(values, { device = device })
  return steps > 1 and (tensor - tensor:mean()) / (tensor:std() + 1e-6) or tensor
end

return lab.task {
  name = "reinforce",
  state = { average = 0 },
  run = function(ctx)
    local net = nn.Sequential { nn.Linear(64), nn.Tanh(), nn.Linear(cartpole.actions) }
    local policy = lab.build(net, { input = { cartpole.observations }, seed = ctx.seed })
    local opt = lab.optimizer(optim.Adam { lr = 1e-2 }, policy:parameters())
    local device = policy:parameters()[1].device

    for episode in ctx:steps(episodes, { save = { policy, opt } }) do
      local env, seen, done = cartpole.new(math.random), {}, {}
      local over
      repeat
        seen[#seen + 1] = env.observe()
        local p = lab.no_grad(function()
          return policy:forward(lab.tensor({ seen[#seen] }, { device = device })):softmax(-1):select(1, 1):item()
        end)
        local action = math.random() < p and 1 or 0
        done[#done + 1] = action
        over = env.act(action)
      until over

      local chosen = policy:forward(lab.tensor(seen, { device = device })):log_softmax(-1)
        :gather(1, lab.tensor(done, { dtype = "int64", device = device }):unsqueeze(1)):squeeze(1)
      local loss = ops.neg((chosen * returns_of(#done, device)):mean())
      opt:zero_grad()
      loss:backward()
      opt:step()

      local state = ctx.state
      state.average = episode == 0 and #done or 0.95 * state.average + 0.05 * #done
      ctx:log("train.loss", loss)
      ctx:log("train.steps", #done)
      ctx:log("train.average", state.average)
    end
    ctx:save("policy", policy)
  end,
}
