"""`trainlab compare RUN_A RUN_B`: runs that have ended."""

import json
import math
import shutil
import statistics
import unittest

from comparing import DATA, RECIPE, TARGET, Compare


class Finished(Compare):
    """Folders of runs that have ended. Their times are written by the test, so that every figure is known."""

    def setUp(self):
        super().setUp()
        self.write("a.lua", RECIPE)

    def train_runs(self, folder, seeds, *parameters):
        for seed in seeds:
            self.train(*parameters, "--seed", seed, "--out", f"{folder}/{seed}", "--quiet", recipe="a.lua")

    def set_times(self, folder, times):
        """Validations of the run of each seed end after 1, 2, 3, … times the seconds in `times`, the last with it."""
        for seed, time in times.items():
            path = self.folder / folder / str(seed) / "metrics.jsonl"
            rows = [{**row, "seconds": time * row["epoch"]} for row in self.rows(path.parent)]
            self.replace_rows(path, "\n".join(json.dumps(row) for row in rows))
            summary = {**self.summary(path.parent), "seconds": rows[-1]["seconds"]}
            (path.parent / "summary.json").write_text(json.dumps(summary))

    def replace_rows(self, path, text):
        """The rows of a run that has ended may become others here, but not shorter than its checkpoint counts."""
        path.write_text(text.ljust(path.stat().st_size - 1) + "\n")

    def test_known_times(self):
        seeds = range(1, 7)
        self.train_runs("a", range(1, 8))
        self.train_runs("b", range(0, 7), "--rate", "0.06")
        self.set_times("a", {seed: 1 + seed / 10 for seed in seeds})
        self.set_times("b", {seed: (1 + seed / 10) * (0.5 + seed / 1000) for seed in seeds})

        def arrival(folder, seed):
            rows = self.rows(self.folder / folder / str(seed))
            at = next(i for i, row in enumerate(rows) if row["val.loss"] <= 1.5)
            before, after = rows[at - 1], rows[at]
            share = (1.5 - before["val.loss"]) / (after["val.loss"] - before["val.loss"])
            return before["seconds"] + share * (after["seconds"] - before["seconds"])

        result = self.run_program("compare", "a", "b", *TARGET, "--json")
        value = result.json()
        self.assert_said(result, "trainings whose seed the other side lacks are left out; 6 pairs")
        logs = [math.log(arrival("a", seed) / arrival("b", seed)) for seed in seeds]
        mean, deviation = statistics.mean(logs), statistics.stdev(logs)
        half = 5.4525 * deviation / math.sqrt(6)  # the t of an e-value of 20 for 6 pairs
        self.assertEqual((value["seeds"], value["verdict"], value["out"]), (6, "faster", None), result)
        self.assertEqual(value["shared_samples"], 360)
        self.assertAlmostEqual(math.log(value["speed"]["ratio"]), mean, 9)
        self.assertAlmostEqual(math.log(value["speed"]["low"]), mean - half, 4)
        self.assertAlmostEqual(math.log(value["speed"]["high"]), mean + half, 4)
        ends = [self.rows(self.folder / "b" / str(seed))[-1]["val.loss"]
                - self.rows(self.folder / "a" / str(seed))[-1]["val.loss"] for seed in seeds]
        self.assertAlmostEqual(value["quality"]["difference"], statistics.mean(ends), 9)
        self.assertEqual(value["quality"]["verdict"], "better")

        text = self.run_program("compare", "a", "b", *TARGET).out
        ratio = f"{math.exp(mean):.3g}"
        self.assertTrue(text.startswith(f"B is {ratio} ("), text)
        self.assertIn(") times faster and better, with 0.5 times the time, p ", text)
        self.assertFalse((self.folder / "runs").exists())
        text = self.run_program("compare", "b", "a", *TARGET).out
        self.assertTrue(text.startswith(f"B is {ratio} ("), text)
        self.assertIn(") times slower and worse, with 2 times the time, p ", text)

    def test_who_validates_more_often_delivers_no_better_value(self):
        """The best of many noisy validations, on the samples by which it is judged, is no better model."""
        self.write("a.lua", RECIPE.replace("epochs = 8", 'epochs = 8, validate = "4 epochs"'))
        self.train_runs("a", range(1, 6))
        self.write("a.lua", RECIPE)
        self.train_runs("b", range(1, 6))
        kept = {}
        for seed in range(1, 6):
            folder = self.folder / f"b/{seed}"
            rows, summary = self.rows(folder), self.summary(folder)
            rows[2]["val.loss"] = 0.5 + seed / 100  # by luck; the other training has no such validation
            self.replace_rows(folder / "metrics.jsonl", "\n".join(map(json.dumps, rows)))
            summary["metrics"]["val.loss"] = summary["best"]["value"] = rows[2]["val.loss"]
            summary["best"]["step"] = rows[2]["step"]
            kept[seed] = summary
            (folder / "summary.json").write_text(json.dumps(summary))
        result = self.run_program("compare", "a", "b", *TARGET, "--json")
        quality = result.json()["quality"]
        self.assertAlmostEqual(quality["difference"], 0, 9, result)
        self.assertEqual(quality["verdict"], "unclear")
        # By another metric, the best of the validations that count is that after four epochs.
        for seed, summary in kept.items():
            folder = self.folder / f"b/{seed}"
            rows = self.rows(folder)
            rows[2]["val.accuracy"], rows[3]["val.accuracy"] = 0.9991, 0.999
            self.replace_rows(folder / "metrics.jsonl", "\n".join(map(json.dumps, rows)))
            summary["best"].update(metric="val.accuracy", value=0.9991)
            (folder / "summary.json").write_text(json.dumps(summary))
        ends = [self.rows(self.folder / "b" / str(seed))[3]["val.loss"]
                - self.rows(self.folder / "a" / str(seed))[-1]["val.loss"] for seed in kept]
        quality = self.run_program("compare", "a", "b", *TARGET, "--json").json()["quality"]
        self.assertAlmostEqual(quality["difference"], statistics.mean(ends), 9)
        # Which it is is not known where no validation has the value of the weights that were kept.
        for seed, summary in kept.items():
            summary["best"]["value"] = 2
            (self.folder / f"b/{seed}/summary.json").write_text(json.dumps(summary))
        text = self.run_program("compare", "a", "b", *TARGET).out
        self.assertIn("  end    val.loss, B − A: unknown", text)
        self.assertIn("  5 pairs without a value left out of the difference\n", text)

    def test_a_target_that_first_validations_have_reached(self):
        """A validates each 10 s and may have reached the target sooner than B, whose validations tell it after 6 s."""
        seeds = range(1, 6)
        self.train_runs("a", seeds)
        self.train_runs("b", seeds, "--rate", "0.03")
        losses = {side: [[row["val.loss"] for row in self.rows(self.folder / f"{side}/{seed}")] for seed in seeds]
                  for side in "ab"}
        reached = max(one[0] for one in losses["a"])
        self.assertLess(reached, min(one[0] for one in losses["b"]))
        self.assertGreater(reached, max(one[1] for one in losses["b"]))
        target = ("--target", f"val.loss={reached}")
        self.set_times("a", {seed: 10 for seed in seeds})
        self.set_times("b", {seed: 5 for seed in seeds})
        self.assert_said(self.run_program("compare", "a", "b", *target, code=2), "can be told: trainings have reached "
                         "it at their first validation, after about 10.0 s, and none was seen to need longer",
                         "choose a target that is harder to reach, or validate more often")
        self.set_times("b", {seed: 10 if seed == 1 else 5 for seed in seeds})
        speed = self.run_program("compare", "a", "b", *target, "--json").json()["speed"]
        self.assertEqual((speed["begin"], speed["end"], speed["is_bounded"]), (10, None, True))
        self.assertEqual((speed["first"], speed["sooner"]), ({"a": 5, "b": 0}, {"a": 0, "b": 4}))
        text = self.run_program("compare", "a", "b", *target).out
        self.assertIn(", median: A at most 10.0 s, B ", text)
        self.assertRegex(text, r"\n  5 trainings of A and 0 of B had reached val.loss = [\d.]+ at their first "
                               r"validation: they count with 10.0 s, and so do 0 of A and 4 of B that reached it "
                               r"sooner\n")

    def test_longer_trainings_are_no_equal_budget(self):
        """B is A, trained for twice as many epochs: better at the end, and the same after the time of A."""
        recipe = RECIPE.replace("epochs = 8", "epochs = epochs")
        self.write("a.lua", 'local epochs = lab.param { "epochs", 4 }\n' + recipe)
        seeds = range(1, 7)
        for side, epochs in (("a", 4), ("b", 8)):
            self.train_runs(side, seeds, "--epochs", epochs)
            self.set_times(side, dict.fromkeys(seeds, 1))
        line = ("compare", "a", "b", "--target", "val.loss=2", "--not-worse", "0.001")
        quality = self.run_program(*line, "--json").json()["quality"]
        self.assertEqual((quality["verdict"], quality["not_worse"]), ("better", True))
        self.assertEqual(quality["budgets"], {"seconds": 2, "flops": 2})
        at_equal_time = quality["at_equal_time"]
        self.assertEqual((at_equal_time["verdict"], at_equal_time["not_worse"], at_equal_time["difference"]),
                         ("not_worse", True, 0))
        self.assertAlmostEqual(at_equal_time["high"] - at_equal_time["low"], 0, 6)
        text = self.run_program(*line).out
        self.assertRegex(text, r"\AB is as fast as A .* and better, with 2 times the time and 2 times the FLOPs, p ")
        self.assertRegex(text, r"\n  equal  \+0 \(.+\) in equal time, that of the shorter training: B is not worse "
                               r"\(by more than 0.001\)\n  B's trainings have 2 times the time and 2 times the FLOPs "
                               r"of A's: what they deliver at the end does not compare equal budgets\n")
        text = self.run_program("compare", "a", "a", "--target", "val.loss=2").out
        self.assertNotIn("equal budgets", text)
        self.assertIn("in equal time, that of the shorter training: cannot tell\n", text)
        self.set_times("b", {1: 1, 2: 1, **dict.fromkeys(range(3, 7), 5)})  # the first validation of four is after A
        text = self.run_program(*line).out
        self.assertIn("cannot tell (from 2 of 6 pairs: in the others one has no value by then)\n", text)
        self.assertEqual(self.run_program(*line, "--json").json()["quality"]["at_equal_time"]["pairs"], 2)

    def test_fits_after_a_stage_whose_result_the_recipe_needs(self):
        first = 'local found = lab.run(lab.task { name = "t", run = function(ctx) ctx:log("n", %s) end })\nlocal nn'
        recipe = RECIPE.replace("epochs = 8", "epochs = found.metrics.n")
        self.write("a.lua", recipe.replace("local nn", first % "8"))
        self.train_runs("a", (1, 2, 3))
        self.train_runs("b", (1, 2, 3), "--rate", "0.06")
        value = self.run_program("compare", "a", "b", *TARGET, "--json").json()
        self.assertEqual((value["seeds"], value["shared_samples"], value["speed"]["arrived"]),
                         (3, 360, {"a": 3, "b": 3}))
        # Where the stage decides which samples judge a training, each pair has its own.
        recipe = RECIPE.replace("seed = 7", "seed = found.metrics.n")
        self.write("a.lua", recipe.replace("local nn", first % "lab.seed"))
        self.train_runs("c", (1, 2, 3))
        self.train_runs("d", (1, 2, 3), "--rate", "0.06")
        value = self.run_program("compare", "c", "d", *TARGET, "--json").json()
        self.assertEqual((value["seeds"], value["shared_samples"]), (3, None))

    def test_a_link_to_one_of_the_runs_is_not_another_run(self):
        """As `promote` leaves beside the runs."""
        for folder in "ab":
            self.train_runs(folder, (1, 2, 3))
            (self.folder / folder / "current").symlink_to("2")
        (self.folder / "b" / "nowhere").symlink_to("gone")
        value = self.run_program("compare", "a", "b", *TARGET, "--json").json()
        self.assertEqual(value["seeds"], 3)

    def test_equal_and_unclear(self):
        self.train_runs("a", range(1, 6))
        shutil.copytree(self.folder / "a", self.folder / "b")
        self.set_times("a", {seed: 1 for seed in range(1, 6)})
        self.set_times("b", {seed: 1 + seed / 10000 for seed in range(1, 6)})
        result = self.run_program("compare", "a", "b", *TARGET, "--not-worse", "0.001")
        self.assertRegex(result.out, r"\AB is as fast as A \(within 2 %\) and not worse \(by more than 0.001\), p ")
        self.set_times("b", {seed: 1 + (-1) ** seed * seed / 10 for seed in range(1, 6)})
        result = self.run_program("compare", "a", "b", *TARGET)
        self.assertRegex(result.out, r"\Acannot tell; would need about \d+ more seeds?\n", result)
        value = self.run_program("compare", "a", "b", *TARGET, "--json").json()
        self.assertEqual(value["verdict"], "unclear")
        self.assertIn(f"about {value['more_seeds']} more", result.out)

    def test_runs_that_say_nothing(self):
        self.train_runs("a", (1, 2, 3))
        self.train_runs("b", (1, 2, 3), "--rate", "0.1")
        summary, rows = (self.folder / "b/3" / name for name in ("summary.json", "metrics.jsonl"))
        kept = summary.read_text()
        summary.write_text(kept.replace('"done"', '"interrupted"'))
        self.assert_said(self.run_program("compare", "a", "b", *TARGET, code=2), "the run in b/3 has not ended",
                         "trainlab resume b/3")
        summary.write_text(kept)
        self.replace_rows(rows, '{"seconds": 2, "val.loss": 1}\n{"seconds": 1, "val.loss": 1}')
        self.assert_said(self.run_program("compare", "a", "b", *TARGET, code=3), "b/3/metrics.jsonl is damaged")
        self.replace_rows(rows, '{"seconds": 2, "val.lost": 1}')
        self.assert_said(self.run_program("compare", "a", "b", *TARGET, code=2), "the rows of b/3 have no val.loss")
        rows.write_text("")
        self.assert_said(self.run_program("compare", "a", "b", *TARGET, code=3),
                         "b/3/metrics.jsonl is damaged: it is empty")

    def test_a_run_that_failed_by_something_else(self):
        """A failure that is no loss that is not finite does not count as one."""
        self.train_runs("a", (1, 2, 3))
        self.train_runs("b", (1, 2, 3), "--rate", "0.1")
        summary = self.folder / "b/3/summary.json"
        value = {**self.summary(self.folder / "b/3"), "status": "failed",
                 "reason": "a.lua:9: on.finish: it is not finite"}
        summary.write_text(json.dumps(value))
        self.assert_said(self.run_program("compare", "a", "b", *TARGET, code=2),
                         "the run in b/3 has failed: a.lua:9: on.finish: it is not finite")
        for reason in ("the training loss is not finite at step 3 (learning rate 0.1)",
                       "the validation loss is not finite at step 23"):
            summary.write_text(json.dumps({**value, "reason": reason}))
            failed = self.run_program("compare", "a", "b", *TARGET, "--json").json()["failed"]
            self.assertEqual((failed["a"], failed["b"]), (0, 1))

    def test_too_few(self):
        self.train_runs("a", (1,))
        self.train_runs("b", (1,), "--rate", "0.1")
        for words in (("a", "b"), ("a/1", "b/1")):
            result = self.run_program("compare", *words, *TARGET, code=2)
            self.assert_said(result, "expected at least 3 seeds with which both were trained, found 1")
        self.train_runs("a", (2,), "--rate", "0.1")
        result = self.run_program("compare", "a", "b", *TARGET, code=2)
        self.assert_said(result, "are runs of different recipes or parameters")
        shutil.copytree(self.folder / "b/1", self.folder / "b/again")
        self.assert_said(self.run_program("compare", "b", "b", *TARGET, code=2), "have the same seed, 1")
        self.write("empty/x", "")
        self.assert_said(self.run_program("compare", "empty", "b", *TARGET, code=2), "there are no runs in empty")
        result = self.run_program("compare", "a", "b", *TARGET, "--seeds", "5", code=2)
        self.assert_said(result, "--seeds means nothing to runs that have ended")

    def train_ensemble(self, name, rate, data=DATA, before=""):
        self.write(f"{name}.lua", f"""local nn = lab.nn
{before}
return lab.ensemble {{
  name = "e", seeds = 8, keep = 2, metric = "val.loss",
  build = function()
    return lab.fit {{
      name = "m", data = {data}, model = nn.Sequential {{ nn.Flatten(), nn.Linear(10) }}, loss = "cross_entropy",
      optim = lab.optim.SGD {{ lr = {rate} }}, batch = 16, epochs = 8,
    }}
  end,
}}""")
        self.train("--out", f"run-{name}", "--quiet", recipe=f"{name}.lua")

    def test_ensembles(self):
        self.train_ensemble("a", "0.05")
        self.train_ensemble("b", "0.1")
        result = self.run_program("compare", "run-a", "run-b", *TARGET, "--json")
        self.assertEqual(result.json()["seeds"], 8, result)  # also those that were not kept
        self.assertEqual(result.json()["quality"]["verdict"], "better", result)
        self.assert_said(result, "members of an ensemble that were trained side by side have slowed each other down")
        result = self.run_program("compare", "run-a", "run-b", "--target", "val.accuracy=0.9", code=2)
        self.assert_said(result, "is compared by the metric that it names, \"val.loss\", found val.accuracy")

    def test_ensembles_of_other_data(self):
        """Also after a stage whose result the recipe needs."""
        self.train_ensemble("a", "0.05")
        for name, data in (("b", DATA.replace("seed = 7", "seed = 8")), ("c", DATA.replace("val = 0.2", "val = 0.1"))):
            self.train_ensemble(name, "0.1", data)
            result = self.run_program("compare", "run-a", f"run-{name}", *TARGET, code=2)
            self.assert_said(result, "val.loss of A and B cannot be compared: it is measured on other samples (360 ")
        first = 'local found = lab.run(lab.task { name = "t", run = function(ctx) ctx:log("rate", 0.1) end })'
        self.train_ensemble("d", "found.metrics.rate", before=first)
        result = self.run_program("compare", "run-a", "run-d", *TARGET, "--json")
        self.assertEqual((result.json()["seeds"], result.json()["quality"]["verdict"]), (8, "better"), result)


if __name__ == "__main__":
    unittest.main()
