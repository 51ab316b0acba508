"""What every fit measures of itself holds for the trials of sweeps and the members of ensembles, too."""

import signal
import unittest

from program import CliTest
from sweeping import SLOW, infos, sweep, trials, until_rows
from test_task_sweep import DEFAULTS as TASK_DEFAULTS
from test_task_sweep import SLOW as SLOW_TASK
from test_task_sweep import SWEEP as TASK_SWEEP
from test_task_sweep import TASKS

# A sweep of six trials and their confirmation by four trainings: each waits for its transform for more than a second.
WAITS = """return lab.sweep {
  name = "s", space = { lr = lab.space.log(1e-3, 1e-1) }, metric = "val.loss", trials = 6,
  confirm = { top = 2, seeds = 2 },
  build = function(hp)
    return lab.fit { name = "m", loss = "cross_entropy", epochs = 4, batch = 10, model = lab.nn.Linear(3),
      optim = lab.optim.SGD { lr = hp.lr },
      data = lab.data.blobs { samples = 60 }:split { val = 0.5 }:transform(function(batch)
        local begin = os.clock()
        repeat until os.clock() - begin > 0.1
        return batch
      end) }
  end }
"""
# Trials of a small net on the digits at rates that are given.
RATES = """local nn = lab.nn
local data = lab.data.digits():split { train = 0.6, val = 0.2, seed = 1 }
return lab.sweep {
  name = "s", space = { lr = lab.space.choice { %(rates)s } }, metric = "val.loss", sampler = lab.sampler.grid(),
  build = function(hp)
    return lab.fit { name = "m", data = data, loss = "cross_entropy", batch = 50, epochs = 8, %(fit)s
      model = nn.Sequential { nn.Flatten(), nn.Linear(64), nn.ReLU(), nn.Linear(10) },
      optim = lab.optim.SGD { lr = hp.lr, momentum = 0.9 } }
  end, %(more)s
}
"""
TRAINING = 60  # samples of sweeping.SWEEP, of which half are trained on


