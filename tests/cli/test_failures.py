"""Runs that fail through no fault of the recipe's text: a loss that is not finite, disks, damaged checkpoints."""

import os
import re
import shutil
import signal
import subprocess
import unittest

from program import SLOW, CliTest, fit, small_disk

# 240,003 weights: 1 MB in `best`, with AdamW's two means 3 MB in `last`.
LARGE = {"model": "nn.Sequential { nn.Linear(40000), nn.ReLU(), nn.Linear(3) }"}
EACH = '  checkpoint = "1 epochs",\n'


class Loss(CliTest):
    def test_loss_that_is_not_finite(self):
        self.recipe(optim="lab.optim.SGD { lr = 1e30 }")
        result = self.train(code=3)
        self.assertIn("f (fit): failed: the training loss is not finite at step 2", result.out, result)
        self.assert_said(result, "how it went: trainlab report runs/r/001")
        self.assert_status(self.run_folder(), "failed")
        self.run_program("resume", self.run_folder(), code=3)  # the same again, not a crash

    def test_json(self):
        self.recipe(optim="lab.optim.SGD { lr = 1e30 }")
        result = self.train("--json", code=3).json()
        self.assertEqual(result["status"], "failed")
        self.assertEqual(result, self.summary(self.run_folder()))


class Memory(CliTest):
    def test_model_that_no_memory_can_hold(self):
        """A failed allocation is no mistake in the recipe's text, and a recipe cannot go on as if it had not been."""
        # 2^49 bytes and more of weights: more than a process can address.
        self.write(
            "r.lua",
            "pcall(function()\n"
            + fit(model="nn.Sequential { nn.Linear(2^45), nn.ReLU(), nn.Linear(3) }").replace(
                "return lab.fit", "lab.run(lab.fit"
            )
            + ") end)\nprint('went on')\n",
        )
        result = self.train(code=3)
        self.assert_said(result, "r.lua:", "Linear: out of memory: expected at most the ", "iB that are free, found "
                         "768.0 TiB for the weights of the model, of which this layer has 384.0 TiB")
        self.assertEqual(self.summary(self.run_folder())["status"], "failed")

    def test_a_layer_whose_output_no_memory_can_hold(self):
        """Not even that of a single sample, with which the step is tried at last."""
        self.recipe(model="nn.Sequential { nn.Unflatten(0, { 1, 1, 2 }), nn.Upsample { size = { 2^20, 2^20 } }, "
                    "nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(3) }")
        self.assert_said(self.train(code=3), "r.lua:", "model[2].Upsample: out of memory: expected at most the ",
                         "iB that are free, found 4.0 TiB for one tensor")

    def square_layers(self, share, count=1):
        """A model with layers whose weights take each this share of the memory that the program calls free."""
        self.recipe(model="nn.Sequential { nn.Linear(2^23), nn.Linear(2^23), nn.Linear(3) }")
        free = re.search(r"expected at most the ([\d.]+) (M|G|T)iB that are free", self.train(code=3).err)
        size = float(free[1]) * {"M": 2**20, "G": 2**30, "T": 2**40}[free[2]]
        width = int((share * size / 4) ** 0.5)
        layers = ", ".join(f"nn.Linear({width})" for _ in range(count + 1))
        return f"nn.Sequential {{ {layers}, nn.Linear(3) }}"

    def test_layers_that_fit_one_by_one_but_not_together(self):
        self.recipe(model=self.square_layers(0.2, 12))
        result = self.train(code=3)
        self.assert_said(result, "model[", "Linear: out of memory: expected at most the ",
                         "for the weights of the model", "whose weights take 2 bytes each")

    def test_weights_that_fit_without_what_trains_them(self):
        self.recipe(model=self.square_layers(0.5))
        result = self.train(code=3)
        self.assert_said(result, "out of memory: expected at most the ", "for the training; in a step weights ",
                         ", gradients ", ", optimizer ")
        profile = self.run_program("profile", "r.lua", "--apply", "c.toml", "--json").json()
        self.assertEqual((profile["verdict"], profile["steps"]), ("capacity", 0))
        self.assertGreaterEqual(len(profile["remedies"]), 2)
        for remedy in profile["remedies"]:
            self.assertFalse(remedy["tried"], remedy)
            self.assertTrue(remedy["reason"], remedy)
        self.assertIn("out of memory: expected at most the ", profile["evidence"][0])


