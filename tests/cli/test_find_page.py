"""The page of `trainlab find`, and that of a run whose recipe has searched."""

import unittest

from browser import NODE, shown_by_scripts
from program import SLOW_INPUT, CliTest, fit

# Without an adaptive optimizer the loss grows without bound at high rates.
SGD = {"optim": "lab.optim.SGD { lr = 0.01 }", "epochs": "20"}


@unittest.skipUnless(NODE, "needs node")
class FindPage(CliTest):
    def found(self, what, *more):
        """The object that is found, and the page that is written beside it."""
        command = ("find", what, "r.lua", "--threads", "1", "--html", "p.html", *more)
        found = self.run_program(*command, "--json").json()
        return found, shown_by_scripts(self, self.folder / "p.html")

    def sets(self, page, title):
        """The points of a chart's lines by label, those without a label as a list below ""."""
        [chart] = [one for one in page["charts"] if one["title"] == title]
        sets = {"": [one["data"] for one in chart["sets"] if not one["label"]]}
        for one in chart["sets"]:
            if one["label"]:
                sets[one["label"]] = one["data"]
        return sets

    def assert_marked(self, sets, label, x):
        self.assertEqual([point["x"] for point in sets[label]], [x, x])

    def assert_rates(self, found, page):
        """The page shows what `find lr` has found."""
        lr = found["lr"]
        sets = self.sets(page, "Range test")
        top = max(point["y"] for point in sets["loss"])
        self.assertEqual(sets["loss"], [{"x": one["lr"], "y": min(one["loss"], top)} for one in found["curve"]])
        for label in ("suggestion", "start", "valley", "steepest"):
            self.assert_marked(sets, label, lr[label])
            self.assertEqual(sets[label][1]["y"], top)
        sets = self.sets(page, f"{found['metric']} by rate")
        self.assertEqual([point["x"] for point in sets[found["metric"]]], [one["lr"] for one in found["probes"]])
        self.assert_marked(sets, "suggestion", lr["suggestion"])
        self.assert_marked(sets, "as good from", lr["low"])
        self.assert_marked(sets, "as good to", lr["high"])
        for low, high in sets[""]:
            [one] = [one for one in found["probes"] if one["lr"] == low["x"]]
            self.assertAlmostEqual(high["y"] - low["y"], 2 * one["error"])
        self.assertEqual(len(page["tables"][0]["rows"]), len(found["probes"]))

    def test_a_rate(self):
        self.recipe(**SGD)
        found, page = self.found("lr")
        self.assertEqual(page["title"], "A rate for f of r.lua")
        self.assert_rates(found, page)
        # The least loss and the fall to it stay visible: what is far above stands at the end of the axis.
        losses = sorted(one["loss"] for one in found["curve"])
        top = losses[0] + 3 * (losses[len(losses) // 2] - losses[0])
        far = sum(loss > top for loss in losses)
        self.assertGreater(far, 0)
        self.assertLessEqual(max(point["y"] for point in self.sets(page, "Range test")["loss"]), top)
        self.assertTrue(any(f"At the axis's end: {far} far worse." in text for text in page["texts"]), page["texts"])

    def test_a_batch(self):
        self.recipe(epochs="40")
        found, page = self.found("batch")
        sets = self.sets(page, "Noise scale of the gradients")
        known = [one for one in found["noise"] if one["value"] is not None]
        self.assertEqual(sets["noise scale"], [{"x": one["step"], "y": one["value"]} for one in known])
        self.assertEqual(sets[""], [[{"x": one["step"], "y": one["low"]}, {"x": one["step"], "y": one["high"]}]
                                    for one in known if one["high"] is not None])
        speeds = self.sets(page, "Speed")["samples/s"]
        self.assertEqual(speeds, [{"x": one["batch"], "y": one["samples_per_second"]} for one in found["curve"]])
        self.assertEqual([row[0] for row in page["tables"][0]["rows"]], [str(one["batch"]) for one in found["curve"]])
        knee, title = found["batch"]["knee"], "Time and samples to the same loss"
        if knee["high"] is None:
            self.assertNotIn(title, [one["title"] for one in page["charts"]])
            return
        sets = self.sets(page, title)
        for label, name in (("time to a loss", "time"), ("samples to a loss", "samples")):
            self.assertEqual(sets[label], [{"x": one["batch"], "y": one[name]} for one in found["curve"]])
        self.assert_marked(sets, "suggestion", found["batch"]["suggestion"])
        self.assert_marked(sets, "knee, low", knee["low"])
        self.assert_marked(sets, "knee, high", knee["high"])

    def test_a_loader(self):
        self.recipe(**SLOW_INPUT)
        found, page = self.found("loader", "--apply", "loader.toml")
        [chart] = page["charts"]
        self.assertEqual(chart["labels"], [f"{one['threads']} threads, {one['prefetch']} ahead"
                                           for one in found["curve"]])
        self.assertEqual(chart["sets"][0]["data"], [one["samples_per_second"]["median"] for one in found["curve"]])
        self.assertEqual(len(page["tables"][0]["rows"]), len(found["curve"]))
        self.assertIn("loader.threads", (self.folder / "loader.toml").read_text())

    def test_an_optimizer(self):
        self.recipe(epochs="6")
        found, page = self.found("optimizer")
        sets = self.sets(page, f"{found['metric']} by rate")
        for one in found["optimizers"]:
            finite = [point for point in one["curve"] if point["loss"] is not None]
            self.assertEqual([point["x"] for point in sets[one["name"]]], [point["lr"] for point in finite])
        names = [row[0] for row in page["tables"][0]["rows"]]
        self.assertEqual(names, [one["name"] + (" (the recipe's)" if one["own"] else "")
                                 for one in found["optimizers"]])

    def test_the_searches_of_a_recipe_are_on_the_page_of_its_run(self):
        self.recipe(**SGD)
        found, _ = self.found("lr")
        build = "local function build(lr)\n" + fit(**{**SGD, "optim": "lab.optim.SGD { lr = lr }"}) + "end\n"
        self.write("s.lua", build + "local found = lab.run(lab.find.lr { fit = build(0.01) })\n"
                                    "return build(found.lr.suggestion)\n")
        self.train("--out", "run", recipe="s.lua")
        self.run_program("report", "run", "--html", "run.html")
        page = shown_by_scripts(self, self.folder / "run.html")
        self.assert_rates(found, page)
        self.assertIn("val.loss by rate", [one["title"] for one in page["charts"]])

    def test_a_search_that_the_budget_of_a_run_ends(self):
        build = "local function build(lr)\n" + fit(optim="lab.optim.SGD { lr = lr }", epochs="1000000") + "end\n"
        self.write("r.lua", build + "local found = lab.run(lab.find.optimizer { fit = build(0.1) })\n"
                                    "return build(found.optimizer.lr)\n")
        self.train("--within", "4 s", "--out", "run")
        self.run_program("report", "run", "--html", "run.html")
        texts = shown_by_scripts(self, self.folder / "run.html")["texts"]
        self.assertIn("find.optimizer: the time budget is used", texts)
        self.assertIn("SGD", texts)

    def test_a_page_and_changes_are_two_files(self):
        self.recipe()
        result = self.run_program("find", "lr", "r.lua", "--html", "same", "--apply", "./same", code=2)
        self.assert_said(result, f"--html and --apply name one file, {self.folder / 'same'}, which cannot hold both")


if __name__ == "__main__":
    unittest.main()