class Speed(CliTest):
    def assert_whole(self, speed):
        self.assertAlmostEqual(sum(speed["shares"].values()), 1)
        self.assertGreater(speed["shares"]["training"], 0)
        self.assertGreater(speed["samples_per_second"], 0)
        self.assertGreater(speed["peak_memory"], 0)
        self.assertLessEqual(speed["step_seconds"]["median"], speed["step_seconds"]["p95"])

    def measured(self, stage):
        """Samples and steps that the trials of a stage have told of."""
        sums = [info["speed"] for info in infos(stage) if info.get("speed")]
        return (sum(one["samples"] for one in sums),
                sum(int(part.split(":")[1]) for one in sums for part in one["steps"].split()))

    def test_a_sweep_counts_what_all_of_its_trainings_have_measured(self):
        for name, options in {
            "stacked": {},
            "alone": {"more": "stack = false, workers = 2,"},
            "pruned": {"epochs": "8", "more": "pruner = lab.pruner.median { warmup = 2 },"},
        }.items():
            with self.subTest(name):
                self.write(f"{name}.lua", sweep(**options))
                result = self.run_program(f"{name}.lua", "--out", name)
                self.assert_whole(self.summary(self.folder / name)["speed"])
                self.assertRegex(result.out, r"took   .* \(the trainings: \d+ % ")
                self.assertRegex(self.run_program("report", name).out, r"took   .* of training \(\d+ % ")
                samples, steps = self.measured(self.folder / name)
                if name == "alone":
                    self.assertEqual((samples, steps), (12 * 4 * TRAINING, 12 * 4 * 4))
        # The training of a stack counts once.
        self.assertEqual(self.measured(self.folder / "stacked"), (4 * TRAINING, 4 * 4))

    def test_an_ensemble_and_its_confirmed_trials_count(self):
        self.write("r.lua", sweep(run="local found = lab.run(", more="confirm = { top = 2, seeds = 2 }, stack = false,")
                   .rstrip() + """)
            return lab.ensemble { name = "e", seeds = 3, params = found.best.params, build = build, stack = false }""")
        self.run_program("r.lua", "--out", "run")
        search, ensemble = (self.summary(self.folder / name) for name in ("run/stages/s", "run"))
        self.assert_whole(search["speed"])
        self.assert_whole(ensemble["speed"])
        self.assertEqual(self.measured(self.folder / "run/stages/s")[0], 12 * 4 * TRAINING)
        self.assertEqual(self.measured(self.folder / "run/stages/s/confirm")[0], 2 * 2 * 4 * TRAINING)
        self.assertEqual(self.measured(self.folder / "run")[0], 3 * 4 * TRAINING)

    def test_what_an_interrupted_trial_has_measured_is_kept(self):
        self.write("r.lua", sweep(**SLOW, trials="trials = 1,"))
        running = self.start("r.lua", "--out", "run")
        until_rows(running, self.folder / "run", 0, 5)
        running.send(signal.SIGINT)
        self.end(running, 130)
        self.assert_whole(self.summary(self.folder / "run")["speed"])
        self.run_program("resume", "run")
        self.assert_whole(self.summary(self.folder / "run")["speed"])
        self.assertEqual(self.measured(self.folder / "run"), (40 * TRAINING, 40 * 4))

    def test_a_task_counts_too(self):
        more = TASK_SWEEP.replace("trials = 8", "trials = 2")
        self.write("r.lua", TASKS % {**TASK_DEFAULTS, **SLOW_TASK, "epochs": "20", "more": more})
        running = self.start("r.lua", "--out", "run")
        until_rows(running, self.folder / "run", 1, 3)
        running.send(signal.SIGINT)
        self.end(running, 130)
        self.run_program("resume", "run")
        self.assert_whole(self.summary(self.folder / "run")["speed"])
        self.assertEqual(self.measured(self.folder / "run"), (2 * 20 * 32, 2 * 20 * 2))

    def test_getting_data_is_told_once_for_all_trials_with_the_command(self):
        self.write("r.lua", WAITS)
        result = self.run_program("r.lua", "--out", "run")
        told = "note: getting the data takes "
        self.assertEqual(result.err.count(told), 1, result)
        command = "what its steps wait for is said by: trainlab profile r.lua\n"
        self.assertRegex(result.err, told + r"\d+ % of the training time, most of it in the recipe's own functions "
                                            r"\(data:transform\), which run on the thread that trains; " + command)
        self.assertRegex(result.out, r"\d+ % data:transform\b")
        self.assertIn(command, result.out)
        self.assertIn(command, self.run_program("report", "run").out)
        self.run_program("report", "run", "--html", "page.html")
        self.assertIn(command.strip(), (self.folder / "page.html").read_text())