class FullDisk(CliTest):
    """A disk that fills up ends the run with 3 and loses nothing: with space again it goes on to the very same end."""

    def whole(self):
        self.train("--out", "whole", "--quiet")
        return self.folder / "whole"

    def check_failed(self, result, run):
        self.assert_said(result, f"trainlab: disk full or failing: cannot write {run}/checkpoints/",
                         "hint: everything saved before is intact", "to continue: trainlab resume ")

    def test_full_disk(self):
        disk = small_disk(self, 24)
        self.recipe(more=EACH, **LARGE)
        # Room for the checkpoints of the first epoch, not for those of the second.
        filler = disk / "filler"
        filler.write_bytes(bytes(19 << 20))
        result = self.train("--out", disk / "run", code=3)
        self.check_failed(result, disk / "run")
        filler.unlink()
        done = self.run_program("resume", disk / "run", "--json", "--quiet").json()
        self.assertEqual(done["status"], "done")
        self.assert_same_end(disk / "run", self.whole())

    def test_largest_file(self):
        """The same where mounting is not allowed: a limit on the size of files."""
        self.recipe(more=EACH, **LARGE)
        result = self.train("--out", "run", code=3, before=["bash", "-c", 'ulimit -f 500; exec "$@"', "bash"])
        self.check_failed(result, self.folder / "run")
        self.assert_status(self.folder / "run", "failed")
        self.run_program("resume", "run", "--quiet")
        self.assert_same_end(self.folder / "run", self.whole())

    def test_disk_full_from_the_start(self):
        disk = small_disk(self, 1)
        (disk / "filler").write_bytes(bytes((1 << 20) - 4096))
        self.recipe()
        result = self.train("--out", disk / "run", code=3)
        self.assert_said(result, f"trainlab: disk full or failing: cannot write {disk}/run", "No space left on device")


class Unwritable(CliTest):
    def test_folder_below_a_file(self):
        self.recipe()
        self.write("file", "no folder")
        result = self.train("--out", "file/run", code=2)
        self.assert_message(result, f"trainlab: cannot make the folder {self.folder}/file: Not a directory")

    def test_read_only_disk(self):
        disk = small_disk(self, 1)
        (disk / "run").mkdir()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        self.recipe()
        result = self.train("--out", disk / "run", code=2)
        self.assert_message(result, f"trainlab: cannot write into the run folder {disk}/run: Read-only file system")
        # The default place too.
        result = self.train(cwd=disk, recipe=self.folder / "r.lua", code=2)
        self.assert_message(result, f"trainlab: cannot make the folder {disk}/runs: Read-only file system")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_folder_of_someone_else(self):
        self.recipe()
        (self.folder / "run").mkdir(mode=0o555)
        result = self.train("--out", "run", code=2)
        self.assert_said(result, "trainlab: cannot write into the run folder", "Permission denied")


class DamagedCheckpoint(CliTest):
    """A run that was interrupted, its checkpoints damaged then: the one before serves, and the end is the same."""

    whole_run = None

    def whole(self):
        if DamagedCheckpoint.whole_run is None:
            self.train("--out", "whole", "--quiet", recipe="s.lua")
            DamagedCheckpoint.whole_run = self.folder / "whole"
        return DamagedCheckpoint.whole_run

    def interrupted(self):
        self.write("s.lua", fit(**SLOW))
        running = self.start("s.lua", "--threads", "1", "--out", "cut", "--quiet")
        running.until_rows(self.folder / "cut", 4)
        running.send(signal.SIGTERM)
        self.end(running, 143)
        return self.folder / "cut"

    def both(self, run):
        """The two checkpoints that are kept, the newest last."""
        before, newest = sorted((run / "checkpoints").glob("last-*.safetensors"))
        return before, newest

    def check(self, damage):
        run = self.interrupted()
        before, path = self.both(run)
        damage(path)
        result = self.run_program("resume", run, "--quiet")  # damage is told all the same
        self.assert_said(result, f"damage: checkpoint {path.stem} is damaged and was passed over: ",
                         str(path.with_suffix("")))
        self.assertEqual(self.summary(run)["resumed"], [int(before.stem.split("-")[1])])
        self.assert_same_end(run, self.whole())

    def test_flipped_byte(self):
        def flip(path):
            data = bytearray(path.read_bytes())
            data[-1] ^= 1
            path.write_bytes(data)
        self.check(flip)

    def test_cut_short(self):
        self.check(lambda path: os.truncate(path, path.stat().st_size // 2))

    def test_header_too_large(self):
        def lie(path):
            path.write_bytes(b"\xff" * 8 + path.read_bytes()[8:])
        self.check(lie)

    def test_lost_commit(self):
        self.check(lambda path: path.unlink())

    def test_broken_json(self):
        self.check(lambda path: path.with_suffix(".json").write_text("{ no"))

    def test_all_damaged(self):
        run = self.interrupted()
        for path in (run / "checkpoints").glob("last-*.safetensors"):
            path.write_bytes(b"")
        result = self.run_program("resume", run, "--quiet")
        self.assert_said(result, "damage: no complete checkpoint is left; this starts again from the first step")
        self.assert_same_end(run, self.whole())

    def test_no_checkpoint(self):
        run = self.interrupted()
        shutil.rmtree(run / "checkpoints")
        result = self.run_program("resume", run, "--quiet")
        self.assert_said(result, "there is no checkpoint: this starts again from the first step")
        self.assert_same_end(run, self.whole())


if __name__ == "__main__":
    unittest.main()
