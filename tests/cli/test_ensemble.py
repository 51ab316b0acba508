"""Ensembles: which members there are, and what they give together."""

import csv
import re
import unittest

from program import SOURCE, CliTest
from sweeping import sweep, timeless, trials, until_rows


class Ensemble(CliTest):
    def test_the_best_are_kept_and_judged_together(self):
        recipe = SOURCE / "recipes/seed_ensemble.lua"
        summary = self.run_program(recipe, "--seeds", "6", "--keep", "3", "--json").json()
        values = [member["metrics"]["val.loss"] for member in summary["members"]]
        self.assertEqual(len(values), 3)
        self.assertEqual(values, sorted(values))
        self.assertEqual(summary["best_member"]["val.loss"], values[0])
        self.assertAlmostEqual(summary["mean_member"]["val.loss"], sum(values) / 3)
        page = (self.run_folder(name="seed_ensemble") / "artifacts/predictions.html").read_text()
        self.assertIn("data:image/png;base64,iVBOR", page)
        table = (self.run_folder(name="seed_ensemble") / "artifacts/predictions.csv").read_text().splitlines()
        trials_kept = [f"trial {member['trial']}" for member in summary["members"]]
        self.assertEqual(table[0].split(","), ["sample", "target", "ensemble", *trials_kept])
        # The logarithm is concave: a mean of probabilities is never worse than the mean of the members.
        self.assertLess(summary["ensemble"]["test.loss"], summary["mean_member"]["test.loss"])

    def test_the_table_of_predictions_is_csv(self):
        """Names of members and of classes may hold commas and quotes."""
        names = ('a "big" one', "small, round")
        with open(self.folder / "d.csv", "w", newline="") as file:
            csv.writer(file).writerows([("x", "z", "y")] + [(i % 5, i * i % 7, names[i % 2]) for i in range(40)])
        self.write("r.lua", """
local function build(hp)
  return lab.fit { name = "m", data = lab.data.csv { "d.csv", target = "y" }:split { train = 0.5, val = 0.5, seed = 1 },
                   model = lab.nn.Linear(2), loss = "cross_entropy", optim = lab.optim.SGD { lr = hp.lr }, batch = 8,
                   epochs = 3 }
end
local found = lab.run(lab.sweep { name = "s", space = { lr = lab.space.log(1e-3, 1e-2) }, metric = "val.loss",
                                  trials = 2, seeds = 3, build = build })
return lab.ensemble { name = "e", from = found, keep = 8, metric = "val.loss", build = build }
""")
        self.run_program("r.lua", "--out", "run", "--threads", "1")
        with open(self.folder / "run/artifacts/predictions.csv", newline="") as file:
            heading, *rows = csv.reader(file)
        self.assertEqual(heading[:3], ["sample", "target", "ensemble"])
        self.assertTrue(all(re.fullmatch(r"trial [01](, seed [23])?", name) for name in heading[3:]), heading)
        self.assertTrue(any(", seed " in name for name in heading[3:]), heading)
        self.assertEqual(len(rows), 20)
        for row in rows:
            self.assertEqual(len(row), len(heading), row)
            self.assertIn(row[1], names)
            for cell in row[2:]:
                self.assertIn(re.fullmatch(r"(.+) \d+ %", cell)[1], names)

    def members(self, fails, how, more="keep = 2,"):
        """An ensemble of four, where members for which `fails` is true fail by `how`."""
        before = f"local fails = {fails}"
        fit = "on = { epoch = function() if fails then error('no such luck') end end }," if how == "callback" else ""
        if how == "build":
            before += "\n  if fails then error('no such luck') end"
        text = sweep(before=before, fit=fit).split("return lab.sweep")[0]
        text = text.replace("hp.lr", "fails and 1e38 or 0.1" if how == "loss" else "0.1")
        self.write("r.lua", text + "return lab.ensemble { name = 'e', seeds = 4, build = build, " + more + " }\n")

    def test_members_that_fail_are_left_out(self):
        for how, reason in (("callback", "no such luck"), ("build", "no such luck"), ("loss", "is not finite")):
            for workers in (1, 2):
                with self.subTest(how, workers=workers):
                    self.members("hp.trial < 2", how)
                    run = f"{how}-{workers}"
                    result = self.run_program("r.lua", "--out", run, "--json", "--workers", workers)
                    summary = result.json()
                    self.assertEqual(summary["status"], "done")
                    self.assertEqual(sorted(member["trial"] for member in summary["members"]), [2, 3])
                    failures = summary["failures"]
                    self.assertEqual((failures["count"], failures["ended"], failures["trials"]), (2, 4, [0, 1]))
                    self.assertIn(reason, failures["reason"])
                    self.assert_said(result, "warning: e: the members of trials 0 and 1 failed and are left out: ",
                                     reason)
                    report = self.run_program("report", run).out
                    self.assertIn("  failed 2 of 4 trials, all of them with: ", report)

    def test_too_few_members_are_complete(self):
        for fails, more, text in (
            ("hp.trial == 1", "", "the member of trial 1 failed: "),
            ("hp.trial > 0", "keep = 2,",
             "3 of 4 members failed, so that keep = 2 cannot be met; the member of trial 1 failed: "),
        ):
            with self.subTest(text):
                self.members(fails, "callback", more)
                run = self.folder / ("some" if more else "all")
                self.assert_said(self.run_program("r.lua", "--out", run, code=3), text, "no such luck")
                self.assert_said(self.run_program("resume", run, code=3), text, "no such luck")

    def test_members_are_chosen_from_a_sweep(self):
        self.write("r.lua", sweep(run="local found = lab.run(") .replace("\n}\n", "\n})\n") +
                   "return lab.ensemble { name = 'e', from = found, keep = 3, metric = 'val.loss', build = build }\n")
        summary = self.run_program("r.lua", "--json").json()
        self.assertEqual(len(summary["members"]), 3)
        best = min(float(row[3]) for row in trials(self.run_folder() / "stages/s"))
        self.assertEqual(summary["members"][0]["metrics"]["val.loss"], best)
        self.assertLessEqual(summary["ensemble"]["val.loss"], best)

    def test_members_of_a_run_that_has_moved(self):
        self.write("r.lua", sweep(run="local found = lab.run(").replace("\n}\n", "\n})\nprint('in ' .. found.out)\n") +
                   "return lab.ensemble { name = 'e', from = found, keep = 3, metric = 'val.loss', build = build }\n")
        members = self.run_program("r.lua", "--json").json()["members"]
        moved = self.folder / "moved"
        self.run_folder().rename(moved)
        (moved / "summary.json").unlink()  # the ensemble goes on
        self.write("mended.lua", (self.folder / "r.lua").read_text() + "\n")
        for more in ((), ("--recipe", "mended.lua")):
            result = self.run_program("resume", moved, "--json", *more)
            self.assertEqual(result.json()["members"], members)
            self.assert_said(result, f"in {moved}/stages/s")
            (moved / "summary.json").unlink()

    def test_the_summary_of_a_member_is_gone(self):
        self.write("r.lua", sweep(run="local found = lab.run(").replace("\n}\n", "\n})\n") +
                   "return lab.ensemble { name = 'e', params = found.best.params, seeds = 2, build = build,\n"
                   "  metric = 'val.loss' }\n")
        self.run_program("r.lua")
        run = self.run_folder()
        member = run / "trials/0001/seed-1/summary.json"
        for content, text in ((None, "is missing"), ("{", "is damaged: it is not valid JSON"),
                              ('{"status": "done"}', "is damaged: it has no metrics")):
            with self.subTest(text):
                (run / "summary.json").unlink()
                member.unlink() if content is None else member.write_text(content)
                self.assert_said(self.run_program("resume", run, code=3), f"{member} {text}")

    def test_what_is_no_sweep_is_no_source_of_members(self):
        for options, text in (("from = 5", "from: expected the result of a sweep, found 5"),
                              ("params = 5", "params: expected parameters by name, found 5"),
                              ("from = {}", "from: expected the result of a sweep")):
            self.write(
                "r.lua",
                sweep(run="local unused =")
                + f"return lab.ensemble {{ name = 'e', {options}, keep = 1, build = build }}\n",
            )
            self.assert_said(self.run_program("r.lua", code=1), text)

    def test_two_stages_go_on_alike(self):
        recipe = SOURCE / "recipes/two_stage.lua"
        options = ("--trials", "10", "--seeds", "4", "--epochs", "4")
        self.run_program(recipe, *options, "--out", "whole")
        running = self.start(recipe, *options, "--out", "cut")
        until_rows(running, self.folder / "cut/stages/search", 0, 1)
        running.process.kill()
        running.end()
        self.run_program("resume", "cut", "--workers", "1")
        for stage in ("", "stages/search"):
            self.assertEqual(*(timeless(self.summary(self.folder / run / stage)) for run in ("whole", "cut")))

    def test_a_parameter_of_an_ensemble_is_changed_but_not_added(self):
        build = sweep(run="local _ =")
        text = build[:build.index("local _ =")] + (
            'return lab.ensemble { name = "e", seeds = 2, params = { lr = 0.1 }, build = build }\n')
        self.write("r.lua", text)
        summary = self.run_program("r.lua", "--json", "--set", "params.lr=0.25").json()
        self.assertEqual(summary["params"], {"lr": 0.25})
        wrong = self.run_program("r.lua", "--set", "params.lt=3", code=2)
        self.assert_message(wrong, "trainlab: --set params.lt=3: there is no 'lt' in params")
        self.assert_said(wrong, "hint: did you mean 'lr'?")
        self.write("r.lua", text.replace("params = { lr = 0.1 },", "").replace("hp.lr", "0.1"))
        wrong = self.run_program("r.lua", "--set", "params.lr=3", code=2)
        self.assert_message(wrong, "trainlab: --set params.lr=3: there is no 'lr' in params")
        self.assert_said(wrong, "hint: the recipe gives no params")


if __name__ == "__main__":
    unittest.main()
