"""`trainlab plan RECIPE.lua` of stages that are made of several trainings. On a busy machine each measurement lasts ten
seconds, because the time of a step is never known well enough."""

import os
import unittest

from planning import PlanTest
from program import fit


class Trainings(PlanTest):
    def test_more_trials_than_can_be_counted(self):
        self.write("r.lua", fit().replace(
            "return lab.fit {", "local function build(hp) return lab.fit {").rstrip() + """ end
return lab.sweep { name = "s", space = { lr = lab.space.log(1e-3, 1e-1) }, metric = "val.loss",
                   trials = 1000000000000000, seeds = 10000, build = build }
""")
        plan = self.plan("r.lua", "--threads", "1")
        self.assertGreater(plan["seconds"], 0)

    def sweep(self, more, **options):
        """A recipe that searches with such fits."""
        self.write("r.lua", fit(**options).replace(
            "return lab.fit {", "local function build(hp) return lab.fit {").rstrip() + f""" end
return lab.sweep {{ name = "s", space = {{ lr = lab.space.log(1e-3, 1e-1) }}, metric = "val.loss", build = build,
                   {more} }}
""")

    def test_workers_share_the_trials(self):
        self.sweep("trials = 64, workers = 2, stack = false", epochs=1000)
        cores = sorted(os.sched_getaffinity(0))[:2]
        plan = self.run_program("plan", "r.lua", "--json", before=["taskset", "-c", ",".join(map(str, cores))]).json()
        self.assertEqual((plan["workers"], plan["at_most"]), (2, []))
        self.assertAlmostEqual(plan["seconds"] / plan["training_seconds"]["median"], 64 / len(cores))
        text = self.run_program("plan", "r.lua", before=["taskset", "-c", str(cores[0])]).out
        self.assertIn("; 64 fits take ", text)
        self.assertIn(" by 2 workers, for 1 of which the machine has room at a time\n", text)

    def test_trials_that_may_end_early(self):
        """Whether the length of the stage ends before the budget is not known."""
        self.sweep("trials = 27, stack = false, pruner = lab.pruner.median()", epochs=100000)
        plan = self.plan("r.lua", "--threads", "1", "--within", "1 min")
        self.assertGreater(plan["seconds"], 60)
        self.assertEqual((plan["ends_first"], plan["largest_parameters"]), ("unknown", None))
        self.assertLessEqual({"seconds", "flops"}, set(plan["at_most"]))
        result = self.run_program("plan", "r.lua", "--threads", "1", "--within", "1 min")
        for text in ("; 27 fits take at most ", "  ends first unknown: trainings may end early, and then the"):
            self.assertIn(text, result.out)

    def test_trials_of_a_scheduler_take_the_time_of_their_segments(self):
        """27 trials are two rounds of 9 · 1 + 3 · 2 + 1 · 6 validations, and one more."""
        self.sweep("trials = 27, stack = false, scheduler = lab.scheduler.halving { configurations = 9, min = 1 }",
                   epochs=9)
        plan = self.plan("r.lua", "--threads", "1", "--within", "1 h")
        self.assertAlmostEqual(plan["flops"] / plan["flops_per_step"] / plan["steps_per_epoch"], 43)
        self.assertGreater(plan["seconds"], 43 * plan["epoch_seconds"]["median"])
        self.assertLess(plan["seconds"], 27 * plan["training_seconds"]["median"])
        self.assertEqual((plan["ends_first"], plan["at_most"]), ("length", []))
        self.assertGreater(plan["largest_parameters"], plan["parameters"])
        self.assertIn("; 27 fits, as long as 4.78 whole ones, take ",
                      self.run_program("plan", "r.lua", "--threads", "1").out)

    def test_trials_that_begin_within_the_time_of_the_sweep_are_brought_to_their_end(self):
        self.sweep('time = "1 s", trials = 50, stack = false', epochs=100000)
        plan = self.plan("r.lua", "--threads", "1")
        self.assertGreater(plan["training_seconds"]["median"], 1)
        self.assertEqual((plan["seconds"], plan["at_most"]), (plan["training_seconds"]["median"], []))
        self.assertRegex(self.run_program("plan", "r.lua", "--threads", "1").out,
                         r" each; of 50 fits, as many as begin in the 1 s of its option `time` take \d.* one after")
        self.sweep('time = "1 s", improvement = true, stack = false', epochs=100000)
        self.assertEqual(self.plan("r.lua", "--threads", "1")["at_most"][0], "seconds")

    def test_a_search_and_its_budget(self):
        self.write("r.lua", 'lab.budget { time = "1 h", reserve = "6 min" }\n' + fit().replace(
            "return lab.fit {", "local function build(hp) return lab.fit {").rstrip() + """ end
lab.run(lab.sweep { name = "search", space = { lr = lab.space.log(1e-3, 1e-1) }, metric = "val.loss",
                    trials = 1000000000, build = build })
""")
        result = self.run_program("plan", "r.lua", "--threads", "1")
        for text in ("plan for sweep search", "1000000000 fits", "budget     1 h 00 min, of which the stage has 35 min",
                     "ends first the budget", "later stages need the result of this one"):
            self.assertIn(text, result.out, result)


if __name__ == "__main__":
    unittest.main()
