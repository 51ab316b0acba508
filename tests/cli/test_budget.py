"""Budgets of time: recipes of several stages that end in time with a model, also when they are killed and resumed."""

import json
import signal
import unittest

from program import CliTest, fit, tensors

# Each of these would train for minutes.
MEMBER = """
local nn, data = lab.nn, lab.data.blobs { samples = 120 }:split { train = 0.5, val = 0.25, test = 0.25 }
local function build(hp)
  return lab.fit {
    name = "member", data = data, model = nn.Sequential { nn.Linear(8), nn.ReLU(), nn.Linear(3) },
    loss = "cross_entropy", metrics = { "accuracy" }, optim = lab.optim.SGD { lr = hp.lr }, batch = 16,
    epochs = 1000000, validate = "500 epochs", checkpoint = "500 epochs",
  }
end
"""
SEARCH = """
local found = lab.run(lab.sweep {
  name = "search", space = { lr = lab.space.log(1e-3, 1e-1) }, metric = "val.loss", trials = 100000, build = build,
})
"""


class Budget(CliTest):
    def check_budget(self, run, seconds):
        """Whether the end comes in time depends on the machine, which may be busy: tools/bench/deadlines.py asks that.
        Without its budget, each of these recipes would run for longer than a test may."""
        summary = self.summary(run)
        self.assertIn(summary["status"], ("done", "stopped"), summary)
        budget = summary["budget"]
        self.assertEqual(budget["seconds"], seconds)
        self.assertGreater(budget["used"], 0)
        return summary

    def test_one_stage(self):
        self.write("r.lua", MEMBER + "return build { lr = 0.1 }\n")
        result = self.train("--within", "5 s")
        run = self.run_folder()
        summary = self.check_budget(run, 5)
        self.assertEqual((summary["status"], summary["reason"]), ("stopped", "the time budget is used"))
        self.assertIn("of a budget of 5.0 s", result.out, result)
        self.assertIn("test.accuracy", summary["metrics"])
        self.assertTrue([path for path in (run / "checkpoints").glob("best-*.safetensors") if tensors(path)])

    def test_a_budget_is_no_length(self):
        self.recipe(epochs="nil")
        result = self.train("--within", "5 s", code=1)
        self.assert_said(result, "r.lua:2: epochs: expected a length, found none",
                         "--within and lab.budget bound a whole run, and are no length")

    def test_parts_that_take_longer_than_the_time(self):
        """A test part of ninety-six batches, whose loss takes some time, in a second."""
        loss = """function(out, batch)
    for i = 1, 20000000 do end
    return lab.ops.cross_entropy_loss(out, batch.y)
  end"""
        data = "lab.data.blobs { samples = 4000 }:split { train = 0.02, val = 0.02, test = 0.96, seed = 1 }"
        recipe = fit(data=data, batch=40, epochs=1000, more='  time = "0.5 s",\n')
        self.write("r.lua", recipe.replace('loss = "cross_entropy"', "loss = " + loss))
        result = self.train()
        self.assert_said(result, "warning: r.lua:2: validation, test part and checkpoint take about ")
        self.assert_said(result, "the end comes late")
        self.assertIn("test.loss", self.summary(self.run_folder())["metrics"])

    def test_two_stages(self):
        """A search, of which the first trial alone would take all, and an ensemble of fresh seeds."""
        self.write("r.lua", 'lab.budget { time = "8 s", reserve = "0.5 s" }\n' + MEMBER + SEARCH + """
return lab.ensemble { name = "final", params = found.best.params, seeds = 8, metric = "val.loss", build = build }
""")
        self.train()
        run = self.run_folder()
        summary = self.check_budget(run, 8)
        self.assertEqual(summary["kind"], "ensemble")
        self.assertEqual(summary["reason"], "the time budget is used")
        self.assertEqual(len(summary["members"]), 1)
        self.assertIn("val.loss", summary["ensemble"])
        search = self.summary(run / "stages/search")
        self.assertEqual(search["trials"]["complete"], 1)
        self.assertLess(search["budget"]["used"], summary["budget"]["used"])

    def test_three_stages(self):
        """Fits hand on what they do not need."""
        self.write("r.lua", fit(epochs=2).replace("return ", "lab.run(").rstrip() + ")\n" + MEMBER + """
lab.run(lab.task { name = "loop", run = function(ctx)
  local x = lab.tensor.randn({ 4 }, { seed = ctx.seed })
  for step in ctx:steps(1000000000, { save = x }) do ctx:log("x", x:sum()) end
  ctx:save("x", x)
end })
return build { lr = 0.1 }
""")
        self.train("--within", "8 s")
        run = self.run_folder()
        self.check_budget(run, 8)
        self.assertEqual(self.summary(run / "stages/f")["status"], "done")
        task = self.summary(run / "stages/loop")
        self.assertEqual((task["status"], task["reason"]), ("stopped", "the time budget is used"))
        self.assertTrue((run / "stages/loop/checkpoints/x.safetensors").exists())

    def test_killed_and_resumed(self):
        self.write("r.lua", MEMBER + "return build { lr = 0.1 }\n")
        running = self.start("r.lua", "--threads", "1", "--within", "8 s", "--out", "cut")
        running.until_rows(self.folder / "cut", 2)
        running.send(signal.SIGKILL)
        running.end()
        running = self.start("resume", "cut")
        running.until_said("epoch")
        running.send(signal.SIGTERM)
        self.end(running, 143)
        used = self.summary(self.folder / "cut")["budget"]["used"]
        result = self.run_program("resume", "cut", "--json", "--quiet")
        summary = self.check_budget(self.folder / "cut", 8)
        self.assertEqual(result.json()["budget"], summary["budget"])
        self.assertGreater(summary["budget"]["used"], used)
        self.assertEqual(len(summary["resumed"]), 2)

    def test_time_counts_whatever_the_run_does(self):
        """A function of the recipe that calls nothing is killed: the time that it took is known."""
        self.write("r.lua", 'lab.budget { time = "100 s" }\n'
                            'return lab.task { name = "t", run = function(ctx) print("begun") '
                            'for k = 1, 1000 do ctx:log("k", k) for i = 1, 400000000 do end end end }\n')
        run = self.start("r.lua")
        run.until_said("begun")
        path = self.run_folder() / "budget.json"
        first = json.loads(path.read_text())["used"]
        run.until(lambda: json.loads(path.read_text())["used"] > first + 1, "the time was saved")
        run.kill()
        self.assertGreater(json.loads(path.read_text())["used"], first + 1)

    def test_longer_budget(self):
        """A run that is resumed with another budget: what it has used counts."""
        self.write("r.lua", MEMBER + "return build { lr = 0.1 }\n")
        running = self.start("r.lua", "--threads", "1", "--within", "1 h", "--out", "cut")
        running.until_rows(self.folder / "cut", 1)
        running.send(signal.SIGTERM)
        self.end(running, 143)
        result = self.run_program("resume", "cut", "--within", "5 s")
        self.assert_said(result, "not byte-exact: within: recorded 1 h, now 5 s")
        self.check_budget(self.folder / "cut", 5)

    def test_a_larger_budget_goes_on(self):
        """The end by the budget is a pause, which `resume` with a larger budget ends; with the same one it tells so."""
        self.write("r.lua", MEMBER + "return build { lr = 0.1 }\n")
        self.train("--within", "3 s", "--out", "run")
        before = self.summary(self.folder / "run")
        self.assertEqual(before["status"], "stopped")
        result = self.run_program("resume", "run", "--json")
        self.assertEqual(result.json()["steps"], before["steps"])
        self.assert_said(result, "trainlab: the budget of 3 s is used; to go on with stage member in a larger one: "
                                 "trainlab resume run --within TIME")
        for within in ("3 s", "2 s"):
            self.assert_message(self.run_program("resume", "run", "--within", within, code=2),
                                f"trainlab: --within: expected more than the 3 s of the run, found {within}")
        # More than before, but not more than was used and is reserve.
        self.assert_said(self.run_program("resume", "run", "--within", "3.01 s", code=2),
                         "nothing is left for stage member")
        self.assertEqual(self.summary(self.folder / "run"), before)
        self.assertEqual(self.run_program("resume", "run", "--json").json()["steps"], before["steps"])
        after = self.run_program("resume", "run", "--within", "6 s", "--json", "--quiet").json()
        self.check_budget(self.folder / "run", 6)
        self.assertEqual((after["status"], after["reason"]), ("stopped", "the time budget is used"))
        self.assertEqual(after["resumed"], [before["steps"]])
        self.assertGreater(after["steps"], before["steps"])
        # The same command may be given again as it is, with the recipe instead of `resume` too.
        self.assert_said(self.run_program("resume", "run"), "the budget of 6 s is used")
        again = self.run_program("r.lua", "--threads", "1", "--within", "8 s", "--out", "run", "--json", "--quiet")
        self.assertGreater(again.json()["steps"], after["steps"])

    def test_a_run_goes_on_beyond_the_budget_of_its_recipe(self):
        self.write("r.lua", 'lab.budget { time = "6 s" }\n' + MEMBER + "return build { lr = 0.1 }\n")
        self.train("--out", "run")
        result = self.run_program("resume", "run", "--within", "12 s")
        self.assert_said(result, "not byte-exact: within: recorded none, now 12 s")

    def test_a_run_that_goes_on_is_killed(self):
        """A process that has begun to go on and was killed has not finished the run."""
        self.write("r.lua", MEMBER + "return build { lr = 0.1 }\n")
        self.train("--within", "2 s", "--out", "run")
        before = self.summary(self.folder / "run")
        running = self.start("resume", "run", "--within", "1 h")
        running.until_said("epoch")
        running.send(signal.SIGKILL)
        running.end()
        result = self.run_program("resume", "run", "--within", "6 s", "--json", "--quiet").json()
        self.assertGreater(result["steps"], before["steps"])

    def test_a_recipe_of_two_stages_goes_on(self):
        """The last stage goes on; the stage from whose result the last one began keeps this result."""
        self.write("r.lua", MEMBER.replace("epochs = 1000000", "epochs = 100") + SEARCH + """
return lab.ensemble { name = "final", params = found.best.params, seeds = 100000, stack = false, metric = "val.loss",
                      build = build }
""")
        self.train("--within", "5 s", "--out", "run")
        before, search = self.summary(self.folder / "run"), self.summary(self.folder / "run/stages/search")
        self.assertEqual((before["status"], search["status"]), ("stopped", "stopped"))
        after = self.run_program("resume", "run", "--within", "8 s", "--json", "--quiet").json()
        self.assertGreater(len(after["members"]), len(before["members"]))
        self.assertEqual(self.summary(self.folder / "run/stages/search"), search)

    def test_a_sweep_goes_on(self):
        self.write("r.lua", MEMBER.replace("epochs = 1000000", "epochs = 100") + SEARCH + "return nil\n")
        self.train("--within", "3 s", "--out", "run", "--workers", "2")
        before = self.summary(self.folder / "run")
        after = self.run_program("resume", "run", "--within", "8 s", "--json", "--quiet", "--workers", "2").json()
        self.assertEqual(after["reason"], "the time budget is used")
        self.assertGreater(after["trials"]["complete"], before["trials"]["complete"])

    def test_what_the_budget_has_not_ended_stays(self):
        self.recipe(epochs=1)
        self.train("--within", "1 h", "--out", "run")
        self.assert_message(self.run_program("resume", "run", "--within", "2 h", code=2),
                            f"trainlab: --within: the run in {self.folder / 'run'} is finished")
        self.recipe(epochs='nil, time = "0.5 s"')
        self.train("--within", "1 h", "--out", "own")
        self.assert_message(self.run_program("resume", "own", "--within", "2 h", code=2),
                            f"trainlab: --within: the run in {self.folder / 'own'} is finished")

    def test_sweep_begins_no_trial_too_late(self):
        """Trials of known length: each that has begun is whole, also with several processes."""
        self.write("r.lua", MEMBER.replace("epochs = 1000000", "epochs = 2000") + SEARCH + "return nil\n")
        self.train("--within", "8 s", "--workers", "2")
        summary = self.check_budget(self.run_folder(), 8)
        self.assertEqual((summary["kind"], summary["reason"]), ("sweep", "the time budget is used"))
        self.assertGreaterEqual(summary["trials"]["complete"], 1)

    def test_ensemble_with_time(self):
        self.write("r.lua", MEMBER.replace("epochs = 1000000", "epochs = 2000") + """
return lab.ensemble { name = "final", params = { lr = 0.1 }, seeds = 10000, time = "2 s", metric = "val.loss",
                      build = build }
""")
        self.train()
        summary = self.summary(self.run_folder())
        self.assertEqual((summary["status"], summary["reason"]), ("stopped", "its own time is used"))
        self.assertGreaterEqual(len(summary["members"]), 1)
        self.assertLess(len(summary["members"]), 10000)
        self.assertNotIn("budget", summary)

    def test_an_ensemble_is_given_more_time(self):
        self.write("r.lua", MEMBER.replace("epochs = 1000000", "epochs = 2000") + """
return lab.ensemble { name = "final", params = { lr = 0.1 }, seeds = 4, stack = false, time = TIME, metric = "val.loss",
                      build = build }
""".replace("TIME", '"0.2 s"'))
        self.train()
        run = self.run_folder()
        before = self.summary(run)
        self.assertEqual((before["status"], len(before["members"])), ("stopped", 1))
        for flags, message in ((("--trials", 9), "the last stage is an ensemble, which can only be given more time"),
                               (("--epochs", 9), "the last stage is an ensemble, which can only be given more time")):
            self.assert_message(self.run_program("extend", run, *flags, code=2), "trainlab: " + message)
        self.assertEqual(self.summary(run), before)
        after = self.run_program("extend", run, "--time", "1 h", "--json").json()
        self.assertEqual((after["status"], len(after["members"])), ("done", 4))
        self.assertIn(before["members"][0]["metrics"], [member["metrics"] for member in after["members"]])
        # The longer ensemble is the one that had the time from the beginning.
        self.write("r.lua", (self.folder / "r.lua").read_text().replace("0.2 s", "1 h"))
        self.train("--out", "whole")
        self.assertEqual(self.summary(self.folder / "whole")["members"], after["members"])
        self.assert_message(self.run_program("extend", run, "--time", "2 s", code=2),
                            "trainlab: expected a total of more than the 1 h of the run, found 2 s")
        self.write("n.lua", (self.folder / "r.lua").read_text().replace(' time = "1 h",', ""))
        self.run_program("n.lua", "--out", "none", "--quiet")
        self.assert_message(self.run_program("extend", "none", "--time", "1 h", code=2),
                            "trainlab: expected a stage with a budget of time, found a lab.ensemble without")

    def refused(self, text, *arguments, code):
        self.write("r.lua", text)
        result = self.train(*arguments, code=code)
        self.assertFalse((self.folder / "runs").exists(), result)
        return result

    def test_budgets_that_do_not_fit(self):
        for within, message in (("0.2 s", "expected a budget of more than its reserve of 0.4 s, found 0.2 s"),
                                ("0 s", "trainlab: --within: expected more than 0 s, found 0 s"),
                                ("5 epochs", 'trainlab: --within: expected a time with its unit, as "90 s", "90 min" '
                                             'or "3 h", found "5 epochs"')):
            self.assertIn(message, self.refused(fit(), "--within", within, code=2).err)
        result = self.refused('lab.budget { time = "1 h", reserve = "59.9999999 min" }\n' + fit(), code=2)
        self.assertIn("nothing is left for the first stage", result.err, result)

    def test_wrong_budgets(self):
        for budget, message in (('{ time = "5 epochs" }', "r.lua:1: lab.budget.time: expected a time such as "
                                                          '"10 min" or "18 h", found "5 epochs"'),
                                ("{}", "r.lua:1: lab.budget: expected a time, money or flops, found none"),
                                ('{ time = "0.2 s" }', "r.lua:1: lab.budget: expected a budget of more than its "
                                                       "reserve of 0.4 s, found 0.2 s"),
                                ('{ time = "1 h", reserve = "2 h" }', "r.lua:1: lab.budget: expected a budget of more "
                                                                      "than its reserve of 2 h, found 1 h"),
                                ("{ time = 5 }", "r.lua:1: lab.budget.time: expected"),
                                ('{ time = "1 h" }; lab.budget { time = "1 h" }',
                                 "r.lua:1: lab.budget: expected one budget of the whole recipe, found a second"),
                                ('{ hours = 5 }', "lab.budget: budget has no option 'hours'")):
            result = self.refused(f"lab.budget {budget}\n" + fit(), code=1)
            self.assertIn(message, result.err, result)
        late = fit().replace("return ", "lab.run(").rstrip() + ')\nlab.budget { time = "1 h" }\n'
        self.write("late.lua", late)
        result = self.train(recipe="late.lua", code=1)
        self.assertIn("lab.budget after a stage has run", result.err, result)


if __name__ == "__main__":
    unittest.main()
