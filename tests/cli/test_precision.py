"""Fits in bfloat16 and float16 through the command line: told, resumed to the same bytes, validated and predicted."""

import json
import os
import re
import signal
import unittest

from program import CliTest, fit, tensors

DIGITS = {
    "data": "lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1 }",
    "model": "nn.Sequential { nn.Flatten(), nn.Linear(32), nn.LayerNorm(), nn.ReLU(), nn.Dropout(0.1), nn.Linear(10) }",
    "batch": "64",
}
ROUNDED = '{ compute = "bfloat16", weights = "bfloat16" }'
COMPENSATED = '{ compute = "bfloat16", weights = "bfloat16", rounding = "compensated" }'
ANNOUNCED = """  checkpoint = "5 steps",
  on = { step = function(run) if run.step == 13 then print("announced step 13") end end },
"""


class Precision(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.keep_machine()

    def weights_of(self, run):
        return tensors(max((run / "checkpoints").glob("last-*.safetensors")))

    def test_check_and_summary_tell_the_types(self):
        self.recipe(**DIGITS, more='  precision = { compute = "bfloat16", keep = { "LayerNorm", "6" } },\n')
        told = self.run_program("check", "r.lua", "--step").out
        self.assertIn("bfloat16 in matrix products and convolutions, float32 elsewhere and in the layers LayerNorm, 6",
                      told)
        self.assertRegex(told, r"the training [\d.]+ .iB at most in place of [\d.]+ .iB in float32, with its ")
        memory, full = (self.run_program("check", "r.lua", "--json", *more).json()["stages"][0]["memory"]
                        for more in ([], ["--set", "precision=float32"]))
        self.assertAlmostEqual(memory["in_float32"], full["peak"], delta=0.01 * full["peak"])
        self.assertNotIn("in_float32", full)
        self.train("--quiet")
        self.assertEqual(self.summary(self.run_folder())["precision"],
                         {"weights": "float32", "compute": "bfloat16", "skipped_steps": 0, "scale": 1})
        stored = self.weights_of(self.run_folder())
        self.assertEqual({one.dtype for name, one in stored.items() if name.startswith("model.")}, {"F32"})
        self.assertIn("types  products in bfloat16, weights in float32\n",
                      self.run_program("report", self.run_folder()).out)
        self.train("--quiet", "--set", "precision=float32")
        self.assertNotIn("types ", self.run_program("report", self.run_folder(2)).out)
        plain = self.summary(self.run_folder(2))
        self.assertEqual(plain["precision"],
                         {"weights": "float32", "compute": "float32", "skipped_steps": 0, "scale": 1})
        few = self.summary(self.run_folder())["metrics"]
        self.assertNotEqual(few["val.loss"], plain["metrics"]["val.loss"])
        self.assertAlmostEqual(few["val.loss"], plain["metrics"]["val.loss"], delta=0.05)

    def test_a_type_that_is_slower_here_is_a_warning_with_the_measured_ratio(self):
        # Without AVX-512 no processor has instructions for bfloat16 that LibTorch uses.
        os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
        self.addCleanup(os.environ.pop, "ONEDNN_MAX_CPU_ISA")
        self.recipe(**DIGITS, more='  precision = "bfloat16",\n')
        slower = (r"warning: r\.lua:\d+: precision: a product of 512 × 512 matrices in bfloat16 takes ([0-9.]+) "
                  r"times as long as in float32 on this processor\n  hint: precision = \"float32\"")
        told = self.run_program("check", "r.lua").out
        self.assertGreater(float(re.search(slower, told)[1]), 1.1)
        said = self.train(*("--set", "steps=2", "--set", "epochs=nil")).err
        self.assertEqual(re.search(slower, said)[1], re.search(slower, told)[1])
        plain = self.run_program("check", "r.lua", "--set", "precision=float32").out
        self.assertNotIn("precision", plain)

    def test_a_killed_fit_goes_on_to_the_same_bytes(self):
        for kind in ('"bfloat16"', '"float16"', ROUNDED, COMPENSATED):
            with self.subTest(kind=kind):
                self.recipe(**DIGITS, more=f"  precision = {kind},\n" + ANNOUNCED)
                kind = re.sub("[^a-z0-9]", "", kind)
                whole, killed = self.folder / f"{kind}-whole", self.folder / f"{kind}-killed"
                self.train("--quiet", "--out", whole)
                running = self.start("r.lua", "--threads", "1", "--out", killed)
                running.until_said("announced step 13")
                os.kill(running.engine(), signal.SIGKILL)
                self.end(running, 3)
                self.run_program("resume", killed, "--quiet")
                self.assert_same_end(killed, whole)
                self.assertEqual(self.summary(killed)["precision"], self.summary(whole)["precision"])

    def test_predictions_compute_as_the_validation_did(self):
        self.recipe(**DIGITS, more='  precision = "bfloat16",\n  on = { finish = function(run)\n'
                    '    local batch = DATA.val:batches(1000)()\n'
                    '    run:log("own", lab.ops.cross_entropy_loss(run.model:forward(batch.x), batch.y))\n'
                    '  end },\n')
        text = (self.folder / "r.lua").read_text()
        self.write("r.lua", text.replace("local nn = lab.nn", "local nn = lab.nn\nlocal DATA = " + DIGITS["data"])
                   + "")
        self.train("--quiet")
        metrics = self.summary(self.run_folder())["metrics"]
        self.assertAlmostEqual(metrics["own"], metrics["val.loss"], places=5)
        model = json.loads((self.run_folder() / "model.json").read_text())["models"][""]
        self.assertEqual((model["dtype"], model["compute"], model["compute_keep"]), ("float32", "bfloat16", []))
        self.write("p.lua", "local nn = lab.nn\nlocal run = lab.load_run('runs/r/001')\n"
                   "local data = " + DIGITS["data"] + "\nlocal batch = data.val:batches(1000)()\n"
                   "print(string.format('loaded %.9g', lab.ops.cross_entropy_loss(\n"
                   "  run:model():forward(batch.x), batch.y):item()))\n")
        said = self.run_program("p.lua", "--threads", "1").err
        loaded = float(said.split("loaded ")[1].split()[0])
        self.assertAlmostEqual(loaded, metrics["val.loss"], places=5)

    def test_weights_in_bfloat16_are_told_stored_and_used_again(self):
        self.recipe(**DIGITS, more=f"  precision = {COMPENSATED},\n")
        told = self.run_program("check", "r.lua", "--step").out
        self.assertIn("bfloat16 in matrix products and convolutions, and in weights with compensated rounding, float32 "
                      "elsewhere", told)
        self.train("--quiet")
        run = self.run_folder()
        self.assertIn("types  products in bfloat16, weights in bfloat16\n", self.run_program("report", run).out)
        stored = {name: one.dtype for name, one in self.weights_of(run).items() if name.startswith("model.")}
        self.assertEqual(stored["model.2.weight"], "BF16")
        self.assertEqual({stored["model.2.bias"], stored["model.3.weight"]}, {"F32"})
        self.assertEqual(json.loads((run / "model.json").read_text())["models"][""]["dtype"], "bfloat16")
        loss = self.summary(run)["metrics"]["val.loss"]
        self.write("p.lua", "local run = lab.load_run('runs/r/001')\n"
                   "local batch = " + DIGITS["data"] + ".val:batches(1000)()\n"
                   "print(string.format('loaded %.9g', lab.ops.cross_entropy_loss(\n"
                   "  run:model():forward(batch.x), batch.y):item()))\n")
        said = self.run_program("p.lua", "--threads", "1").err
        self.assertAlmostEqual(float(said.split("loaded ")[1].split()[0]), loss, places=5)
        # Another recipe begins with them, in float32.
        self.recipe(**DIGITS, epochs="1", more='  init = lab.init.weights("runs/r/001"),\n')
        self.train("--quiet")
        self.assertEqual(self.summary(self.run_folder(2))["precision"]["weights"], "float32")
        self.recipe(**DIGITS, optim="lab.optim.Muon { lr = 0.01 }", more=f"  precision = {ROUNDED},\n")
        self.assert_said(self.run_program("check", "r.lua", code=1), "r.lua:", "optim: weights in bfloat16 are for",
                         "optim.SGD, found optim.Muon")

    def test_functions_of_the_recipe_compute_too(self):
        module = ('nn.Sequential { nn.Flatten(), nn.Linear(32), nn.ReLU(),'
                  ' nn.Module { params = { weight = { 10, 32 } },'
                  ' forward = function(self, x) return x:matmul(self.weight:t()) end } }')
        self.recipe(**{**DIGITS, "model": module}, more='  precision = "bfloat16",\n')
        self.train("--quiet")
        few = self.summary(self.run_folder())["metrics"]["val.loss"]
        self.train("--quiet", "--set", "precision=float32")
        self.assertAlmostEqual(few, self.summary(self.run_folder(2))["metrics"]["val.loss"], delta=0.05)

    def test_a_step_of_its_own(self):
        own = """local nn, ops = lab.nn, lab.ops
return lab.fit {
  name = "f", data = lab.data.digits(), model = nn.Sequential { nn.Flatten(), nn.Linear(10) },
  optim = lab.optim.SGD { lr = 0.1 }, batch = 64, epochs = 1, monitor = "train.loss", goal = "min",
  precision = "bfloat16",
  step = function(run, batch)
    local out = run.model:forward(batch.x)
    assert(out.dtype == "float32")
    local loss = ops.cross_entropy_loss(out, batch.y)
    run.optim:zero_grad(); loss:backward(); run.optim:step()
    return { loss = loss }
  end,
}
"""
        self.write("r.lua", own)
        self.train("--quiet")
        few = self.summary(self.run_folder())
        self.assertEqual(few["precision"]["compute"], "bfloat16")
        self.train("--quiet", "--set", "precision=float32")
        plain = self.summary(self.run_folder(2))
        self.assertNotEqual(few["metrics"]["train.loss"], plain["metrics"]["train.loss"])
        self.assertAlmostEqual(few["metrics"]["train.loss"], plain["metrics"]["train.loss"], delta=0.05)
        refused = self.train("--set", "precision=float16", code=1)
        self.assert_said(refused, "precision", "float16 needs a loss that is scaled", "bfloat16 needs no scale")
        self.write("r.lua", own.replace('"bfloat16"', ROUNDED))
        self.assert_said(self.train(code=1), "precision.weights", "without a step of the recipe's own")

    def test_a_model_of_a_loop_written_by_hand(self):
        self.write("t.lua", """local nn = lab.nn
local net = nn.Sequential { nn.Linear(32), nn.ReLU(), nn.Linear(4) }
local function built(options)
  options.input, options.seed = { 16 }, 3
  return lab.build(net, options):forward(lab.tensor.randn({ 8, 16 }, { seed = 1 }))
end
local whole, few = built {}, built { compute = "bfloat16" }
assert(few.dtype == "float32")
local off = (few - whole):abs():max():item()
assert(off > 0 and off < 0.02, off)
built { compute = "float16", dtype = "float64" }
""")
        self.assert_said(self.run_program("t.lua", code=1), "t.lua:5", "lab.build.compute", "found \"float64\"")

    def test_what_does_not_go_together_is_refused(self):
        for more, *said in (
                ('"int8"', "precision", "int8"),
                ('{ compute = "bfloat16", keep = { "7" } }', "precision.keep", 'no layer matches "7"'),
                ('{ compute = "bfloat16", weights = "float64" }', "precision.weights", "weights in float32"),
                ('{ compute = "float32", weights = "bfloat16" }', "precision.weights", "weights in float32"),
                ('{ compute = "bfloat16", rounding = "compensated" }', "precision.rounding", "float32 are not rounded"),
                ('{ keep = { "1" } }', "precision", "compute")):
            self.recipe(**DIGITS, more=f"  precision = {more},\n")
            for command in (("check", "r.lua"), ("r.lua",)):
                with self.subTest(more=more, command=command):
                    self.assert_said(self.run_program(*command, code=1), "r.lua:", *said)


if __name__ == "__main__":
    unittest.main()
