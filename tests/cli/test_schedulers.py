"""Sweeps in which configurations train on without waiting for others, and studies of other versions."""

import csv
import json
import shutil
import sqlite3
import unittest

from program import SOURCE, CliTest
from sweeping import ASHA, HALVING, SLOW, infos, sweep, trials


def segments(stage):
    """Of each trial the parent, the validations at its end, and the point."""
    with sqlite3.connect(stage / "study.db") as study:
        rows = study.execute("SELECT parent, until, point FROM trials ORDER BY number").fetchall()
    study.close()
    return rows


def make_schema_1(stage):
    """Makes the study one that was written before trials had a parent and until."""
    with sqlite3.connect(stage / "study.db") as study:
        for change in ("ALTER TABLE trials DROP COLUMN parent", "ALTER TABLE trials DROP COLUMN until",
                       "PRAGMA user_version = 1"):
            study.execute(change)
    study.close()


class Schedulers(CliTest):
    def sweep(self, **options):
        self.write("r.lua", sweep(**options))

    def assert_promoted(self, stage):
        """Asynchronous halving with rungs of 1, 3 and 9 validations: each configuration continues once from a rung, and
        of n trials that end in a rung no more than every third was among the best at some time."""
        rows, values = segments(stage), [float(values) for _, _, _, values, _ in trials(stage)]
        parents = [parent for parent, _, _ in rows if parent is not None]
        self.assertEqual(len(parents), len(set(parents)))
        self.assertGreater(len(parents), 2)
        for trial, (parent, until, point) in enumerate(rows):
            if parent is None:
                self.assertEqual(until, 1)
                continue
            self.assertEqual((until, point), (3 * rows[parent][1], rows[parent][2]))
            self.assertLess(parent, trial)
            rung = [values[other] for other in range(trial) if rows[other][1] == rows[parent][1]]
            self.assertGreaterEqual(len(rung), 3)
            self.assertLess(values[parent], max(rung))
        best = self.summary(stage)["best"]["trial"]
        self.assertEqual(rows[best][1], max(until for _, until, _ in rows))
        for trial, (_, until, _) in enumerate(rows):
            lines = (stage / f"trials/{trial:04}/seed-1/metrics.jsonl").read_text().splitlines()
            self.assertEqual(len(lines), until)

    def test_asynchronous_halving_continues_the_best_without_waiting(self):
        self.sweep(**{**ASHA, "more": "stack = false,"})
        self.run_program("r.lua", "--workers", 2, "--out", "asha")
        self.assert_promoted(self.folder / "asha")
        rows = csv.DictReader(self.run_program("report", "asha", "--csv").out.splitlines())
        self.assertEqual([row["parent"] for row in rows],
                         ["" if parent is None else str(parent) for parent, _, _ in segments(self.folder / "asha")])

    def test_asynchronous_halving_that_is_deterministic_ends_alike(self):
        self.sweep(**{**SLOW, **ASHA, "more": "deterministic = true,"})
        self.run_program("r.lua", "--out", "whole")
        self.assert_promoted(self.folder / "whole")
        running = self.start("r.lua", "--out", "cut", "--workers", "2")
        running.until_rows(self.folder / "cut/trials/0012/seed-1", 1)
        running.process.kill()
        running.end()
        self.run_program("resume", "cut", "--workers", "2")
        self.assertEqual(trials(self.folder / "cut"), trials(self.folder / "whole"))
        self.assertEqual(segments(self.folder / "cut"), segments(self.folder / "whole"))

    def test_the_first_rung_suits_the_weights_that_are_kept(self):
        """Early values say little of last weights: the first rung is a third of the training, not its 27th."""
        for keep, first in (("best", 1), ("last", 3)):
            self.sweep(**{**ASHA, "fit": f"keep = '{keep}',"})
            self.assertIn(f"first rung     ends after validation {first}, because the fit keeps the {keep} weights\n",
                          self.run_program("check", "r.lua").out)
            self.run_program("r.lua", "--out", keep)
            untils = [until for _, until, _ in segments(self.folder / keep)]
            self.assertEqual(untils[0], first)
            self.assertLessEqual(set(untils), {first, 3 * first, 9})
            self.assertGreater(max(untils), first)
            # The value of a trial that a rung compares is the one of the weights that are kept.
            for number, values in enumerate(float(values) for _, _, _, values, _ in trials(self.folder / keep)):
                rows = [json.loads(line)["val.loss"] for line in
                        (self.folder / keep / f"trials/{number:04}/seed-1/metrics.jsonl").read_text().splitlines()]
                self.assertEqual(values, min(rows) if keep == "best" else rows[-1])
        self.sweep(**{**ASHA, "fit": "keep = 'last',",
                      "scheduler": "scheduler = lab.scheduler.asha { min = 1, max = 9 },"})
        self.run_program("r.lua", "--out", "own")
        self.assertNotIn("first rung", self.run_program("check", "r.lua").out)
        self.assertEqual(segments(self.folder / "own")[0][1], 1)

    def test_trials_that_a_rung_gave_up_are_confirmed_by_whole_trainings(self):
        """The third rate is the best, and the last trial: the search trains it for two validations, while the second
        has trained for four. Its two validations say nothing of how good it is."""
        self.sweep(epochs="4", lr="lab.space.choice { 1e-5, 0.1, 0.105 }", sampler="grid()", trials="trials = 4,",
                   scheduler="scheduler = lab.scheduler.asha { min = 2, max = 4, reduction = 2 },",
                   more="confirm = { top = 2, seeds = 2 }, stack = false,")
        result = self.run_program("r.lua", "--out", "run")
        self.assertEqual([until for _, until, _ in segments(self.folder / "run")], [2, 2, 4, 2])
        summary = self.summary(self.folder / "run")
        best, second = summary["confirmed"]
        self.assertEqual([(one["trial"], one["validations"]) for one in (best, second)], [(3, 2), (2, 4)])
        self.assertLess(best["value"], second["value"])
        # With the values of the search the other one would come first.
        together = [sum([one["observed"], *one["seed_values"]]) for one in (best, second)]
        self.assertGreater(*together)
        self.assertEqual({name: summary["best"][name] for name in ("trial", "value", "observed", "validations")},
                         {name: best[name] for name in ("trial", "value", "observed", "validations")})
        self.assertIn("trial 3 is the best on fresh seeds, and the search has trained its model for no more than 2 "
                      "validations: ", result.err)
        self.assertRegex(result.out, r"trial 3; the search has seen \S+ after 2 validations")
        report = self.run_program("report", "run").out
        self.assertRegex(report, r"the search has seen \S+ after 2 validations\n")
        self.assertIn("confirmed on fresh seeds (± is the 95 % interval), the best first\n", report)
        self.assertRegex(report, r"(?m)^ +2 .* after 4 validations +2$")

    def test_a_study_of_an_older_version_goes_on(self):
        self.sweep(trials="trials = 9,")
        self.run_program("r.lua", "--out", "whole")
        self.sweep(trials="trials = 7,")
        self.run_program("r.lua", "--out", "cut")
        table = self.run_program("report", "cut", "--csv").out
        make_schema_1(self.folder / "cut")
        before = trials(self.folder / "cut")
        self.assertEqual(self.run_program("report", "cut", "--csv").out, table)
        self.run_program("extend", "cut", "--trials", "9")
        self.assertEqual(trials(self.folder / "cut")[:7], before)
        self.assertEqual(trials(self.folder / "cut"), trials(self.folder / "whole"))

    def test_a_refused_extension_leaves_the_run_as_it_was(self):
        self.sweep(epochs="40", trials="trials = 4,", more="scheduler = lab.scheduler.pbt { population = 2 },")
        self.run_program("r.lua", "--out", "run")
        files = [self.folder / "run" / name for name in ("summary.json", "manifest.toml")]
        before = [file.read_bytes() for file in files]
        result = self.run_program("extend", "run", "--trials", "200", code=2)
        self.assert_said(result, "cannot be extended to 200 trials", "validations")
        self.assertEqual([file.read_bytes() for file in files], before)
        self.run_program("extend", "run", "--trials", "6")
        self.assertEqual(len(trials(self.folder / "run")), 6)

    def test_a_study_that_is_gone_is_missed(self):
        self.sweep(trials="trials = 3,")
        self.run_program("r.lua", "--out", "run")
        file = self.folder / "run/study.db"
        rows = (self.folder / "run/trials/0001/seed-1/metrics.jsonl").read_bytes()
        for lose, said in (
            (file.unlink, ("study.db is gone, which held the trials of this sweep",)),
            (lambda: file.write_bytes(b""), ("study.db is damaged: it is empty",)),
        ):
            lose()
            result = self.run_program("extend", "run", "--trials", "4", code=3)
            self.assert_said(result, *said, "hint: ")
            self.assertNotIn("to continue:", result.err)
            self.assertEqual((self.folder / "run/trials/0001/seed-1/metrics.jsonl").read_bytes(), rows)
        file.unlink()
        shutil.rmtree(self.folder / "run/trials")
        summary = self.summary(self.folder / "run")
        self.run_program("extend", "run", "--trials", "4", code=3)
        self.assertEqual(self.summary(self.folder / "run"), summary)

    def test_a_study_that_cannot_be_used_is_told(self):
        self.sweep(trials="trials = 3,")
        self.run_program("r.lua", "--out", "run")
        file = self.folder / "run/study.db"
        whole = file.read_bytes()
        newer = whole[:60] + (99).to_bytes(4, "big") + whole[64:]
        damaged = whole[:4096] + bytes(len(whole) - 4096)
        for content, code, text in ((newer, 2, "written by a newer trainlab (schema 99, this one knows 2)"),
                                    (damaged, 3, "the file is damaged"),
                                    (b"no database" * 1000, 3, "the file is damaged")):
            with self.subTest(text):
                file.write_bytes(content)
                self.assert_said(self.run_program("report", "run", code=code), "study.db", text)
                result = self.run_program("extend", "run", "--trials", "4", code=code)
                self.assert_said(result, "study.db", text)
                self.assertNotIn("to continue:", result.err)
                self.assertEqual(file.read_bytes(), content)

    def test_generations_go_on_from_each_other(self):
        self.run_program(SOURCE / "recipes/population.lua", "--population", "4", "--generations", "3")
        run = self.run_folder(name="population")
        told = infos(run)
        self.assertEqual(len(told), 12)
        steps = [
            json.loads((run / f"trials/{trial:04}/seed-1/summary.json").read_text())["steps"] for trial in range(12)
        ]
        for trial in range(4, 12):
            fit = json.loads((run / f"trials/{trial:04}/seed-1/summary.json").read_text())
            parent = told[trial]["parent"]
            self.assertIn(parent, range(trial // 4 * 4 - 4, trial // 4 * 4))
            self.assertEqual(fit["resumed"][-1], steps[parent])
            self.assertEqual(fit["steps"], (trial // 4 + 1) * steps[0])
        self.assertEqual(list(run.glob("**/damaged-*")), [])


if __name__ == "__main__":
    unittest.main()
