"""Killed at any step, a run goes on to the bytes of the uninterrupted one; finished stages are never run again."""

import os
import random
import shutil
import signal
import unittest

from program import CliTest, fit, small_sweep

# Says when a step begins, which is when the test kills; `%d` is the step. Nothing else differs from the recipe that is
# run without an interruption: callbacks are no part of the arithmetic.
KILLED = """local nn = lab.nn
local at = lab.param { "at", 0, doc = "step to announce" }
return lab.fit {
  name = "f",
  data = lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1, seed = 7 },
  model = nn.Sequential { nn.Flatten(), nn.Linear(32), nn.BatchNorm1d(), nn.ReLU(), nn.Dropout(0.2), nn.Linear(10) },
  loss = "cross_entropy", metrics = { "accuracy" },
  optim = lab.optim.AdamW { lr = 0.01 }, schedule = lab.sched.plateau { patience = 0, threshold = 0.2 }, clip = 1.0,
  stop = { lab.stop.patience { patience = 20 }, lab.stop.divergence(), \
function(run) run.state.asked = math.random() end },
  batch = 64, epochs = 12, checkpoint = "%d steps", loader = { threads = %d, drop_last = true },
  on = {
    start = function(run) run.state.sum, run.state.least = 0, math.huge end,
    step = function(run)
      run.state.sum = run.state.sum + math.random()
      run:log("sum", run.state.sum)
      if run.step == 150 then run:set_lr(0.004) end
      if run.step == at then print("announced step " .. at) end
    end,
    validate = function(run)
      run.state.least = math.min(run.state.least, run.metrics["val.loss"])
      run:log("least", run.state.least)
      run:log("asked", run.state.asked or -1)
    end,
  },
}
"""
STEPS = 12 * 22  # 1,438 training samples in whole batches of 64

# What the recipe writes itself, in place of what is native above.
WRITTEN = """local nn = lab.nn
local at = lab.param { "at", 0, doc = "step to announce" }
return lab.fit {
  name = "f",
  data = lab.data.digits():split { train = 0.5, val = 0.1, test = 0.4, seed = 7 },
  model = nn.Sequential { nn.Flatten(), nn.Linear(16), nn.BatchNorm1d(), nn.ReLU(), nn.Dropout(0.2), nn.Linear(10) },
  loss = function(out, batch)
    local noise = lab.tensor.rand(out.shape)
    return lab.ops.cross_entropy_loss(out + math.random() * noise, batch.y), batch.size
  end,
  metrics = { "accuracy", { name = "right", goal = "max", init = function() return { right = 0, seen = 0 } end,
    update = function(state, out, batch)
      return { right = state.right + out:argmax(1):eq(batch.y):sum():item(), seen = state.seen + batch.size }
    end,
    compute = function(state) return state.right / state.seen end } },
  monitor = "val.right", optim = %s,
  stop = function(run)
    run.state.asked = (run.state.asked or 0) + 1
    run.state.best = math.max(run.state.best or 0, run.metrics["val.right"])
    if run.state.asked == 9 then return "asked " .. run.state.asked .. " times, at best " .. run.state.best end
  end,
  batch = 64, epochs = 20, validate = "10 steps", checkpoint = "7 steps",%s
  on = { step = function(run) if run.step == at then print("announced step " .. at) end end },
}
"""

TWO_STAGES = """local nn = lab.nn
local data = lab.data.digits():split { train = 0.8, val = 0.2, seed = 3 }
local function fit(name, width, epochs)
  return lab.fit {
    name = name, data = data, model = nn.Sequential { nn.Flatten(), nn.Linear(width), nn.ReLU(), nn.Linear(10) },
    loss = "cross_entropy", metrics = { "accuracy" }, optim = lab.optim.AdamW { lr = 0.01 }, epochs = epochs,
    checkpoint = "10 steps", on = { step = function(run) print(name .. " step " .. run.step) end },
  }
end
local first = lab.run(fit("first", 16, 3))
return fit("second", first.best.epoch * 8, 4)
"""


