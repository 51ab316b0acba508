"""Sweeps and ensembles of lab.task: loops by hand as trials, judged by what they log."""

import shutil
import signal
import unittest

from program import CliTest
from sweeping import infos, reports, trials, until_rows

TASKS = """local data = lab.data.sine { samples = 64, noise = 0.1, seed = 3 }:split { train = 0.5, val = 0.5 }
local function build(hp)
  return lab.task { name = "by_hand", run = function(ctx)
    %(before)s
    local model = lab.build(lab.nn.Sequential { lab.nn.Linear(8), lab.nn.Tanh(), lab.nn.Linear(1) },
                            { input = { 1 }, seed = ctx.seed })
    local opt = lab.optimizer(lab.optim.SGD { lr = hp.lr }, model:parameters())
    local options = { size = 16, epochs = %(epochs)s, save = { model, opt }, checkpoint = "1 steps" }
    for batch in ctx:batches(data.train, options) do
      local loss = lab.ops.mse_loss(model:forward(batch.x), batch.y)
      opt:zero_grad(); loss:backward(); opt:step()
      ctx:log("train.loss", loss)
      if (ctx.step + 1) %% 2 == 0 then
        %(slow)s
        local all = 0
        for part in data.val:batches(64) do all = lab.ops.mse_loss(model:forward(part.x), part.y):item() end
        ctx:log("%(logged)s", all)
      end
    end
    ctx:save("model", model)
  end }
end
return lab.%(stage)s { name = "s", metric = "%(metric)s", build = build, %(more)s }
"""
SWEEP = 'space = { lr = lab.space.log(1e-3, 0.5) }, trials = 8, sampler = lab.sampler.random(),'
DEFAULTS = {"before": "", "epochs": "3", "slow": "", "logged": "val.loss", "stage": "sweep", "metric": "val.loss",
            "more": SWEEP}
PRUNED = {"epochs": "6", "more": SWEEP.replace("trials = 8", "trials = 14") + ' seeds = 2, deterministic = true, '
                                         'pruner = lab.pruner.asha { min = 1, reduction = 2 },'}
SLOW = {"slow": "for i = 1, 1000000 do end"}


