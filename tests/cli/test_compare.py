"""`trainlab compare A.lua B.lua`: pairs of recipes are trained until it is clear which is faster."""

import json
import shutil
import signal
import unittest

from browser import NODE, shown_by_scripts
from comparing import LOOKS, NEVER, PAUSE, RECIPE, TARGET, Compare
from program import PROGRAM

OWN_METRIC = """{ name = "mine", init = function() return 0 end, update = function(sum, out, batch) return sum end,
    compute = function(sum) return sum end }"""


class Training(Compare):
    def setUp(self):
        super().setUp()
        self.write("a.lua", RECIPE)

    def test_a_recipe_that_waits_is_slower(self):
        result = self.compare("a.lua", *TARGET, "--b", PAUSE)
        self.assertRegex(result.out, r"\AB is [\d.]+ \([\d.]+–[\d.]+\) times slower, p ", result)
        self.assertIn("  in     runs/compare/a/001\n", result.out)
        self.assertRegex(result.out, r"\n  look   \d of 4, effect −[\d.e+]+ standard deviations, order AB BA, drift of "
                                     r"the machine [+−][\d.e-]+ %\n")
        folder = self.folder / "runs/compare/a/001"
        stored = json.loads((folder / "comparison.json").read_text())
        count = len(stored["pairs"])
        self.assertIn(count, LOOKS)
        self.assertEqual([pair["seed"] for pair in stored["pairs"]], list(range(1, count + 1)))
        for seed in range(1, count + 1):
            a, b = (folder / f"{side}-{seed:03d}" for side in "ab")
            self.assertEqual(self.summary(a)["status"], "done")
            # Equal seeds: the same training but for its time.
            self.assert_same_end(a, b)
        # In alternating order.
        started = {path.name: (path / "manifest.toml").stat().st_mtime_ns for path in folder.glob("?-00?")}
        self.assertLess(started["a-001"], started["b-001"])
        self.assertLess(started["b-002"], started["a-002"])

    def test_faster_and_not_worse(self):
        result = self.compare("a.lua", *TARGET, "--a", PAUSE, "--not-worse", "0.002", "--json", "--quiet")
        value = result.json()
        self.assertEqual((value["kind"], value["status"], value["verdict"]), ("comparison", "done", "faster"), result)
        self.assertGreater(value["speed"]["low"], 1)
        self.assertLess(value["speed"]["low"], value["speed"]["ratio"])
        self.assertLess(value["speed"]["ratio"], value["speed"]["high"])
        self.assertLessEqual(value["p"], 0.05)
        self.assertEqual(value["quality"]["verdict"], "not_worse")
        for name in ("difference", "low", "high"):
            self.assertAlmostEqual(value["quality"][name], 0, 6)
        self.assertEqual((value["quality"]["not_worse"], value["quality"]["margin"]), (True, 0.002))
        count = value["seeds"]
        self.assertIn(count, LOOKS)
        self.assertEqual(value["more_seeds"], 0)
        self.assertEqual(value["speed"]["arrived"], {"a": count, "b": count})
        self.assertEqual((value["look"], value["looks"]), (LOOKS.index(count) + 1, len(LOOKS)))
        self.assertGreater(value["effect"], 0)
        self.assertIsNotNone(value["drift"])
        self.assertEqual(result.err, "")

    def test_two_recipes_one_of_which_never_arrives(self):
        # B's trainings take longer, so that A arrives while they go on, also on a busy machine.
        self.write("b.lua", RECIPE.replace('"rate", 0.05', '"rate", 0.02').replace('"pause", 0', '"pause", 10000000'))
        result = self.compare("a.lua", "b.lua", *TARGET, "--json")
        value = result.json()
        self.assertEqual((value["verdict"], value["quality"]["verdict"]), ("slower", "worse"), result)
        speed = value["speed"]
        self.assertEqual((speed["is_bounded"], speed["arrived"]), (True, {"a": value["seeds"], "b": 0}))
        self.assertEqual(speed["later"], {"a": 0, "b": 0})
        # B's true time is unknown, so that there is a bound alone: A takes at most `high` of it.
        self.assertIsNone(speed["low"])
        self.assertLess(speed["ratio"], speed["high"])
        self.assertLess(speed["high"], 1)
        again = self.compare("a.lua", "b.lua", *TARGET, "--out", value["out"])
        self.assertRegex(again.out, rf"\AB is at least {1 / speed['high']:.3g} times slower and worse, "
                                    r"with [\d.]+ times the time, p ", again)
        self.assertRegex(again.out, rf"\n  0 trainings of A and {value['seeds']} of B never reached val.loss = 1.5: "
                                    r"they count with [\d.]+ s\n")
        self.assertGreater(value["quality"]["low"], 0)  # of a loss
        self.assertTrue((self.folder / "runs/compare/a-b/001/b-001/summary.json").exists())

    def test_a_loss_that_is_not_finite_is_a_failure(self):
        value = self.compare("a.lua", *TARGET, "--b", "rate=1e38", "--json", "--seeds", "5").json()
        self.assertEqual(value["failed"]["a"], 0)
        self.assertEqual(value["failed"]["b"], 5)
        self.assertAlmostEqual(value["failed"]["p"], 2 / 252)
        self.assertEqual(value["speed"]["arrived"], {"a": 5, "b": 0})
        self.assertEqual(value["quality"]["verdict"], "unclear")  # no training of B has delivered a model

    def test_who_validates_more_often_is_told(self):
        """The distance counts, not the length of the training."""
        self.write("short.lua", RECIPE.replace("epochs = 8", "epochs = 6"))
        self.write("rare.lua", RECIPE.replace("epochs = 8", 'epochs = 8, validate = "4 epochs"'))
        short = self.compare("a.lua", "short.lua", *TARGET, "--seeds", "3")
        self.assertNotIn("validates", short.out)
        rare = self.compare("a.lua", "rare.lua", *TARGET, "--seeds", "3")
        self.assertIn("  A validates each 359 samples, B each 1436: of A the validations count that are as far apart "
                      "as those of B, also for the best value at the end; give both the same `validate`\n", rare.out)

    def test_shorter_trainings_without_the_target(self):
        """A training that ends in epoch 3 says nothing of the time to a target that the recipe reaches in epoch 5."""
        self.write("short.lua", RECIPE.replace("epochs = 8", "epochs = 3").replace('"pause", 0', '"pause", 1000000'))
        self.write("slow.lua", RECIPE.replace('"pause", 0', '"pause", 10000000'))
        for sides in (("short.lua", "slow.lua"), ("slow.lua", "short.lua")):
            result = self.compare(*sides, *TARGET, code=2)
            self.assert_said(result, "seed 3 of at most 20", "no time to val.loss = 1.5 can be told: trainings end "
                             "after about ", "without having reached it, and all others reach it later",
                             "train both longer, and equally long")
            self.assertNotIn("seed 4", result.err)

    def test_out(self):
        first = self.compare("a.lua", *TARGET, *NEVER, "--out", "c", "--seeds", "3")
        self.assertTrue((self.folder / "c/b-003/summary.json").exists())
        # The same again trains nothing, and says the same.
        rows = (self.folder / "c/a-001/metrics.jsonl").stat().st_mtime_ns
        again = self.compare("a.lua", *TARGET, *NEVER, "--out", "c", "--seeds", "3")
        self.assertEqual(again.out, first.out)
        self.assertEqual((self.folder / "c/a-001/metrics.jsonl").stat().st_mtime_ns, rows)
        if NODE:
            self.check_page(first.out, *TARGET, *NEVER, "--out", "c", "--seeds", "3")
        result = self.compare("a.lua", "--target", "val.loss=1.6", *NEVER, "--out", "c", "--seeds", "3", code=2)
        self.assert_message(result, f"trainlab: the comparison in {self.folder}/c is another one: target was "
                                    "val.loss = 1.5, is val.loss = 1.6")

    def check_page(self, text, *arguments):
        """The page of a comparison that has ended, which trains nothing."""
        self.assertEqual(self.compare("a.lua", *arguments, "--html", "p.html").out, text)
        page = shown_by_scripts(self, self.folder / "p.html")
        self.assertEqual(page["title"], text.splitlines()[0])
        times, values = ({one["label"]: one["data"] for one in chart["sets"]} for chart in page["charts"])
        self.assertEqual([len(times[side]) for side in "AB"], [3, 0])  # B never arrives
        for side in "AB":
            summaries = [self.summary(self.folder / f"c/{side.lower()}-{seed:03d}") for seed in (1, 2, 3)]
            self.assertEqual(values[side], [{"x": seed, "y": summary["metrics"]["val.loss"]}
                                            for seed, summary in enumerate(summaries, 1)])
        self.assertIn("3 trainings never reached it, and are not shown.", page["texts"])

    def test_a_pipe(self):
        line = f"'{PROGRAM}' compare a.lua {' '.join((*TARGET, *NEVER))} --seeds 3 --threads 1 --quiet"
        self.write("lines.sh", f"set -o pipefail\n{line} --json | head -c 1\n{line} | cat\n")
        result = self.run_program("lines.sh", program=shutil.which("bash"))
        self.assertEqual(result.err, "")
        self.assertRegex(result.out, r"\A{(B is|cannot tell) .*\n  A      a.lua\n"
                                     r"  B      a.lua pause=5000000 rate=0.02\n", result)

    def test_a_folder_of_something_else(self):
        self.write("c/mine.txt", "precious")
        result = self.compare("a.lua", *TARGET, *NEVER, "--out", "c", code=2)
        self.assert_said(result, "is not empty and holds no comparison")
        self.assertEqual([path.name for path in (self.folder / "c").iterdir()], ["mine.txt"])

    def test_a_damaged_record(self):
        self.write("c/comparison.json", '{"format": 1, "asked": 3, "pairs": [{"seed": "x"}]}')
        result = self.compare("a.lua", *TARGET, *NEVER, "--out", "c", code=2)
        self.assert_said(result, "is another one")
        self.write("c/comparison.json", "{")
        self.assert_said(self.compare("a.lua", *TARGET, *NEVER, "--out", "c", code=3), "comparison.json is damaged")

    def test_within(self):
        line = ("a.lua", *TARGET, *NEVER, "--seeds", "3")
        result = self.compare(*line, "--within", "0.001 s")
        self.assertEqual(result.out, "no pair has ended\n", result)
        self.assert_said(result, "no pair begins, because the time of --within was over when the recipes were checked: "
                                 "the same command with a longer --within goes on")
        self.compare(*line)
        self.keep_pairs(1)
        shutil.rmtree(self.folder / "runs/compare/a/001/a-002")
        # How long a pair takes is known from now on.
        again = self.compare(*line, "--within", "0.001 s")
        self.assert_said(again, "continues the comparison in runs/compare/a/001, which has 1 pair",
                         "no pair begins, because one takes about ", "with a longer --within goes on")
        self.assertTrue(again.out.startswith("cannot tell from one seed\n"), again)
        self.assertIn("  took   1 seed, ", again.out)
        self.assertFalse((self.folder / "runs/compare/a/001/a-002").exists())
        value = self.compare(*line, "--within", "0.001 s", "--json").json()
        self.assertEqual((value["status"], value["reason"]), ("stopped", "the time budget is used"))

    def test_within_holds_for_the_first_pair(self):
        # Each of A's eight validations takes two seconds or so: its first training takes far longer than the time.
        line = ("compare", "a.lua", *TARGET, "--a", "pause=400000000", "--seeds", "3", "--threads", "1")
        folder = self.folder / "runs/compare/a/001"
        result = self.run_program(*line, "--within", "5 s", "--json")
        value = result.json()
        self.assertEqual((value["status"], value["reason"]), ("stopped", "the time budget is used"), result)
        self.assertEqual((value["seeds"], value["verdict"], value["quality"]["verdict"]), (0, "unclear", "unclear"))
        self.assert_said(result, "the time of --within is used up; the same command goes on")
        self.assertEqual(self.summary(folder / "a-001")["status"], "interrupted")
        self.assertFalse((folder / "b-001").exists())
        running = self.start(*line)
        running.until_rows(folder / "a-002", 1)
        running.send(signal.SIGINT)
        self.end(running, 130)
        summary = self.summary(folder / "a-001")
        self.assertEqual((summary["status"], len(summary["resumed"])), ("done", 1))

    def test_no_verdict_between_two_looks(self):
        """No result, however large, is a verdict before the planned number of pairs."""
        line = ("compare", "a.lua", *TARGET, *NEVER, "--seeds", "4", "--threads", "1", "--out", "c")
        shown = self.run_program(*line).out
        self.assertTrue(shown.startswith("B is "), shown)
        record = (self.folder / "c/comparison.json").read_text()
        for count in (1, 2, 3):
            self.write("c/comparison.json", record)
            self.keep_pairs(count, "c")
            value = self.run_program(*line, "--within", "0.001 s", "--json").json()
            self.assertEqual((value["seeds"], value["verdict"], value["p"]), (count, "unclear", 1))
            quality = value["quality"]
            self.assertEqual((quality["verdict"], quality["low"], quality["high"]), ("unclear", None, None))
        self.assertGreaterEqual(value["more_seeds"], 1)


    def test_a_look_that_is_not_clear_is_told(self):
        """The times of four pairs are written by hand, so that no time of the fifth one makes the look clear."""
        line = ("compare", "a.lua", *TARGET, "--b", "pause=1", "--threads", "1", "--out", "c")
        path = self.folder / "c/comparison.json"
        running = self.start(*line)
        running.until(lambda: path.exists() and json.loads(path.read_text())["pairs"], "a pair has ended")
        running.kill()
        record = json.loads(path.read_text())
        pair = record["pairs"][0]
        pairs = [{**pair, "seed": seed, slow: {**pair[slow], "arrival": 20 * pair[slow]["arrival"]}}
                 for seed, slow in ((1, "a"), (2, "b"), (3, "a"), (4, "b"))]
        self.write("c/comparison.json", json.dumps({**record, "pairs": pairs}))
        running = self.start(*line)
        running.until_said("look 1 of 4: cannot tell; would need ")
        said = running.err.decode()
        running.kill()
        self.assertRegex(said, r"(?s)seed 5 of at most 20: .*look 1 of 4: ")
        self.assertEqual(said.count("look "), 1)


