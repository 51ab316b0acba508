"""`trainlab bench`: the speed of a stage, its comparison with an earlier one, and what a killed measurement leaves."""

import json
import os
import select
import signal
import unittest
import unittest.mock

from program import LIMIT, CliTest


class Bench(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.keep_machine()

    def test_a_killed_measurement_leaves_no_folder(self):
        self.recipe(more='  on = { step = function() print("it never returns") while true do end end },\n')
        os.mkdir(self.folder / "own")
        with unittest.mock.patch.dict(os.environ, TMPDIR=str(self.folder / "own")):
            measuring = self.start("bench", "r.lua", "--grace", "0.1 s", "--threads", "1")
        measuring.until_said("it never returns")
        self.assertEqual(len(os.listdir(self.folder / "own")), 1)
        measuring.send(signal.SIGTERM)
        self.end(measuring, 143)
        self.assertEqual(os.listdir(self.folder / "own"), [])

    def test_what_was_left_is_removed_by_measurements_alone(self):
        """Other commands that end badly do not look through the folder for temporary files."""
        own = self.folder / "own"
        own.mkdir()
        self.recipe(more='  on = { step = function() print("it never returns") while true do end end },\n')
        with unittest.mock.patch.dict(os.environ, TMPDIR=str(own)):
            measuring = self.start("bench", "r.lua", "--threads", "1")
            measuring.until_said("it never returns")
            engine = os.pidfd_open(measuring.engine())
            self.addCleanup(os.close, engine)
            measuring.kill()
            select.select([engine], [], [], LIMIT)
            left = os.listdir(own)
            self.assertEqual(len(left), 1)
            self.write("bad.lua", 'error("oh")\n')
            self.run_program("bad.lua", code=1)
            self.assertEqual(os.listdir(own), left)
            self.recipe(more='  on = { step = function() error("oh") end },\n')
            self.run_program("bench", "r.lua", code=1)
        self.assertEqual(os.listdir(own), [])

    def test_speed(self):
        self.recipe()
        arguments = ["bench", "r.lua", "--seconds", "0.3", "--threads", "1"]
        speed = self.run_program(*arguments, "--json").json()
        self.assertEqual((speed["kind"], speed["status"], speed["stage"]), ("bench", "done", "f"))
        for unit in ("samples_per_second", "steps_per_second"):
            self.assertTrue(0 < speed[unit]["low"] <= speed[unit]["median"] <= speed[unit]["high"], speed)
        self.assertIn("samples a second", self.run_program(*arguments).out)

        self.assertEqual(sorted(speed["cores"]), ["busy", "others", "run_queue", "switches", "usable"])
        speed["cores"]["others"] = 0.0  # as on a quiet machine

        def against(factor, **more):
            """The comparison with `factor` times the speed. The exit code is 1 if the stage is slower."""
            before = {**speed, **more}
            for unit in ("samples_per_second", "steps_per_second"):
                before[unit] = {name: factor * value for name, value in speed[unit].items()}
            self.write("before.json", json.dumps(before))
            result = self.start(*arguments, "--against", "before.json", "--json").end()
            self.check_rules(result)
            comparison = result.json()["against"]
            self.assertEqual(result.code, 1 if comparison["is_slower"] else 0, result)
            return comparison

        slow = against(1000)
        # A speed is not judged if other work had the cores meanwhile, other tests for example.
        self.assertNotEqual(slow["is_slower"], "not judged: other work had " in slow["text"], slow)
        self.assertFalse(against(0.001)["is_slower"])
        taken = against(1000, cores={**speed["cores"], "busy": 0.4, "others": speed["cores"]["usable"] - 0.4,
                                    "run_queue": 0.5})
        self.assertFalse(taken["is_slower"] or taken["is_judged"])
        self.assertIn(" cores then", taken["text"])
        other = against(1000, machine={**speed["machine"], "processor": "another"})
        self.assertFalse(other["is_slower"])
        self.assertIn("not judged: processor", other["text"])
        self.write("before.json", json.dumps({**speed, "stage": "g"}))
        self.assert_said(self.run_program(*arguments, "--against", "before.json", code=2), 'found that of "g"')
        self.write("before.json", "{}")
        self.assert_said(self.run_program(*arguments, "--against", "before.json", code=2),
                         "expected what `trainlab bench")
        self.write("before.json", "0.5 s")
        self.assert_said(self.run_program(*arguments, "--against", "before.json", code=2),
                         f"--against {self.folder / 'before.json'}: expected what `trainlab bench --json` prints, "
                         "found text: not valid JSON at byte", "trainlab bench RECIPE.lua --json > speed.json")
        self.write("before.json", '{ "kind": "profile" }')
        self.assert_said(self.run_program(*arguments, "--against", "before.json", code=2),
                         ", found an object of the kind profile")
        self.assert_said(self.run_program(*arguments, "--tolerance", "3%", code=2), "means nothing without --against")
        self.assert_said(self.run_program(*arguments, "--against", "before.json", "--tolerance", "3", code=2),
                         "--tolerance: expected a percentage")


if __name__ == "__main__":
    unittest.main()
