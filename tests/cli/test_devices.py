"""Devices that plugins bring: the same results as the CPU's, a device for each worker, and what is wrong is refused.

The plugin here is tests/support/stand_in_plugin.cpp: two devices, "stand_in:0" and "stand_in:1".
"""

import csv
import io
import itertools
import os
import pathlib
import shutil
import signal
import unittest

from program import SOURCE, CliTest, npy

PLUGINS = pathlib.Path(os.environ["DEVICES"])

TASK = """local nn = lab.nn
local data = lab.data.blobs { samples = 96, seed = 3 }
return lab.task { name = "t", run = function(ctx)
  local model = lab.build(nn.Sequential { nn.Linear(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(3) },
    { input = { 2 }, seed = ctx.seed })
  local opt = lab.optimizer(lab.optim.SGD { lr = 0.1, momentum = 0.9 }, model:parameters())
  for batch in ctx:batches(data.train, { size = 16, epochs = 3, save = { model, opt } }) do
    local loss = lab.ops.cross_entropy_loss(model:forward(batch.x), batch.y)
    opt:zero_grad(); loss:backward(); opt:step()
    ctx:log("train.loss", loss)
  end
  print("on " .. model:parameters()[1].device)
end }
"""
INDEX = """local nn = lab.nn
local data = lab.data.blobs { samples = 96, seed = 3 }
local weights = lab.tensor.linspace(0, 1, 96)
return lab.fit { name = "r", data = data, batch = 16, epochs = 2, optim = lab.optim.SGD { lr = 0.1 },
  model = nn.Sequential { nn.Linear(3) },
  loss = function(out, batch)
    assert(batch.index.device == batch.x.device)
    local share = weights:to(batch.x.device):index_select(0, batch.index)
    return (lab.ops.cross_entropy_loss(out, batch.y, { reduction = "none" }) * share):mean()
  end,
}
"""
SWEEP = """local nn = lab.nn
local data = lab.data.blobs { samples = 120, seed = 3 }:split { train = 0.5, val = 0.5 }
return lab.sweep {
  name = "s", space = { lr = lab.space.log(1e-3, 1) }, metric = "val.loss", sampler = lab.sampler.random(),
  trials = %d,
  build = function(hp)
    return lab.fit {
      name = "member", data = data, batch = 16, epochs = 2, optim = lab.optim.SGD { lr = hp.lr },
      model = nn.Sequential { nn.Linear(8), nn.ReLU(), nn.Linear(3) },
      loss = function(out, batch)
        print("on " .. out.device)
        return lab.ops.cross_entropy_loss(out, batch.y)
      end,
    }
  end,
}
"""


def devices_in(log):
    return {line.rsplit(" ", 1)[1] for line in log.read_text().splitlines() if " on stand_in:" in line}


