"""`trainlab report` on sweeps and ensembles: every form of it, while workers write, and on files that are damaged.

The studies are written by a small program through the real storage: see tests/support/make_study.cpp.
"""

import csv
import io
import json
import os
import re
import socket
import sqlite3
import subprocess
import unittest

from browser import BROWSER, NODE, shown_by_scripts, told_in_browser
from program import CliTest

MAKE_STUDY = os.environ["MAKE_STUDY"]
HOST = socket.gethostname()

SPACE = [
    {"name": "lr", "kind": "real", "low": 1e-4, "high": 0.1, "log": True},
    {"name": "momentum", "kind": "real", "low": 0, "high": 0.99, "conditions": [{"parent": 2, "values": [1]}]},
    {"name": "optim", "labels": ["AdamW", "SGD, plain"]},
    {"name": "width", "kind": "integer", "low": 16, "high": 128, "step": 1, "log": True},
]


def description(**more):
    return {"format": 1, "kind": "sweep", "name": "search", "space": SPACE,
            "objectives": [{"metric": "val.accuracy", "goal": "max"}], "sampler": "sampler.tpe { seed = 1 }",
            "pruner": "pruner.asha { min = 2 }", "seeds": 3, "aggregate": "mean", "seed": 1,
            "by_order": ["chosen", "pruned"], **more}


def complete(lr, width, values, **more):
    return {
        "state": "complete",
        "params": {"lr": lr, "optim": "AdamW", "width": width},
        "values": [sum(values) / len(values)],
        "reports": [
            [repeat + 1, step, value * step / 4] for repeat, value in enumerate(values) for step in (1, 2, 3, 4)
        ],
        "info": {"seed_values": values, "seconds": 2.5, "ran": "stack of 8"},
        **more,
    }


TRIALS = [
    complete(0.001, 64, [0.9, 0.8, 1.0]),
    {
        "state": "pruned",
        "params": {"lr": 1e-4, "optim": "SGD, plain", "momentum": 0.5, "width": 16},
        "values": [0.25],
        "reports": [[1, 1, 0.25]],
        "info": {"seed_values": [0.25], "seconds": 0.5, "ran": "alone", "reason": "pruned after 1 validation"},
    },
    complete(0.01, 128, [0.96, 0.95, 0.97]),
    {
        "state": "failed",
        "params": {"lr": 0.1, "optim": "AdamW", "width": 16},
        "owner": ":8",
        "info": {"reason": "r.lua:4: build raised: \"too narrow\"", "seed_values": [None]},
    },
    complete(
        0.0125, 100, [0.95, 0.95, 0.95], info={"seed_values": [0.95, 0.95, 0.95], "duplicate_of": 0, "seconds": 0.0}
    ),
    {"state": "running", "params": {"lr": 0.05, "optim": "AdamW", "width": 20}, "reports": [[1, 1, 0.5]]},
    {"state": "waiting", "params": {"lr": 0.02}},
]
SUMMARY = {
    "name": "search",
    "kind": "sweep",
    "status": "stopped",
    "reason": "60 s are over",
    "out": "x",
    "seconds": 61.5,
    "resumed": [],
    "best": {"trial": 2, "value": 0.96, "params": {}},
    "trials": {"complete": 3},
}
ENSEMBLE = {
    "name": "final", "kind": "ensemble", "status": "done", "reason": "", "seconds": 3.5,
    "members": [{"trial": 1, "seed": 77, "metrics": {"test.accuracy": 0.9, "test.loss": 0.3}},
                {"trial": 0, "seed": 78, "metrics": {"test.accuracy": 0.8, "test.loss": 0.5}}],
    "best_member": {"test.accuracy": 0.9, "test.loss": 0.3}, "mean_member": {"test.accuracy": 0.85, "test.loss": 0.4},
    "ensemble": {"test.accuracy": 0.95, "test.loss": 0.2}, "params": {"lr": 0.01, "momentum": None, "optim": "AdamW"}}


def members():
    return {"description": description(kind="ensemble", name="final", space=[], seeds=1, sampler=None, pruner=None),
            "trials": [{"state": "complete", "params": {}, "values": [value], "info": {"seed_values": [value]}}
                       for value in (0.8, 0.9, 0.7)]}


