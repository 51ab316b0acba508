"""Training again each day: lab.latest, runs/NAME/latest, lab.warm_start and the option promote."""

import json
import os
import shutil
import signal
import unittest

from browser import NODE, shown_by_scripts
from comparing import PAUSE, RECIPE, TARGET
from program import SOURCE, CliTest, fit, small_sweep

DAILY = SOURCE / "recipes" / "daily.lua"
DAY = SOURCE / "recipes" / "day.lua"


class Retraining(CliTest):
    def summary(self, *arguments, **options):
        return self.run_program(*arguments, "--json", "--quiet", **options).json()

    def first_loss(self, name, number):
        rows = (self.folder / "runs" / name / number / "metrics.jsonl").read_text().splitlines()
        return json.loads(rows[0])["val.loss"]

    def served(self, name):
        return (self.folder / "runs" / name / "current").readlink().name

    def test_a_week_of_the_recipe(self):
        for day in (1, 2, 3):
            summary = self.summary(DAILY, "--day", day, "--set", "epochs=12")
            self.assertTrue(summary["promotion"]["promoted"] or day > 1, summary["promotion"])
            self.assertEqual(summary["promotion"]["metric"], "test.accuracy")
        # The second day begins where the first has ended, not with a loss of ln 10.
        self.assertLess(self.first_loss("daily", "002"), 0.9)
        self.assertIn(self.served("daily"), ("001", "002", "003"))
        fresh = self.summary(DAILY, "--day", 2, "--begin", "fresh", "--set", "epochs=1")
        self.assertEqual(fresh["status"], "done")
        self.assertGreater(self.first_loss("daily", "004"), self.first_loss("daily", "002"))

    def test_a_day_of_the_recipe(self):
        """A comparison at equal time, new data with old, a budget and a promotion."""
        short = ("--trial", "0.2 s", "--set", "epochs=3")
        first = self.summary(DAY, "--day", 1, *short)
        self.assertEqual((first["promotion"]["promoted"], first["budget"]["seconds"]), (True, 600))
        second = self.summary(DAY, "--day", 2, *short)
        self.assertEqual(second["promotion"]["rival"]["run"], str(self.folder / "runs/day/001"))
        self.assertGreater(second["samples"], first["samples"])  # an epoch has yesterday's, too
        losses = {}
        for name in ("warm", "fresh"):
            stage = self.folder / "runs/day/002/stages" / name
            losses[name] = json.loads((stage / "summary.json").read_text())["mean_member"]["val.loss"]
            for trial in ("0000", "0001", "0002"):
                summary = json.loads((stage / f"trials/{trial}/seed-1/summary.json").read_text())
                self.assertEqual(summary["reason"], "its own time is used")
        log = (self.folder / "runs/day/002/log.txt").read_text()
        self.assertIn("val.loss after 0.2 s: {warm:.4f} from the newest model's weights, {fresh:.4f} from fresh ones"
                      .format(**losses), log)
        # Today's model begins with the better one: its first epoch ends at 0.42 then, and with fresh weights at 0.60.
        self.assertEqual(losses["warm"] < losses["fresh"], self.first_loss("day", "002") < 0.5, losses)

    def test_latest_is_the_newest_run_that_has_ended(self):
        self.write("f.lua", fit())
        self.write("l.lua", 'print(lab.latest "f")')
        self.assertIn("nil", self.run_program("l.lua").err)
        self.run_program("f.lua")
        self.run_program("f.lua")
        shutil.copytree(self.folder / "runs" / "f" / "002", self.folder / "runs" / "f" / "003")
        (self.folder / "runs" / "f" / "003" / "summary.json").write_text('{"status": "failed"}')
        self.assertIn("runs/f/002", self.run_program("l.lua").err)
        self.assertIn("runs/f/002", self.run_program("report", "runs/f/latest").out)
        self.write("w.lua", fit(more='  init = lab.warm_start { from = "runs/f/latest" },\n'))
        self.run_program("w.lua", "--out", "w")
        manifest = (self.folder / "w" / "manifest.toml").read_text()
        self.assertRegex(manifest, r"runs/f' = '.*runs/f/002'")

    def test_the_recipe_of_the_newest_run_is_run_again(self):
        (self.folder / "elsewhere").mkdir()
        self.write("elsewhere/f.lua", 'local width = lab.param { "width", 3 }\n' + fit(model="lab.nn.Linear(width)"))
        self.assert_message(self.run_program("run", "--latest", "f", code=2),
                            f"trainlab: --latest f: no run in {self.folder / 'runs/f'} has ended")
        self.run_program("elsewhere/f.lua")
        summary = self.summary("run", "--latest", "f", "--width", "3", "--set", "epochs=2")
        self.assertEqual((summary["out"], summary["status"]), (str(self.folder / "runs/f/002"), "done"))
        self.assertIn("width", self.run_program("run", "--latest=f", "--help").out)
        self.assert_message(self.run_program("run", "elsewhere/f.lua", "--latest", "f", code=2),
                            'trainlab: --latest stands in place of one recipe, found "elsewhere/f.lua" '
                            "beside it")
        shutil.rmtree(self.folder / "elsewhere")
        self.assert_said(self.run_program("run", "--latest", "f", code=2), "--latest f: the recipe of",
                         "runs/f/002 is gone: ", "hint: the run has a copy: ")

    def test_a_resumed_run_gets_the_answer_with_which_it_began(self):
        self.write("r.lua", 'local before = lab.latest "f"\nprint("before", before)\n'
                            f'lab.run(lab.fit {{ name = "a", {self.options()} }})\n'
                            'error("stop here")')
        self.run_program("r.lua", "--out", "r", code=1)
        self.write("f.lua", fit())
        self.run_program("f.lua")
        said = self.run_program("resume", "r", code=1).err
        self.assertRegex(said, r"before\s+nil")
        self.assertIn("before", said)

    def test_all_pairs_of_a_comparison_begin_with_one_run(self):
        """Also when another run of the name ends while they are trained."""
        self.write("f.lua", RECIPE)
        self.run_program("f.lua", "--set", "epochs=1")
        self.write("w.lua", RECIPE.replace("  metrics = {", '  init = lab.warm_start { from = "runs/f/latest" },\n'
                                                            "  metrics = {"))
        line = ("compare", "w.lua", *TARGET, "--b", PAUSE, "--seeds", "3", "--threads", "1")
        folder = self.folder / "runs/compare/w/001"
        running = self.start(*line)
        running.until_rows(folder / "b-002", 2)
        running.send(signal.SIGINT)
        self.end(running, 130)
        self.run_program("f.lua", "--set", "epochs=1", "--seed", "2")
        self.run_program(*line)
        for seed in (1, 2, 3):
            for side in "ab":
                manifest = (folder / f"{side}-{seed:03d}/manifest.toml").read_text()
                self.assertRegex(manifest, r"runs/f' = '.*runs/f/001'")
            self.assert_same_end(folder / f"a-{seed:03d}", folder / f"b-{seed:03d}")

    @staticmethod
    def options():
        return ("data = lab.data.blobs { samples = 60 }:split { train = 0.5, val = 0.5 }, model = lab.nn.Linear(3), "
                "loss = \"cross_entropy\", optim = lab.optim.SGD { lr = 0.1 }, epochs = 1")

    def test_the_optimizer_goes_on(self):
        """Momentum that goes on changes the first step; another optimizer's state is refused with its option."""
        self.write("f.lua", fit())
        self.run_program("f.lua")
        more = '  init = lab.warm_start { from = "runs/f/001", optimizer = %s },\n'
        losses = []
        for value in ("true", "false"):
            self.write(f"{value}.lua", fit(epochs=1, more=more % value))
            self.run_program(f"{value}.lua", "--out", value)
            losses.append(json.loads((self.folder / value / "summary.json").read_text())["metrics"]["train.loss"])
        self.assertNotEqual(*losses)
        self.write("other.lua", fit(optim="lab.optim.SGD { lr = 0.1, momentum = 0.9 }", more=more % "true"))
        self.assert_said(self.run_program("other.lua", code=1), "init.optimizer: the earlier run's state")
        mixed = '  init = lab.warm_start { from = "runs/f/001", optimizer = true, shrink = 0.5 },\n'
        self.write("mixed.lua", fit(more=mixed))
        self.assert_said(self.run_program("mixed.lua", code=1), "init.optimizer: the state belongs to weights as they")

    def test_promotion_compares_on_the_same_data(self):
        """The served model is measured on today's data: equal models tie, though the first day's data were others."""
        more = '  promote = { metric = "val.loss", not_worse_than = "current" },\n'
        normalised = "lab.data.blobs { samples = 120, seed = %d }:split { train = 0.5, val = 0.5 }:normalize()"
        self.write("f.lua", fit(data=normalised % 1, more=more))
        first = self.summary("f.lua")["promotion"]
        self.assertTrue(first["promoted"])
        self.assertEqual(self.served("f"), "001")
        again = self.summary("f.lua")["promotion"]
        self.assertEqual(again["rival"]["value"], again["value"])
        self.assertEqual(self.served("f"), "002")
        worse = self.summary("f.lua", "--set", "epochs=1", "--set", "optim.lr=1e-6")["promotion"]
        self.assertFalse(worse["promoted"])
        self.assertLess(worse["rival"]["value"], worse["value"])
        self.assertEqual(self.served("f"), "002")
        within = ("--set", "epochs=1", "--set", "optim.lr=1e-6", "--set", "promote.by=100")
        self.assertTrue(self.summary("f.lua", *within)["promotion"]["promoted"])
        self.assertEqual(self.served("f"), "004")

    def test_a_model_without_a_value_on_the_new_data_is_replaced(self):
        """The second day's inputs have the other sign, and the first day's model gives outputs without a logarithm."""
        self.write("f.lua", """local sign = lab.param { "sign", 1 }
return lab.fit {
  name = "f", model = lab.nn.Linear(1, { bias = false }), loss = "mse", optim = lab.optim.SGD { lr = 0.5 },
  data = lab.data.tensors(function() return lab.tensor.ones { 40, 1 } * sign, lab.tensor.ones { 40, 1 } end)
    :split { train = 0.5, val = 0.5 },
  metrics = { { name = "log", goal = "max", update = function(out) return math.log(out:mean():item()) end } },
  keep = "last", epochs = 20, promote = { metric = "val.log" },
}
""")
        self.assertTrue(self.summary("f.lua")["promotion"]["promoted"])
        second = self.summary("f.lua", "--sign", "-1")["promotion"]
        self.assertIsNone(second["rival"]["value"])
        self.assertIn("nan of ", second["reason"])
        self.assertTrue(second["promoted"])
        self.assertEqual(self.served("f"), "002")

    def test_promotion_by_the_test_part(self):
        data = "lab.data.blobs { samples = 120 }:split { train = 0.5, val = 0.25, test = 0.25 }"
        self.write("f.lua", fit(data=data, more='  promote = { metric = "test.loss" },\n'))
        for number in ("001", "002"):
            summary = self.summary("f.lua")
            self.assertEqual(summary["promotion"]["value"], summary["metrics"]["test.loss"])
            self.assertEqual(self.served("f"), number)
        self.assertEqual(summary["promotion"]["rival"]["value"], summary["promotion"]["value"])
        if NODE:
            self.run_program("report", "runs/f/002", "--html", "p.html")
            self.assertIn("Promoted: " + summary["promotion"]["reason"],
                          shown_by_scripts(self, self.folder / "p.html")["texts"])

    def test_a_run_that_fails_after_its_training_is_not_served(self):
        self.write("f.lua", fit(more='  promote = {}, on = { finish = function() error("x") end },\n'))
        self.run_program("f.lua", code=1)
        self.assertFalse((self.folder / "runs/f/current").is_symlink())
        self.write("g.lua", f'lab.run(lab.fit {{ name = "a", promote = {{}}, {self.options()} }})\nif IS_WRONG then '
                            'error("x") end\nreturn lab.task { name = "b", run = function() error("x") end }')
        self.run_program("g.lua", code=1)
        self.assertFalse((self.folder / "runs/g/current").is_symlink())
        # The stage that was trained is served when the rest of the recipe has succeeded, too.
        self.write("mended.lua", f'lab.run(lab.fit {{ name = "a", promote = {{}}, {self.options()} }})\n'
                                 'return lab.task { name = "b", run = function() end }')
        said = self.run_program("resume", "runs/g/001", "--recipe", "mended.lua").err
        self.assertIn("promoted: ", said)
        self.assertEqual(self.served("g"), "001")
        # The next run is compared with the same stage, and not with the task that the recipe returns.
        again = self.run_program("mended.lua", "--out", "runs/g/002")
        self.assertIn("promoted: ", again.err)
        self.assertIn("on the same data", again.err)
        self.assertEqual(self.served("g"), "002")

    def test_a_run_that_was_killed_before_its_link_moved_is_served_when_it_is_resumed(self):
        self.write("f.lua", fit(more="  promote = {},\n"))
        for _ in range(2):
            self.assertTrue(self.summary("f.lua")["promotion"]["promoted"])
        link, stages = self.folder / "runs/f/current", self.folder / "runs/f/002/stages.json"

        def kill_before_it_moved():
            published = json.loads(stages.read_text())
            del published[0]["published"]
            stages.write_text(json.dumps(published))
            link.unlink()
            link.symlink_to("001")

        kill_before_it_moved()
        result = self.run_program("resume", "runs/f/002", "--json")
        self.assertEqual((result.json()["status"], self.served("f")), ("done", "002"), result)
        self.assertIn("promoted: ", result.err)
        # Once it has moved, who goes back by hand stays where he is.
        link.unlink()
        link.symlink_to("001")
        self.assertNotIn("promoted: ", self.run_program("resume", "runs/f/002").err)
        self.assertEqual(self.served("f"), "001")
        # So does who has gone elsewhere since the models were compared.
        kill_before_it_moved()
        link.unlink()
        link.symlink_to("000")
        self.assertIn("moved to 000", self.run_program("resume", "runs/f/002").err)
        self.assertEqual(self.served("f"), "000")

    def test_a_served_run_that_goes_on_is_compared_with_the_run_before_it(self):
        """Its own model is no rival: where the training makes it worse, the former run is served again."""
        more = ('  promote = {}, keep = "last", on = { step = function(run) if run.step > 3 then run:set_lr(1e-9 + '
                'RATE) end end },\n')
        self.write("f.lua", 'local RATE = lab.param { "rate", 0 }\n' + fit(epochs=1, more=more))
        self.run_program("f.lua", "--rate", "300")
        again = self.summary("f.lua", "--rate", "300")
        self.assertTrue(again["promotion"]["promoted"], again["promotion"])
        self.assertEqual(self.served("f"), "002")
        longer = self.summary("extend", "runs/f/002", "--epochs", "6")["promotion"]
        self.assertFalse(longer["promoted"], longer)
        self.assertEqual(longer["rival"]["run"], str(self.folder / "runs/f/001"))
        self.assertEqual(self.served("f"), "001")

    def test_a_served_run_that_is_killed_while_it_goes_on_keeps_its_rival(self):
        """The supervisor that writes the summary of a killed engine knows nothing of promotions."""
        more = ('  promote = {}, keep = "last", checkpoint = "1 epochs",\n'
                "  on = { step = function(run) if run.step > 3 then run:set_lr(50) end end,\n"
                "         validate = function() for i = 1, 1000000 do end end },\n")
        self.write("f.lua", fit(epochs=1, more=more))
        for _ in range(2):
            self.run_program("f.lua")
        self.assertEqual(self.served("f"), "002")
        running = self.start("extend", "runs/f/002", "--epochs", "100")
        running.until_rows(self.folder / "runs/f/002", 5)
        os.kill(running.engine(), signal.SIGKILL)
        self.end(running, 3)
        promotion = self.summary("resume", "runs/f/002")["promotion"]
        self.assertFalse(promotion["promoted"], promotion)
        self.assertEqual(promotion["rival"]["run"], str(self.folder / "runs/f/001"))
        self.assertEqual(self.served("f"), "001")

    def test_who_was_served_by_hand_stays_where_a_later_stage_goes_on(self):
        """The stage that was promoted is not trained again, and nothing was compared anew."""
        self.write("f.lua", f'lab.run(lab.fit {{ name = "a", promote = {{}}, {self.options()} }})\n' + small_sweep(1))
        for number in ("001", "002"):
            self.assertIn("promoted: ", self.run_program("f.lua").err)
            self.assertEqual(self.served("f"), number)
        link = self.folder / "runs/f/current"
        link.unlink()
        link.symlink_to("001")
        said = self.run_program("extend", "runs/f/002", "--trials", "4").err
        self.assertNotIn("promoted: ", said)
        self.assertEqual(self.served("f"), "001")

    def test_a_run_outside_the_runs_of_a_name_is_not_served(self):
        (self.folder / "current").write_text("mine")
        self.write("f.lua", fit(more="  promote = {},\n"))
        promotion = self.summary("f.lua", "--out", "m")["promotion"]
        self.assertFalse(promotion["promoted"])
        self.assertIn("has a folder of its own", promotion["reason"])
        self.assertEqual((self.folder / "current").read_text(), "mine")

    def test_not_worse_than_the_latest_where_there_is_none(self):
        self.write("f.lua", fit(more='  promote = { not_worse_than = "latest" },\n'))
        promotion = self.summary("f.lua")["promotion"]
        self.assertTrue(promotion["promoted"])
        self.assertIn(", and no other run has ended", promotion["reason"])
        more = '  promote = { metric = "val.metric_1" }, metrics = { function() return 1 end },\n'
        self.write("g.lua", fit(more=more))
        self.assert_said(self.run_program("check", "g.lua", code=1),
                         'promote.metric: the metric declares no better direction: "val.metric_1"')

    def test_bad_input(self):
        for more, said in (
            ('init = lab.warm_start { from = "runs/none/latest" },', "no run in"),
            ('init = lab.warm_start { from = "runs/none/001" },', "init.from: there is no folder"),
            ('init = lab.warm_start {},', "from: missing"),
            ('init = lab.warm_start { from = "x", shrink = 2 },', "shrink: expected a number in [0, 1]"),
            ('promote = { metric = "val.nothing" },', "promote.metric: "),
            ('promote = { metric = "train.loss" },', "promote.metric: expected a metric of the validation"),
            ('promote = { metric = "test.nothing" },', "promote.metric: there is no metric \"test.nothing\""),
            ('promote = { not_worse_than = "yesterday" },', "promote.not_worse_than: expected"),
        ):
            with self.subTest(more):
                self.write("b.lua", fit(more=f"  {more}\n"))
                self.assert_said(self.run_program("check", "b.lua", code=1), said)
                self.assertFalse((self.folder / "runs").exists())
        self.write("s.lua", 'return lab.sweep { name = "s", space = { lr = lab.space.log(1e-3, 1e-1) }, trials = 2, '
                            'metric = "val.loss", build = function(hp) return lab.fit { name = "t", promote = {}, '
                            + self.options() + " } end }")
        self.assert_said(self.run_program("s.lua", code=1), "promote: expected no such option in a fit")
        self.write("n.lua", 'print(lab.latest "a/b")')
        self.assert_said(self.run_program("n.lua", code=1), "latest.name: expected the name of runs")

    def test_something_else_named_current(self):
        self.write("runs/f/current/mine.txt", "x")
        self.write("f.lua", fit(more="  promote = {},\n"))
        self.assert_said(self.run_program("f.lua", code=3), "current: expected a link to the run that is served")
        self.assertFalse((self.folder / "runs/f/001/metrics.jsonl").exists(), "told before the training")
        self.assertTrue((self.folder / "runs/f/current/mine.txt").exists())


if __name__ == "__main__":
    unittest.main()