class Health(CliTest):
    def run_rates(self, name, rates="5, 0.05, 0.00005, 4", fit="", more=""):
        self.write(f"{name}.lua", RATES % {"rates": rates, "fit": fit, "more": more})
        return self.run_program(f"{name}.lua", "--threads", "1", "--out", name)

    def kinds(self, name, trial):
        summary = self.summary(self.folder / f"{name}/trials/{trial:04}/seed-1")
        return [verdict["kind"] for verdict in summary["health"]]

    def test_faults_of_trials_are_counted_by_the_stage(self):
        for name, more in {"alone": "stack = false,", "stacked": "stack = true,"}.items():
            with self.subTest(name):
                result = self.run_rates(name, more=more)
                self.assertEqual(infos(self.folder / name)[0]["ran"], "alone" if name == "alone" else "stack of 4")
                self.assertEqual([self.kinds(name, trial) for trial in range(4)],
                                 [["rate_too_high"], [], ["rate_too_low"], ["rate_too_high"]], result)
                high, low = self.summary(self.folder / name)["health"]
                self.assertEqual((high["kind"], high["count"], high["ended"], high["trials"]),
                                 ("rate_too_high", 2, 4, [0, 3]))
                self.assertEqual((low["kind"], low["count"], low["trials"]), ("rate_too_low", 1, [2]))
                self.assertIn("in place of 5e-05", low["remedy"])
                self.assertNotIn("health:", result.err)  # the log has no line for each trial
                line = "  health rate_too_high in 2 of 4 trials (0 and 3); in trial 0 ("
                self.assertIn(line, result.out)
                self.assertIn(line, self.run_program("report", name).out)
                self.run_program("report", name, "--html", "page.html")
                self.assertIn("rate_too_high", (self.folder / "page.html").read_text())

    def test_healthy_trials_are_silent(self):
        for name, more in {"alone": "stack = false,", "stacked": "stack = true,"}.items():
            result = self.run_rates(name, rates="0.05, 0.07, 0.1", more=more)
            self.assertEqual(self.summary(self.folder / name)["health"], [], result)
            self.assertNotIn("health", result.out + result.err)

    def test_stop_ends_a_trial_whose_value_counts(self):
        for name, more in {"alone": "stack = false,", "stacked": "stack = true,"}.items():
            with self.subTest(name):
                self.run_rates(name, fit='health = { action = "stop" },', more=more)
                summaries = [self.summary(self.folder / f"{name}/trials/{trial:04}/seed-1") for trial in range(4)]
                self.assertEqual([one["status"] for one in summaries], ["stopped", "done", "stopped", "stopped"])
                self.assertTrue(summaries[2]["reason"].startswith("health: rate_too_low: "), summaries[2])
                self.assertLess(summaries[2]["steps"], summaries[1]["steps"])
                self.assertEqual([row[1] for row in trials(self.folder / name)], ["complete"] * 4)
                self.assertEqual(self.summary(self.folder / name)["best"]["trial"], 1)

    def test_a_function_of_the_recipe_hears_of_the_faults_of_trials(self):
        for name, more in {"alone": "stack = false,", "stacked": "stack = true,"}.items():
            heard = "on = { health = function(run, verdict) print('heard of ' .. verdict.kind) end },"
            result = self.run_rates(name, fit=heard, more=more)
            self.assertEqual(result.err.count("heard of rate_too_high"), 2, result)
            self.assertEqual(result.err.count("heard of rate_too_low"), 1, result)

    def test_fix_only_tells_in_trials(self):
        result = self.run_rates("r", fit='health = { action = "fix" },')
        self.assertEqual(result.err.count('health.action = "fix" only tells in trials'), 1, result)
        self.assertEqual([one["count"] for one in self.summary(self.folder / "r")["health"]], [2, 1])
        self.assertNotIn("fixes", self.summary(self.folder / "r/trials/0000/seed-1"))

    def test_members_of_an_ensemble_are_watched(self):
        self.write("r.lua", """local nn = lab.nn
            local data = lab.data.digits():map("y", function(rows)
              local y = {}
              for i = 1, rows.shape[1] do y[i] = math.random(0, 9) end
              return lab.tensor(y, { dtype = "int64" })
            end):split { train = 0.036, val = 0.2, seed = 1 }
            return lab.ensemble { name = "e", seeds = 3, metric = "val.loss", build = function(hp)
              return lab.fit { name = "m", data = data, loss = "cross_entropy", batch = 16, epochs = 40,
                optim = lab.optim.SGD { lr = 0.05, momentum = 0.9 },
                model = nn.Sequential { nn.Flatten(), nn.Linear(64), nn.ReLU(), nn.Linear(10) } }
            end }""")
        result = self.run_program("r.lua", "--threads", "1", "--out", "run")
        (verdict,) = self.summary(self.folder / "run")["health"]
        self.assertEqual((verdict["kind"], verdict["count"], verdict["trials"]), ("overfitting", 3, [0, 1, 2]), result)

    def test_a_verdict_of_an_interrupted_trial_is_kept(self):
        slow = "on = { validate = function() for i = 1, 2000000 do end end }, checkpoint = '1 epochs',"
        self.write("r.lua", RATES.replace("epochs = 8", "epochs = 60") %
                   {"rates": "0.05, 0.00005", "fit": slow, "more": "stack = true,"})
        running = self.start("r.lua", "--threads", "1", "--out", "run")
        until_rows(running, self.folder / "run", 1, 20)
        running.send(signal.SIGINT)
        self.end(running, 130)
        self.run_program("resume", "run")
        self.assertEqual([self.kinds("run", trial) for trial in (0, 1)], [[], ["rate_too_low"]])


if __name__ == "__main__":
    unittest.main()
