"""`trainlab plan`: budgets, judgements and fitted laws from the command line, and plans from trainings."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import unittest

from browser import NODE, shown_by_scripts
from planning import DIGITS, LAW, PlanTest, loss, table
from program import PROGRAM, fit

PRICES = """[H200]
price = "4 EUR/h"
as_of = 2026-11-01
billed = "1 h"
"""


class Plan(PlanTest):
    @unittest.skipUnless(NODE, "needs node")
    def test_a_page(self):
        given = ("--parameters", "1e9", "--tokens", "2e12", "--rate", "4e14")
        plan = self.plan(*given)
        self.run_program("plan", *given, "--html", "p.html")
        page = shown_by_scripts(self, self.folder / "p.html")
        self.assertIn("Plan for 1.20e+22 FLOPs", page["texts"])
        self.assertIn("Compute-inefficient: this loss can be reached with 0.186 of the FLOPs.", page["texts"])
        self.assertIn("Data-inefficient: 2000 tokens for each parameter, 20.2 are best.", page["texts"])
        self.assertEqual([row[0] for row in page["tables"][0]["rows"]], ["1", "2", "3"])
        sets = {one["label"]: one["data"] for one in page["charts"][0]["sets"]}
        self.assertEqual(sets["this plan"], [{"x": 1e9, "y": plan["loss"]}])
        # The curve has the law's loss for the same FLOPs, and its lowest point at the best size by this law.
        curve = sets["models of other sizes"]
        for point in curve:
            self.assertAlmostEqual(point["y"], loss(point["x"], 1.2e22 / 6 / point["x"]), places=4)
        best = min(curve, key=lambda point: point["y"])
        self.assertAlmostEqual(best["x"] / plan["approaches"][2]["parameters"], 1, places=6)
        self.run_program("plan", "--flops", "1e24", "--html", "beyond.html")
        self.assertIn("Beyond the runs behind the law, which had 1.40e+18 to 1.30e+22 FLOPs and 44.0 M to 16.0 B "
                      "parameters: an extrapolation.", shown_by_scripts(self, self.folder / "beyond.html")["texts"])
        text = self.run_program("plan", *given).out
        self.assertEqual(self.run_program("plan", *given, "--html", "p.html").out, text)
        self.assertEqual(self.plan(*given, "--html", "p.html"), plan)
        self.write("mine.txt", "mine")
        self.refused((*given, "--html", "mine.txt"),
                     "trainlab: --html: mine.txt is there already, and is no page of trainlab")

    def test_a_budget_as_data(self):
        plan = self.plan("--flops", "1e21")
        self.assertEqual(plan["kind"], "plan")
        self.assertEqual([one["name"] for one in plan["approaches"]], ["1", "2", "3"])
        for one in plan["approaches"]:
            self.assertAlmostEqual(6 * one["parameters"] * one["tokens"] / 1e21, 1)
            self.assertLess(one["low"], one["parameters"])
            self.assertLess(one["parameters"], one["high"])
            self.assertAlmostEqual(one["loss"], loss(one["parameters"], one["tokens"]))
        self.assertAlmostEqual(plan["loss"], loss(plan["parameters"], plan["tokens"]))
        self.assertEqual(plan["flags"], [])
        for name in ("seconds", "cost", "mfu"):
            self.assertIsNone(plan[name])
        self.assertFalse(plan["extrapolated"])
        # FLOPs of the runs behind the law, and a model that is far smaller than theirs.
        beyond = self.plan("--parameters", "1e6", "--tokens", "1e14")
        self.assertEqual((beyond["flops"], beyond["extrapolated"]), (6e20, True))
        self.assertEqual((beyond["law"]["least_parameters"], beyond["law"]["least_tokens"]), (4.4e7, None))

    def test_a_budget_as_text(self):
        lines = self.run_program("plan", "--flops", "1e21").out.splitlines()
        self.assertEqual(lines[0], "plan for 1e+21 FLOPs: estimates")
        self.assertEqual([line.split()[0] for line in lines[3:6]], ["1", "2", "3"])
        self.assertIn("2.84 B", lines[3])
        self.assertIn("time     unknown", "\n".join(lines))
        self.assertTrue(all(line == line.rstrip() for line in lines), lines)
        self.assertNotIn("extrapolation", "\n".join(lines))
        self.assertIn("extrapolation", self.run_program("plan", "--flops", "1e25").out)

    def test_a_budget_that_is_more_than_enough(self):
        given = ("--flops", "1e21", "--parameters", "1e9", "--tokens", "1e9")
        text = self.run_program("plan", *given).out
        self.assertEqual(text.splitlines()[0], "plan for 1e+21 FLOPs: estimates")
        self.assertIn("\n  budget   enough: the training needs 6e+18 FLOPs, and 9.94e+20 FLOPs are left\n", text)
        plan = self.plan(*given)
        self.assertEqual((plan["flops"], plan["flops_budget"], plan["ends_first"]), (6e18, 1e21, "length"))
        self.assertNotIn("  budget ", self.run_program("plan", *given[:4]).out)
        self.assertIsNone(self.plan(*given[2:])["flops_budget"])

    def test_sizes_that_are_rounded_up_to_a_unit(self):
        text = self.run_program("plan", "--parameters", "1e9").out
        self.assertNotIn("1000 M", text)
        self.assertEqual([line[38:48].strip() for line in text.splitlines()[3:6]], 3 * ["1.00 B"])

    def test_in_a_pipe_that_nobody_reads(self):
        done = subprocess.run(f"'{PROGRAM}' plan --flops 1e21 | head -1", shell=True, cwd=self.folder,
                              capture_output=True, text=True, check=True)
        self.assertEqual((done.stdout, done.stderr), ("plan for 1e+21 FLOPs: estimates\n", ""))

    def test_it_needs_no_engine(self):
        program = self.folder / "alone"
        program.write_bytes(pathlib.Path(PROGRAM).read_bytes())
        os.chmod(program, 0o755)
        self.assertIn("plan for", self.run_program("plan", "--flops", "1e21", program=program).out)

    def test_hours_time_and_money(self):
        self.write("prices.toml", PRICES)
        device = ("--device-name", "H200", "--mfu", "0.4")
        plan = self.plan("--gpu-hours", "100", *device)
        self.assertAlmostEqual(plan["flops"] / (100 * 3600 * 0.4 * 989e12), 1)
        self.assertAlmostEqual(plan["seconds"], 360000)
        self.assertAlmostEqual(plan["mfu"], 0.4)
        plan = self.plan("--money", "500 EUR", "--prices", "prices.toml", *device)
        self.assertAlmostEqual(plan["seconds"], 125 * 3600)
        self.assertAlmostEqual(plan["cost"], 500)
        self.assertEqual((plan["currency"], plan["price_as_of"]), ("EUR", "2026-11-01"))
        plan = self.plan("--within", "24 h", "--usable", "18 h", "--rate", "4e14")
        self.assertAlmostEqual(plan["flops"] / (18 * 3600 * 4e14), 1)
        self.assertIsNone(plan["mfu"])
        text = self.run_program("plan", "--within", "24 h", "--usable", "18 h", "--rate", "4e14").out
        self.assertIn("18 h 00 min at 4e+14 FLOP/s, MFU unknown", text)
        text = self.run_program("plan", "--flops", "1e20", "--prices", "prices.toml", *device).out
        self.assertIn("cost     284.00 EUR at 4 EUR/h for H200, as of 2026-11-01", text)

    def test_choices_are_judged(self):
        given = ("--parameters", "1e9", "--tokens", "2e12")
        self.assertEqual(self.plan(*given)["flags"], ["compute_inefficient", "data_inefficient"])
        text = self.run_program("plan", *given).out
        self.assertRegex(text, r"compute-inefficient: \S+ B parameters with \S+ [BT] tokens reach this loss with 0\.")
        self.assertIn("data-inefficient: 2000 tokens for each parameter", text)
        self.assertEqual(self.plan("--parameters", "175e9", "--tokens", "3e11")["flags"], ["compute_inefficient"])
        repeated = self.plan("--flops", "1e21", "--unique-tokens", "5e9")
        self.assertEqual(repeated["flags"], ["data_inefficient"])
        self.assertGreater(repeated["epochs"], 4)
        self.assertLess(repeated["effective_tokens"], repeated["tokens"])
        self.assertIn("data-inefficient: 18 passes over the data",
                      self.run_program("plan", "--flops", "1e21", "--unique-tokens", "5e9").out)

    def test_a_transformer(self):
        shape = ("--layers", "10", "--width", "640", "--heads", "10", "--ffw", "2560", "--vocabulary", "32000",
                 "--context", "2048")
        plan = self.plan(*shape, "--tokens", "2048")
        self.assertEqual(plan["parameters"], 73825280)
        self.assertEqual(plan["flops_per_sequence"], 929877196800)
        self.assertAlmostEqual(plan["flops"] / plan["flops_6nd"], 1.025, 3)
        self.assertIn("73.8 M parameters", self.run_program("plan", *shape).out)
        self.refused(shape[:-2], "trainlab: the shape of a transformer also needs --context")
        self.refused((*shape[:5], "9", *shape[6:]),
                     "trainlab: --width is no multiple of --heads: each head has width / heads numbers")

    def test_a_law_is_fitted_and_used(self):
        self.write("runs.csv", table())
        result = self.run_program("plan", "fit", "runs.csv")
        self.assertIn("from 16 runs", result.out)
        self.assertIn("% off the law (root mean square)", result.out)
        fitted = self.run_program("plan", "fit", "runs.csv", "--json")
        value = fitted.json()
        self.assertEqual((value["kind"], value["runs"]), ("plan_fit", 16))
        for name, truth in zip(("E", "A", "B", "alpha", "beta"), LAW):
            self.assertAlmostEqual(value["law"][name] / truth, 1, delta=0.02)
            low, high = value["intervals"][name]
            self.assertLessEqual(low, high)
        self.write("law.json", fitted.out)
        plan = self.plan("--flops", "1e21", "--law", "law.json")
        self.assertEqual((plan["extrapolated"], plan["law"]["least_flops"]), (False, value["least_flops"]))
        self.assertAlmostEqual(value["least_flops"] / (6 * 5e7 * 3 * 5e7), 1)
        self.assertAlmostEqual(value["most_flops"] / (6 * 4e9 * 100 * 4e9), 1)
        beyond = self.run_program("plan", "--flops", "1e24", "--law", "law.json").out
        self.assertIn("  beyond the runs behind the law, which had 4.5e+16 to 9.6e+21 FLOPs, 50.0 M to 4.00 B "
                      "parameters and 150 M to 400 B tokens: an extrapolation\n", beyond)
        self.assertEqual([one["name"] for one in plan["approaches"]], ["fit"])
        self.assertLessEqual(plan["loss_low"], plan["loss"])
        self.assertLessEqual(plan["loss"], plan["loss_high"])
        self.assertIsNone(self.plan("--flops", "1e21")["loss_low"])
        self.assertAlmostEqual(plan["parameters"] / self.plan("--flops", "1e21")["parameters"], 1, delta=0.02)

    def test_a_limit_that_no_run_comes_near(self):
        rows = [(n, n * d, 400 / n ** 0.4 + 900 / (n * d) ** 0.35) for n in (5e7, 2e8, 1e9, 4e9) for d in (3, 10, 30)]
        self.write("runs.csv", "N,D,loss\n" + "".join(f"{n},{d},{l!r}\n" for n, d, l in rows))
        text = self.run_program("plan", "fit", "runs.csv").out
        self.assertTrue(text.startswith("L(N, D) = E (unknown) + "), text)
        self.assertRegex(text, r"\n  E +unknown  ")
        self.assertIn("\n  E is unknown, because none of these runs comes near the limit of the loss\n", text)
        fitted = self.run_program("plan", "fit", "runs.csv", "--json")
        self.assertLess(fitted.json()["law"]["E"], 1e-9)
        self.write("law.json", fitted.out)
        planned = self.run_program("plan", "--flops", "1e21", "--law", "law.json").out
        self.assertIn("by L(N, D) = E (unknown) + ", planned)

    def test_a_law_is_fitted_to_runs(self):
        folders = []
        for i, line in enumerate(table().splitlines()[1:]):
            parameters, samples, value = map(float, line.split(","))
            # A sample may count as many tokens. Where the FLOPs are unknown, it counts as one.
            known = {"samples": 1, "flops": 6 * parameters * samples} if i % 2 else {"samples": samples}
            summary = {"kind": "fit", "status": "done", "parameters": parameters, "metrics": {"val.loss": value}}
            summary.update(known)
            self.write(f"run{i}/summary.json", json.dumps(summary))
            folders.append(f"run{i}")
        self.write("runs.csv", table())
        self.assertEqual(self.run_program("plan", "fit", *folders, "--json").json()["law"],
                         self.run_program("plan", "fit", "runs.csv", "--json").json()["law"])

    def test_questions_without_an_answer(self):
        self.write("prices.toml", PRICES)
        self.refused([], "trainlab: expected a budget, or parameters to judge")
        self.refused(["--flops", "-1"], 'trainlab: --flops: expected a number from 1 to 1e40, found "-1"')
        self.refused(["--flops", "nan"], 'trainlab: --flops: expected a number from 1 to 1e40, found "nan"')
        self.refused(["--flops", "2"], "trainlab: nothing fits into 2 FLOPs: not one parameter that sees one token")
        self.refused(["--money", "5 EUR"], "trainlab: --money needs prices: --prices FILE.toml")
        self.refused(["--money", "5 EUR", "--mfu", "0.4"], "trainlab: --money needs prices: --prices FILE.toml")
        self.refused(["--money", "5 coins", "--prices", "prices.toml"],
                     'trainlab: --money: expected an amount above 0 with its currency, as "500 EUR", found "5 coins"')
        self.refused(["--money", "5 USD", "--prices", "prices.toml", "--rate", "1e14"],
                     "trainlab: no price in USD: prices are in EUR")
        self.refused(["--money", "3 EUR", "--prices", "prices.toml", "--rate", "1e14"],
                     "trainlab: nothing fits into 3 EUR: the least that is billed for H200 costs more")
        self.refused(["--flops", "1e20", "--law", "chinchilla"],
                     "trainlab: the constants that Hoffmann et al. 2022 print (406.4, 410.7, 1.69, 0.34, 0.28) are "
                     "rounded and come from a fit that ended early: for 67 billion parameters they give 108 tokens for "
                     "each, unrounded 65, but the paper's own table of training curves gives 22 and the repeated fit "
                     "18")
        self.refused(["--flops", "1e20", "--seed", "3"], "trainlab: --seed means nothing to `trainlab plan`")
        self.refused(["fits"], "trainlab: `trainlab plan` takes a recipe, flags, or one of the words fit, seeds, data, "
                               'model or sweep; found "fits"')
        self.refused(["fit"], "trainlab: `trainlab plan fit` needs a CSV file or the folders of fits")
        self.refused(["fit", "x.csv"], "trainlab: there is no CSV file and no folder of a fit x.csv")
        self.refused(["fit", "x.csv", "--flops", "1"], "trainlab: --flops means nothing to `trainlab plan fit`")
        self.assertEqual(self.run_program("plan", "--json", code=2).json()["status"], "failed")

    def test_wrong_files(self):
        self.write("prices.toml", '\n[H200]\nprice = "4 EUR"\n')
        self.refused(["--money", "5 EUR", "--prices", "prices.toml"],
                     'prices.toml:2: H200.price: expected a price for an hour, as "3.20 EUR/h", found "4 EUR"')
        self.write("runs.csv", "N,D,loss\n1,2,3\n1,two,3\n")
        self.refused(["fit", "runs.csv"], 'runs.csv:3: column D: expected a number above 0, found "two"', code=1)
        self.write("runs.csv", "N,loss\n1,2\n")
        self.refused(["fit", "runs.csv"], "runs.csv:1: no column tokens (or D): a table of runs has the columns "
                                          "parameters (or N), tokens (or D) and loss", code=1)
        self.write("runs.csv", "N,D,loss\n1,2,3\n")
        self.refused(["fit", "runs.csv"], "trainlab: a law of five constants needs at least 6 runs, found 1", code=1)
        self.write("run/summary.json", '{"kind": "sweep", "status": "done"}')
        self.refused(["fit", "run"], 'trainlab: run is no fit: kind is "sweep"', code=1)
        self.write("law.json", "{}")
        self.refused(["--flops", "1e20", "--law", "law.json"],
                     "law.json:1: expected the JSON of `trainlab plan fit … --json`, but law.E is nil")
        result = self.run_program("plan", "--flops", "1e20", "--law", "runs.csv", code=2)
        self.assert_said(result, "--law: expected the JSON of `trainlab plan fit … --json`, and runs.csv is no JSON",
                         "trainlab plan fit runs.csv --json > law.json")


# A metric of the recipe, of which nobody knows whether more is better.
NO_DIRECTION = '  metrics = { function(out, batch) return 1 end }, monitor = "val.metric_1",\n'


class Seeds(PlanTest):
    def runs(self, folder, values, **more):
        """Runs of one recipe with seeds 1, 2, …, whose val.loss is then written as given."""
        self.recipe(epochs=1)
        for seed, value in enumerate(values, 1):
            run = self.folder / folder / str(seed)
            self.train("--seed", seed, "--out", run, "--quiet")
            summary = {**self.summary(run), "seconds": 2.0, **more}
            summary["metrics"]["val.loss"] = value
            (run / "summary.json").write_text(json.dumps(summary))

    def test_runs_that_have_ended(self):
        values = [0.5, 0.53, 0.51, 0.5587, 0.5204]
        self.runs("runs", values)
        plan = self.plan("seeds", "runs", "--difference", "0.03")
        self.assertEqual((plan["kind"], plan["metric"], plan["seeds"]), ("plan_seeds", "val.loss", [1, 2, 3, 4, 5]))
        self.assertEqual((plan["values"], plan["failed"], plan["seconds"], plan["out"]), (values, 0, 10, None))
        self.assertAlmostEqual(plan["mean"], statistics.mean(values))
        deviation = plan["deviation"]
        self.assertAlmostEqual(deviation["value"], statistics.stdev(values), 6)
        # The quantiles 0.975 and 0.025 of chi-squared with 4 degrees of freedom.
        self.assertAlmostEqual(deviation["low"] / deviation["value"], (4 / 11.14329) ** 0.5, 5)
        self.assertAlmostEqual(deviation["high"] / deviation["value"], (4 / 0.4844186) ** 0.5, 4)
        by_seeds = {one["seeds"]: one for one in plan["by_seeds"]}
        # The quantile 0.975 of Student's distribution with 4 degrees of freedom, and the effect that 5 pairs detect.
        self.assertAlmostEqual(by_seeds[5]["half_width"] / deviation["value"], 2.776445 / 5 ** 0.5, 5)
        self.assertAlmostEqual(by_seeds[5]["difference"] / deviation["value"], 1.68 * 2 ** 0.5, 2)
        # 0.03 is 0.943 standard deviations of the differences, which have √2 times the deviation: 11 pairs.
        self.assertEqual(plan["needed"]["seeds"], 11)
        self.assertLess(plan["needed"]["low"], 11)
        self.assertGreater(plan["needed"]["high"], 50)
        self.assertEqual(plan["needed"]["seconds"], 2 * 11 * 2)
        self.assertIsNone(self.plan("seeds", "runs")["needed"])
        # The same of runs that are named one by one.
        self.assertEqual(self.plan("seeds", *(f"runs/{seed}" for seed in range(1, 6)))["deviation"], deviation)

        text = self.run_program("plan", "seeds", "runs", "--difference", "0.03").out
        for part in ("val.loss of runs: 0.5238 on average over 5 seeds\n",
                     "standard deviation 0.0225, between 0.0135 and 0.0647",
                     "a difference of 0.03 takes 11 seeds of each recipe (", ", 44.0 s without their starts\n",
                     "took     5 trainings, 2.0 s each without their starts\n"):
            self.assertIn(part, text)
        self.assertTrue(all(line == line.rstrip() for line in text.splitlines()), text)
        self.assertIn("takes more than 1000 seeds of each recipe\n",
                      self.run_program("plan", "seeds", "runs", "--difference", "1e-9").out)

    def test_a_recipe(self):
        self.recipe(epochs=2)
        result = self.run_program("plan", "seeds", "r.lua", "--threads", "1", "--json")
        plan = result.json()
        self.assertEqual((plan["metric"], plan["seeds"]), ("val.loss", [1, 2, 3, 4, 5]))
        self.assert_said(result, "seed 1 of at most 5: val.loss ", "seed 5 of at most 5: val.loss ")
        folder = self.folder / "runs/plan/r/001"
        self.assertEqual(plan["out"], str(folder))
        self.assertEqual(plan["values"],
                         [self.summary(folder / f"seed-{seed:03d}")["metrics"]["val.loss"] for seed in range(1, 6)])
        self.assertGreater(plan["deviation"]["value"], 0)
        # The time has the start of each process in it, as that of --within.
        alone = sum(self.summary(folder / f"seed-{seed:03d}")["seconds"] for seed in range(1, 6))
        self.assertGreater(plan["seconds"], alone)
        # The runs are ordinary ones: they say the same again, and a comparison can use them.
        self.assertEqual(self.plan("seeds", "runs/plan/r/001")["deviation"], plan["deviation"])
        compared = self.run_program("compare", *2 * ["runs/plan/r/001"], "--target", "val.loss=1e-09", code=2)
        self.assert_said(compared, "neither A nor B has reached val.loss = 1e-09")

        # Seeds that were interrupted in the last training go on with the same command.
        asked = json.loads((folder / "asked.json").read_text())
        self.write("runs/plan/r/001/asked.json", json.dumps({**asked, "has_ended": False}))
        shutil.rmtree(folder / "seed-005")
        rows = (folder / "seed-004/metrics.jsonl").stat().st_mtime_ns
        goes_on = self.plan("seeds", "r.lua", "--threads", "1", "--quiet")
        self.assertEqual((goes_on["out"], goes_on["values"]), (plan["out"], plan["values"]))
        self.assertEqual((folder / "seed-004/metrics.jsonl").stat().st_mtime_ns, rows)

        other = self.plan("seeds", "r.lua", "--threads", "1", "--quiet", "--set", "epochs=1", "--set", "optim.lr=1e-3")
        self.assertEqual(other["out"], str(folder.parent / "002"))
        self.assertNotEqual(other["values"], plan["values"])

    def test_what_changes_no_training_does_not_begin_anew(self):
        self.recipe(epochs=1)
        line = ("plan", "seeds", "r.lua", "--threads", "1")
        folder = self.folder / "runs/plan/r"
        asked = folder / "001/asked.json"
        self.run_program(*line)
        for more, number in ((("--grace", "3 s", "--silence", "90 s", "--json"), 1), (("--memory", "1 GB"), 2)):
            asked.write_text(json.dumps({**json.loads(asked.read_text()), "has_ended": False}))
            self.run_program(*line, *more)
            self.assertEqual(len(list(folder.iterdir())), number, more)

    def test_other_data_begin_anew(self):
        """The spread is that of one set of data."""
        def write_data(slope, first_x=0):
            self.write("d.csv", "x,y\n" + "".join(f"{first_x + i},{slope * i}\n" for i in range(20)))

        self.write("r.lua", fit(data=('lab.data.csv { "d.csv", target = "y" }'
                                      ':split { train = 0.5, val = 0.5, seed = 1 }'),
                                model="nn.Linear(1)", loss="mse", batch="5", optim="lab.optim.SGD { lr = 1e-4 }"))
        line = ("plan", "seeds", "r.lua", "--threads", "1")
        folder = self.folder / "runs/plan/r"
        path = folder / "001/asked.json"
        write_data(1)
        self.run_program(*line)
        asked = {**json.loads(path.read_text()), "has_ended": False}
        path.write_text(json.dumps(asked))
        write_data(2)
        said = self.run_program(*line).err
        self.assertIn("runs/plan/r/001 does not go on, because the part train of the data has changed\n",
                      said)
        self.assertEqual(len(list(folder.iterdir())), 2)
        write_data(1)
        self.assertNotIn("does not go on", self.run_program(*line).err)
        self.assertEqual(len(list(folder.iterdir())), 2)
        # Other inputs of the same targets are other data, too.
        path.write_text(json.dumps(asked))
        write_data(1, first_x=1)
        said = self.run_program(*line).err
        self.assertIn("runs/plan/r/001 does not go on, because the part train of the data has changed\n", said)
        shutil.rmtree(folder / "003")
        write_data(1)
        # A record of an earlier version does not have the data.
        del asked["asked"]["data"]
        path.write_text(json.dumps(asked))
        (folder / "002").rename(self.folder / "away")
        self.assertNotIn("does not go on", self.run_program(*line).err)
        self.assertEqual(len(list(folder.iterdir())), 1)
        self.assertIn("data", json.loads(path.read_text())["asked"])

    def test_within(self):
        self.recipe(epochs=2)
        result = self.run_program("plan", "seeds", "r.lua", "--threads", "1", "--quiet", "--within", "0.001 s", code=2)
        self.assert_said(result, "trainlab: --within: two seeds do not fit; the time was over before the first "
                                 "training")
        plan = self.plan("seeds", "r.lua", "--threads", "1", "--within", "1 h", "--quiet")
        self.assertEqual(plan["seeds"], list(range(1, 21)))

    def test_trainings_that_fail(self):
        self.runs("runs", [0.5, 0.6, 0.7])
        path = self.folder / "runs/2/summary.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "status": "failed",
                                    "reason": "the training loss is not finite at step 2"}))
        plan = self.plan("seeds", "runs")
        self.assertEqual((plan["seeds"], plan["failed"]), ([1, 3], 1))
        self.assertIn("failed   1 of 3 trainings", self.run_program("plan", "seeds", "runs").out)
        self.recipe(optim="lab.optim.SGD { lr = 1e38 }")
        result = self.run_program("plan", "seeds", "r.lua", "--threads", "1", code=3)
        self.assert_said(result, "seed 5 of at most 5: failed", "trainlab: 5 of 5 trainings failed, by a loss that is "
                                                                "not finite")
        result = self.run_program("plan", "data", "r.lua", "--threads", "1", "--set", "batch=4", code=3)
        self.assert_said(result, "trainlab: expected at least two seeds with a finite val.loss for all sizes, found 0, "
                                 "and 3 failed")

    def test_values_that_are_equal(self):
        self.runs("runs", [0.5, 0.5, 0.5])
        plan = self.plan("seeds", "runs", "--difference", "0.1")
        self.assertEqual((plan["deviation"]["value"], plan["by_seeds"], plan["needed"]), (0, [], None))
        self.assertIn("spread   unknown: all values are equal", self.run_program("plan", "seeds", "runs").out)

    def test_questions_without_an_answer(self):
        self.recipe(epochs=1)
        self.refused(["seeds"], "trainlab: `trainlab plan seeds` needs a recipe, or folders of runs that have ended")
        self.refused(["seeds", "r.lua", "--difference", "0"],
                     'trainlab: --difference: expected a number above 0, found "0"')
        self.refused(["seeds", "--flops", "1e20", "r.lua"], "trainlab: --flops means nothing to `trainlab plan seeds`")
        self.refused(["--difference", "1", "r.lua"], "trainlab: --difference goes with trainlab plan seeds")
        self.refused(["seeds", "r.lua", "r.lua"],
                     "trainlab: `trainlab plan seeds` takes one recipe, or folders of runs")
        self.refused(["seeds", "nowhere.lua"], "trainlab: there is no recipe nowhere.lua")
        self.refused(["seeds", "nowhere"], "trainlab: there is no folder nowhere")
        self.write("task.lua", 'return lab.task { name = "t", run = function(ctx) end }')
        self.refused(["seeds", "task.lua"], "trainlab: task.lua: expected a recipe that runs nothing but the lab.fit "
                                            "that it returns, found one that returns a lab.task")
        self.recipe("fixed.lua", more="  seed = 3,\n")
        self.refused(["seeds", "fixed.lua"], "fixed.lua:2: seed: all trainings of the recipe would have this seed",
                     code=1)
        self.recipe("way.lua", more=NO_DIRECTION)
        result = self.run_program("plan", "seeds", "way.lua", code=1)
        self.assert_said(result, "monitor", "the metric declares no better direction")
        self.assertFalse((self.folder / "runs").exists())

        self.train("--out", "one", "--quiet")
        self.refused(["seeds", "one"], "trainlab: expected at least 2 seeds, found 1")
        self.refused(["seeds", "one", "--within", "1 h"], "trainlab: --within means nothing to runs that have ended")
        self.refused(["seeds", "one", "one"], "trainlab: one and one have the same seed, 1")
        summary = self.summary(self.folder / "one")
        for changed, message in (
                ({"best": None}, "trainlab: the metric that the run in one monitors never was a number"),
                ({"metrics": {"val.accuracy": 1}},
                 "trainlab: the run in one has no val.loss, the metric that it monitors"),
                ({"status": "interrupted"}, "trainlab: the run in one has not ended")):
            (self.folder / "one/summary.json").write_text(json.dumps({**summary, **changed}))
            self.refused(["seeds", "one"], message)


class Data(PlanTest):
    def test_a_recipe(self):
        self.recipe(**DIGITS)
        result = self.run_program("plan", "data", "r.lua", "--threads", "1", "--json")
        plan = result.json()
        self.assertEqual((plan["kind"], plan["metric"], plan["goal"], plan["stage"]),
                         ("plan_data", "val.loss", "min", "f"))
        self.assertEqual((plan["seeds"], plan["failed"]), (3, 0))
        self.assertEqual([one["samples"] for one in plan["sizes"]], [135, 270, 539, 1078])
        for one in plan["sizes"]:
            self.assertAlmostEqual(one["mean"], statistics.mean(one["values"]))
            self.assertAlmostEqual(one["error"], statistics.stdev(one["values"]) / 3 ** 0.5)
        means = [one["mean"] for one in plan["sizes"]]
        self.assertEqual(means, sorted(means, reverse=True))
        self.assertIsNone(plan["unknown"])
        twice, four = plan["forecasts"]
        self.assertEqual([(one["factor"], one["samples"]) for one in (twice, four)], [(2, 2156), (4, 4312)])
        self.assertLess(twice["low"], twice["value"])
        self.assertLess(twice["value"], twice["high"])
        self.assertLess(twice["value"], means[-1])
        self.assert_said(result, "seed 1 of at most 3: val.loss ", "seed 3 of at most 3: val.loss ")
        self.assertFalse((self.folder / "runs").exists())
        # All data and the first seed: the training of the recipe itself.
        self.train("--out", "run", "--quiet")
        self.assertAlmostEqual(self.summary(self.folder / "run")["metrics"]["val.loss"],
                               plan["sizes"][-1]["values"][0], 5)

        text = self.run_program("plan", "data", "r.lua", "--threads", "1", "--quiet").out
        for part in ("val.loss by the number of training samples, with 3 seeds\n", "\n  1,078      ",
                     "\n  2,156      ", "\n  took     "):
            self.assertIn(part, text)
        self.assertTrue(all(line == line.rstrip() for line in text.splitlines()), text)

    @unittest.skipUnless(NODE, "needs node")
    def test_a_page(self):
        self.recipe(**DIGITS)
        given = ("data", "r.lua", "--threads", "1", "--quiet")
        self.run_program("plan", *given, "--html", "p.html")
        plan, page = self.plan(*given), shown_by_scripts(self, self.folder / "p.html")
        self.assertIn("Would more data help: f", page["texts"])
        sets = {one["label"]: one["data"] for one in page["charts"][0]["sets"]}
        self.assertEqual(sets["mean"], [{"x": one["samples"], "y": one["mean"]} for one in plan["sizes"]])
        self.assertEqual(sets["a seed"], [{"x": one["samples"], "y": value} for one in plan["sizes"]
                                          for value in one["values"]])
        self.assertEqual(sets["forecast"][1:], [{"x": one["samples"], "y": one["value"]} for one in plan["forecasts"]])
        self.assertEqual([point["y"] for point in sets["80 % of values at 2156 samples"]],
                         [plan["forecasts"][0]["low"], plan["forecasts"][0]["high"]])
        self.assertEqual([row[0] for row in page["tables"][0]["rows"]], ["135", "270", "539", "1078", "2156", "4312"])
        self.write("mine.txt", "mine")
        self.refused((*given, "--html", "mine.txt"),
                     "trainlab: --html: mine.txt is there already, and is no page of trainlab")

    def test_data_that_say_nothing(self):
        # The rate is 0 for all that matters: the data have no effect, the seeds have one.
        self.recipe(**{**DIGITS, "optim": "lab.optim.SGD { lr = 1e-12 }", "epochs": "1"})
        plan = self.plan("data", "r.lua", "--threads", "1", "--quiet")
        self.assertIn("to continue the curve", plan["unknown"])
        for one in plan["forecasts"]:
            self.assertEqual((one["value"], one["low"], one["high"]), (None, None, None))
        text = self.run_program("plan", "data", "r.lua", "--threads", "1", "--quiet").out
        self.assertIn("unknown  the parts differ too little", text)

    def test_within(self):
        self.recipe(**{**DIGITS, "epochs": "1"})
        result = self.run_program("plan", "data", "r.lua", "--threads", "1", "--quiet", "--within", "0.001 s", code=2)
        self.assert_said(result, "trainlab: --within: two seeds do not fit; the time was over before the first "
                                 "training")
        plan = self.plan("data", "r.lua", "--threads", "1", "--within", "1 h", "--quiet")
        self.assertEqual(plan["seeds"], 10)

    def test_a_search(self):
        self.write("r.lua", fit(**{**DIGITS, "epochs": "1"}).replace(
            "return lab.fit {", "local function build(hp) return lab.fit {").rstrip() + """ end
