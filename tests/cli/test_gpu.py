"""A training on a GPU, where there is one: close to the CPU's, and resumed to the same bytes."""

import pathlib
import sys
import unittest

from program import SOURCE, CliTest, tensors

DIGITS = SOURCE / "recipes" / "digits.lua"


class OnGpu(CliTest):
    def weights(self, run):
        newest = max((self.folder / run / "checkpoints").glob("best-*.safetensors"))
        return newest.name, tensors(newest)

    def test_digits(self):
        here, there = [self.train("--epochs", "3", "--device", device, "--out", device, "--json", recipe=DIGITS).json()
                       for device in ("cpu", "cuda")]
        self.assertEqual(here["steps"], there["steps"])
        for name, value in here["metrics"].items():
            self.assertAlmostEqual(value, there["metrics"][name], delta=2e-2 * max(1, abs(value)), msg=name)

    def test_equal_bytes(self):
        for run in ("one", "other"):
            self.train("--epochs", "2", "--device", "cuda", "--out", run, recipe=DIGITS)
        self.assertEqual(self.weights("one"), self.weights("other"))

    def test_resumed(self):
        self.recipe(epochs="6")
        self.train("--device", "cuda", "--out", "whole")
        stop = "  on = { validate = function(run) if run.epoch == 3 then error('stop here') end end },\n"
        self.recipe(epochs="6", more='  checkpoint = "1 epochs",\n' + stop)
        self.train("--device", "cuda", "--out", "parts", code=1)
        self.recipe(epochs="6", more='  checkpoint = "1 epochs",\n')
        self.run_program("resume", "parts", "--recipe", "r.lua")
        self.assertEqual(self.weights("whole"), self.weights("parts"))


if not pathlib.Path("/dev/nvidiactl").exists():
    sys.exit("skipped: there is no GPU")
unittest.main()