class Interrupted(Compare):
    def test_the_same_command_goes_on(self):
        self.write("a.lua", RECIPE.replace('epochs = 8', 'epochs = 10, checkpoint = "1 epochs"'))
        line = ("compare", "a.lua", *TARGET, "--b", PAUSE, "--threads", "1", "--seeds", "3")
        folder = self.folder / "runs/compare/a/001"
        running = self.start(*line)
        running.until_said("seed 1 of at most 3")
        running.until_rows(folder / "b-002", 3)
        running.send(signal.SIGINT)
        result = self.end(running, 130)
        self.assertEqual(result.out, "")
        self.assert_said(result, "to continue: the same command again")
        self.assertEqual(len(json.loads((folder / "comparison.json").read_text())["pairs"]), 1)
        first = (folder / "a-001/metrics.jsonl").read_bytes()

        value = self.run_program(*line, "--json").json()
        self.assertEqual((value["seeds"], value["status"]), (3, "done"))
        self.assertEqual((folder / "a-001/metrics.jsonl").read_bytes(), first)
        self.assertEqual(len(self.summary(folder / "b-002")["resumed"]), 1)
        again = self.run_program(*line, "--out", folder)
        self.assertIn("  0 trainings of A and 1 of B were interrupted and resumed: their times are less reliable\n",
                      again.out)
        for seed in (1, 2, 3):
            self.assert_same_end(folder / f"a-{seed:03d}", folder / f"b-{seed:03d}")
        self.assertFalse((folder.parent / "002").exists())

    def test_json_of_an_interrupted_comparison(self):
        self.write("a.lua", RECIPE)
        running = self.start("compare", "a.lua", *TARGET, "--b", PAUSE, "--threads", "1", "--json")
        running.until_rows(self.folder / "runs/compare/a/001/b-001", 2)
        running.send(signal.SIGTERM)
        value = self.end(running, 143).json()
        self.assertEqual((value["status"], value["seeds"], value["verdict"]), ("interrupted", 0, "unclear"))

    def test_killed(self):
        self.write("a.lua", RECIPE)
        line = ("compare", "a.lua", *TARGET, "--b", PAUSE, "--threads", "1", "--seeds", "3")
        running = self.start(*line)
        running.until_rows(self.folder / "runs/compare/a/001/b-001", 3)
        running.kill()
        self.assertEqual(self.run_program(*line, "--json").json()["seeds"], 3)

    def test_a_changed_recipe_is_a_new_comparison(self):
        self.write("a.lua", RECIPE)
        line = ("a.lua", *TARGET, *NEVER, "--within", "0.001 s")
        self.compare(*line)
        self.assertEqual(self.compare(*line).out, "no pair has ended\n")
        self.write("a.lua", RECIPE + "\n")
        self.compare(*line)
        self.assertEqual(sorted(path.name for path in (self.folder / "runs/compare/a").iterdir()), ["001", "002"])

    def test_a_changed_module(self):
        self.write("m.lua", "return 0")
        self.write("a.lua", 'local zero = require "m"\n' + RECIPE)
        line = ("a.lua", *TARGET, *NEVER, "--seeds", "3")
        self.compare(*line)
        self.keep_pairs(1)
        for side in "ab":
            shutil.rmtree(self.folder / f"runs/compare/a/001/{side}-002")
        self.write("m.lua", "return 0.0")
        result = self.compare(*line, code=2)
        self.assert_said(result, "a source of a.lua has changed since its first training")


