-- The digits recipe, ended by its own first step: what a command costs before and after the training.
local nn = lab.nn
return lab.fit {
  name = "first_step", data = lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1, seed = 7 },
  model = nn.Sequential { nn.Flatten(), nn.Linear(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(10) },
  loss = "cross_entropy", metrics = { "accuracy" }, optim = lab.optim.AdamW { lr = 3e-3 }, batch = 64, epochs = 40,
  on = {
    step = function(run)
      print("first step")
      run:stop("the first step is done")
    end,
  },
}
