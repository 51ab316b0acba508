"""`trainlab plan seeds`, `plan data` and `plan model` end within --within, also where one training takes far longer."""

import json
import re
import unittest

from planning import DIGITS, PlanTest

# Days on any machine, so that a test which trained it whole would never end.
LONG = {**DIGITS, "epochs": "100000000",
        "model": "nn.Sequential { nn.Flatten(), nn.Linear(4), nn.ReLU(), nn.Linear(10) }"}
DAY = 86400
# A stop rule, because of which nobody knows before whether a training takes as long as its length.
STOP = '  stop = lab.stop.patience { patience = 1000000 },\n'


class Within(PlanTest):
    def refused_in_time(self, topic, within, **options):
        """Returns how long a training takes, as the one error of the command says it."""
        self.recipe(**{**LONG, **options})
        result = self.run_program("plan", topic, "r.lua", "--threads", "1", "--quiet", "--within", within, code=2)
        line, hint = result.err.splitlines()
        self.assertIn("more time, or a shorter training", hint)
        found = re.fullmatch(r"trainlab: --within: two seeds do not fit; a training (?:of the largest size )?takes "
                             r"(.+)", line)
        self.assertTrue(found, result)
        return found[1]

    def test_sizes_whose_first_steps_show_that_the_time_is_too_short(self):
        for topic in ("data", "model"):
            with self.subTest(topic):
                text = self.refused_in_time(topic, "40 s")
                seconds = re.fullmatch(r"about (\d+) s", text)
                self.assertTrue(seconds, text)
                self.assertGreater(int(seconds[1]), DAY)
                self.assertFalse((self.folder / "runs").exists())

    def test_sizes_that_the_end_of_the_time_stops(self):
        text = self.refused_in_time("data", "15 s", more=STOP)
        seconds = re.fullmatch(r"up to about (\d+) s", text)
        self.assertTrue(seconds, text)
        self.assertGreater(int(seconds[1]), DAY)

    def test_seeds_whose_first_steps_show_that_the_time_is_too_short(self):
        self.assertRegex(self.refused_in_time("seeds", "40 s"), r"\Aabout \d{2,} h \d\d min\Z")
        self.assertFalse((self.folder / "runs/plan/r/001/seed-001").exists())

    def test_a_function_may_end_a_training_early(self):
        more = '  on = { validate = function(run) run:stop("enough") end },\n'
        self.recipe(**{**LONG, "more": more})
        plan = self.plan("seeds", "r.lua", "--threads", "1", "--quiet", "--within", "40 s")
        self.assertGreater(len(plan["values"]), 2)

    def test_seeds_that_the_end_of_the_time_stops(self):
        first = self.folder / "runs/plan/r/001/seed-001"
        steps = 0
        for resumed in (0, 1):
            self.assertRegex(self.refused_in_time("seeds", "20 s", more=STOP), r"\Aup to about \d{2,} h \d\d min\Z")
            summary = self.summary(first)
            self.assertEqual((summary["status"], len(summary["resumed"])), ("interrupted", resumed))
            # The same command goes on with the training.
            self.assertGreater(summary["steps"], steps)
            steps = summary["steps"]
        self.assertFalse((first.parent / "seed-002").exists())

    def test_a_seed_that_the_end_of_the_time_stops_is_left_out_whenever_the_plan_is_read(self):
        """The first two end by themselves, and the third one would go on for days."""
        more = '  on = { validate = function(run) if lab.seed ~= 3 then run:stop("enough") end end },\n'
        self.recipe(**{**LONG, "more": more})
        result = self.run_program("plan", "seeds", "r.lua", "--threads", "1", "--within", "30 s", "--json")
        self.assert_said(result, "seed 3 does not end in time, and does not count")
        plan, folder = result.json(), "runs/plan/r/001"
        self.assertEqual(plan["seeds"], [1, 2])
        self.assertEqual(self.summary(self.folder / folder / "seed-003")["status"], "interrupted")
        for again in (("report", folder), ("plan", "seeds", folder)):
            shown = self.run_program(*again, "--json").json()
            self.assertEqual((shown["seeds"], shown["values"]), (plan["seeds"], plan["values"]))
            self.assertIn(f"val.loss of {folder}: ", self.run_program(*again).out)
        self.assert_said(self.run_program("compare", folder, folder, "--target", "val.loss=1", code=2),
                         "expected at least 3 seeds with which both were trained, found 2")
        # A training that an error has ended is none that the time has stopped.
        summary = self.folder / folder / "seed-002/summary.json"
        before = summary.read_text()
        summary.write_text(json.dumps({**json.loads(before), "status": "failed", "reason": "no room on the device"}))
        self.refused(["seeds", folder], f"trainlab: the run in {folder}/seed-002 has failed: no room on the device")
        summary.write_text(before)
        # Before the plan has ended, nobody knows which of the runs it will leave out.
        path = self.folder / folder / "asked.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "has_ended": False}))
        self.refused(["seeds", folder], f"trainlab: the run in {folder}/seed-003 has not ended")

    def test_a_length_that_is_a_time(self):
        for topic, text in (("data", "about 3600 s"), ("model", "about 3600 s"), ("seeds", "about 1 h 00 min")):
            self.assertEqual(self.refused_in_time(topic, "40 s", epochs="nil", more='  time = "1 h",\n'), text)


if __name__ == "__main__":
    unittest.main()
