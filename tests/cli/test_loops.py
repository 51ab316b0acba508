"""Loops written by hand: a task that is killed at any step goes on to the bytes of the uninterrupted one."""

import os
import random
import signal
import unittest

from program import CliTest

# Two durable loops with code between them, one left by `break`, random numbers, dropout, state with a tensor in it.
# `at` is the step whose begin is announced, which is when the test kills.
TASK = """local nn, ops = lab.nn, lab.ops
local at = lab.param { "at", -1, doc = "step to announce" }
local data = lab.data.digits():split { train = 0.5, val = 0.1, test = 0.4, seed = 7 }
local net = nn.Sequential { nn.Flatten(), nn.Linear(16), nn.BatchNorm1d(), nn.ReLU(), nn.Dropout(0.2), nn.Linear(10) }

local function mean_loss(model)
  local sum = 0
  model:eval()
  lab.no_grad(function()
    for batch in data.val:batches(100) do
      sum = sum + ops.cross_entropy_loss(model:forward(batch.x), batch.y):item() * batch.size
    end
  end)
  model:train()
  return sum / data.val.size
end

return lab.task { name = "t", state = { sum = 0 }, run = function(ctx)
  local model = lab.build(net, { input = { 1, 8, 8 }, seed = ctx.seed })
  local opt = lab.optimizer(lab.optim.AdamW { lr = 0.01 }, model:parameters(), { clip = 1 })
  local schedule = lab.schedule(lab.sched.cosine { warmup = "10%%" }, { steps = 100 })
  local function train(batch)
    if ctx.step == at then print("announced step " .. at) end
    opt.lr = 0.01 * schedule:factor(ctx.step)
    local loss = ops.cross_entropy_loss(model:forward(batch.x), batch.y)
    opt:zero_grad(); loss:backward(); opt:step()
    ctx.state.sum = ctx.state.sum + math.random()
    ctx.state.last = loss:detach()
    ctx:log("loss", loss)
    ctx:log("sum", ctx.state.sum)
  end
  local more = { size = 32, epochs = 2, save = { model, opt }, checkpoint = "%d steps" }
  for batch in ctx:batches(data.train, more) do
    train(batch)
    if ctx.step == 39 then break end
  end
  ctx:log("val", mean_loss(model))
  ctx.state.drawn = math.random()
  local total = lab.tensor { 0 }
  for step in ctx:steps(20, { save = { total }, checkpoint = "%d steps" }) do
    if ctx.step == at then print("announced step " .. at) end
    total:add_(lab.tensor.randn { 1 } * step)
    ctx:log("total", total)
  end
  more.epochs = 1
  for batch in ctx:batches(data.train, more) do train(batch) end
  ctx:log("val", mean_loss(model))
  ctx:log("drawn", ctx.state.drawn)
  ctx:artifact("end.txt", "done " .. ctx.step)
end }
"""
STEPS = 40 + 20 + 29

# What a loop may change beside weights: a rate that is set by hand, the mode of a model, gradients that add up over
# four steps, of a model and of a tensor.
BY_HAND = """local at = lab.param { "at", -1, doc = "step to announce" }
return lab.task { name = "t", run = function(ctx)
  local net = lab.nn.Sequential { lab.nn.Linear(8), lab.nn.Tanh(), lab.nn.Dropout(0.5), lab.nn.Linear(1) }
  local model = lab.build(net, { input = { 4 }, seed = ctx.seed })
  local scale = lab.tensor.ones({ 1 }, { requires_grad = true })
  local tensors = model:parameters()
  tensors[#tensors + 1] = scale
  local opt = lab.optimizer(lab.optim.SGD { lr = 0.1, momentum = 0.9 }, tensors)
  local function loss()
    if ctx.step == at then print("announced step " .. at) end
    local x = lab.tensor.randn { 16, 4 }
    local value = (model:forward(x):squeeze(1) * scale - x:sum(1)):pow(2):mean()
    ctx:log("loss", value)
    return value
  end
  local durable = { save = { model, opt, scale }, checkpoint = "3 steps" }
  for step in ctx:steps(12, durable) do
    if step == 5 then opt.lr = opt.lr * 0.1 end
    if step == 6 then model:eval() end
    opt:zero_grad(); loss():backward(); opt:step()
  end
  for step in ctx:steps(16, durable) do
    if step % 4 == 0 then opt:zero_grad() end
    (loss() / 4):backward()
    if step % 4 == 3 then opt:step() end
  end
  ctx:save("opt", opt)
end }
"""


