"""What every fit measures of itself holds for the trials of sweeps and the members of ensembles, too."""

import signal
import unittest

from program import CliTest
from test_sweep import SLOW, infos, sweep, until_rows
from test_task_sweep import DEFAULTS as TASK_DEFAULTS
from test_task_sweep import SLOW as SLOW_TASK
from test_task_sweep import SWEEP as TASK_SWEEP
from test_task_sweep import TASKS

# A sweep of six trials, each of which waits for its transform for about two seconds.
WAITS = """return lab.sweep {
  name = "s", space = { lr = lab.space.log(1e-3, 1e-1) }, metric = "val.loss", trials = 6,
  build = function(hp)
    return lab.fit { name = "m", loss = "cross_entropy", epochs = 4, batch = 10, model = lab.nn.Linear(3),
      optim = lab.optim.SGD { lr = hp.lr },
      data = lab.data.blobs { samples = 60 }:split { val = 0.5 }:transform(function(batch)
        for i = 1, 60000000 do end
        return batch
      end) }
  end }
"""
TRAINING = 60  # samples of test_sweep.SWEEP, of which half are trained on


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

    def test_waiting_for_data_is_told_once_for_all_trials_with_the_command(self):
        self.write("r.lua", WAITS)
        result = self.run_program("r.lua", "--out", "run")
        told = "note: waiting for data takes "
        self.assertEqual(result.err.count(told), 1, result)
        self.assertRegex(result.err, told + r"\d+ % of the training time; what limits the input is said by: trainlab "
                                            r"profile r\.lua\n")
        command = "what limits the input is said by: trainlab profile r.lua\n"
        self.assertIn(command, result.out)
        self.assertIn(command, self.run_program("report", "run").out)
        self.run_program("report", "run", "--html", "page.html")
        self.assertIn(command.strip(), (self.folder / "page.html").read_text())


if __name__ == "__main__":
    unittest.main()