class BadInput(Compare):
    def setUp(self):
        super().setUp()
        self.write("a.lua", RECIPE)

    def test_the_line(self):
        self.refused("needs the target", "a.lua", *NEVER)
        self.refused("--target: expected a metric and a number, as val.accuracy=0.97, found \"val.loss\"", "a.lua",
                     "--target", "val.loss", *NEVER)
        self.refused("--target: expected", "a.lua", "--target", "val.loss=nan", *NEVER)
        self.refused("needs a second recipe, or parameters that differ", "a.lua", *TARGET)
        for missing in ("b.lua", "folder"):
            self.refused(f"there is no recipe and no folder of runs {missing}", "a.lua", missing, *TARGET)
        self.refused("one or two seeds say nothing", "a.lua", *TARGET, *NEVER, "--seeds", "1")
        self.refused("--not-worse: expected a number above 0", "a.lua", *TARGET, *NEVER, "--not-worse", "0")
        self.refused("--b: expected NAME=VALUE, found \"rate\"", "a.lua", *TARGET, "--b", "rate")
        self.write("d/x.txt", "")
        self.refused("expected two recipes or two folders of runs", "a.lua", "d", *TARGET)

    def test_the_metric(self):
        self.refused('--target: there is no metric "val.acuracy"', "a.lua", "--target", "val.acuracy=0.9", *NEVER)
        self.refused("cannot be watched", "a.lua", "--target", "test.accuracy=0.9", *NEVER)
        self.write("own.lua", RECIPE.replace('"accuracy"', OWN_METRIC))
        self.refused("declares no better direction", "own.lua", "--target", "val.mine=0.9", *NEVER, code=1)
        self.refused("no model can have a val.accuracy above 1", "a.lua", "--target", "val.accuracy=1.2", *NEVER)
        self.refused("no model can have a val.loss below 0", "a.lua", "--target", "val.loss=-1", *NEVER)

    def test_a_parameter_that_is_not_there(self):
        self.refused("--b reite=1: the recipe has no parameter 'reite'", "a.lua", *TARGET, "--b", "reite=1")
        self.refused("an option becomes a parameter where the recipe takes its value from lab.param", "a.lua", *TARGET,
                     "--b", "optim.lr=1")

    def test_a_target_that_is_met_at_the_start_or_never(self):
        result = self.compare("a.lua", "--target", "val.loss=50", *NEVER, code=2)
        self.assert_said(result, "no time to val.loss = 50 can be told: trainings have reached it at their first "
                         "validation, after about ", "harder to reach")
        result = self.compare("a.lua", "--target", "val.loss=0.000001", *NEVER, code=2)
        self.assert_said(result, "seed 3 of at most 20", "neither A nor B has reached val.loss = 1e-06: A came to ")
        again = self.compare("a.lua", "--target", "val.loss=0.000001", *NEVER, code=2)
        self.assert_said(again, "neither A nor B has reached val.loss = 1e-06: A came to ")
        self.assertNotIn("seed 4", result.err + again.err)
        told = self.run_program("report", "runs/compare/a/002")
        self.assertTrue(told.out.startswith("no verdict: --target: neither A nor B has reached val.loss = 1e-06"), told)
        value = self.run_program("report", "runs/compare/a/002", "--json").json()
        self.assertEqual((value["status"], value["seeds"], value["more_seeds"]), ("stopped", 3, None))
        self.assertIn("neither A nor B has reached", value["reason"])

    def test_recipes_that_return_no_fit(self):
        self.write("nothing.lua", "return nil")
        self.refused("returns no stage", "nothing.lua", *TARGET, *NEVER)
        self.write("task.lua", 'return lab.task { name = "t", run = function(ctx) end }')
        self.refused("task.lua: expected a recipe that runs nothing but the lab.fit that it returns, found one that "
                     "returns a lab.task", "task.lua", *TARGET, *NEVER)
        self.write("two.lua", 'lab.run(lab.task { name = "t", run = function(ctx) end })\n' + RECIPE)
        self.refused("one with lab.run", "two.lua", *TARGET, "--b", "rate=1")

    def test_a_fit_with_a_seed_of_its_own(self):
        self.write("fixed.lua", RECIPE.replace('name = "f"', 'name = "f", seed = 1'))
        self.refused("all trainings of the recipe would have this seed", "fixed.lua", *TARGET, *NEVER, code=1)
        self.write("free.lua", RECIPE.replace('name = "f"', 'name = "f", seed = lab.seed'))
        self.compare("free.lua", *TARGET, *NEVER, "--within", "0.001 s")

    def test_metrics_that_are_functions(self):
        """Their texts and what they use are compared, not their places in the recipe."""
        metric = OWN_METRIC.replace('name = "mine"', 'name = "mine", goal = "max"').replace("return sum end",
                                                                                            "return sum + gap end")
        recipe = 'local gap = lab.param { "gap", 1 }\n' + RECIPE.replace('"accuracy"', metric)
        target = ("--target", "val.mine=0.5")
        self.write("a.lua", recipe)
        self.refused("they compute it in different ways", "a.lua", *target, "--b", "gap=2")
        self.write("b.lua", recipe.replace("return sum + gap end", "return sum - gap end"))
        self.refused("they compute it in different ways", "a.lua", "b.lua", *target)
        self.write("b.lua", recipe.replace("  metrics = {", "  metrics = { function(out, batch) return 1 end,\n"))
        # The metrics are alike: the pairs are trained, and the target is judged at the look.
        result = self.compare("a.lua", "b.lua", *target, "--seeds", "3", code=2)
        self.assert_said(result, "no time to val.mine = 0.5 can be told: trainings have reached it at their first "
                         "validation")

    def test_other_data(self):
        self.write("b.lua", RECIPE.replace("seed = 7", "seed = 8"))
        self.refused("val.loss of A and B cannot be compared: it is measured on other samples (360 samples in A, 360 "
                     "in B)", "a.lua", "b.lua", *TARGET)
        self.write("b.lua", RECIPE.replace("val = 0.2", "val = 0.1"))
        self.refused("cannot be compared", "a.lua", "b.lua", *TARGET)
        self.write("b.lua", RECIPE.replace('"cross_entropy"', "lab.loss.cross_entropy { label_smoothing = 0.1 }"))
        self.refused("they compute it in different ways", "a.lua", "b.lua", *TARGET)
        # The accuracy means the same all the same.
        self.compare("a.lua", "b.lua", "--target", "val.accuracy=0.8", "--within", "0.001 s")
        # Samples that the training part gets from elsewhere leave those of the other parts what they are.
        self.write("b.lua", RECIPE.replace("seed = 7 }", "seed = 7 }:append(lab.data.digits():take(100))"))
        result = self.compare("a.lua", "b.lua", *TARGET, "--within", "0.001 s")
        self.assert_said(result, "A and B train on different samples (359 samples in A, 459 in B)")
        self.write("b.lua", RECIPE.replace("seed = 7 }", "seed = 7 }:normalize()"))
        result = self.compare("a.lua", "b.lua", *TARGET, "--within", "0.001 s")
        self.assert_said(result, "A and B prepare the same samples in different ways")
        # Less data for training, and all of the same validation part, in another order.
        self.write("b.lua", RECIPE.replace("seed = 7 }", "seed = 7 }:take(360)"))
        result = self.compare("a.lua", "b.lua", "--target", "val.loss=2", "--within", "0.001 s")
        self.assertNotIn("cannot be compared", result.err)

    def test_the_latest_run_is_none(self):
        self.refused(f"no run in {self.folder}/runs/x has ended yet", "runs/x/latest", "runs/y/latest", *TARGET)


if __name__ == "__main__":
    unittest.main()