def stage(name="search", kind="sweep", folder=".", summary=None, study=None):
    return {"name": name, "kind": kind, "folder": folder, "summary": summary, "study": study}


class ReportSweep(CliTest):
    def make(self, *stages, run="run"):
        spec = self.write("spec.json", json.dumps({"stages": stages}))
        subprocess.run([MAKE_STUDY, spec, self.folder / run], check=True)
        return self.folder / run

    def sweep(self, **more):
        return self.make(stage(summary=SUMMARY, study={"description": description(**more), "trials": TRIALS}))

    def two_stages(self):
        return self.make(
            stage(folder="stages/search", summary=SUMMARY, study={"description": description(), "trials": TRIALS}),
            stage("final", "ensemble", summary=ENSEMBLE, study=members()))

    def report(self, *arguments, code=0):
        return self.run_program("report", *arguments, code=code)

    def test_text(self):
        out = self.report(self.sweep()).out
        for line in (
            "search (sweep): stopped: 60 s are over",
            "  goal   val.accuracy (higher is better), mean of 3 seeds",
            "  best   0.960 ± 0.010, trial 2",
            # The largest of four normal values is 1.0294, and the root of three seeds 1.732.
            ("         as the best of 4 up to 0.5943 standard deviations of a seed too good: on fresh seeds expect 0.96"
             " to 0.9541"),
            "  trials 7: 3 complete, 1 pruned, 1 failed, 1 running, 1 waiting",
            "  search sampler.tpe { seed = 1 }, pruner.asha { min = 2 }",
            (
                "         which trials are chosen and pruned depends on the order in which results came; not so with"
                " deterministic = true"
            ),
            "  took   1 min 01 s, 5.5 s of training",
            "  rank  trial   val.accuracy      lr  momentum  optim  width  ran",
            "     1      2  0.960 ± 0.010    0.01            AdamW    128  stack of 8",
            "     2      4           0.95  0.0125            AdamW    100  as trial 0",
            "     3      0    0.90 ± 0.10   0.001            AdamW     64  stack of 8",
            "  params = { lr = 0.01, optim = \"AdamW\", width = 128 }",
            "  --set space.lr=0.01 --set space.optim=AdamW --set space.width=128",
            "importance for val.accuracy: unknown, 4 trials are too few to tell",
            "  trial 3  r.lua:4: build raised: \"too narrow\"",
        ):
            self.assertIn("\n" + line + "\n", "\n" + out)
        # The median of 0.01, 0 and 0.1.
        self.assertIn("differs by 0.01 from its trial's mean", out)
        # t(0.975) with two degrees of freedom is 4.303, and the root of three seeds 1.732.
        self.assertIn("trial 2: mean 0.96, 95 % interval 0.9352 … 0.9848 from 3 seeds", out)
        self.assertIn("trial 4 with 0.95 lies within it", out)
        self.assertIn("\n  these seeds have made trial 2 the best of 4 configurations: fresh ones will probably have a "
                      "worse mean\n", out)
        self.assertRegex(
            out, r"val.accuracy by validation\n  trial 2    0.24  ▁▃▆█  0.96\n  trial 4  0.2375  ▁▃▆█  0.95\n"
        )
        self.assertNotIn("To continue", out)

    def test_what_is_said_of_the_order_of_arrival(self):
        for number, (more, text) in enumerate((
                ({"by_order": []}, ""),
                ({"by_order": ["pruned"]}, "which trials are pruned depends"),
                ({"by_order": ["chosen"]}, "which trials are chosen depends"))):
            study = {"description": description(**more), "trials": TRIALS}
            alone = {"description": description(**more), "trials": TRIALS[:3]}
            out = self.report(self.make(stage(summary=SUMMARY, study=alone), run=f"alone{number}")).out
            self.assertNotIn("which trials are", out)  # all of one process
            out = self.report(self.make(stage(summary=SUMMARY, study=study), run=f"run{number}")).out
            self.assertIn(text, out)
            self.assertEqual("which trials are" in out, bool(text), out)

    def test_csv(self):
        text = self.report(self.sweep(), "--csv").out
        self.assertEqual(text.splitlines()[:3], [
            "trial,state,value,lr,momentum,optim,width,seed_values,parent,seconds,ran,attempt,worker,reason",
            f"0,complete,0.9,0.001,,AdamW,64,0.9;0.8;1,,2.5,stack of 8,1,{HOST}:7,",
            f"1,pruned,0.25,1e-04,0.5,\"SGD, plain\",16,0.25,,0.5,alone,1,{HOST}:7,pruned after 1 validation"])
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([row["trial"] for row in rows], [str(i) for i in range(7)])
        self.assertEqual([row["state"] for row in rows][3:], ["failed", "complete", "running", "waiting"])
        self.assertEqual(rows[2]["value"], repr((0.96 + 0.95 + 0.97) / 3))
        self.assertEqual((rows[3]["value"], rows[3]["seed_values"]), ("", "nan"))
        self.assertEqual(rows[3]["reason"], "r.lua:4: build raised: \"too narrow\"")
        self.assertEqual((rows[6]["lr"], rows[6]["width"], rows[6]["attempt"]), ("0.02", "", "0"))

    def test_json(self):
        run = self.sweep()
        value = self.report(run, "--json").json()
        self.assertEqual({key: value[key] for key in ("name", "status", "reason", "best")},
                         {key: SUMMARY[key] for key in ("name", "status", "reason", "best")})
        self.assertEqual(value["trials"], {"complete": 3, "pruned": 1, "failed": 1, "running": 1, "waiting": 1})
        self.assertEqual(value["leaderboard"], [2, 4, 0])
        self.assertEqual(value["study"], description())
        self.assertEqual(value["training_seconds"], 5.5)
        self.assertEqual(value["paste"], {"trial": 2, "lua": "{ lr = 0.01, optim = \"AdamW\", width = 128 }",
                                          "flags": "--set space.lr=0.01 --set space.optim=AdamW "
                                                   "--set space.width=128"})
        self.assertEqual(value["importance"][0]["trials"], 4)
        self.assertAlmostEqual(value["spread"]["optimism"], 1.0294 / 3 ** 0.5, places=4)
        self.assertEqual(value["spread"]["compared"], 4)
        self.assertAlmostEqual(value["spread"]["best"]["interval"], 4.302652729911275 * 0.01 / 3 ** 0.5)
        self.assertEqual(value["curves"][0]["validations"], [1, 2, 3, 4])
        self.assertAlmostEqual(value["curves"][0]["values"][1], 0.48)
        self.assertEqual(value["rows"][1]["params"], {"lr": 1e-4, "momentum": 0.5, "optim": "SGD, plain", "width": 16})
        self.assertIsNone(value["rows"][0]["params"]["momentum"])
        self.assertEqual(value["rows"][4]["duplicate_of"], 0)
        self.assertIsNone(value["rows"][5]["value"])

    def test_a_trial_that_was_begun_again_has_one_curve(self):
        reports = [[1, 1, 0.1], [1, 2, 0.2], [1, 3, 0.9], [1, 2, 0.5], [1, 3, 0.7]]
        run = self.make(
            stage(study={"description": description(), "trials": [complete(0.01, 64, [0.5, 0.5], reports=reports)]})
        )
        curve = self.report(run, "--json").json()["curves"][0]
        self.assertEqual((curve["validations"], curve["values"]), ([1, 2, 3], [0.1, 0.5, 0.7]))

    def test_the_curve_of_repeats_side_by_side_is_their_mean(self):
        reports = [[1, 1, 0.125], [2, 1, 0.375], [1, 2, 0.5], [2, 2, 1.0], [1, 3, 0.75]]
        run = self.make(
            stage(study={"description": description(), "trials": [complete(0.01, 64, [0.5, 0.5], reports=reports)]})
        )
        curve = self.report(run, "--json").json()["curves"][0]
        self.assertEqual((curve["validations"], curve["values"]), ([1, 2, 3], [0.25, 0.75, 0.75]))

    def test_the_luck_of_a_winner_counts_all_that_it_was_compared_with(self):
        """Pruned trials too, and with a scheduler each configuration once, however many trials train it."""
        alike = [complete(0.01 + i / 1000, 64, [0.5]) for i in range(64)]
        pruned = [{**trial, "state": "pruned"} for trial in alike[4:]]
        for name, trials, luck in (("pruned", alike[:4] + pruned, "64 up to 2.344"),
                                   ("continued", alike[:4] * 16, "4 up to 1.029"),
                                   ("one_complete", [alike[0], *pruned[:1]], "2 up to 0.5642")):
            run = self.make(stage(summary=SUMMARY, study={"description": description(seeds=1), "trials": trials}),
                            run=name)
            out = self.report(run).out
            self.assertIn(f"\n         as the best of {luck} standard deviations of a seed too good", out)

    @unittest.skipUnless(NODE, "there is no node")
    def test_the_luck_of_a_winner_on_the_page(self):
        alike = [complete(0.01 + i / 1000, 64, [0.96]) for i in range(4)]
        for seeds, trials, most, expected in ((3, TRIALS, "0.5943", ": on fresh seeds expect 0.96 to 0.9541"),
                                              (1, alike, "1.029", "")):
            study = {"description": description(seeds=seeds), "trials": trials}
            self.report(self.make(stage(summary=SUMMARY, study=study), run=f"of{seeds}"), "--html", "page.html")
            texts = shown_by_scripts(self, self.folder / "page.html")["texts"]
            self.assertEqual(texts[texts.index("luck") + 1],
                             f"as the best of 4 up to {most} standard deviations of a seed too good{expected}")

    def pruned_at_both_ends(self):
        """A run of 20 trials; the rate decides, and the trials with the smallest and the largest rates were pruned."""
        trials = [
            complete(10 ** (-4 + 3 * i / 19), 16 + 37 * i % 100, [0.9 - abs(i - 12) / 100], state="complete")
            for i in range(20)
        ]
        for i in (0, 1, 2, 3, 16, 17, 18, 19):
            trials[i] = {**trials[i], "state": "pruned", "values": []}
        return self.make(stage(summary=SUMMARY, study={"description": description(seeds=1), "trials": trials}))

    def test_importance(self):
        """Pruned trials are the worse ones: the best of 12 complete trials count against all 20."""
        run = self.pruned_at_both_ends()
        out = self.report(run).out
        self.assertIn(
            "importance for val.accuracy (estimate, PED-ANOVA: the best 3 of 20 trials, pruned ones count as worse)\n",
            out,
        )
        self.assertRegex(out, r"(?m)^  lr +\d+ %  █+\n")
        shares = self.report(run, "--json").json()["importance"][0]["shares"]
        self.assertAlmostEqual(sum(shares.values()), 1)
        self.assertEqual(shares["momentum"], 0)
        self.assertEqual(max(shares, key=shares.get), "lr")
        # fANOVA knows only what complete trials reached.
        fanova = self.report(run, "--json").json()["importance"][0]["fanova"]
        self.assertEqual(fanova["trials"], 12)
        self.assertEqual(max(fanova["shares"], key=fanova["shares"].get), "lr")
        self.assertLessEqual(sum(fanova["shares"].values()), 1)
        self.assertIn("\n  among the best trials; over the whole space (fANOVA): --html or --json\n", out)

    @unittest.skipUnless(NODE, "there is no node")
    def test_both_importances_on_the_page(self):
        run = self.pruned_at_both_ends()
        importance = self.report(run, "--json").json()["importance"][0]
        self.report(run, "--html", "page.html")
        charts = {one["title"]: one for one in shown_by_scripts(self, self.folder / "page.html")["charts"]}
        for title, shares in (("Importance", importance["shares"]),
                              ("Importance over the whole space", importance["fanova"]["shares"])):
            self.assertEqual(charts[title]["sets"][0]["data"], sorted(shares.values(), reverse=True), title)

    def test_several_objectives(self):
        objectives = [{"metric": "val.accuracy", "goal": "max"}, {"metric": "val.loss", "goal": "min"}]
        trials = [{**complete(0.01, 20 + i, [0.5]), "values": list(values)}
                  for i, values in enumerate([(0.8, 3), (0.9, 5), (0.7, 4), (0.95, 6.5), (0.6, 1)])]
        run = self.make(
            stage(summary=SUMMARY, study={"description": description(objectives=objectives, seeds=1), "trials": trials})
        )
        out = self.report(run).out
        self.assertIn("val.accuracy (higher is better), val.loss (lower is better)", out)
        self.assertIn("Pareto front", out)
        self.assertEqual(re.findall(r"^ +(\d+) +[\d.]+ +[\d.]+ +0.01", out, re.M), ["3", "1", "0", "4"])
        self.assertEqual(self.report(run, "--json").json()["front"], [3, 1, 0, 4])
        rows = list(csv.DictReader(io.StringIO(self.report(run, "--csv").out)))
        self.assertEqual(rows[3]["value"], "0.95;6.5")

    def test_an_ensemble(self):
        run = self.make(stage("final", "ensemble", summary=ENSEMBLE, study=members()))
        self.assertNotIn("single examples", self.report(run).out)
        self.write("run/artifacts/predictions.html", "")
        out = self.report(run).out
        self.assertIn("  what each of them says of single examples: run/artifacts/predictions.html\n", out)
        self.assertIn("final (ensemble): done\n", out)
        self.assertIn("  members   seed  test.accuracy  test.loss\n"
                      "  trial 1     77            0.9        0.3\n"
                      "  trial 0     78            0.8        0.5\n"
                      "  best                      0.9        0.3\n"
                      "  mean                     0.85        0.4\n"
                      "  ensemble                 0.95        0.2\n", out)
        self.assertIn("built with\n  params = { lr = 0.01, optim = \"AdamW\" }\n", out)
        self.assertIn("     1      1           0.9\n", out)

    def test_an_ensemble_of_a_sweep(self):
        """It has no trials of its own, and one member twice."""
        two, one = ENSEMBLE["members"]
        run = self.make(stage("final", "ensemble", summary={**ENSEMBLE, "members": [two, one, two]}))
        out = self.report(run).out
        self.assertIn(
            "  trial 1 ×2    77            0.9        0.3\n  trial 0       78            0.8        0.5\n  best ", out
        )
        self.assertNotIn("no trial", out)
        self.assertEqual(len(self.report(run, "--json").json()["members"]), 3)
        self.report(run, "--html", "page.html")

    def test_stages(self):
        run = self.two_stages()
        both, one = self.report(run).out, self.report(run / "stages" / "search").out
        self.assertLess(both.index("search (sweep): stopped"), both.index("final (ensemble): done"))
        self.assertIn("search (sweep): stopped", one)
        self.assertNotIn("ensemble", one)
        # Forms of one stage show the one that the recipe returned, or the one that is given.
        self.assertEqual(self.report(run, "--json").json()["members"], ENSEMBLE["members"])
        self.assertEqual(self.report(run / "stages" / "search", "--json").json()["leaderboard"], [2, 4, 0])
        self.assertEqual(len(self.report(run, "--csv").out.splitlines()), 4)
        self.assertEqual(len(self.report(run / "stages" / "search", "--csv").out.splitlines()), 8)
        self.assertEqual(self.report(run, run).out.count("search (sweep)"), 2)

    @unittest.skipUnless(NODE, "there is no node")
    def test_confirmed_trials_on_the_page(self):
        best = {"trial": 4, "value": 0.92, "params": {}, "observed": 0.95, "interval": 0.127}
        summary = {**SUMMARY, "best": best,
                   "confirmed": [{**best, "failed": 0, "seed_values": [0.91, 0.93]},
                                 {"trial": 2, "value": None, "interval": None, "observed": 0.96, "failed": 2,
                                  "params": {}, "seed_values": []}]}
        run = self.make(stage(summary=summary, study={"description": description(), "trials": TRIALS}))
        self.report(run, "--html", "page.html")
        shown = shown_by_scripts(self, self.folder / "page.html")
        texts = shown["texts"]
        self.assertEqual(texts[texts.index("best, trial 4") + 1], "0.92 ± 0.13 on fresh seeds")
        (table,) = [one for one in shown["tables"] if "in the search" in one["heads"]]
        self.assertEqual(table["rows"], [["4", "0.92 ± 0.13", "0.95", "2", ""], ["2", "none", "0.96", "0", "2"]])
        for one, validations in zip(summary["confirmed"], (3, 9)):  # with a scheduler
            one["validations"] = validations
        run = self.make(stage(summary=summary, study={"description": description(), "trials": TRIALS}), run="lengths")
        self.report(run, "--html", "page.html")
        (table,) = [one for one in shown_by_scripts(self, self.folder / "page.html")["tables"]
                    if "in the search" in one["heads"]]
        self.assertEqual([row[2:4] for row in table["rows"]], [["0.95", "3"], ["0.96", "9"]])
        self.assertEqual(table["heads"][2:4], ["in the search", "after validations"])

    def test_a_confirmed_winner_is_judged_by_its_fresh_seeds(self):
        """Trial 2 was the best of the search, and those seeds say nothing of trial 4."""
        best = {"trial": 4, "value": 0.92, "params": {}, "observed": 0.95, "interval": 0.127}
        summary = {**SUMMARY, "best": best, "confirmed": [{**best, "failed": 0, "seed_values": [0.91, 0.93]}]}
        run = self.make(stage(summary=summary, study={"description": description(), "trials": TRIALS}))
        spread = self.report(run, "--json").json()["spread"]["best"]
        self.assertEqual(spread["seeds"], 2)
        self.assertAlmostEqual(spread["mean"], 0.92)
        self.assertAlmostEqual(spread["interval"], 12.706204736 * 0.01)
        out = self.report(run).out
        self.assertIn("seeds: one of them differs by", out)
        self.assertNotIn("Student's t", out)
        self.assertNotIn("lies within it", out)

    def test_page(self):
        run = self.two_stages()
        self.assertEqual(self.report(run, "--html", "page.html").out, self.report(run).out)
        text = (self.folder / "page.html").read_text()
        # Nothing is fetched: no address in an element, and a browser is told to refuse what a script might ask for.
        self.assertNotRegex(text, r"<(script|link|img|iframe)[^>]* (src|href)=")
        self.assertIn("default-src 'none'", text)
        self.assertLess(len(text), 300_000)
        self.assertEqual(text.count("</script>"), 7)
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))
        self.assertEqual([one["name"] for one in data["stages"]], ["search", "final"])
        one = self.report(run / "stages" / "search", "--json").json()
        self.assertEqual(data["stages"][0], one)
        self.assertIn("Chart.js", text)

    @unittest.skipUnless(BROWSER, "there is no chromium")
    def test_page_in_a_browser(self):
        """Every chart is drawn, nothing fails, and a click on a column sorts."""
        self.report(self.two_stages(), "--html", "page.html")
        text = (self.folder / "page.html").read_text()
        told = told_in_browser(self, text, """
          const button = [...document.querySelectorAll("th button")].find(one => one.textContent === "val.accuracy");
          button.click(); button.click();
          const first = button.closest("table").tBodies[0].rows[0].cells[0].innerText;
          const canvases = [...document.querySelectorAll("canvas")];
          const missing = canvases.filter(one => !Chart.getChart(one)).length;
          told(`${canvases.length} charts, ${missing} missing, first ${first}`);
        """)
        # The sweep: values, parameters together, curves, seeds, four parameters. The ensemble: two metrics, values.
        self.assertEqual(told, "11 charts, 0 missing, first 2")

    def test_labels_cannot_break_the_page(self):
        evil = "</script><script>alert(1)</script>"
        space = [{"name": "x", "labels": [evil, "@data@"]}]
        trials = [{"state": "complete", "params": {"x": evil}, "values": [1.0], "info": {}}]
        run = self.make(stage(summary=SUMMARY, study={"description": description(space=space), "trials": trials}))
        self.report(run, "--html", "page.html")
        text = (self.folder / "page.html").read_text()
        self.assertNotIn(evil, text)
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
        self.assertEqual(data["stages"][0]["rows"][0]["params"]["x"], evil)
        self.assertIn("--set 'space.x=\"</script><script>alert(1)</script>\"'", self.report(run).out)

    def test_before_the_first_trial(self):
        run = self.make(stage())
        self.assertIn("search (sweep): unfinished\n  no trial has begun\n", self.report(run).out)
        self.assertEqual(self.report(run, "--json").json()["status"], "unfinished")
        run = self.make(stage(study={"description": description(), "trials": []}), run="empty")
        self.assertIn("  trials 0\n", self.report(run).out)
        self.assertEqual(len(self.report(run, "--csv").out.splitlines()), 1)
        self.report(run, "--html", "page.html")

    def test_forms_exclude_each_other(self):
        run = self.sweep()
        self.assert_said(self.report(run, "--csv", "--json", code=2), "one of --csv and --json")
        self.assert_said(self.report(run, run, "--html", "x.html", code=2), "one run at a time")
        self.assert_said(self.report(run, "--html", "missing/x.html", code=2), "missing/x.html")

    def test_a_newer_study_and_damaged_ones(self):
        run = self.sweep()
        file = run / "study.db"
        sound = file.read_bytes()
        with sqlite3.connect(file) as connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()
        for form in ([], ["--csv"], ["--json"], ["--html", "x.html"]):
            self.assert_said(self.report(run, *form, code=2), "study.db: written by a newer trainlab (schema 99")
        file.write_bytes(b"\0" * 5000)
        self.assert_said(self.report(run, code=3), "study.db", "not a database", "hint: the file is damaged")
        file.write_bytes(sound[:4096] + bytes(i * 31 % 251 for i in range(len(sound) - 4096)))
        self.assert_said(self.report(run, code=3), "study.db", "malformed", "hint: the file is damaged")

    def own_study(self, **more):
        """The file that lab.study { file = "search.db" } leaves: its objectives have no names."""
        study = {"format": 1, "kind": "study", "space": SPACE, "objectives": [{"goal": "max"}],
                 "sampler": "sampler.tpe {}", "by_order": ["chosen"], "seed": 1, **more}
        run = self.make(stage(study={"description": study, "trials": TRIALS}))
        (run / "study.db").rename(self.folder / "search.db")
        return "search.db"

    def test_the_file_of_a_study(self):
        file = self.own_study()
        result = self.report(file)
        self.assertTrue(result.out.startswith("search.db (study)\n  goal   value (higher is better)\n"), result.out)
        for part in ("  best   0.960 ± 0.010, trial 2\n", "  trials 7: 3 complete, 1 pruned", "search sampler.tpe {}\n",
                     "  in     search.db\n", "trial 2, to paste", "value by step\n"):
            self.assertIn(part, result.out)
        run = self.sweep()
        self.assertEqual(self.report(file, "--csv").out, self.report(run, "--csv").out)
        value = self.report(file, "--json").json()
        self.assertEqual((value["name"], value["kind"], value.get("status")), ("search.db", "study", None))
        self.assertEqual(value["study"]["objectives"], [{"goal": "max", "metric": "value"}])
        sweep = self.report(run, "--json").json()
        for luck in ("optimism", "compared"):  # of a study that a recipe drives, only the recipe knows what was chosen
            del sweep["spread"][luck]
        self.assertEqual(sweep["paste"].pop("flags")[:6], "--set ")
        self.assertEqual(value["paste"].pop("flags"), "")  # there is no recipe whose space could be set
        for part in ("trials", "leaderboard", "rows", "curves", "paste", "spread"):
            self.assertEqual(value[part], sweep[part])
        self.report(file, "--html", "page.html")
        text = (self.folder / "page.html").read_text()
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
        self.assertEqual(data["stages"][0]["leaderboard"], value["leaderboard"])
        # Also of a sweep's own file, and beside a run.
        self.assertIn("val.accuracy (higher is better)", self.report(run / "study.db", run).out)

    def test_the_file_of_a_study_of_several_objectives(self):
        trials = [{"state": "complete", "params": {"lr": 0.01, "optim": "AdamW", "width": 20}, "values": values}
                  for values in ([0.9, 5.0], [0.8, 3.0], [0.7, 4.0])]
        study = {"format": 1, "kind": "study", "space": SPACE, "objectives": [{"goal": "max"}, {"goal": "min"}],
                 "sampler": "sampler.gp()", "by_order": [], "seed": 1}
        run = self.make(stage(study={"description": study, "trials": trials}))
        (run / "study.db").rename(self.folder / "search.db")
        self.assertIn("value 1 (higher is better), value 2 (lower is better)", self.report("search.db").out)
        self.assertEqual(self.report("search.db", "--json").json()["front"], [0, 1])

    def test_files_that_hold_no_study(self):
        self.assert_said(self.report("search.db", code=2), f"there is no file {self.folder}/search.db")
        for text in ("", "return lab.fit {}\n"):
            self.write("search.db", text)
            self.assert_said(self.report("search.db", code=2), "search.db: expected a run folder or a study's file",
                             "hint: lab.study")
        (self.folder / "search.db").unlink()
        with sqlite3.connect(self.folder / "search.db") as connection:
            connection.execute("PRAGMA user_version = 7")
        connection.close()
        self.assert_said(self.report("search.db", code=2), "search.db: written by a newer trainlab (schema 7")
        with sqlite3.connect(self.folder / "search.db") as connection:
            connection.execute("CREATE TABLE studies (study_id INTEGER)")
        connection.close()
        for form in ([], ["--csv"], ["--json"], ["--html", "x.html"]):
            self.assert_said(self.report("search.db", *form, code=2), "search.db: holds something else than a study")
        self.make(stage(study={"description": description(), "trials": []}))
        os.truncate(self.folder / "run/study.db", 0)
        self.assert_said(self.report("run/study.db", code=2), "run/study.db: expected a run folder")

    def test_nothing_is_made_or_changed(self):
        run = self.sweep()
        before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.rglob("*")}
        for form in ([], ["--csv"], ["--json"], ["--html", "x.html"]):
            self.report(run, *form)
        self.assertEqual({path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.rglob("*")}, before)

    def test_a_study_that_was_removed_is_missed(self):
        run = self.sweep()
        (run / "study.db").unlink()
        self.assert_said(
            self.report(run, code=3), "study.db is gone, which held the trials", "hint: summary.json has its best trial"
        )

    def test_while_two_workers_write(self):
        run = self.sweep()
        count = 300
        workers = [subprocess.Popen([MAKE_STUDY, "work", run / "study.db", str(count)], stdout=subprocess.PIPE)
                   for _ in range(2)]
        for worker in workers:
            self.addCleanup(worker.stdout.close)
            self.addCleanup(worker.kill)
            worker.stdout.readline()  # it is at work
        seen = []
        while any(worker.poll() is None for worker in workers):
            rows = list(csv.DictReader(io.StringIO(self.report(run, "--csv").out)))
            self.assertEqual([row["trial"] for row in rows], [str(i) for i in range(len(rows))])
            seen.append(len(rows))
            self.report(run)
        for worker in workers:
            self.assertEqual(worker.wait(), 0)
        self.assertTrue(seen)
        self.assertEqual(seen, sorted(seen))
        self.assertEqual(len(self.report(run, "--csv").out.splitlines()), 1 + len(TRIALS) + 2 * count)

    def test_after_a_worker_was_killed(self):
        """Its log lies beside the file, and nobody is at work who knows of it."""
        run = self.sweep()
        worker = subprocess.Popen([MAKE_STUDY, "work", run / "study.db", "1000000"], stdout=subprocess.PIPE)
        for _ in range(5):
            worker.stdout.readline()
        worker.kill()
        worker.wait()
        worker.stdout.close()
        self.assertTrue((run / "study.db-wal").exists())
        lines = self.report(run, "--csv").out.splitlines()
        self.assertGreaterEqual(len(lines), 1 + len(TRIALS) + 5)
        self.assertEqual(self.report(run, "--csv").out.splitlines(), lines)


if __name__ == "__main__":
    unittest.main()