return lab.sweep { name = "search", space = { lr = lab.space.log(1e-3, 1e-1) }, metric = "val.loss", trials = 2,
                   build = build }
""")
        self.assertRegex(self.plan("data", "r.lua", "--threads", "1", "--quiet")["note"],
                         r"^trial 0 of sweep search \(lr = [\d.e-]+\)$")

    def test_questions_without_an_answer(self):
        self.recipe()
        self.refused(["data"], "trainlab: `trainlab plan data` takes one recipe")
        self.refused(["data", "--difference", "1", "r.lua"],
                     "trainlab: --difference means nothing to `trainlab plan data`")
        self.refused(["data", "r.lua", "--threads", "1"],
                     "r.lua:2: data: expected at least 64 training samples, so that a quarter of them fills a step of "
                     "16, found 60", code=1)
        self.recipe(data="lab.data.blobs { samples = 120 }")
        self.refused(["data", "r.lua", "--threads", "1"],
                     "r.lua:2: monitor: expected a metric of a validation part, found train.loss, which more data do "
                     "not improve", code=1)
        self.recipe(data="lab.data.blobs { samples = 120 }:split { val = 0.2 }:weighted { balanced = true }")
        self.refused(["data", "r.lua", "--threads", "1"],
                     "r.lua:2: data: expected samples that are drawn alike, found samples that are drawn by weight",
                     code=1)
        self.recipe(more=NO_DIRECTION)
        result = self.run_program("plan", "data", "r.lua", "--threads", "1", code=1)
        self.assert_said(result, "monitor", "the metric declares no better direction")
        self.write("task.lua", 'return lab.task { name = "t", run = function(ctx) end }')
        self.refused(["data", "task.lua"],
                     "trainlab: expected a lab.fit as the stage of the recipe, found lab.task")


class Model(PlanTest):
    HIDDEN = {**DIGITS, "model": "nn.Sequential { nn.Flatten(), nn.Linear(4), nn.ReLU(), nn.Linear(10) }"}

    @unittest.skipUnless(NODE, "needs node")
    def test_a_page(self):
        self.recipe(**self.HIDDEN)
        given = ("model", "r.lua", "--threads", "1", "--quiet")
        self.run_program("plan", *given, "--html", "p.html")
        plan, page = self.plan(*given), shown_by_scripts(self, self.folder / "p.html")
        self.assertIn("Would a larger model help: f", page["texts"])
        sets = {one["label"]: one["data"] for one in page["charts"][0]["sets"]}
        self.assertEqual(sorted(sets), ["a seed", "mean"])
        self.assertEqual(sets["mean"], [{"x": one["parameters"], "y": one["mean"]} for one in plan["sizes"]])
        self.assertEqual([row[7] for row in page["tables"][0]["rows"]],
                         [one["verdict"] or "its own" for one in plan["sizes"]])

    def test_a_recipe(self):
        self.recipe(**self.HIDDEN)
        result = self.run_program("plan", "model", "r.lua", "--threads", "1", "--json")
        plan = result.json()
        self.assertEqual((plan["kind"], plan["metric"], plan["goal"], plan["stage"]),
                         ("plan_model", "val.loss", "min", "f"))
        self.assertEqual((plan["seeds"], plan["failed"], plan["left_out"]), (3, 0, []))
        sizes = plan["sizes"]
        self.assertEqual([one["factor"] for one in sizes], [0.25, 0.5, 1, 2, 4])
        self.assertEqual([one["set"] for one in sizes[-2:]],
                         [["model[2].out_features=8"], ["model[2].out_features=16"]])
        self.assertEqual([one["parameters"] for one in sizes], [75 * units + 10 for units in (1, 2, 4, 8, 16)])
        own, four = sizes[2], sizes[4]
        self.assertEqual((own["difference"], own["verdict"]), (None, None))
        differences = [a - b for a, b in zip(four["values"], own["values"])]
        self.assertAlmostEqual(four["difference"]["mean"], statistics.mean(differences))
        half = 4.302652729749464 * statistics.stdev(differences) / 3 ** 0.5  # Student's quantile, 2 degrees of freedom
        self.assertAlmostEqual(four["difference"]["high"] - four["difference"]["low"], 2 * half)
        self.assertEqual(four["verdict"], "better")
        self.assertFalse((self.folder / "runs").exists())
        # The recipe's own size and the first seed: the training of the recipe itself.
        self.train("--out", "run", "--quiet")
        self.assertAlmostEqual(self.summary(self.folder / "run")["metrics"]["val.loss"], own["values"][0], 5)
        # The largest size: that of the recipe with the change.
        self.train("--out", "large", "--quiet", "--set", four["set"][0])
        self.assertAlmostEqual(self.summary(self.folder / "large")["metrics"]["val.loss"], four["values"][0], 5)

        text = self.run_program("plan", "model", "r.lua", "--threads", "1", "--quiet").out
        for part in ("val.loss by the features of hidden layers, with 3 seeds\n", "the recipe's own", "), better",
                     "\n  took     "):
            self.assertIn(part, text)
        self.assertTrue(all(line == line.rstrip() for line in text.splitlines()), text)

    def test_sizes_that_cannot_be_planned(self):
        model = ("nn.Sequential { nn.Reshape { 8, 8 }, nn.Linear(8), nn.TransformerEncoderLayer(4), nn.Flatten(), "
                 "nn.Linear(10) }")
        self.recipe(**{**self.HIDDEN, "model": model, "epochs": "1"})
        plan = self.plan("model", "r.lua", "--threads", "1", "--quiet")
        self.assertEqual([one["factor"] for one in plan["sizes"]], [0.5, 1, 2, 4])
        self.assertRegex(plan["left_out"][0], r"^0\.25 times the features: .*TransformerEncoderLayer")

    def test_a_search_within_a_time(self):
        self.write("r.lua", fit(**{**self.HIDDEN, "epochs": "1"}).replace(
            "return lab.fit {", "local function build(hp) return lab.fit {").rstrip() + """ end
