-- Ask and tell without training, from Lua: the rows of bench_study.cpp. Prints a JSON object of seconds (of processor
-- time, one thread) by row.
local rows = {
  { "random 2 × 10000", lab.sampler.random(), 2, 10000 },
  { "random 2 × 100000", lab.sampler.random(), 2, 100000 },
  { "random 1000 × 10", lab.sampler.random(), 1000, 10 },
  { "sobol 2 × 10000", lab.sampler.sobol(), 2, 10000 },
  { "tpe 2 × 1000", lab.sampler.tpe(), 2, 1000 },
  { "tpe 40 × 1000", lab.sampler.tpe(), 40, 1000 },
  { "cma_es 10 × 10000", lab.sampler.cma_es(), 10, 10000 },
  { "tpe 2 × 1000, two objectives", lab.sampler.tpe(), 2, 1000, true },
  { "nsga2 2 × 10000, two objectives", lab.sampler.nsga2(), 2, 10000, true },
}
local only = lab.param { "row", optional = true, type = "string", doc = "only this row" }

-- LibTorch is loaded on another thread meanwhile, and os.clock() counts the time of all threads. A tensor waits for the
-- end of that.
lab.tensor { 0 }

local texts = {}
for _, row in ipairs(rows) do
  local name, sampler, parameters, trials, two = row[1], row[2], row[3], row[4], row[5]
  if not only or only == name then
    local space, names = {}, {}
    for i = 1, parameters do
      names[i] = "x" .. i - 1
      space[names[i]] = lab.space.uniform(-5, 5)
    end
    local begin = os.clock()
    local study = lab.study { space = space, sampler = sampler, goal = two and { "min", "min" } or "min", seed = 1 }
    for _ = 1, trials do
      local trial = study:ask()
      local params = trial.params
      local sum = 0
      for i = 1, parameters do
        local x = params[names[i]]
        sum = sum + x * x
      end
      study:tell(trial, two and { sum, math.abs(params.x0 - 1) } or sum)
    end
    texts[#texts + 1] = ('"%s": %.6f'):format(name, os.clock() - begin)
  end
end
print("{" .. table.concat(texts, ", ") .. "}")