class Loops(CliTest):
    def kill_at(self, step, out):
        running = self.start("t.lua", "--at", step, "--threads", "1", "--out", out)
        running.until_said(f"announced step {step}")
        os.kill(running.engine(), signal.SIGKILL)
        self.assert_said(self.end(running, 3), "trainlab resume")

    def test_killed_at_random_steps(self):
        self.write("t.lua", TASK % (5, 3))
        self.run_program("t.lua", "--threads", "1", "--out", "whole", "--quiet")
        whole = self.folder / "whole"
        self.assert_status(whole, "done")
        self.assertEqual(self.summary(whole)["steps"], STEPS)
        for step in sorted(random.Random(1).sample(range(1, STEPS), 10)):
            with self.subTest(step=step):
                out = self.folder / f"killed-{step}"
                self.kill_at(step, out)
                self.run_program("resume", out, "--quiet")
                self.assert_same_end(out, whole)
                self.assertEqual(self.summary(out)["metrics"], self.summary(whole)["metrics"])
                self.assertEqual((out / "artifacts" / "end.txt").read_text(), f"done {STEPS}")

    def test_rates_modes_and_gradients_that_a_loop_sets_survive(self):
        self.write("t.lua", BY_HAND)
        self.run_program("t.lua", "--threads", "1", "--out", "whole", "--quiet")
        whole = self.folder / "whole"
        saved = (whole / "checkpoints" / "opt.safetensors").read_bytes()
        self.assertIn(b'"lr"', saved)
        # After the drop and the change of the mode; with the gradients of three steps, of two, and in the later loop.
        for step in (8, 12 + 4, 12 + 7):
            with self.subTest(step=step):
                out = self.folder / f"killed-{step}"
                self.kill_at(step, out)
                self.run_program("resume", out, "--quiet")
                self.assert_same_end(out, whole)
                self.assertEqual((out / "checkpoints" / "opt.safetensors").read_bytes(), saved)

    def test_optimizers_clip_as_fits_do_and_climb_when_they_maximize(self):
        self.write("t.lua", """return lab.task { name = "t", run = function(ctx)
  local function moved(options)
    local w = lab.tensor({ 3, 4 }, { dtype = "float64", requires_grad = true })
    local opt = lab.optimizer(lab.optim.SGD { lr = 1 }, { w }, options);
    (w * w / 2):sum():backward()
    opt:step()
    local change = w:detach() - lab.tensor({ 3, 4 }, { dtype = "float64" })
    return ("%.6f %.6f"):format(change[0]:item(), change[1]:item())
  end
  local seen = { moved(), moved {}, moved { maximize = true }, moved { clip = 1 }, moved { clip = { norm = 1 } },
    moved { clip = { value = 3.5 } }, moved { clip = { norm = 1, value = 3 }, maximize = true } }
  for _, wrong in ipairs { { clip = 0 }, { clip = {} }, { clip = { value = -1 } }, { maximise = true }, { 3 } } do
    seen[#seen + 1] = select(2, pcall(moved, wrong))
  end
  ctx:artifact("seen.txt", table.concat(seen, "\\n"))
end }
""")
        self.run_program("t.lua", "--out", "run", "--quiet")
        seen = (self.folder / "run" / "artifacts" / "seen.txt").read_text()
        root = 1 / 2 ** 0.5
        for text in ("-3.000000 -4.000000\n" * 2 + "3.000000 4.000000\n" + "-0.600000 -0.800000\n" * 2
                     + f"-3.000000 -3.500000\n{root:.6f} {root:.6f}\n",
                     "lab.optimizer.clip: expected a number > 0 or table of options, found 0",
                     "expected a bound of the norm or of the values, found neither",
                     "lab.optimizer.clip.value: expected a number > 0, found -1",
                     "did you mean 'maximize'?"):
            self.assertIn(text, seen)

    def test_the_report_shows_a_row_of_a_metric_that_few_rows_have(self):
        self.write("t.lua", """return lab.task { name = "t", run = function(ctx)
  for step in ctx:steps(300) do
    ctx:log("often", step)
    if step == 100 then ctx:log("rare", 0.125) end
  end
end }
""")
        self.run_program("t.lua", "--out", "run", "--quiet")
        text = self.run_program("report", "run").out
        table = text[:text.index("rows; all of them")]
        self.assertRegex(table, r"\n +0 +0 +100 +0\.125\n")
        self.assertIn("(21 of 300 rows; all of them", text)

    def test_rows_that_no_step_counts_are_warned_of_once(self):
        data = "local data = lab.data.blobs { samples = 40 }:split { train = 0.5, val = 0.5 }\n"
        saved = "ctx:steps(2, { save = { lab.tensor { 1 } } })"
        unsaved = "this loop has no `save`, so that all its rows are of step 0"
        again = "a is logged again in the row of step 0, which keeps the last value"
        for loops, warning in (
            ("for step in ctx:steps(3) do ctx:log('a', step) end", unsaved),
            ("for batch in data.train:batches(5) do ctx:log('a', batch.size) end", again),
            ("ctx:log('b', 1) for step in ctx:steps(3) do end ctx:log('a', 1)", None),
            (f"for step in {saved} do ctx:log('a', step) end for s in ctx:steps(3) do ctx:log('b', s) end", None),
        ):
            with self.subTest(loops=loops):
                self.write("t.lua", f"{data}return lab.task {{ name = 't', run = function(ctx) {loops} end }}\n")
                result = self.run_program("t.lua", "--quiet", "--json")
                warnings = result.json().get("warnings") or []
                self.assertEqual([one.split("\n")[0].split(", and")[0] for one in warnings],
                                 [f"ctx:log: {warning}"] if warning else [], result)
                checked = self.run_program("check", "t.lua", "--callbacks")
                self.assertEqual(checked.out.count("\nwarning: "), 1 if warning else 0, checked)
                self.assertIn(f"warning: ctx:log: {warning}" if warning else "called without an error", checked.out)
                (stage,) = self.run_program("check", "t.lua", "--callbacks", "--json").json()["stages"]
                self.assertEqual(len(stage["warnings"]), 1 if warning else 0)

    def test_an_optimizer_without_its_weights_is_warned_of(self):
        task = """return lab.task { name = "t", run = function(ctx)
  local model, w = lab.build(lab.nn.Linear(2), { input = { 3 } }), lab.tensor({ 1, 2 }, { requires_grad = true })
  local of_model = lab.optimizer(lab.optim.SGD { lr = 0.1 }, model:parameters())
  local of_tensor = lab.optimizer(lab.optim.SGD { lr = 0.1 }, { w })
  for step in ctx:steps(2, { save = { SAVED } }) do end
end }
"""
        said = "save: an optimizer is saved without all of the weights that it trains"
        for saved, is_warned in (("of_model", True), ("w, of_model", True), ("model, of_tensor", True),
                                 ("of_model, model", False), ("w, model, of_tensor, of_model", False)):
            with self.subTest(saved):
                self.write("t.lua", task.replace("SAVED", saved))
                self.assertEqual(said in self.run_program("t.lua", "--quiet").err, is_warned)
                self.assertEqual(said in self.run_program("check", "t.lua", "--callbacks").out, is_warned)

    def test_batches_in_the_type_of_a_model_of_float64(self):
        self.write("t.lua", """local data = lab.data.tensors(function()
  return lab.tensor({ { 1 / 3 }, { 2 / 3 } }, { dtype = "float64" }), lab.tensor({ { 1 / 7 }, { 2 / 7 } },
    { dtype = "float64" })
end)
return lab.task { name = "t", run = function(ctx)
  local model = lab.build(lab.nn.Linear(1), { input = { 1 }, dtype = "float64" })
  local seen = {}
  local function look(batch)
    local y = model:forward(batch.x)
    seen[#seen + 1] = y.dtype .. " " .. tostring((batch.x * 3):sum():item() == 3) .. " " .. batch.y.dtype
  end
  for batch in ctx:batches(data.train, { size = 2, dtype = "float64" }) do look(batch) end
  for batch in data.train:batches(2, { dtype = "float64" }) do look(batch) end
  ctx:artifact("seen.txt", table.concat(seen, ", "))
end }
""")
        self.run_program("t.lua", "--out", "run", "--quiet")
        seen = (self.folder / "run" / "artifacts" / "seen.txt").read_text()
        self.assertEqual(seen, "float64 true float64, float64 true float64")
        text = (self.folder / "t.lua").read_text()
        self.write("t.lua", text.replace(', dtype = "float64" })\n  local', " })\n  local"))
        self.assert_said(self.run_program("t.lua", code=1), "same dtype",
                         'hint: the model is in float32, and the batch in float64: ctx:batches(part, { dtype = '
                         '"float32" }) or x:to("float32") gives the type of the model')

    def test_many_loops_are_each_written_once_and_what_lies_between_them_sees_what_they_left(self):
        self.write("t.lua", """local at = lab.param { "at", -1, doc = "step to announce" }
return lab.task { name = "t", run = function(ctx)
  local x, seen = lab.tensor.zeros(262144), 0  -- 1 MiB
  for round = 1, 40 do
    for step in ctx:steps(2, { save = { x }, checkpoint = "1 steps" }) do
      if ctx.step == at then print("announced step " .. at) end
      x:add_(1)
    end
    seen = seen + x[0]:item()
    if seen > 1000 then break end
  end
  ctx:log("seen", seen)
end }
""")
        self.run_program("t.lua", "--threads", "1", "--out", "whole", "--quiet")
        whole, out = self.folder / "whole", self.folder / "killed"
        # 2 + 4 + … until it is above 1000.
        self.assertEqual(self.summary(whole)["metrics"]["seen"], 1056)
        self.kill_at(41, out)
        (newest,) = sorted((out / "checkpoints").glob("last-*.safetensors"))[-1:]
        self.assertLess(newest.stat().st_size, 1.1 * 2**20)
        self.run_program("resume", out, "--quiet")
        self.assert_same_end(out, whole)
        self.assertEqual(self.summary(out)["metrics"], self.summary(whole)["metrics"])
        # A damaged one of them is noticed, and the checkpoint before it taken.
        self.kill_at(31, self.folder / "damaged")
        file = self.folder / "damaged" / "checkpoints" / "loop-000015.safetensors"
        file.write_bytes(file.read_bytes()[:-1] + b"x")
        result = self.run_program("resume", self.folder / "damaged")
        self.assert_said(result, "loop-000015.safetensors: its bytes are not those that were committed")
        self.assertEqual(self.summary(self.folder / "damaged")["metrics"], self.summary(whole)["metrics"])

    def test_a_request_to_stop_leaves_a_checkpoint_that_no_pcall_holds_back(self):
        self.write("t.lua", """return lab.task { name = "t", run = function(ctx)
  local x = lab.tensor { 0 }
  pcall(function()
    for step in ctx:steps(1000000, { save = { x } }) do
      x:add_(1)
      if step == 100 then print("it runs") end
    end
  end)
  print("held back")
end }""")
        running = self.start("t.lua", "--out", "out")
        running.until_said("it runs")
        running.send(signal.SIGINT)
        result = self.end(running, 130)
        self.assertNotIn("held back", result.err)
        self.assert_status(self.folder / "out", "interrupted")
        self.assertGreater(self.summary(self.folder / "out")["steps"], 100)

    def test_a_checkpoint_that_cannot_be_written_ends_the_task_whatever_pcall_does(self):
        self.write("t.lua", """return lab.task { name = "t", run = function(ctx)
  local x = lab.tensor.zeros(262144)  -- 1 MiB
  print("held back", pcall(function()
    for step in ctx:steps(10, { save = { x }, checkpoint = "3 steps" }) do x:add_(1) end
  end))
end }""")
        self.run_program("t.lua", "--out", "whole")
        limit = ["bash", "-c", 'ulimit -f 500; exec "$@"', "bash"]
        result = self.run_program("t.lua", "--out", "out", code=3, before=limit)
        self.assertNotIn("held back", result.err, result)
        self.assert_said(result, "t.lua:4: disk full or failing: cannot write ", "to continue: trainlab resume ")
        self.run_program("resume", "out")
        self.assert_same_end(self.folder / "out", self.folder / "whole")

    def test_bad_input(self):
        for name, body, message in (
            (
                "part",
                "for b in ctx:batches(5) do end",
                "ctx:batches[1]: expected a part of data such as data.train, found the number 5",
            ),
            ("none", "for b in ctx:batches(lab.data.digits().val) do end", "the data has no val part"),
            (
                "save",
                "for i in ctx:steps(3, { save = { 1 } }) do end",
                "ctx:steps.save[1]: expected a model, an optimizer or a tensor, found the number 1",
            ),
            ("option", "for i in ctx:steps(3, { saves = 1 }) do end", "ctx:steps: there is no option 'saves'"),
            (
                "list",
                "for b in ctx:batches(lab.data.digits().train, { 64 }) do end",
                "ctx:batches: expected options by name, found 64 without one\n  hint: size = 64",
            ),
            (
                "entry",
                "for b in ctx:batches(lab.data.digits().train, lab.data.digits()) do end",
                "ctx:batches: expected a table of options, found data.digits",
            ),
            (
                "log",
                "ctx:log('a', lab.tensor { 1, 2 })",
                "expected a number or a tensor of one element, found shape [2]",
            ),
            ("input", "lab.build(lab.nn.Linear(2), {})", "lab.build.input: missing"),
            (
                "sizes",
                "lab.build(lab.nn.Linear(2), { 64 })",
                "build: takes 1 by position (model), found 2\n  hint: write build(model, { input = … })",
            ),
            (
                "shape",
                "lab.build(lab.nn.Conv2d(2, 3), { input = { 4 } })",
                "lab.build.model: expected an input of [channels, height, width], found an input of shape [4]",
            ),
            (
                "grad",
                "lab.optimizer(lab.optim.SGD { lr = 1 }, { lab.tensor { 1 } })",
                "expected tensors that require grad",
            ),
            (
                "nested",
                "for i in ctx:steps(3, { save = { x } }) do for j in ctx:steps(2, { save = { x } }) do end end",
                "this loop has ended, because another loop of ctx has begun since",
            ),
        ):
            with self.subTest(name):
                self.write(
                    name + ".lua",
                    'return lab.task { name = "t", run = function(ctx)\n  local x = lab.tensor { 0 }\n  %s\n  return'
                    ' x\nend }' % body,
                )
                result = self.run_program(name + ".lua", code=1)
                self.assert_said(result, name + ".lua:3: ")
                self.assert_said(result, message)

    def test_what_a_task_leaves_behind_ends_with_it(self):
        """Loops and ctx that a recipe keeps say so, whatever became of the memory behind them."""
        for name, kept, use in (("steps", "ctx:steps(10)", "kept()"),
                                ("batches", "ctx:batches(lab.data.digits().train, { size = 64 })", "kept()"),
                                ("durable", "ctx:steps(10, { save = { lab.tensor { 0 } } })", "kept()"),
                                ("ctx", "ctx", "kept:log('a', 1)"),
                                ("new loop", "ctx", "kept:steps(3)")):
            with self.subTest(name):
                self.write(
                    "kept.lua",
                    'local kept\nlab.run(lab.task { name = "t", run = function(ctx) kept = %s end })\n'
                    'collectgarbage() collectgarbage()\n%s' % (kept, use),
                )
                result = self.run_program("kept.lua", "--out", name, code=1)
                self.assert_said(result, "kept.lua:4: ")
                self.assert_said(result, "this task has ended")


if __name__ == "__main__":
    unittest.main()
