"""The forecast of a fit: in the summary, in the report, in a resumed run, and as a stop rule."""

import shutil
import unittest

from program import CliTest

LONG = {"epochs": "40", "more": '  seed = 3, keep = "last", checkpoint = "1 epochs",\n'}


class Forecast(CliTest):
    def test_a_fit_that_reached_its_length_has_its_own_value(self):
        self.recipe(**LONG)
        self.train()
        summary = self.summary(self.run_folder())
        forecast = summary["forecast"]
        self.assertEqual(set(forecast), {"metric", "value", "low", "high", "at", "rate_falls", "references"})
        self.assertEqual((forecast["metric"], forecast["at"]), ("val.loss", summary["steps"]))
        self.assertEqual({forecast[name] for name in ("value", "low", "high")}, {summary["metrics"]["val.loss"]})
        self.assertNotIn("would  reach", self.run_program("report", self.run_folder()).out)

    def stopped(self, out, *arguments, more=""):
        rule = 'stop = function(run) if run.epoch >= 20 then return "enough" end end,'
        self.recipe(**{**LONG, "more": LONG["more"] + f"  {rule}{more}\n"})
        self.train("--out", out, *arguments)
        return self.summary(self.folder / out)

    def test_a_fit_that_was_stopped_says_where_it_would_have_gone(self):
        summary = self.stopped("run")
        forecast = summary["forecast"]
        self.assertEqual(forecast["at"], 2 * summary["steps"])
        self.assertLess(forecast["low"], forecast["value"])
        self.assertLess(forecast["value"], forecast["high"])
        self.assertFalse(forecast["rate_falls"])
        report = self.run_program("report", "run").out
        self.assertRegex(report, rf"would  reach val\.loss .* to .*\) by step {forecast['at']}")
        falls = self.stopped("falls", more="\n  schedule = lab.sched.cosine(),")
        self.assertTrue(falls["forecast"]["rate_falls"])
        self.assertIn("or better, by step", self.run_program("report", "falls").out)

    def test_finished_runs_of_the_same_recipe_tell_where_a_fit_goes(self):
        """Whatever their seeds; not a run of another rate, and no file that is damaged."""
        rule = 'stop = function(run) if run.epoch >= 20 and lab.seed == 99 then return "enough" end end,'
        self.recipe(epochs="40", more=f'  keep = "last", {rule}\n')
        for seed in (1, 2, 3):
            self.train("--seed", seed, "--out", f"runs/r/{seed:03}")
        self.train("--seed", "4", "--set", "optim.lr=0.03", "--out", "runs/r/004")
        (self.folder / "runs/r/003/curve.json").write_text("{")
        self.train("--seed", "99", "--out", "runs/r/005")
        forecast = self.summary(self.folder / "runs/r/005")["forecast"]
        self.assertEqual((forecast["references"], forecast["rate_falls"]), (2, False))
        self.assertLess(forecast["low"], forecast["value"])
        self.assertFalse((self.folder / "runs/r/005/curve.json").exists())  # it has not reached its length
        self.assertIn(", from 2 finished runs", self.run_program("report", "runs/r/005").out)
        self.train("--seed", "99", "--out", "alone/r/001")
        self.assertEqual(self.summary(self.folder / "alone/r/001")["forecast"]["references"], 0)

    def test_runs_that_begin_from_other_runs_are_the_same_recipe(self):
        """A training that begins each day where that of the day before ended is told by those before it."""
        rule = 'stop = function(run) if run.epoch >= 20 and lab.seed == 99 then return "enough" end end,'
        self.recipe(epochs="1")
        self.train("--out", "runs/a/001")
        self.recipe(epochs="40", more='  init = lab.warm_start { from = before }, keep = "last",\n  ' + rule + "\n")
        parameter = 'local before = lab.param { "before", type = "path" }\n'
        self.write("r.lua", parameter + (self.folder / "r.lua").read_text())
        for number, (before, seed) in enumerate((("a/001", 1), ("b/001", 2), ("b/002", 99)), 1):
            self.train("--before", f"runs/{before}", "--seed", seed, "--out", f"runs/b/{number:03}")
        self.assertEqual(self.summary(self.folder / "runs/b/003")["forecast"]["references"], 2)

    def test_the_newest_finished_runs_count(self):
        """Those with the highest numbers: 1000 is newer than 999. Runs with the same curve count once."""
        rule = 'stop = function(run) if run.epoch >= 20 and lab.seed == 99 then return "enough" end end,'
        self.recipe(epochs="40", more=f'  keep = "last", {rule}\n')
        self.train("--seed", "1", "--out", "runs/r/1000")
        self.train("--seed", "2", "--out", "runs/r/999")
        for number in range(960, 999):
            (self.folder / f"runs/r/{number}").mkdir()
            shutil.copy(self.folder / "runs/r/999/curve.json", self.folder / f"runs/r/{number}")
        self.train("--seed", "99", "--out", "runs/r/1001")
        self.assertEqual(self.summary(self.folder / "runs/r/1001")["forecast"]["references"], 2)

    def test_a_resumed_fit_has_the_same_forecast(self):
        whole = self.stopped("whole")
        interrupted = 'on = { step = function(run) if run.step == 30 then error("halt") end end },'
        self.recipe(**{**LONG, "more": LONG["more"]
                       + '  stop = function(run) if run.epoch >= 20 then return "enough" end end,\n'
                       + f"  {interrupted}\n"})
        self.train("--out", "run", code=1)
        self.recipe("mended.lua", **{**LONG, "more": LONG["more"]
                                     + '  stop = function(run) if run.epoch >= 20 then return "enough" end end,\n'})
        self.run_program("resume", "run", "--recipe", "mended.lua")
        resumed = self.summary(self.folder / "run")
        self.assertTrue(resumed["resumed"])
        self.assertEqual(resumed["forecast"], whole["forecast"])

    def test_a_fit_stops_when_too_little_is_forecast(self):
        self.recipe(epochs="400", optim="lab.optim.SGD { lr = 0.5 }", model="nn.Linear(3)",
                    more="  stop = lab.stop.forecast { worth = 0.5 },\n")
        self.train("--out", "run")
        summary = self.summary(self.folder / "run")
        self.assertEqual(summary["status"], "stopped")
        self.assertIn("val.loss is forecast to improve by at most", summary["reason"])
        self.assertEqual(summary["steps"] % 4, 0)
        self.recipe("wrong.lua", more="  stop = lab.stop.forecast { worth = 0.1, metric = \"val.los\" },\n")
        self.assert_said(self.run_program("check", "wrong.lua", code=1), "wrong.lua:10", "forecast.metric",
                         "did you mean")

    def test_a_rate_is_scaled(self):
        self.write("s.lua", 'print(lab.scale_lr(0.1, { from = 64, to = 256, optim = "SGD" }))\n'
                            'print(lab.scale_lr(0.1, { from = 256, to = 64, optim = lab.optim.AdamW {} }))\n'
                            'lab.scale_lr(0.1, { from = 1, to = 2, optim = "Prodigy" })\n')
        self.assert_said(self.run_program("s.lua", code=1), "0.2\t5%", "0.070710678118655\t0%", "s.lua:3",
                         "lab.scale_lr.optim", "found optim.Prodigy")


if __name__ == "__main__":
    unittest.main()
