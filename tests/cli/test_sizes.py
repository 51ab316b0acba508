"""Batches whose sizes vary: crops and lengths that a transform makes, in fits, in tasks and after a kill."""

import unittest

from program import SLOW, CliTest

CROPS = """local nn = lab.nn
local data = lab.data.digits():split { train = 0.7, val = 0.3, seed = 7 }:transform(function(batch, rng)
  batch.x = batch.x:narrow(2, 0, rng:integer(5, 8)):narrow(3, 0, rng:integer(5, 8))
  return batch
end)
return lab.fit {
  name = "f", data = data, loss = "cross_entropy", metrics = { "accuracy" }, batch = 64, epochs = %(epochs)s,
  model = nn.Sequential { nn.Conv2d(8, 3, { padding = 1 }), nn.ReLU(), %(pool)s, nn.Flatten(), nn.Linear(10) },
  optim = lab.optim.AdamW { lr = 0.01 },
%(more)s}
"""
OPTIONS = {"epochs": "4", "pool": "nn.AdaptiveAvgPool2d(3)", "more": ""}


class Sizes(CliTest):
    def crops(self, **options):
        self.write("r.lua", CROPS % {**OPTIONS, **options})

    def test_a_fit_of_random_crops_goes_on_after_a_kill(self):
        self.crops(**{**SLOW, "epochs": "12"})
        self.train("--out", "whole")
        self.assertGreater(self.summary(self.folder / "whole")["metrics"]["val.accuracy"], 0.5)
        running = self.start("r.lua", "--threads", "1", "--out", "cut")
        running.until_rows(self.folder / "cut", 3)
        running.process.kill()
        running.end()
        self.run_program("resume", "cut")
        self.assert_same_end(self.folder / "cut", self.folder / "whole")
        self.write("p.lua", """local found = lab.load_run("whole")
local x = lab.tensor.rand({ 3, 1, 11, 9 }, { seed = 1 })
local p = found:predict(x)
assert(p.shape[1] == 3 and p.shape[2] == 10 and (p:sum(1) - 1):abs():max():item() < 1e-5)
local ok, message = pcall(found.predict, found, lab.tensor.rand({ 3, 2, 8, 8 }, { seed = 1 }))
local said = "x: expected x of numbers [N, 1, 8, 8], as the model was trained on, found numbers [N, 2, 8, 8]"
assert(not ok and message:find(said, 1, true), message)
""")
        self.run_program("p.lua")

    def test_a_layer_that_needs_one_size_says_so(self):
        self.crops(pool="nn.MaxPool2d(2)")
        self.assert_said(self.train(code=1), "model: expected a batch of shape [batch, 1, 8, 8], found [64, 1, ",
                         "model[5].Linear: an input of shape [", "] needs 5.weight of shape [10, ", "found [10, 128]")

    def test_a_function_of_a_layer_may_call_the_model_with_another_size(self):
        self.write("r.lua", """local model
local net = lab.nn.Module { forward = function(self, x)
  if x.shape[2] > 4 then return model:forward(x:narrow(1, 0, x.shape[2] - 1)) end
  return x:sum(1, true)
end }
model = lab.build(net, { input = { 4 }, seed = 1 })
assert(model:forward(lab.tensor.ones(2, 7)):sum():item() == 8)
""")
        self.run_program("r.lua")

    def test_lengths_vary_in_a_loop_by_hand(self):
        self.write("r.lua", """local nn, ops = lab.nn, lab.ops
return lab.task { name = "t", run = function(ctx)
  local net = nn.Sequential { nn.LSTM(16, { output = "last" }), nn.Linear(1) }
  local model = lab.build(net, { input = { 4, 1 }, seed = ctx.seed })
  local opt = lab.optimizer(lab.optim.Adam { lr = 0.02 }, model:parameters())
  for step in ctx:steps(200, { save = { model, opt } }) do
    local x = lab.tensor.rand { 32, 2 + step % 5, 1 }
    local loss = ops.mse_loss(model:forward(x), x:mean(1))
    opt:zero_grad(); loss:backward(); opt:step()
    ctx:log("loss", loss)
  end
end }
""")
        summary = self.train("--json").json()
        self.assertLess(summary["metrics"]["loss"], 0.01)
        rows = self.rows(self.run_folder())
        self.assertGreater(rows[0]["loss"], 0.05)


if __name__ == "__main__":
    unittest.main()
