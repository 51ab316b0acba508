-- The cart and the pole (Barto, Sutton and Anderson 1983): keep a pole upright by pushing its cart left or right.
local cartpole = { observations = 4, actions = 2, longest = 500 }

local gravity, cart_mass, pole_mass, half_length, force, tau = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
local most_x, most_angle = 2.4, 12 * math.pi / 180

-- Begins an episode; `random` returns numbers in 0…1.
function cartpole.new(random)
  local env = { steps = 0 }
  local x, v, angle, w = random() * 0.1 - 0.05, random() * 0.1 - 0.05, random() * 0.1 - 0.05, random() * 0.1 - 0.05

  function env.observe() return { x, v, angle, w } end

  -- Action 0 pushes left, 1 right. Returns whether the episode has ended. Explicit Euler steps of 20 ms.
  function env.act(action)
    local push = action == 1 and force or -force
    local sin, cos, mass = math.sin(angle), math.cos(angle), cart_mass + pole_mass
    local pull = (push + pole_mass * half_length * w * w * sin) / mass
    local turn = (gravity * sin - cos * pull) / (half_length * (4 / 3 - pole_mass * cos * cos / mass))
    local speed_up = pull - pole_mass * half_length * turn * cos / mass
    x, v, angle, w = x + tau * v, v + tau * speed_up, angle + tau * w, w + tau * turn
    env.steps = env.steps + 1
    return math.abs(x) > most_x or math.abs(angle) > most_angle or env.steps >= cartpole.longest
  end

  return env
end

return cartpole
