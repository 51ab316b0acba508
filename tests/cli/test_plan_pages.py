"""The pages of `trainlab plan fit`, `plan sweep`, `plan seeds` and `plan RECIPE.lua`."""

import json
import unittest

from browser import NODE, shown_by_scripts
from planning import DIGITS, LAW, PlanTest, loss, table
from program import fit


@unittest.skipUnless(NODE, "needs node")
class PlanPages(PlanTest):
    def page(self, *arguments):
        """The object that the plan gives, the page beside it, and the page's charts: their lines by label."""
        plan = self.plan(*arguments, "--html", "p.html")
        page = shown_by_scripts(self, self.folder / "p.html")
        return plan, page, {chart["title"]: {one["label"]: one["data"] for one in chart["sets"] if one["label"]}
                            for chart in page["charts"]}

    def assert_goes_on(self, out, *arguments):
        """Trainings that were interrupted go on with the same plan, whether it has a page or not."""
        path = self.folder / out / "asked.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "has_ended": False}))
        self.assertEqual(self.plan(*arguments)["out"], str(self.folder / out))

    def test_a_fitted_law(self):
        self.write("runs.csv", table())
        plan, page, charts = self.page("fit", "runs.csv")
        self.assertEqual(plan, self.plan("fit", "runs.csv"))
        self.assertEqual(page["title"], "A law of the loss from 16 runs")
        self.assertIn("L(N, D) = 1.817 + 482/N^0.3478 + 2085/D^0.3659", page["texts"])
        # The runs, and the law of each of the four sizes.
        by_tokens = charts["Loss by tokens"]
        self.assertEqual(list(by_tokens), [f"{size} parameters" for size in ("50.0 M", "200 M", "1.00 B", "4.00 B")])
        for size, points in zip((5e7, 2e8, 1e9, 4e9), by_tokens.values()):
            for point in points:
                self.assertAlmostEqual(point["y"], loss(size, point["x"]), places=3)
        [drawn] = [chart["sets"] for chart in page["charts"] if chart["title"] == "Loss by tokens"]
        self.assertEqual(sum(len(one["data"]) for one in drawn if not one["label"]), 16)
        # The best model for each number of FLOPs: smaller and larger ones have a larger loss.
        losses, sizes = charts["Least loss by FLOPs"], charts["Best size by FLOPs"]
        self.assertEqual(len(losses["a run"]), 16)
        for best, size in zip(losses["best"], sizes["best"]):
            tokens = best["x"] / 6 / size["y"]
            self.assertAlmostEqual(best["y"], loss(size["y"], tokens), places=3)
            for factor in (0.7, 1.4):
                self.assertLess(best["y"], loss(size["y"] * factor, tokens / factor))
        longest = max(point["x"] for point in losses["a run"])
        self.assertEqual([point["x"] for point in losses["longest run"]], 2 * [longest])
        self.assertAlmostEqual(losses["best"][-1]["x"] / longest, 100)
        for one, upper in zip(losses["best"], losses["interval"]):
            self.assertLessEqual(one["y"], upper["y"])
        budgets, constants = page["tables"]
        self.assertEqual([row[0] for row in budgets["rows"]], [f"{times * longest:.2e}" for times in (1, 10, 100)])
        for row, value in zip(constants["rows"], (*LAW, LAW[4] / (LAW[3] + LAW[4]))):
            self.assertAlmostEqual(float(row[1]) / value, 1, places=2)

    def test_a_law_without_a_limit(self):
        rows = [(n, n * d, loss(n, n * d) - LAW[0]) for n in (1e4, 3e4, 1e5) for d in (1, 10, 100)]
        self.write("runs.csv", "N,D,loss\n" + "".join(f"{n},{d},{l!r}\n" for n, d, l in rows))
        _, page, _ = self.page("fit", "runs.csv")
        self.assertIn("E is unknown, because none of these runs comes near the limit of the loss.", page["texts"])
        self.assertEqual(page["tables"][1]["rows"][0][:2], ["E", "unknown"])

    def test_a_ladder(self):
        """Trainings that were left out stand on the page, too."""
        stop = "  on = { validate = function(run) if width == 32 then run:stop('enough') end end },\n"
        self.write("r.lua", 'local width = lab.param { "width", 8, min = 1 }\n' + fit(**{
            **DIGITS, "model": "nn.Sequential { nn.Flatten(), nn.Linear(width), nn.ReLU(), nn.Linear(10) }",
            "more": stop + '  validate = "30%",\n'}))
        given = ("sweep", "r.lua", "--threads", "1", "--flops", "1e8", "--size", "width=4,8,16,32", "--quiet")
        plan, page, charts = self.page(*given)
        self.assertEqual((plan["kind"], plan["runs"]), ("plan_fit", 9))
        self.assertIn("r.lua", page["texts"])
        out = [text for text in page["texts"] if text.startswith("Left out: width=32 with ")]
        self.assertEqual(len(out), 3)
        self.assertTrue(all(text.endswith(" FLOPs was cut short: enough") for text in out), out)
        runs = [self.summary(self.folder / f"runs/plan/r/001/run-{number:02d}") for number in range(1, 13)]
        self.assertEqual({point["y"] for point in charts["Least loss by FLOPs"]["a run"]},
                         {run["metrics"]["val.loss"] for run in runs if run["reason"] == "reached its length"})
        self.assert_goes_on("runs/plan/r/001", *given)
        # The report of the folder, which leaves out the same runs.
        report = self.run_program("report", "runs/plan/r/001", "--json", "--html", "again.html")
        self.assertEqual(report.json()["law"], plan["law"])
        again = shown_by_scripts(self, self.folder / "again.html")
        self.assertEqual(again["charts"], page["charts"])
        self.assertEqual(sum(text.startswith("Left out: ") for text in again["texts"]), 3)

    def test_seeds(self):
        self.recipe(epochs=1)
        given = ("seeds", "r.lua", "--threads", "1", "--quiet", "--difference", "0.1")
        plan, page, charts = self.page(*given)
        self.assertEqual(page["title"], "val.loss from seed to seed: r.lua")
        by_seed = charts["val.loss by seed"]
        self.assertEqual(by_seed["a seed"], [{"x": seed, "y": value}
                                             for seed, value in zip(plan["seeds"], plan["values"])])
        self.assertEqual([point["y"] for point in by_seed["mean"]], 2 * [plan["mean"]])
        told = charts["What more seeds tell"]
        self.assertEqual(told["a difference that is detected"],
                         [{"x": one["seeds"], "y": one["difference"]} for one in plan["by_seeds"]])
        self.assertEqual({point["y"] for point in told["the difference that is asked for"]}, {0.1})
        self.assertIn("seeds for a difference of 0.1", page["texts"])
        self.assertEqual([row[0] for row in page["tables"][0]["rows"]], [str(one["seeds"]) for one in plan["by_seeds"]])
        self.assert_goes_on("runs/plan/r/001", *given)
        self.assertIn(f"val.loss of runs/plan/r/001: {plan['mean']:.4g} on average over 5 seeds\n",
                      self.run_program("report", "runs/plan/r/001").out)
        self.assert_said(self.run_program("report", "runs/plan/r/001", "--csv", code=2), "--csv: a plan is no table")
        path = self.folder / "runs/plan/r/001/asked.json"
        asked = path.read_text()
        path.write_text(json.dumps({**json.loads(asked), "has_ended": False}))
        self.assert_said(self.run_program("report", "runs/plan/r/001", code=2),
                         "the plan in runs/plan/r/001 has not ended")
        path.write_text(asked)

        for seed in (1, 2, 3, 4, 5):  # a metric that all seeds share
            path = self.folder / f"runs/plan/r/001/seed-{seed:03d}/summary.json"
            summary = json.loads(path.read_text())
            summary["metrics"]["val.loss"] = 0.5
            path.write_text(json.dumps(summary))
        _, page, charts = self.page("seeds", "runs/plan/r/001", "--difference", "0.1")
        self.assertEqual(list(charts), ["val.loss by seed"])
        self.assertIn("All values are equal: the metric is too coarse, or the seed changes nothing.", page["texts"])

    def test_a_recipe(self):
        self.recipe(epochs=20)
        plan, page, _ = self.page("r.lua", "--threads", "1", "--within", "1 h")
        self.assertEqual(page["title"], "Plan for fit f")
        [chart] = page["charts"]
        self.assertEqual(chart["labels"], ["an epoch", "a training", "the stage's time"])
        self.assertEqual(chart["sets"][0]["data"], [plan["epoch_seconds"]["median"], plan["training_seconds"]["median"],
                                                    plan["usable"]])
        self.assertIn("the length of the stage", page["texts"])
        self.assertTrue(any(text.startswith("plan for fit f, from steps that were measured") for text in page["texts"]))


if __name__ == "__main__":
    unittest.main()
