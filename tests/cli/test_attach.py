"""`trainlab profile --attach`, which asks a run that trains, and a fit that asks for its own profile."""

import json
import os
import pathlib
import shutil
import signal
import unittest

from program import SLOW, CliTest, tensors
from verdict_words import SHARES, VERDICTS, sum_of


class Attach(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.keep_machine()

    def attach(self, run, *arguments, **options):
        return self.run_program("profile", "--attach", run, "--seconds", "0.2", *arguments, **options)

    def snapshot_files(self, run):
        return [name for name in os.listdir(run) if name.startswith("snapshot")]

    def test_attached_to_a_run_that_trains(self):
        self.recipe(**{**SLOW, "epochs": "10000"})
        running = self.start("r.lua", "--threads", "1", "--quiet")
        run = self.run_folder()
        running.until_rows(run, 2)
        snapshot = self.attach(run, "--json").json()
        self.assertEqual((snapshot["kind"], snapshot["stage"], snapshot["stage_kind"]), ("snapshot", "f", "fit"))
        self.assertEqual(pathlib.Path(snapshot["run"]), run)
        self.assertIn(snapshot["verdict"], VERDICTS)
        self.assertEqual(sorted(snapshot["shares"]), sorted(SHARES))
        self.assertAlmostEqual(sum_of(snapshot["shares"]), 1, delta=0.01)
        self.assertGreater(snapshot["steps"], 0)
        speed = snapshot["speed"]
        self.assertEqual(sorted(speed["shares"]), ["checkpoint", "evaluation", "input", "other", "training"])
        self.assertTrue(0 < speed["step_seconds"]["median"] <= speed["step_seconds"]["p95"], speed)
        text = self.attach(run, "--trace", "t.json").out
        self.assertIn(text.split(":")[0], VERDICTS)
        for word in ("fit f", "steps", "since this process began to train: training ", "after step "):
            self.assertIn(word, text)
        with open(self.folder / "t.json") as file:
            names = {event["name"] for event in json.load(file)["traceEvents"]}
        self.assertTrue({"step", "forward", "model[1].Linear", "aten::addmm", "on.validate"} <= names, names)
        self.assert_said(self.attach(run, "--trace", "r.lua", code=2), "is no trace of trainlab")
        unread = ("bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "-")
        self.attach(run, code=128 + signal.SIGPIPE, before=unread)
        self.assertEqual(self.snapshot_files(run), [])
        # A question that is taken back: the run goes on, and nothing stays behind. Signals are held back before the
        # question is there.
        asking = self.start("profile", "--attach", run, "--seconds", "50", "--json")
        asking.until(lambda: self.snapshot_files(run), "it asked")
        asking.send(signal.SIGINT)
        result = self.end(asking, 130)
        self.assertEqual(result.json(), {"kind": "none", "status": "interrupted"})
        self.assert_said(result, "trainlab: asked to stop before the run has answered; the run goes on")
        self.assertIsNone(running.process.poll())
        running.send(signal.SIGTERM)
        self.end(running, 143)
        self.assertEqual(self.snapshot_files(run), [])
        told = self.attach(run, code=2)
        self.assert_said(told, "--attach: the run in runs/r/001 was left with status interrupted, and no process "
                               "trains it now", "trainlab resume runs/r/001")

    def test_attached_to_a_run_that_trains_no_more(self):
        self.recipe(epochs="3", more='  on = { validate = function(run) error("oh") end },\n')
        self.train(code=1)
        self.assert_said(self.attach(self.run_folder(), code=2),
                         "--attach: the run in runs/r/001 was left with status failed, and no process trains it now",
                         "trainlab resume runs/r/001")
        self.recipe(**{**SLOW, "epochs": "10000"})
        running = self.start("r.lua", "--threads", "1", "--quiet")
        running.until_rows(self.run_folder(2), 2)
        running.kill()
        self.assert_said(self.attach(self.run_folder(2), code=2),
                         "--attach: the run in runs/r/002 was killed, and no process trains it now",
                         "trainlab resume runs/r/002")

    def test_a_run_that_was_attached_to_ends_in_the_same_bytes(self):
        self.recipe(**{**SLOW, "epochs": "400"})
        running = self.start("r.lua", "--threads", "1", "--quiet")
        running.until_rows(self.run_folder(), 2)
        self.attach(self.run_folder())
        self.end(running, 0)
        self.train("--quiet")
        attached, alone = self.run_folder(), self.run_folder(2)
        rows = [[{**row, "seconds": None} for row in self.rows(run)] for run in (attached, alone)]
        self.assertEqual(*rows)
        for name in sorted(os.listdir(alone / "checkpoints")):
            if name.endswith(".safetensors"):
                self.assertEqual(tensors(attached / "checkpoints" / name), tensors(alone / "checkpoints" / name))
        self.assertEqual(self.snapshot_files(attached), [])
        self.assert_said(self.attach(attached, code=2), "--attach: the run in runs/r/001 has ended, with status done")

    def test_a_fit_that_asks_for_its_own_profile(self):
        """It is told what the first steps waited for, and ends as without the option."""
        self.recipe(epochs="200", more='  profile = "0.05 s",\n')
        told = self.train()
        self.assertRegex(told.err, rf"profile: ({'|'.join(VERDICTS)}): .*")
        own = json.loads((self.run_folder() / "profile.json").read_text())
        self.assertEqual((own["kind"], own["stage"]), ("snapshot", "f"))
        self.assertAlmostEqual(sum_of(own["shares"]), 1, delta=0.01)
        self.assertGreater(own["step"], own["steps"])
        self.assertGreaterEqual(own["cold_steps"], 5)
        self.assertEqual(own["checkpoint"]["seconds"] is None, own["shares"]["checkpoint"] is None)
        self.recipe(epochs="200")
        self.train()
        first, second = ({**self.summary(self.run_folder(run))["metrics"]} for run in (1, 2))
        self.assertEqual(first, second)
        # A short fit has steps that are timed, and others whose operators are counted.
        self.recipe(batch="60", epochs="20", more='  profile = "1 s",\n')
        self.train()
        own = json.loads((self.run_folder(3) / "profile.json").read_text())
        self.assertGreaterEqual(own["steps"], 5)
        self.assertGreater(own["operators"]["per_step"], 0)
        self.assertGreater(own["shares"]["launch_gap"], 0)
        self.recipe(batch="60", epochs="3", more='  profile = "1 s",\n')
        self.assertIn("profile: not measured, because the fit has ended after step 3", self.train().err)
        for wrong, expected in (("0 s", "a time above 0, such as"), ("20%", "a time such as"),
                                ("3 epochs", "a time such as")):
            self.recipe(more=f'  profile = "{wrong}",\n')
            self.assert_said(self.train(code=1),
                             f'profile: expected {expected} "10 min" or "18 h", found "{wrong}"')
            self.assert_said(self.run_program("profile", "r.lua", code=1), f"profile: expected {expected} ")

    def test_what_cannot_be_attached_to(self):
        self.assert_said(self.attach("no", code=2), "there is no folder ")
        self.assert_said(self.attach(".", code=2), "is not a run folder")
        self.recipe()
        told = self.run_program("profile", "r.lua", "--attach", "runs", code=2)
        self.assert_said(told, '--attach stands in place of one recipe or two, found "r.lua" beside it')
        for flags in (["--html", "p.html"], ["--quality", "60 s"], ["--threads", "2"], ["--set", "batch=3"]):
            told = self.run_program("profile", "--attach", "runs", *flags, code=2)
            self.assert_said(told, f"{flags[0]} means nothing to `trainlab profile --attach`")

    @unittest.skipIf(os.geteuid() == 0 and not shutil.which("setpriv"), "root may write everywhere")
    def test_attached_to_a_run_of_another_user(self):
        """A run whose folder the user may not write, or not even read. As root, the program gives up to do so."""
        before = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
        self.recipe(**{**SLOW, "epochs": "10000"})
        running = self.start("r.lua", "--threads", "1", "--quiet")
        run = self.run_folder()
        running.until_rows(run, 1)
        run.chmod(0o555)
        told = self.attach(run, code=2, before=before)
        self.assert_said(told, "Permission denied", "only who may write into the run's folder can attach to the run")
        run.chmod(0)
        told = self.attach(run, code=2, before=before)
        run.chmod(0o755)
        self.assert_said(told, "cannot look into the run folder ", "runs/r/001: Permission denied")

    def test_attached_to_a_run_whose_folder_goes(self):
        """A folder that is there and cannot be entered, as by a link to itself, is not said to be gone."""
        self.recipe(**{**SLOW, "epochs": "10000"})
        running = self.start("r.lua", "--threads", "1", "--quiet")
        run, elsewhere = self.run_folder(), self.folder / "elsewhere"
        running.until_rows(run, 1)
        for process in running.engines():
            os.kill(process, signal.SIGSTOP)
        link = self.folder / "link"
        link.symlink_to(run)
        for is_gone in (True, False):
            asking = self.start("profile", "--attach", run, "--seconds", "50")
            asking.until(lambda: "snapshot.request" in os.listdir(run), "it asked")
            os.kill(asking.process.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, asking.process.pid, os.WSTOPPED)
            run.rename(elsewhere)
            if not is_gone:
                link.rename(run)
            os.kill(asking.process.pid, signal.SIGCONT)
            if is_gone:
                told = self.end(asking, 3)
                self.assert_said(told, "--attach: the folder runs/r/001 is gone: it was removed or renamed")
            else:
                self.assert_said(self.end(asking, 2), "cannot look into the run folder ", "Too many levels")
                run.unlink()
            elsewhere.rename(run)
            (run / "snapshot.request").unlink()


if __name__ == "__main__":
    unittest.main()