class Resume(CliTest):
    def whole(self, recipe):
        self.run_program(recipe, "--threads", "1", "--seed", "5", "--out", "whole", "--quiet")
        return self.folder / "whole"

    def kill_engine_at(self, words, *arguments):
        running = self.start(*arguments)
        running.until_said(words)
        os.kill(running.engine(), signal.SIGKILL)
        result = self.end(running, 3)
        self.assert_said(result, "trainlab resume")

    def killed_anywhere(self, threads):
        draw = random.Random(threads)
        self.write("r.lua", KILLED % (50, threads))
        whole = self.whole("r.lua")
        for step in sorted(draw.sample(range(1, STEPS), 20)):
            with self.subTest(step=step, threads=threads):
                out = f"killed-{step}"
                self.kill_engine_at(
                    f"announced step {step}", "r.lua", "--at", step, "--threads", "1", "--seed", "5", "--out", out
                )
                self.run_program("resume", out, "--quiet")
                self.assert_same_end(self.folder / out, whole)
                metrics = [self.summary(run)["metrics"] for run in (self.folder / out, whole)]
                self.assertEqual(*metrics)

    def test_killed_at_random_steps_with_one_loader_thread(self):
        self.killed_anywhere(1)

    def test_killed_at_random_steps_with_four_loader_threads(self):
        self.killed_anywhere(4)

    def test_killed_with_a_loss_a_metric_and_a_stop_function_of_the_recipe(self):
        self.killed_fit(WRITTEN % ("lab.optim.AdamW { lr = 0.01 }", ""), 5)

    def test_killed_with_wrapped_optimizers_and_an_average(self):
        sgd = "lab.optim.SGD { lr = 0.05, momentum = 0.9 }"
        plain = self.killed_fit(WRITTEN % (sgd, ""), 0)
        for name, optim in (
            ("sam", "lab.optim.SAM { base = %s }"),
            ("lookahead", "lab.optim.Lookahead { base = %s, k = 4 }"),
        ):
            whole = self.killed_fit(WRITTEN % (optim % sgd, "\n  ema = lab.ema { decay = 0.9 },"), 3, name)
            self.assertNotEqual(self.weights(whole)["best"], self.weights(plain)["best"])
            raw = self.killed_fit(WRITTEN % (optim % sgd, ""), 0, name + "-raw")
            rows, raw_rows = self.rows(whole), self.rows(raw)
            # The average is validated and kept; what trains does not see it.
            self.assertEqual([row["train.loss"] for row in rows], [row["train.loss"] for row in raw_rows])
            self.assertNotEqual([row["val.loss"] for row in rows], [row["val.loss"] for row in raw_rows])

    def killed_fit(self, recipe, times, name="fit"):
        """The folder of the uninterrupted run, whose end `times` runs share that were killed at random steps."""
        self.write(f"{name}.lua", recipe)
        whole = self.folder / f"{name}-whole"
        self.run_program(f"{name}.lua", "--threads", "1", "--out", whole, "--quiet")
        summary = self.summary(whole)
        self.assertEqual(summary["status"], "stopped")
        self.assertEqual((summary["steps"], summary["reason"].split(",")[0]), (90, "asked 9 times"))
        self.assertGreater(summary["metrics"]["val.right"], 0.6)
        self.assertAlmostEqual(summary["metrics"]["val.right"], summary["metrics"]["val.accuracy"], places=6)
        for step in random.Random(name).sample(range(1, 90), times):
            with self.subTest(name, step=step):
                out = self.folder / f"{name}-{step}"
                self.kill_engine_at(
                    f"announced step {step}", f"{name}.lua", "--at", step, "--threads", "1", "--out", out
                )
                self.run_program("resume", out, "--quiet")
                self.assert_same_end(out, whole)
                for field in ("metrics", "reason", "best", "steps"):
                    self.assertEqual(self.summary(out)[field], summary[field])
        return whole

    def test_killed_again_and_again(self):
        self.write("r.lua", KILLED % (20, 1))
        whole = self.whole("r.lua")
        self.kill_engine_at(
            "announced step 60", "r.lua", "--at", "60", "--threads", "1", "--seed", "5", "--out", "again"
        )
        for _ in range(3):  # announces the same step again, since that is what the recorded parameters say
            running = self.start("resume", "again")
            running.until(lambda running=running: b"announced" in running.err or running.process.poll() is not None or
                          len(self.rows(self.folder / "again")) > 4, "it went on")
            if running.process.poll() is None:
                os.kill(running.engine(), signal.SIGKILL)
            running.end()
        self.run_program("resume", "again", "--quiet")
        self.assert_same_end(self.folder / "again", whole)

    def test_stages_that_are_finished_are_not_run_again(self):
        self.write("r.lua", TWO_STAGES)
        whole = self.whole("r.lua")
        for words in ("first step 1\n", "first step 40\n", "second step 1\n", "second step 70\n"):
            with self.subTest(killed=words):
                out = "killed-" + words.strip().replace(" ", "-")
                self.kill_engine_at(words, "r.lua", "--threads", "1", "--seed", "5", "--out", out)
                result = self.run_program("resume", out)
                if words.startswith("second"):
                    self.assertNotRegex(result.err, r"first step \d", result)
                for stage in (".", "stages/first"):
                    self.assert_same_end(self.folder / out / stage, whole / stage)

    def test_a_run_without_a_stage_goes_on_with_what_its_command_gave(self):
        self.write("r.lua", fit(epochs="2"))
        self.run_program("r.lua", "--seed", "5", "--threads", "1", "--device", "cpu", "--out", "whole")
        # The manifest and the recipe are all that is there before the first stage begins.
        shutil.copytree(self.folder / "whole" / "recipe", self.folder / "cut" / "recipe")
        shutil.copy(self.folder / "whole" / "manifest.toml", self.folder / "cut")
        self.run_program("resume", "cut")
        self.assert_same_end(self.folder / "cut", self.folder / "whole")
        manifest = (self.folder / "cut" / "manifest.toml").read_text()
        for setting in ("seed = 5", "threads = 1", "device = 'cpu'"):
            self.assertIn(setting, manifest)

    def damaged(self, out, path):
        """The run `out` with one byte of a file changed."""
        copy = self.folder / "damaged"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.folder / out, copy)
        content = bytearray((copy / path).read_bytes())
        content[len(content) // 2] ^= 0xFF
        (copy / path).write_bytes(content)
        result = self.run_program("resume", "damaged", code=3)
        self.assertEqual(result.out, "")
        self.assertIn(str(copy / path), result.err)
        told = self.run_program("resume", "damaged", "--json", code=3).json()
        self.assertIn(str(copy / path), told["error"]["message"])
        return result.err

    def test_a_finished_run_whose_files_are_damaged_is_not_called_done(self):
        self.write("r.lua", fit(epochs="4", more='  checkpoint = "1 epochs",\n'))
        self.run_program("r.lua", "--out", "out")
        self.assertIn("f (fit): done", self.run_program("resume", "out").out)
        best = sorted((self.folder / "out" / "checkpoints").glob("best-*.safetensors"))[-1].name
        last = sorted((self.folder / "out" / "checkpoints").glob("last-*.safetensors"))
        said = self.damaged("out", "checkpoints/" + best)
        self.assertIn("its bytes are not those that were committed", said)
        self.assertIn("the summary and `trainlab report damaged` are whole; init.weights and tensor.load can read "
                      "damaged/checkpoints/" + last[-1].name, said)
        said = self.damaged("out", "checkpoints/" + last[-1].name)
        self.assertIn("the best weights, which predict, are whole; init.weights and tensor.load can read "
                      f"damaged/checkpoints/{best}, damaged/checkpoints/{last[-2].name}\n", said)
        said = self.damaged("out", "manifest.toml")
        self.assertIn("the weights are whole", said)
        self.damaged("out", "model.json")

    def test_all_that_is_damaged_is_told_with_what_can_be_done(self):
        self.write("r.lua", fit(epochs="4", more='  checkpoint = "1 epochs",\n'))
        for files in (("summary.json",), ("manifest.toml",), ("summary.json", "manifest.toml"), ("stages.json",)):
            for damages_weights in (False, True):
                with self.subTest(files, weights=damages_weights):
                    shutil.rmtree(self.folder / "out", ignore_errors=True)
                    self.run_program("r.lua", "--out", "out", "--quiet")
                    for file in files:
                        (self.folder / "out" / file).write_text("")
                    best = max((self.folder / "out/checkpoints").glob("best-*.safetensors"))
                    if damages_weights:
                        best.write_bytes(best.read_bytes()[:-1] + b"!")
                    result = self.run_program("resume", "out", code=3)
                    for file in files:
                        self.assertIn(f"{self.folder}/out/{file} is damaged: it is empty", result.err)
                    back = "put the file back from a copy, then go on: trainlab resume " + str(self.folder / "out")
                    self.assertEqual(result.err.count(back), len(files), result)
                    if files == ("stages.json",):  # which says where the weights are
                        continue
                    if damages_weights:
                        self.assert_said(result, f"{len(files) + 1} files of the run in {self.folder}/out are damaged:",
                                         f"{best}: its bytes are not those that were committed",
                                         "hint: init.weights and tensor.load can read out/checkpoints/last-")
                        self.assertIn("a new run trains what is lost again", result.err)
                    else:
                        self.assertIn("the weights are whole", result.err)
                    if len(files) == 1 and not damages_weights:
                        self.assert_said(result, *self.run_program("report", "out", code=3).err.splitlines())

    def test_the_best_trial_of_a_finished_sweep_is_looked_at(self):
        self.write("s.lua", small_sweep(epochs=2))
        summary = self.run_program("s.lua", "--out", "out", "--json").json()
        self.run_program("resume", "out")
        trial = f"trials/{summary['best']['trial']:04d}/seed-1/checkpoints"
        weights = sorted((self.folder / "out" / trial).glob("*.safetensors"))[-1].name
        self.damaged("out", f"{trial}/{weights}")


if __name__ == "__main__":
    unittest.main()
