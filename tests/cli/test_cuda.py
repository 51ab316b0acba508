"""Without a GPU that can be used, the plugin for GPUs says in one message what is missing, and the CPU trains.

The drivers here are tests/support/fake_driver.cpp.
"""

import os
import pathlib
import unittest

from program import CliTest

DRIVER = pathlib.Path(os.environ["DRIVER"])
MISSING = "trainlab: device cuda is not there: found "
UNUSABLE = "device cuda cannot be used: "


class WithoutGpu(CliTest):
    def setUp(self):
        super().setUp()
        self.recipe()

    def driver(self, version, status):
        for name, value in (("LD_LIBRARY_PATH", DRIVER), ("FAKE_DRIVER_VERSION", version),
                            ("FAKE_DRIVER_STATUS", status)):
            os.environ[name] = str(value)
            self.addCleanup(os.environ.pop, name)

    def refused(self, message, device="cuda"):
        result = self.train("--device", device, code=2)
        self.assert_message(result, message)
        self.assert_said(result, "\n  hint: ")
        self.assertFalse((self.folder / "runs").exists())

    def trains_on_the_cpu(self, warning=None):
        result = self.train("--device", "auto", "--out", "run")
        self.assertEqual([line for line in result.err.splitlines() if "cuda" in line],
                         [f"warning: {warning}"] if warning else [], result)
        self.assertIn("device = 'cpu'", (self.folder / "run" / "manifest.toml").read_text())

    def test_no_driver(self):
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("this machine has a driver")
        for device in ("cuda", "cuda:1"):
            self.refused(f"trainlab: device {device} is not there: "
                         "found no driver of NVIDIA (libcuda.so.1 cannot be loaded)", device)
        self.trains_on_the_cpu()

    def test_a_driver_without_a_gpu(self):
        self.driver(13000, 100)
        self.refused(MISSING + "a driver of NVIDIA that shows no GPU to this program")
        self.trains_on_the_cpu()

    def test_a_driver_that_is_too_old(self):
        self.driver(12020, 500)
        said = UNUSABLE + "expected a driver of NVIDIA for CUDA 13.0 or later, found one for CUDA 12.2"
        self.refused("trainlab: " + said)
        self.trains_on_the_cpu(said)

    def test_a_driver_that_fails(self):
        self.driver(13000, 999)
        said = UNUSABLE + "the driver of NVIDIA fails: unknown error"
        self.refused("trainlab: " + said)
        self.trains_on_the_cpu(said)


if __name__ == "__main__":
    unittest.main()