class Tasks(CliTest):
    def tasks(self, **options):
        self.write("r.lua", TASKS % {**DEFAULTS, **options})

    def timeless(self, run):
        return {key: value for key, value in self.summary(run).items()
                if key not in ("seconds", "resumed", "out", "speed")}

    def test_the_last_value_that_is_logged_counts(self):
        self.tasks()
        summary = self.run_program("r.lua", "--json").json()
        self.assertEqual((summary["status"], summary["goal"]), ("done", "min"))
        values = []
        for trial, row in enumerate(trials(self.run_folder())):
            folder = self.run_folder() / f"trials/{trial:04}/seed-1"
            task = self.summary(folder)
            self.assertEqual((task["kind"], task["name"], task["status"]), ("task", "by_hand", "done"))
            logged = [row["val.loss"] for row in self.rows(folder) if "val.loss" in row]
            self.assertEqual(len(logged), 3)
            self.assertEqual(task["metrics"]["val.loss"], logged[-1])
            self.assertEqual(float(row[3]), logged[-1])
            known = reports(self.run_folder())
            self.assertEqual([float(known[trial, 1, k]) for k in (1, 2, 3)], logged)
            values.append(logged[-1])
        self.assertEqual((summary["best"]["trial"], summary["best"]["value"]), (values.index(min(values)), min(values)))
        self.assertIn("best", self.run_program("report", self.run_folder()).out)
        self.assertIn("one task at a time", self.run_program("check", "r.lua").out)
        result = self.run_program("predict", self.run_folder(), "--input", "x.npy", code=2)
        self.assert_said(result, "there is no trained model in")

    def test_any_number_of_workers_gives_the_same_trials(self):
        self.tasks(**PRUNED)
        found = []
        for workers in (1, 3):
            self.run_program("r.lua", "--workers", workers, "--out", f"run-{workers}")
            run = self.folder / f"run-{workers}"
            found.append((trials(run), self.timeless(run)))
        self.assertEqual(found[0], found[1])
        pruned = [info for info in infos(self.folder / "run-1") if info.get("reason", "").startswith("pruned after")]
        self.assertGreater(len(pruned), 0)

    def test_a_pruned_task_ends_between_two_steps(self):
        self.tasks(before="ctx:log('begun', 1)", epochs="40",
                   more=SWEEP + "pruner = lab.pruner.threshold { upper = 0 },")
        self.run_program("r.lua", code=3)  # no trial is complete
        for trial, row in enumerate(trials(self.run_folder())):
            self.assertEqual(row[1], "pruned")
            folder = self.run_folder() / f"trials/{trial:04}/seed-1"
            summary = self.summary(folder)
            self.assertEqual((summary["status"], summary["steps"]), ("stopped", 2))
            self.assertTrue(summary["reason"].startswith("pruned after 1 validations"), summary)
            self.assertEqual(self.rows(folder)[-1]["val.loss"], float(row[3]))

    def test_no_pcall_holds_a_pruned_task_back(self):
        self.write("r.lua", """return lab.sweep { name = "s", metric = "reward", goal = "max", trials = 3,
  space = { a = lab.space.uniform(0, 1) }, pruner = lab.pruner.threshold { lower = 10 },
  build = function(hp)
    return lab.task { name = "t", run = function(ctx)
      local x = lab.tensor { 0 }
      pcall(function()
        for step in ctx:steps(5, { save = x }) do ctx:log("reward", step + hp.a) end
      end)
      ctx:log("reward", 20)
    end }
  end }
""")
        self.run_program("r.lua", code=3)
        self.assertEqual([row[1] for row in trials(self.run_folder())], ["pruned"] * 3)

    def test_interrupted_killed_and_resumed_it_ends_alike(self):
        self.tasks(**PRUNED, **SLOW)
        self.run_program("r.lua", "--out", "whole")
        running = self.start("r.lua", "--out", "cut", "--workers", "2")
        until_rows(running, self.folder / "cut", 1, 2)
        running.send(signal.SIGINT)
        self.end(running, 130)
        self.assertEqual(self.summary(self.folder / "cut")["status"], "interrupted")
        running = self.start("resume", "cut")
        until_rows(running, self.folder / "cut", 5, 1, repeat=1)
        running.process.kill()
        running.end()
        self.run_program("resume", "cut")
        whole, cut = self.folder / "whole", self.folder / "cut"
        self.assertEqual(trials(cut), trials(whole))
        self.assertEqual(reports(cut), reports(whole))
        self.assertEqual(self.timeless(cut), self.timeless(whole))
        compared = 0
        for trial in sorted((whole / "trials").iterdir()):
            for repeat in trial.iterdir():
                other = cut / repeat.relative_to(whole)
                self.assert_same_end(other, repeat)
                compared += 1
                model = repeat / "checkpoints/model.safetensors"
                if model.exists():
                    self.assertEqual(model.read_bytes(), (other / "checkpoints/model.safetensors").read_bytes())
        self.assertGreater(compared, 8)

    def test_a_task_that_is_wrong_fails_alone(self):
        cases = {
            "raises": ("if hp.trial == 2 then error('no luck') end", "no luck"),
            "logs nothing": ("if hp.trial == 2 then return ctx:log('other', 1) end",
                             'the task has not logged "val.loss", by which trials are compared; it has logged other'),
            "nan": ("if hp.trial == 2 then return ctx:log('val.loss', 0 / 0) end", "not a number"),
        }
        for name, (before, text) in cases.items():
            with self.subTest(name):
                self.tasks(before=before)
                shutil.rmtree(self.folder / "runs", ignore_errors=True)
                self.run_program("r.lua")
                rows = trials(self.run_folder())
                self.assertEqual([row[1] for row in rows], ["complete"] * 2 + ["failed"] + ["complete"] * 5)
                self.assertIn(text, infos(self.run_folder())[2]["reason"])

    def test_a_task_that_has_failed_is_over_for_the_trials_after_it(self):
        self.write("r.lua", """local kept
return lab.sweep { name = "s", metric = "reward", goal = "max", trials = 2, space = { a = lab.space.uniform(0, 1) },
  build = function(hp)
    return lab.task { name = "t", run = function(ctx)
      if hp.trial == 0 then
        kept = ctx
        error("no luck")
      end
      local ok, message = pcall(function() for step in kept:steps(3) do kept:log("reward", 9) end end)
      assert(not ok and message:find("this task has ended", 1, true), message)
      ctx:log("reward", 1)
    end }
  end }
""")
        self.run_program("r.lua")
        self.assertEqual([row[1] for row in trials(self.run_folder())], ["failed", "complete"])

    def test_what_cannot_be_is_refused_before_anything_runs(self):
        for options, path, text in (
            (dict(metric="reward", logged="reward"), "goal", "missing; a task does not tell which direction"),
            (dict(more=SWEEP + 'goal = "max",'), "goal", "val.loss is better when smaller"),
            (dict(more=SWEEP + "stack = 4,"), "build", "tasks run one at a time, found stack = 4"),
            (dict(more=SWEEP + "scheduler = lab.scheduler.halving(),"), "scheduler", "does not go with tasks"),
        ):
            with self.subTest(text):
                self.tasks(**options)
                self.assert_said(self.run_program("r.lua", code=1), path, text)
                self.assertFalse((self.folder / "runs").exists())

    def test_an_ensemble_keeps_the_best_seeds(self):
        self.tasks(stage="ensemble", more="params = { lr = 0.1 }, seeds = 5, keep = 3,")
        summary = self.run_program("r.lua", "--workers", 2, "--json").json()
        values = [member["metrics"]["val.loss"] for member in summary["members"]]
        self.assertEqual((len(values), values), (3, sorted(values)))
        self.assertEqual(len({member["seed"] for member in summary["members"]}), 3)
        self.assertEqual(len(set(values)), 3)
        self.assertEqual(summary["best_member"]["val.loss"], values[0])
        self.assertAlmostEqual(summary["mean_member"]["val.loss"], sum(values) / 3)
        self.assertEqual(summary["ensemble"], {})
        text = self.run_program("report", self.run_folder()).out
        self.assertIn("val.loss", text)
        self.assertNotIn("  ensemble ", text)


if __name__ == "__main__":
    unittest.main()
