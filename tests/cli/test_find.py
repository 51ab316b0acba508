"""`trainlab find`: the form of what it prints, and what it refuses."""

import unittest

from program import CliTest


class Find(CliTest):
    def test_a_rate_is_found_by_range_tests_and_a_probe(self):
        self.recipe(epochs="20")
        found = self.run_program("find", "lr", "r.lua", "--threads", "1", "--json").json()
        self.assertEqual((found["kind"], found["status"], found["stage"]), ("finder", "done", "f"))
        self.assertTrue({"suggestion", "valley", "steepest"} <= found["lr"].keys())
        start = found["lr"]["start"]
        self.assertEqual([round(probe["lr"] / start, 6) for probe in found["probes"]], [0.25, 1, 4])
        self.assertIn(found["lr"]["suggestion"], [probe["lr"] for probe in found["probes"]])
        rates = [point["lr"] for point in found["curve"]]
        self.assertEqual(rates, sorted(rates))
        self.assertEqual(list(self.folder.iterdir()), [self.folder / "r.lua"])  # no run folder

        text = self.run_program("find", "lr", "r.lua", "--threads", "1").out
        for words in ("lr = ", "range test over 5 seeds", "valley", "probe: "):
            self.assertIn(words, text)

    def test_the_rate_that_was_found_is_applied(self):
        self.recipe(optim="lab.optim.SGD { lr = 1e-6 }")
        found = self.run_program("find", "lr", "r.lua", "--threads", "1", "--apply", "rate.toml", "--json").json()
        self.train("--apply", "rate.toml", "--out", "run")
        rates = {row["lr"] for row in self.rows(self.folder / "run")}
        self.assertEqual(rates, {found["lr"]["suggestion"]})
        self.assert_said(self.run_program("check", "r.lua", "--apply", "rate.toml", code=2), "--apply")
        self.recipe(epochs="4")
        self.assert_said(self.run_program("run", "r.lua", "--apply", "rate.toml", code=2),
                         "another text of the recipe", "trainlab find")

    def test_a_batch_is_found_by_noise_and_speed(self):
        self.recipe(epochs="30")
        found = self.run_program("find", "batch", "r.lua", "--threads", "1", "--json").json()
        self.assertEqual((found["kind"], found["status"], found["stage"]), ("finder", "done", "f"))
        self.assertEqual(len(found["noise"]), 3)
        for one in found["noise"]:
            self.assertLessEqual(one["low"], one["value"])
            self.assertGreaterEqual(one["high"] or one["value"], one["value"])
        sizes = [point["batch"] for point in found["curve"]]
        self.assertEqual(sizes, sorted(sizes))
        self.assertIn(found["batch"]["suggestion"], sizes)
        # A larger batch needs more samples.
        for smaller, larger in zip(found["curve"], found["curve"][1:]):
            self.assertLess(smaller["samples"], larger["samples"])
        self.assertEqual(list(self.folder.iterdir()), [self.folder / "r.lua"])

        text = self.run_program("find", "batch", "r.lua", "--threads", "1", "--apply", "batch.toml").out
        for words in ("batch = ", "noise scale", "knee", "time to a loss"):
            self.assertIn(words, text)
        self.train("--apply", "batch.toml", "--out", "run")

    def test_what_cannot_be_searched_is_refused(self):
        self.recipe()
        self.assert_said(self.run_program("find", "loader", "r.lua", code=2), "trainlab find lr RECIPE.lua", "loader")
        self.run_program("find", "lr", code=2)
        self.write("task.lua", 'return lab.task { name = "t", run = function() end }\n')
        self.assert_said(self.run_program("find", "lr", "task.lua", code=2), "expected a lab.fit", "lab.task")
        self.recipe("large.lua", epochs="200", batch="4000")
        self.assert_said(self.run_program("find", "batch", "large.lua", code=1), "batch", "samples")
        self.recipe("own.lua", more="  step = function(run, batch) return {} end,\n")
        self.assert_said(self.run_program("find", "lr", "own.lua", code=1), "step of its own")


if __name__ == "__main__":
    unittest.main()