class Devices(CliTest):
    def setUp(self):
        super().setUp()
        self.use(PLUGINS / "stand_in")
        self.addCleanup(os.environ.pop, "TRAINLAB_DEVICES")

    def use(self, folder):
        os.environ["TRAINLAB_DEVICES"] = str(folder)

    def on_both(self, *arguments, recipe="r.lua"):
        """The summaries of a run on the CPU and of one on the stand-in."""
        return [self.train(*arguments, "--device", device, "--out", device, "--json", recipe=recipe).json()
                for device in ("cpu", "stand_in")]

    def assert_close(self, one, other):
        self.assertEqual(one.keys(), other.keys())
        for name, value in one.items():
            self.assertAlmostEqual(value, other[name], delta=2e-3 * max(1, abs(value)), msg=name)

    def test_fit_and_predict(self):
        recipe = SOURCE / "recipes" / "digits.lua"
        here, there = self.on_both("--epochs", "2", recipe=recipe)
        self.assert_close(here["metrics"], there["metrics"])
        self.assertEqual(here["steps"], there["steps"])
        self.assertIn("device = 'stand_in'", (self.folder / "stand_in" / "manifest.toml").read_text())

        values = [(i * 7 % 17) / 16 for i in range(3 * 64)]
        self.write("x.npy", npy((3, 1, 8, 8), values))
        tables = [list(csv.reader(io.StringIO(self.run_program(
            "predict", "stand_in", "--input", "x.npy", "--device", device).out))) for device in ("cpu", "stand_in")]
        self.assertEqual(tables[0][0], tables[1][0])
        for one, other in zip(tables[0][1:], tables[1][1:], strict=True):
            for a, b in zip(one, other, strict=True):
                self.assertAlmostEqual(float(a), float(b), places=4)

    def test_task(self):
        self.write("r.lua", TASK)
        here, there = self.on_both()
        self.assert_close(here["metrics"], there["metrics"])
        self.assertIn("on stand_in:0", (self.folder / "stand_in" / "log.txt").read_text())

    def test_recipes_with_tensors_of_their_own(self):
        for recipe, length in (("gan", "--epochs"), ("reinforce", "--episodes")):
            here, there = self.on_both(length, "2", recipe=SOURCE / "recipes" / f"{recipe}.lua")
            self.assertEqual(here["metrics"].keys(), there["metrics"].keys())
            for folder in ("cpu", "stand_in"):
                shutil.rmtree(self.folder / folder)

    def test_index_of_a_batch(self):
        self.write("r.lua", INDEX)
        here, there = self.on_both()
        self.assert_close(here["metrics"], there["metrics"])

    def test_sweep(self):
        self.write("r.lua", SWEEP % 4)
        here, there = self.on_both()
        self.assertEqual(here["best"]["trial"], there["best"]["trial"])
        self.assertAlmostEqual(here["best"]["value"], there["best"]["value"], places=3)
        self.assertEqual(devices_in(self.folder / "stand_in" / "log.txt"), {"stand_in:0"})
        self.train("--device", "stand_in:1", "--out", "one")
        self.assertEqual(devices_in(self.folder / "one" / "log.txt"), {"stand_in:1"})

    def test_each_worker_has_a_device(self):
        self.write("r.lua", SWEEP % 100000)
        run = self.folder / "run"
        running = self.start("r.lua", "--device", "stand_in", "--workers", "2", "--out", "run")

        def helpers():
            return set().union(*map(devices_in, run.glob("log-*.txt")))

        running.until(lambda: helpers() and devices_in(run / "log.txt"), "both workers trained")
        running.send(signal.SIGTERM)
        self.end(running, 143)
        self.assertEqual(helpers(), {"stand_in:1"})
        self.assertEqual(devices_in(run / "log.txt"), {"stand_in:0"})
        self.assertIn("device = 'stand_in'", (run / "manifest.toml").read_text())

    def test_what_is_not_there(self):
        self.recipe()
        self.assert_message(self.train("--device", "stand_in:9", code=2),
                            "trainlab: device stand_in:9 is not there: found 2, the last is stand_in:1")
        none = self.folder / "none"
        none.mkdir()
        self.use(none)
        result = self.train("--device", "stand_in", code=2)
        self.assert_message(result, 'trainlab: expected a device, found "stand_in"')
        self.assert_said(result, "hint: ", str(none / "trainlab-stand_in.so"))
        self.assertFalse((self.folder / "runs").exists())

    def test_a_device_that_goes_away(self):
        """Whatever command is at work on it, at once or later, says so once."""
        self.recipe(epochs="40", more='  checkpoint = "1 epochs",\n')
        self.write("x.npy", npy((1, 2), [0, 1]))
        self.train("--device", "stand_in", "--out", "whole")
        self.addCleanup(os.environ.pop, "STAND_IN_CALLS")
        commands = ("run r.lua --out run-{}", "check --step r.lua", "find lr r.lua", "find batch r.lua",
                    "profile r.lua", "plan r.lua", "predict whole --input x.npy")
        for command, calls in itertools.product(commands, (0, 10, 100)):
            if command.startswith("predict") and calls == 100:
                continue  # a prediction is done before
            os.environ["STAND_IN_CALLS"] = str(calls)
            with self.subTest(command, calls=calls):
                line = command.format(calls).split()
                result = self.run_program(*line, "--device", "stand_in", "--threads", "1", code=3)
                self.assertEqual(result.out, "")
                self.assertEqual(result.err.count("the device has failed: stand-in error"), 1, result)
        os.environ["STAND_IN_CALLS"] = "1000000000"
        for run in self.folder.glob("run-*"):
            self.run_program("resume", run)
            self.assert_same_end(self.folder / "whole", run)

    def test_a_plugin_that_cannot_be_used(self):
        self.recipe()
        self.write("broken/trainlab-broken.so", "no library")
        for name, folder, why in (("broken", self.folder / "broken", ""),
                                  ("other", PLUGINS / "other", 'expected the interface "2, LibTorch '),
                                  ("empty", PLUGINS / "empty", "it does not define trainlab_device_plugin")):
            self.use(folder)
            said = f"the device plugin {folder / f'trainlab-{name}.so'} cannot be used: {why}"
            result = self.train("--device", name, code=2)
            self.assert_said(result, "trainlab: " + said, "hint: ")
            out = f"on-{name}"
            self.assertFalse((self.folder / "runs").exists())
            result = self.train("--device", "auto", "--out", out)
            self.assertEqual(result.err.count("warning: " + said), 1, result)
            self.assertIn("warning: " + said, (self.folder / out / "log.txt").read_text())
            self.assertIn("device = 'cpu'", (self.folder / out / "manifest.toml").read_text())
            for arguments in (["--help"], ["--device", "cpu", "--out", out + "-cpu"]):
                self.assertNotIn("plugin", self.train(*arguments).err)

    def test_predictions_tell_of_a_plugin_that_cannot_be_used(self):
        """Of a model that is read alone, and of one for whose functions the recipe is executed."""
        self.write("trainlab-broken.so", "no library")
        self.write("x.npy", npy((1, 2), [0, 1]))
        said = f"warning: the device plugin {self.folder / 'trainlab-broken.so'} cannot be used: "
        twice = "nn.Module { forward = function(_, x) return x * 2 end }"
        for out, model in (("alone", "nn.Linear(3)"), ("recipe", f"nn.Sequential {{ {twice}, nn.Linear(3) }}")):
            self.recipe(model=model)
            self.train("--device", "cpu", "--out", out)
            self.use(self.folder)
            predict = ["predict", out, "--input", "x.npy"]
            for more in ([], ["--quiet"]):
                self.assertEqual(self.run_program(*predict, *more).err.count(said), 1)
            self.assertNotIn("plugin", self.run_program(*predict, "--device", "cpu").err)

    def test_a_folder_of_plugins_that_is_not_there(self):
        self.recipe()
        self.use(self.folder / "nope")
        for more in ([], ["--device", "cuda"], ["--device", "stand_in"]):
            self.assert_message(self.train(*more, code=2),
                                f"trainlab: TRAINLAB_DEVICES: there is no folder {self.folder / 'nope'}")
        self.train("--device", "cpu")

    def test_a_run_is_resumed_on_its_device_without_asking_for_others(self):
        self.recipe(more="  on = { validate = function() error('stop here') end },\n")
        self.train("--device", "cpu", "--out", "run", code=1)
        self.write("trainlab-broken.so", "no library")
        self.use(self.folder)
        self.assertNotIn("plugin", self.run_program("resume", "run", code=1).err)


if __name__ == "__main__":
    unittest.main()
