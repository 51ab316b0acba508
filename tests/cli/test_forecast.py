"""The forecast of a fit: in the summary, in the report, in a resumed run, and as a stop rule."""

import shutil
import unittest

from program import CliTest, fit

LONG = {"epochs": "40", "more": '  seed = 3, keep = "last", checkpoint = "1 epochs",\n'}


class Forecast(CliTest):
    def test_a_fit_that_reached_its_length_has_its_own_value(self):
        self.recipe(**LONG)
        self.train()
        summary = self.summary(self.run_folder())
        forecast = summary["forecast"]
        self.assertEqual(set(forecast), {"metric", "value", "low", "high", "at", "at_is_estimate", "rate_falls",
                                         "references", "of_other_data"})
        self.assertFalse(forecast["at_is_estimate"])
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

    def ended_by_budget(self, out, *arguments, flops):
        """The forecast of a run of r.lua that a budget of FLOPs ends, which leaves the fit the same."""
        recipe = (self.folder / "r.lua").read_text()
        self.write("r.lua", f"lab.budget {{ flops = {flops} }} " + recipe)
        self.train("--out", out, *arguments)
        self.write("r.lua", recipe)
        self.assertEqual(self.summary(self.folder / out)["reason"], "the budget of FLOPs is used")
        self.assertFalse((self.folder / out / "curve.json").exists())  # it has not reached its length
        return self.summary(self.folder / out)["forecast"]

    def test_finished_runs_of_the_same_recipe_tell_where_a_fit_goes(self):
        """Whatever their seeds; not a run of another rate, and no file that is damaged."""
        self.recipe(epochs="40", more='  keep = "last",\n')
        for seed in (1, 2, 3):
            self.train("--seed", seed, "--out", f"runs/r/{seed:03}")
        half = self.summary(self.run_folder())["flops"] / 2
        self.train("--seed", "4", "--set", "optim.lr=0.03", "--out", "runs/r/004")
        (self.folder / "runs/r/003/curve.json").write_text("{")
        forecast = self.ended_by_budget("runs/r/005", "--seed", "99", flops=half)
        self.assertEqual((forecast["references"], forecast["rate_falls"]), (2, False))
        self.assertLess(forecast["low"], forecast["value"])
        self.assertIn(", from 2 finished runs", self.run_program("report", "runs/r/005").out)
        self.assertEqual(self.ended_by_budget("alone/r/001", "--seed", "99", flops=half)["references"], 0)

    def test_runs_that_begin_from_other_runs_are_the_same_recipe(self):
        """A training that begins each day where that of the day before ended is told by those before it."""
        self.recipe(epochs="1")
        self.train("--out", "runs/a/001")
        self.recipe(epochs="40", more='  init = lab.warm_start { from = before }, keep = "last",\n')
        parameter = 'local before = lab.param { "before", type = "path" } '
        self.write("r.lua", parameter + (self.folder / "r.lua").read_text())
        for number, (before, seed) in enumerate((("a/001", 1), ("b/001", 2)), 1):
            self.train("--before", f"runs/{before}", "--seed", seed, "--out", f"runs/b/{number:03}")
        half = self.summary(self.folder / "runs/b/001")["flops"] / 2
        forecast = self.ended_by_budget("runs/b/003", "--before", "runs/b/002", "--seed", "99", flops=half)
        self.assertEqual(forecast["references"], 2)

    def test_runs_on_other_data_count_where_none_had_the_same(self):
        """From two on: one alone does not show how much other data change."""
        data = "lab.data.blobs { samples = samples }:split { train = 0.5, val = 0.25, test = 0.25 }"
        self.recipe(data=data, epochs="40", more='  keep = "last",\n')
        self.write("r.lua", 'local samples = lab.param { "samples", 120 } ' + (self.folder / "r.lua").read_text())
        for number, samples in enumerate((160, 180, 200, 400), 1):  # with 400, a fit has twice the steps
            self.train("--seed", number, "--samples", samples, "--out", f"runs/r/{number:03}")
        half = self.summary(self.run_folder(3))["flops"] / 2
        forecast = self.ended_by_budget("runs/r/005", "--samples", "220", flops=half)
        self.assertEqual((forecast["references"], forecast["of_other_data"]), (3, True))
        self.assertLess(forecast["low"], forecast["value"])
        self.assertIn(", from 3 finished runs on other data\n", self.run_program("report", "runs/r/005").out)
        forecast = self.ended_by_budget("runs/r/006", "--seed", "9", "--samples", "200", flops=half)
        self.assertEqual((forecast["references"], forecast["of_other_data"]), (1, False))
        for number in (2, 3):
            shutil.rmtree(self.run_folder(number))
        forecast = self.ended_by_budget("runs/r/007", "--samples", "220", flops=half)
        self.assertEqual((forecast["references"], forecast["of_other_data"]), (0, False))

    def test_the_newest_finished_runs_count(self):
        """Those with the highest numbers: 1000 is newer than 999. Runs with the same curve count once."""
        self.recipe(epochs="40", more='  keep = "last",\n')
        self.train("--seed", "1", "--out", "runs/r/1000")
        self.train("--seed", "2", "--out", "runs/r/999")
        for number in range(960, 999):
            (self.folder / f"runs/r/{number}").mkdir()
            shutil.copy(self.folder / "runs/r/999/curve.json", self.folder / f"runs/r/{number}")
        half = self.summary(self.folder / "runs/r/1000")["flops"] / 2
        self.assertEqual(self.ended_by_budget("runs/r/1001", "--seed", "99", flops=half)["references"], 2)

    def test_a_run_that_a_rule_has_ended_counts_while_a_fit_goes_on_as_long(self):
        """Runs that end after 10, 30 and 40 of 40 epochs, and one that is ended by a budget after 20."""
        rule = "stop = function(run) if run.epoch >= (({ 10, 30 })[lab.seed] or 99) then return 'enough' end end,"
        self.recipe(epochs="40", more=f'  keep = "last", {rule}\n')
        self.write("r.lua", 'local most = lab.param { "most", 1e18, type = "number" } lab.budget { flops = most } '
                   + (self.folder / "r.lua").read_text())
        for seed in (1, 2, 3):
            self.train("--seed", seed, "--out", f"runs/r/{seed:03}")
        self.assertEqual([self.summary(self.run_folder(number))["status"] for number in (1, 2, 3)],
                         ["stopped", "stopped", "done"])
        # What training on would bring after a rule's end, no run with the same rule shows.
        self.assertEqual(self.summary(self.run_folder(2))["forecast"]["references"], 0)
        half = self.summary(self.run_folder(3))["flops"] / 2
        self.train("--seed", "99", "--most", half, "--out", "runs/r/004")
        summary = self.summary(self.run_folder(4))
        self.assertEqual(summary["reason"], "the budget of FLOPs is used")
        self.assertEqual(summary["forecast"]["references"], 2)

    def test_a_curve_of_two_recipes_is_kept_as_that_of_none(self):
        """Of a fit that went back to a checkpoint with another rate, and of one whose recipe was mended on the way."""
        self.recipe(data="lab.data.digits():split { train = 0.6, val = 0.2, seed = 1 }", epochs="16", batch="50",
                    model="nn.Sequential { nn.Flatten(), nn.Linear(64), nn.ReLU(), nn.Linear(10) }",
                    optim="lab.optim.SGD { lr = 0.00005, momentum = 0.9 }",
                    more='  health = { action = "fix" }, checkpoint = "1 epochs",\n')
        self.train()
        summary = self.summary(self.run_folder())
        self.assertEqual(summary["status"], "done")
        self.assertGreater(summary["fixes"][-1]["from"], 0)
        self.assertFalse((self.run_folder() / "curve.json").exists())
        for name, call in (("wrong", "if run.step == 30 then error('oh') end"), ("mended", "run:log('more', 1)")):
            self.recipe(f"{name}.lua", epochs="12", more=f"  on = {{ step = function(run) {call} end }},\n")
        self.train("--out", "run", recipe="wrong.lua", code=1)
        self.run_program("resume", "run", "--recipe", "mended.lua")
        self.assertEqual(self.summary(self.folder / "run")["status"], "done")
        self.assertFalse((self.folder / "run/curve.json").exists())
        self.train("--out", "whole", recipe="mended.lua")
        self.assertTrue((self.folder / "whole/curve.json").exists())

    def test_the_length_of_a_fit_that_only_a_time_bounds_is_an_estimate(self):
        """Until the time is used: then the fit has reached its length."""
        # A fit without finished runs is forecast at most 20 times as far as it has come: this one ends by the clock, so
        # that it comes as far on a fast machine.
        rule = 'stop = function(run) if lab.seed == 2 and os.clock() > began + 1.5 then return "enough" end end,'
        recipe = "local began = os.clock()\n" + fit(more=f'  keep = "last", {rule}\n')
        self.write("r.lua", recipe.replace("epochs = 3", 'time = "1 s"'))
        self.train()
        summary = self.summary(self.run_folder())
        self.assertEqual(summary["reason"], "its own time is used")
        forecast = summary["forecast"]
        self.assertEqual((forecast["at"], forecast["at_is_estimate"]), (summary["steps"], False))
        self.assertEqual((forecast["value"], forecast["low"]), (summary["metrics"]["val.loss"],) * 2)
        self.write("r.lua", recipe.replace("epochs = 3", 'time = "10 s"'))
        self.train("--seed", "2")
        summary = self.summary(self.run_folder(2))
        self.assertEqual(summary["reason"], "enough")
        self.assertTrue(summary["forecast"]["at_is_estimate"])
        self.assertIn(f" by about step {summary['forecast']['at']}", self.run_program("report", self.run_folder(2)).out)

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