return lab.sweep { name = "search", space = { lr = lab.space.log(1e-3, 1e-1) }, metric = "val.loss", trials = 2,
                   build = build }
""")
        plan = self.plan("model", "r.lua", "--threads", "1", "--quiet", "--within", "1 h")
        self.assertRegex(plan["note"], r"^trial 0 of sweep search \(lr = [\d.e-]+\)$")
        self.assertEqual(plan["seeds"], 10)
        self.assertEqual(plan["sizes"][-1]["parameters"], 75 * 16 + 10)
        result = self.run_program("plan", "model", "r.lua", "--threads", "1", "--quiet", "--within", "0.001 s", code=2)
        self.assert_said(result, "trainlab: --within: two seeds do not fit")

    def test_questions_without_an_answer(self):
        self.refused(["model"], "trainlab: `trainlab plan model` takes one recipe")
        self.recipe(**DIGITS)
        self.refused(["model", "r.lua", "--threads", "1"],
                     "r.lua:2: model: expected a hidden layer with a number of features, found none", code=1)
        self.recipe(**{**self.HIDDEN, "data": "lab.data.digits()"})
        self.refused(["model", "r.lua", "--threads", "1"],
                     "r.lua:2: monitor: expected a metric of a validation part, found train.loss, which says nothing "
                     "about new samples", code=1)


class Sweep(PlanTest):
    def setUp(self):
        super().setUp()
        self.write("r.lua", 'local width = lab.param { "width", 8, min = 1 }\n' + fit(**{
            **DIGITS, "model": "nn.Sequential { nn.Flatten(), nn.Linear(width), nn.ReLU(), nn.Linear(10) }"}))

    def test_a_ladder(self):
        flops = 1e8
        result = self.run_program("plan", "sweep", "r.lua", "--threads", "1", "--flops", flops, "--size",
                                  "width=4,8,16", "--json")
        value = result.json()
        self.assertEqual((value["kind"], value["runs"]), ("plan_fit", 9))
        self.assert_said(result, "run 1 of 9: width=4 with ", "run 9 of 9: width=16 with ")
        # The whole ladder is told before it begins, with the tokens that the FLOPs are enough for.
        proposed, _, trained = result.err.partition("run 1 of 9")
        self.assertIn("trainlab: 9 runs are planned:\n  width             FLOPs   parameters       tokens\n", proposed)
        for width, share in ((4, 1), (8, 1), (16, 1), (4, 2), (8, 2), (16, 2), (4, 4), (8, 4), (16, 4)):
            parameters = 64 * width + width + 10 * width + 10
            self.assertRegex(proposed, rf"\n  {width} +\S+ +{parameters} +{flops * share / 21 / 6 / parameters:.0f}\n")
        self.assertNotIn("are planned", trained)
        # After each run but the last, the time of those to come.
        self.assertEqual(trained.count("; the others take about "), 8)
        folder = self.folder / "runs/plan/r/001"
        self.assertEqual(value["out"], str(folder))
        runs = [self.summary(folder / f"run-{number:02d}") for number in range(1, 10)]
        # Three sizes with one, two and four times the FLOPs, which add up to those that are given.
        self.assertEqual([run["parameters"] for run in runs], 3 * [64 * w + w + 10 * w + 10 for w in (4, 8, 16)])
        for run, share in zip(runs, [1, 1, 1, 2, 2, 2, 4, 4, 4]):
            self.assertEqual(run["reason"], "reached its length")
            self.assertLessEqual(run["flops"], flops * share / 21)
            self.assertGreater(run["flops"], 0.95 * flops * share / 21)
        # A ladder that was interrupted in its last run goes on with the same command.
        asked = json.loads((folder / "asked.json").read_text())
        self.assertTrue(asked["has_ended"])
        self.write("runs/plan/r/001/asked.json", json.dumps({**asked, "has_ended": False}))
        shutil.rmtree(folder / "run-09")
        rows = (folder / "run-08/metrics.jsonl").stat().st_mtime_ns
        goes_on = self.run_program("plan", "sweep", "r.lua", "--threads", "1", "--flops", flops, "--size",
                                   "width=4,8,16", "--json").json()
        self.assertEqual(goes_on, value)
        self.assertEqual((folder / "run-08/metrics.jsonl").stat().st_mtime_ns, rows)
        # Other samples are another ladder.
        data = {part: "of other data" if part == "val" else text for part, text in asked["asked"]["data"].items()}
        self.write("runs/plan/r/001/asked.json", json.dumps({"asked": {**asked["asked"], "data": data},
                                                             "has_ended": False}))
        other = self.run_program("plan", "sweep", "r.lua", "--threads", "1", "--flops", flops, "--size",
                                 "width=4,8,16", "--json")
        self.assert_said(other, "runs/plan/r/001 does not go on, because the part val of the data has changed")
        self.assertEqual(other.json()["out"], str(folder.parent / "002"))
        # The same law as from the folders.
        again = self.plan("fit", *(folder / f"run-{number:02d}" for number in range(1, 10)))
        self.assertEqual(again["law"], value["law"])
        text = self.run_program("plan", "sweep", "r.lua", "--threads", "1", "--flops", flops, "--size", "width=4,8,16",
                                "--quiet", "--set", "optim.lr=0.02").out
        for part in ("  width ", "from 9 runs", "\n  without training again: trainlab plan fit runs/plan/r/003/run-* "):
            self.assertIn(part, text)

    def test_a_parameter_that_sets_no_size(self):
        self.write("r.lua", 'local lr = lab.param { "lr", 0.1 }\n' + fit(optim="lab.optim.SGD { lr = lr }"))
        self.refused(["sweep", "r.lua", "--flops", "1e7", "--size", "lr=0.1,0.2,0.3"],
                     "trainlab: --size: expected values of lr that make models of at least 3 sizes, found models of "
                     "51 parameters")
        self.assertFalse((self.folder / "runs").exists())

    def test_trainings_that_are_cut_short_are_left_out(self):
        stop = "  on = { validate = function(run) if width == 32 then run:stop('enough') end end },\n"
        self.write("r.lua", 'local width = lab.param { "width", 8, min = 1 }\n' + fit(**{
            **DIGITS, "model": "nn.Sequential { nn.Flatten(), nn.Linear(width), nn.ReLU(), nn.Linear(10) }",
            "more": stop + '  validate = "30%",\n'}))
        result = self.run_program("plan", "sweep", "r.lua", "--threads", "1", "--flops", 1e8, "--size",
                                  "width=4,8,16,32")
        self.assert_said(result, "run 4 of 12: width=32 with ", " FLOPs, was cut short: enough")
        self.assertIn("from 9 runs", result.out)
        self.assertEqual(result.out.count("was cut short: enough; the law leaves the run out"), 3)

    def test_too_few_trainings_with_a_result(self):
        """What was trained is shown, although no law follows from it."""
        self.write("r.lua", 'local width = lab.param { "width", 8, min = 1 }\n' + fit(**{
            **DIGITS, "model": "nn.Sequential { nn.Flatten(), nn.Linear(width), nn.ReLU(), nn.Linear(10) }",
            "optim": "lab.optim.SGD { lr = width > 4 and 1e30 or 0.1 }"}))
        result = self.run_program("plan", "sweep", "r.lua", "--threads", "1", "--flops", 1e7, "--size", "width=4,8,16",
                                  code=1)
        self.assertEqual(result.err.count(" FLOPs, failed, by a loss that is not finite"), 6)
        self.assert_said(result, "the runs that have ended lie in runs/plan/r/001", "at least 6 runs, found 3")

    def test_trainings_that_fail_are_left_out(self):
        self.write("r.lua", 'local width = lab.param { "width", 8, min = 1 }\n' + fit(**{
            **DIGITS, "model": "nn.Sequential { nn.Flatten(), nn.Linear(width), nn.ReLU(), nn.Linear(10) }",
            "optim": "lab.optim.SGD { lr = width == 32 and 1e30 or 0.1 }"}))
        result = self.run_program("plan", "sweep", "r.lua", "--threads", "1", "--flops", 1e8, "--size",
                                  "width=4,8,16,32")
        self.assert_said(result, "run 4 of 12: width=32 with ", " FLOPs, failed, by a loss that is not finite")
        self.assertIn("from 9 runs", result.out)
        self.assertEqual(result.out.count("failed, by a loss that is not finite; the law leaves the run out"), 3)
        # So does the plan without training again.
        again = self.run_program("plan", "fit", *sorted((self.folder / "runs/plan/r/001").glob("run-*")))
        self.assertIn("from 9 runs", again.out)
        self.assertEqual(again.err.count("failed, by a loss that is not finite; the law leaves the run out"), 3)

    def test_questions_without_an_answer(self):
        self.refused(["sweep", "r.lua", "--flops", "1e9"], "trainlab: `trainlab plan sweep` needs --size")
        self.refused(["sweep", "r.lua", "--size", "width=1,2,3"], "trainlab: `trainlab plan sweep` needs --flops")
        self.refused(["sweep", "--flops", "1e9", "--size", "width=1,2,3"],
                     "trainlab: `trainlab plan sweep` takes one recipe")
        for sizes in ("width", "=1,2,3", "width=4,8", "width=4,4,8"):
            self.refused(["sweep", "r.lua", "--flops", "1e9", "--size", sizes],
                         "trainlab: --size: expected a parameter of the recipe with at least 3 values, as "
                         f'width=32,64,128, found "{sizes}"')
        self.refused(["--size", "width=1,2,3", "r.lua"], "trainlab: --size goes with trainlab plan sweep")
        self.refused(["sweep", "r.lua", "--width", "3", "--flops", "1e9", "--size", "width=1,2,3"],
                     "trainlab: --width is given twice: --size gives its values")
        self.refused(["sweep", "r.lua", "--flops", "-1", "--size", "width=4,8,16"],
                     "trainlab: --flops: expected a number from 1 to 1e40, found \"-1\"")
        self.assertFalse((self.folder / "runs").exists())
        result = self.run_program("plan", "sweep", "r.lua", "--flops", "1e9", "--size", "depth=1,2,3", code=2)
        self.assert_said(result, "--size depth=1,2,3: the recipe has no parameter 'depth'")
        self.recipe("plain.lua")
        for line in (["sweep", "plain.lua", "--flops", "1e9", "--size", "width=1,2,3"], ["plain.lua", "--width", "3"]):
            result = self.run_program("plan", *line, code=2)
            self.assert_said(result, "the recipe has no parameter 'width'", "hint: it declares none; ")
        self.assert_said(self.run_program("plan", "seeds", "plain.lua", "--diference", "1", code=2),
                         "--diference: the recipe has no parameter 'diference'", "hint: did you mean --difference?")
        self.assertFalse((self.folder / "runs").exists())
        result = self.run_program("plan", "sweep", "r.lua", "--flops", "100", "--size", "width=1,2,3", code=2)
        self.assert_said(result, "trainlab: --flops: the shortest of 9 trainings, with width=1, gets 4.762 FLOPs: "
                         "expected from ", "the FLOPs of one step")
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    unittest.main()
