"""The files that a finished run has left: whatever of them is damaged or gone is named, and nothing more is lost."""

import json
import os
import pathlib
import shutil
import typing
import unittest

from program import CliTest, fit, npy, small_sweep

RECIPE = fit(data="lab.data.digits():split { train = 0.8, val = 0.2 }:normalize()", batch="64", epochs="4",
             model="nn.Sequential { nn.Flatten(), nn.Linear(8), nn.ReLU(), nn.Linear(10) }",
             more='  checkpoint = "1 epochs",\n')
PREDICT = "predict run --input x.npy --threads 1"


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


class FinishedFiles(CliTest):
    trained: typing.ClassVar[dict[str, pathlib.Path]] = {}

    def finished(self, text=RECIPE):
        """A copy of the finished run of this recipe, which is trained once for all tests."""
        if text not in self.trained:
            self.write("r.lua", text)
            self.run_program("r.lua", "--out", "whole", "--quiet", "--threads", "1")
            FinishedFiles.trained[text] = self.folder / "whole"
        run = self.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(self.trained[text], run)
        self.write("x.npy", npy((1, 1, 8, 8), [i * 7 % 16 / 16 for i in range(64)]))
        return run

    def assert_told(self, commands, *texts, code=3):
        for command in commands:
            with self.subTest(command):
                result = self.run_program(*command.split(), code=code)
                self.assertEqual(result.out, "")
                for text in texts:
                    self.assertIn(text, result.err, result)

    def listed(self):
        return self.run_program("list", "run", "--json").json()["runs"][0]["status"]

    def newest(self, run, kind, ending="safetensors"):
        return max((run / "checkpoints").glob(f"{kind}-*.{ending}"))

    def test_rows(self):
        for damage, text in ((lambda path: os.truncate(path, path.stat().st_size - 9), "its last row is cut off"),
                             (lambda path: path.write_text("\n".join(path.read_text().splitlines()[:2]) + "\n"),
                              "bytes that the last checkpoint counts, found "),
                             (lambda path: os.truncate(path, 0), "is damaged: it is empty"),
                             (pathlib.Path.unlink, "is missing, which this run has written")):
            with self.subTest(text):
                run = self.finished()
                damage(run / "metrics.jsonl")
                self.assert_told(("resume run", "report run", "report run --csv", "report run --html page.html"),
                                 f"trainlab: {run}/metrics.jsonl", text)
                if "counts" not in text:  # a list of many runs reads no checkpoint
                    self.assertEqual(self.listed(), "damaged")
                self.assertEqual(self.run_program("report", "run", "--json").json(),
                                 {**self.summary(run), "out": str(run)})  # the run is a copy
                self.run_program(*PREDICT.split())

    def test_a_folder_in_the_place_of_rows(self):
        run = self.finished()
        (run / "metrics.jsonl").unlink()
        (run / "metrics.jsonl").mkdir()
        self.assertEqual(self.listed(), "damaged")
        self.assert_told(("resume run",), f"trainlab: cannot read {run}/metrics.jsonl: Is a directory\n")

    def test_a_model_file_is_written_again_by_a_fit_that_begins_again(self):
        self.write("r.lua", RECIPE.replace("return lab.fit {", "return lab.fit { on = { start = function() "
                                           "error('oh') end },"))
        self.run_program("r.lua", "--out", "run", "--threads", "1", code=1)
        cut(self.folder / "run/model.json")
        self.write("mended.lua", RECIPE.replace("return lab.fit {", "return lab.fit { on = { start = print },"))
        result = self.run_program("resume", "run", "--recipe", "mended.lua", "--quiet")
        self.assert_said(result, "damage: ", "run/model.json is damaged", "begins again and writes this file anew")
        json.loads((self.folder / "run/model.json").read_text())

    def test_rows_of_a_task(self):
        run = self.finished('return lab.task { name = "t", run = function(ctx) ctx:log("a", 1) end }\n')
        self.run_program("resume", "run")
        (run / "metrics.jsonl").unlink()
        self.assert_told(("resume run", "report run"), f"{run}/metrics.jsonl is missing")
        self.assertEqual(self.listed(), "damaged")

    def test_model_and_stages(self):
        for name, commands in (("model.json", ("resume run", PREDICT)),
                               ("stages.json", ("resume run", PREDICT, "report run", "extend run --epochs 6"))):
            run = self.finished()
            (run / name).unlink()
            self.assert_told(commands, f"{run}/{name} is missing, which this run has written",
                             f"hint: put the file back from a copy, then go on: trainlab resume {run}")
            self.assertEqual(self.listed(), "damaged")
            shutil.copy(self.trained[RECIPE] / name, run)
            self.assertEqual(self.listed(), "done")
            cut(run / name)
            self.assert_told(commands, f"{run}/{name} is damaged: it is not valid JSON")
            self.assertEqual(self.listed(), "damaged")

    def test_a_run_that_has_not_ended_keeps_its_stages_too(self):
        """Without stages.json it would train from the first step, over the checkpoints that are there."""
        run = self.finished()
        summary = self.summary(run)
        (run / "summary.json").write_text(json.dumps({**summary, "status": "interrupted"}))
        (run / "stages.json").unlink()
        weights = self.weights(run)
        self.assert_told(("resume run",), f"{run}/stages.json is missing")
        self.assertEqual(self.weights(run), weights)

    def test_the_best_weights_predict_without_the_last_checkpoint(self):
        self.finished()
        whole = self.run_program(*PREDICT.split()).out
        for damage in (lambda run: cut(self.newest(run, "last")), lambda run: self.newest(run, "last").unlink(),
                       lambda run: cut(self.newest(run, "last", "json")),
                       lambda run: self.newest(run, "last", "json").unlink()):
            run = self.finished()
            best, step = self.newest(run, "best"), self.newest(run, "last").stem.split("-")[1]
            damage(run)
            result = self.run_program(*PREDICT.split())
            self.assertEqual(result.out, whole, result)
            self.assert_said(result, f"damage: {run}/checkpoints", str(int(step)),
                             "; the best weights, which are kept, are whole")
            self.assert_told(("resume run",), f"trainlab: {run}/checkpoints",
                             "the best weights, which predict, are whole; init.weights and tensor.load can read "
                             f"run/checkpoints/{best.name}, run/checkpoints/last-")

    def test_damaged_weights(self):
        for damage in (cut, pathlib.Path.unlink):
            run = self.finished()
            best = self.newest(run, "best")
            damage(best)
            self.assert_told((PREDICT,), f"trainlab: {best}",
                             f"hint: what can still be used is told by: trainlab resume {run}")
            self.assert_told(("resume run",), f"trainlab: {best}", "a new run trains what is lost again")
        text = RECIPE.replace("  checkpoint", '  keep = "last",\n  checkpoint')
        for ending in ("safetensors", "json"):
            for damage in (cut, pathlib.Path.unlink):
                run = self.finished(text)
                self.run_program(*PREDICT.split())
                last = self.newest(run, "last", ending)
                damage(last)
                self.assert_told((PREDICT, "resume run"), f"trainlab: {run}/checkpoints")

    def test_a_finished_run_is_not_extended_from_nothing(self):
        def lose(run):
            shutil.rmtree(run / "checkpoints")

        def cut_all(run):
            for path in (run / "checkpoints").glob("last-*.safetensors"):
                cut(path)

        for damage, text in ((lose, "expected the checkpoint of step "),
                             (cut_all, "its bytes are not those that were committed")):
            run = self.finished()
            damage(run)
            before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != "log.txt"}
            self.assert_told(("extend run --epochs 6",), f"trainlab: {run}/checkpoints", text,
                             f"hint: what can still be used is told by: trainlab resume {run}")
            self.assert_told(("resume run",), text)
            after = {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != "log.txt"}
            self.assertEqual(after, before)

    def test_a_fit_whose_budget_is_used_does_not_begin_again(self):
        self.write("r.lua", RECIPE.replace("epochs = 4", "epochs = 100000"))
        self.run_program("r.lua", "--out", "run", "--quiet", "--threads", "1", "--within", "3 s")
        run = self.folder / "run"
        summary = self.summary(run)
        self.assertEqual(summary["status"], "stopped")
        shutil.rmtree(run / "checkpoints")
        self.assert_told(("resume run --within 9s",), f"trainlab: {run}/checkpoints: expected the checkpoint of step ")
        self.assertEqual(self.summary(run), summary)

    def test_a_finished_run_is_extended_from_the_checkpoint_before(self):
        """As a run that was interrupted goes on from it, to the bytes that it would have had."""
        run = self.finished()
        cut(self.newest(run, "last"))
        self.run_program("extend", "run", "--epochs", "6", "--quiet")
        damaged = self.weights(run)
        run = self.finished()
        self.run_program("extend", "run", "--epochs", "6", "--quiet")
        self.assertEqual(self.weights(run), damaged)

    def test_a_sweep(self):
        text = small_sweep(epochs=2)
        best = f"trials/{self.summary(self.finished(text))['best']['trial']:04d}/seed-1"
        self.assertEqual(self.listed(), "done")
        for name in ("study.db", f"{best}/summary.json", f"{best}/model.json", f"{best}/metrics.jsonl"):
            run = self.finished(text)
            (run / name).unlink()
            self.assert_told(("resume run",), f"{run}/{name} is ")
            self.assertEqual(self.listed(), "damaged")
        run = self.finished(text)
        os.truncate(run / "study.db", 0)
        self.assert_told(("resume run", "report run", "extend run --trials 9"),
                         f"{run}/study.db is damaged: it is empty")
        self.assertEqual(self.listed(), "damaged")
        run = self.finished(text)
        shutil.rmtree(run / "trials")
        self.assert_told(("resume run", PREDICT), f"trainlab: {run}/{best}/summary.json is missing")

    def test_the_hint_names_the_run(self):
        run = self.finished()
        (run / "summary.json").write_text("")
        self.assert_told(("resume run", "report run"), f"{run}/summary.json is damaged: it is empty",
                         f"hint: put the file back from a copy, then go on: trainlab resume {run}")


if __name__ == "__main__":
    unittest.main()
