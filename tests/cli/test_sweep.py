"""Sweeps and ensembles: the same trials for any number of workers, whatever is interrupted or killed; what is wrong is
refused before anything runs, and a trial that is wrong fails alone."""

import csv
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import sqlite3
import struct
import unittest

from program import SOURCE, CliTest, small_disk, tensors

SWEEP = """local nn = lab.nn
local data = lab.data.blobs { samples = 120, seed = 3 }:split { train = 0.5, val = 0.25, test = 0.25 }
local function build(hp)
  %(before)s
  return lab.fit {
    name = "member", data = data, loss = "cross_entropy", metrics = { "accuracy" }, batch = 16, epochs = %(epochs)s,
    model = nn.Sequential { nn.Linear(8), nn.ReLU(), nn.Linear(3) }, optim = lab.optim.SGD { lr = hp.lr },
    %(fit)s
  }
end
%(run)s lab.sweep {
  name = "s", space = { lr = %(lr)s%(space)s }, metric = "%(metric)s", %(scheduler)s sampler = lab.sampler.%(sampler)s,
  %(trials)s build = build,
  %(more)s
}
"""
DEFAULTS = {"before": "", "epochs": "4", "fit": "", "run": "return", "lr": "lab.space.log(1e-3, 1)", "space": "",
            "metric": "val.loss", "sampler": "random()", "scheduler": "", "trials": "trials = 12,", "more": ""}
# Long enough to be caught in the middle.
SLOW = {"epochs": "40", "fit": "on = { validate = function() for i = 1, 300000 do end end },"}
HALVING = {"scheduler": "scheduler = lab.scheduler.halving { configurations = 9 },", "epochs": "9",
           "trials": "trials = 13,"}
OWN_MIN = {"scheduler": "scheduler = lab.scheduler.halving { configurations = 9, min = 1 },"}
ASHA = {"scheduler": "scheduler = lab.scheduler.asha { max = 9 },", "epochs": "9", "trials": "trials = 20,"}
PRUNED = {"sampler": "tpe { startup = 4 }", "trials": "trials = 14, seeds = 2, deterministic = true,",
          "more": "pruner = lab.pruner.asha { min = 1, reduction = 2 },"}


def sweep(**options):
    return SWEEP % {**DEFAULTS, **options}


def trials(stage):
    """What of each trial must not depend on how it ran."""
    with sqlite3.connect(stage / "study.db") as study:
        rows = study.execute("SELECT number, state, point, values_, info FROM trials ORDER BY number").fetchall()
    study.close()
    return [(number, state, point, values, info and json.loads(info)["seed_values"])
            for number, state, point, values, info in rows]


def reports(stage):
    """What each trial has reported in its last attempt, by trial, repeat and validation."""
    with sqlite3.connect(stage / "study.db") as study:
        rows = study.execute("SELECT trial, repeat, resource, value FROM reports ORDER BY id").fetchall()
    study.close()
    return {row[:3]: row[3] for row in rows}


def infos(stage):
    with sqlite3.connect(stage / "study.db") as study:
        rows = [json.loads(info) for info, in study.execute("SELECT info FROM trials ORDER BY number")]
    study.close()
    return rows


def last_tensors(fit):
    """The step of the last checkpoint of a fit, and its float64 tensors by name, as lists of numbers."""
    path = max((fit / "checkpoints").glob("last-*.safetensors"))
    return path.stem, {name: struct.unpack(f"<{len(tensor.bytes) // 8}d", tensor.bytes)
                       for name, tensor in tensors(path).items() if tensor.dtype == "F64"}


def until_rows(running, stage, trial, count, repeat=1):
    """Waits for `count` rows of a trial's repeat, whichever attempt trains it or whether it has ended."""
    folder = stage / f"trials/{trial:04}"

    def rows():
        for place in (folder, *folder.glob("attempt-*")):
            try:
                if (place / f"seed-{repeat}/metrics.jsonl").read_bytes().count(b"\n") >= count:
                    return True
            except OSError:
                pass  # not there yet, or moved meanwhile
        return False

    running.until(rows, f"row {count} of repeat {repeat} in {folder}")


def timeless(summary):
    """What of a stage's summary must not depend on its time."""
    # A resumed training lacks some figures of its health (docs/health.md), so that the step and the evidence of a
    # verdict may differ, and with them the remedy.
    faults = [(one["kind"], one["count"], one["trials"]) for one in summary.get("health", [])]
    return {**{key: value for key, value in summary.items()
               if key not in ("seconds", "resumed", "out", "speed", "health")}, "faults": faults}


class Sweep(CliTest):
    def sweep(self, **options):
        self.write("r.lua", sweep(**options))

    def timeless(self, run):
        return timeless(self.summary(run))

    def test_the_best_trial_is_found_and_told(self):
        self.sweep()
        summary = self.run_program("r.lua", "--json").json()
        self.assertEqual((summary["status"], summary["kind"], summary["metric"], summary["goal"]),
                         ("done", "sweep", "val.loss", "min"))
        self.assertEqual(summary["trials"], {"complete": 12, "failed": 0, "pruned": 0, "running": 0, "waiting": 0})
        rows = trials(self.run_folder())
        values = [float(values) for _, _, _, values, _ in rows]
        self.assertEqual(summary["best"]["value"], min(values))
        self.assertEqual(summary["best"]["trial"], values.index(min(values)))
        self.assertEqual(summary["best"]["params"]["lr"], float(rows[summary["best"]["trial"]][2]))
        trial = self.run_folder() / "trials/0003/seed-1"
        fit = json.loads((trial / "summary.json").read_text())
        self.assertIn("done: reached its length", self.run_program("report", trial).out)
        self.assertEqual(fit["metrics"]["val.loss"], values[3])

    def test_extended_it_is_the_longer_sweep(self):
        self.sweep(trials="trials = 5,")
        self.run_program("r.lua", "--out", "run", "--quiet")
        before = trials(self.folder / "run")
        for length, message in (
            (("--trials", 5), "expected a total of more than the 5 trials of the run, found 5 trials"),
            (("--epochs", 9), "the last stage is a sweep, whose length is a number of trials or a time"),
            (("--time", "1 h"), "expected a stage with a budget of time, found a lab.sweep without"),
        ):
            self.assert_message(self.run_program("extend", "run", *length, code=2), "trainlab: " + message)
        summary = self.run_program("extend", "run", "--trials", 8, "--workers", 2, "--json").json()
        self.assertEqual((summary["status"], summary["trials"]["complete"]), ("done", 8))
        rows = trials(self.folder / "run")
        self.assertEqual(rows[:5], before)
        self.sweep(trials="trials = 8,")
        self.run_program("r.lua", "--out", "whole", "--quiet")
        self.assertEqual(trials(self.folder / "whole"), rows)

    def test_a_budget_of_time_is_extended_as_the_trials_are(self):
        for run, bounds, other in (
            ("timed", 'time = "1 s",',
             "expected a sweep that is bounded by its trials, found one with a budget of time alone"),
            ("counted", 'trials = 1000000, time = "1 s",', "the sweep has used all of its 1 s: no trial would begin"),
        ):
            with self.subTest(run):
                self.sweep(trials=bounds)
                self.run_program("r.lua", "--out", run, "--quiet")
                before = self.summary(self.folder / run)
                self.assertEqual((before["status"], before["reason"]), ("stopped", "its own time is used"))
                self.assertGreaterEqual(before["seconds"], 1)
                for length, message in (
                    (("--time", "1 s"), "expected a total of more than the 1 s of the run, found 1 s"),
                    (("--trials", 2000000), other),
                ):
                    self.assert_message(self.run_program("extend", run, *length, code=2), "trainlab: " + message)
                self.assertEqual(self.summary(self.folder / run), before)
                running = self.start("extend", run, "--time", "1 h")
                until_rows(running, self.folder / run, sum(before["trials"].values()) + 1, 1)
                running.send(signal.SIGINT)
                self.end(running, 130)
                after = self.summary(self.folder / run)
                self.assertGreater(sum(after["trials"].values()), sum(before["trials"].values()))
                self.assertGreater(after["seconds"], before["seconds"])
                self.assertIn("stage s extended to 1 h", self.run_program("report", run).out)
                self.write(f"{run}/used-time.json", "{}")
                self.assert_message(self.run_program("resume", run, code=3),
                                    f"trainlab: {self.folder}/{run}/used-time.json is damaged: it has no seconds")
        self.sweep(trials='trials = 3, time = "1 h",')
        self.run_program("r.lua", "--out", "both", "--quiet")
        self.run_program("extend", "both", "--trials", 5, "--quiet")
        summary = self.run_program("extend", "both", "--time", "2 h", "--json").json()
        self.assertEqual((summary["status"], summary["trials"]["complete"]), ("done", 5))
        self.assertIn("stage s extended to 2 h, 5 trials", self.run_program("report", "both").out)

    def test_the_time_of_a_trial_counts_before_its_first_validation(self):
        """A trial that would validate in minutes is killed: the sweep knows the time that the trial took."""
        self.sweep(trials='time = "100 s",', fit='validate = "100000 epochs",', epochs="100000")
        text = (self.folder / "r.lua").read_text()
        slow = ("function(out, batch)\n      for i = 1, 10000000 do end\n"
                "      return lab.ops.cross_entropy_loss(out, batch.y)\n    end")
        self.write("r.lua", text.replace('loss = "cross_entropy"', f"loss = {slow}"))
        path = self.folder / "run/used-time.json"

        def saved():
            return json.loads(path.read_text())["seconds"]

        running = self.start("r.lua", "--threads", "1", "--out", "run")
        running.until(path.exists, "its time was saved")
        first = saved()
        running.until(lambda: saved() > first + 2, "the time was saved again")
        running.kill()
        before = saved()
        self.assertFalse([rows for rows in (self.folder / "run").rglob("metrics.jsonl") if rows.read_bytes()])
        running = self.start("resume", "run")
        running.until(lambda: saved() != before, "the time was saved once more")
        self.assertGreater(saved(), before, "the time went on")
        running.kill()

    def test_any_number_of_workers_gives_the_same_trials(self):
        for name, options in (("random", {"trials": "trials = 12, seeds = 2,"}), ("pruned", PRUNED)):
            with self.subTest(name):
                self.sweep(**options)
                found = []
                for workers in (1, 2, 8):
                    self.run_program("r.lua", "--workers", workers, "--out", f"{name}-{workers}")
                    run = self.folder / f"{name}-{workers}"
                    found.append((trials(run), self.timeless(run)))
                self.assertEqual(found[0], found[1])
                self.assertEqual(found[0], found[2])

    def test_stacked_trials_equal_those_that_run_alone(self):
        text = sweep(fit='precision = "float64",', space=", drop = lab.space.uniform(0, 0.8)")
        self.write("r.lua", text.replace("nn.ReLU(),", "nn.ReLU(), nn.Dropout(hp.drop),"))
        self.run_program("r.lua", "--out", "stacked")
        self.run_program("r.lua", "--set", "stack=false", "--out", "alone")
        self.assertEqual({info["ran"] for info in infos(self.folder / "stacked")}, {"stack of 12"})
        self.assertEqual({info["ran"] for info in infos(self.folder / "alone")}, {"alone"})
        stacked, alone = trials(self.folder / "stacked"), trials(self.folder / "alone")
        for one, other in zip(stacked, alone):
            self.assertEqual(one[:3], other[:3])
            self.assertAlmostEqual(float(one[3]), float(other[3]), places=9)

    def test_stacked_batch_norms_equal_those_that_run_alone(self):
        """Also those of trials that have ended while others go on."""
        rules = "precision = 'float64', keep = 'last', stop = lab.stop.patience { patience = 2 },"
        text = sweep(epochs="12", fit=rules)
        self.write("r.lua", text.replace("nn.ReLU(),", "nn.BatchNorm1d(), nn.ReLU(),"))
        self.run_program("r.lua", "--out", "stacked", "--set", "stack=12")
        self.run_program("r.lua", "--out", "alone", "--set", "stack=false")
        self.assertEqual({info["ran"] for info in infos(self.folder / "stacked")}, {"stack of 12"})
        lengths = set()
        for one, other in zip(trials(self.folder / "stacked"), trials(self.folder / "alone")):
            self.assertAlmostEqual(float(one[3]), float(other[3]), places=9)
            kept = [last_tensors(self.folder / name / f"trials/{one[0]:04}/seed-1") for name in ("stacked", "alone")]
            lengths.add(kept[1][0])  # in a stack the checkpoints of all are of one step
            for name in ("model.2.running_mean", "model.2.running_var", "model.2.weight"):
                for a, b in zip(kept[0][1][name], kept[1][1][name], strict=True):
                    self.assertAlmostEqual(a, b, places=9)
        self.assertGreater(len(lengths), 2)

    def test_trials_with_tables_of_schedules_are_stacked(self):
        schedule = "schedule = { lr = lab.sched.cosine { floor = hp.floor }, weight_decay = lab.sched.linear() },"
        text = sweep(fit=schedule + 'precision = "float64",', space=", floor = lab.space.uniform(0, 0.5)")
        self.write("r.lua", text)
        self.run_program("r.lua", "--out", "stacked")
        self.run_program("r.lua", "--set", "stack=false", "--out", "alone")
        self.assertEqual({info["ran"] for info in infos(self.folder / "stacked")}, {"stack of 12"})
        for one, other in zip(trials(self.folder / "stacked"), trials(self.folder / "alone")):
            self.assertEqual(one[:3], other[:3])
            self.assertAlmostEqual(float(one[3]), float(other[3]), places=9)

    def test_a_size_of_stacks_where_there_can_be_none_is_an_error(self):
        for text, why in (
                (sweep(more="stack = 4,", fit="time = '60 s',").replace("epochs = 4,", ""),
                 "the fit has a budget of time"),
                (sweep(more="stack = 4,").replace("nn.ReLU(),", "nn.Reshape { 1, 8 }, nn.GRU(4), nn.Flatten(),"),
                 "model[3].GRU takes no member axis"),
                (sweep(more="stack = 4,").replace("lab.optim.SGD { lr = hp.lr }", "lab.optim.LBFGS { lr = hp.lr }"),
                 "optim.LBFGS takes no member axis"),
                (sweep(more="stack = true,").replace("lab.optim.SGD { lr = hp.lr }", "lab.optim.LBFGS { lr = hp.lr }"),
                 "optim.LBFGS takes no member axis"),
                (sweep(more="stack = 4,").replace('loss = "cross_entropy"',
                                                  "loss = function(out, batch) return out:sum() end"),
                 "the fit's option `loss` holds a function")):
            self.write("r.lua", text)
            for command in (["check", "r.lua"], ["r.lua"]):
                result = self.run_program(*command, code=1)
                self.assert_said(result, ": expected fits that can train together, found that " + why)
            self.write("r.lua", re.sub("stack = [4t]\\w*", 'stack = "auto"', text))
            self.run_program("check", "r.lua")
        members = sweep(run="local unused =").replace("optim.SGD", "optim.LBFGS")
        self.write("r.lua", members + "return lab.ensemble { name = 'e', params = { lr = 0.1 }, seeds = 4, keep = 2, "
                   "metric = 'val.loss', stack = 4, build = build }\n")
        result = self.run_program("r.lua", code=1)
        self.assert_said(result, "stack = 4: ", "found that optim.LBFGS takes no member axis")

    def test_a_study_that_is_deleted_under_a_sweep_is_put_back(self):
        self.sweep(**SLOW)
        self.run_program("r.lua", "--out", "whole", "--set", "stack=false")
        for workers in (1, 2):
            name = f"run{workers}"
            running = self.start("r.lua", "--out", name, "--set", "stack=false", "--workers", workers)
            until_rows(running, self.folder / name, workers, 1)
            (self.folder / name / "study.db").unlink()
            result = self.end(running, 3)
            self.assert_said(result, "study.db: was deleted while this process worked on it; all that it held has been "
                             "written there again", "to continue: trainlab resume")
            known = trials(self.folder / name)
            self.assertGreater(sum(row[1] == "complete" for row in known), 0)
            self.run_program("resume", name)
            self.assertEqual(trials(self.folder / name), trials(self.folder / "whole"))

    def test_trials_that_go_on_from_others_are_one_training(self):
        self.sweep(**HALVING)
        found = []
        for workers in (1, 3):
            self.run_program("r.lua", "--workers", workers, "--out", f"halving-{workers}")
            found.append(trials(self.folder / f"halving-{workers}"))
        self.assertEqual(found[0], found[1])
        values = [float(values) for _, _, _, values, _ in found[0]]
        with sqlite3.connect(self.folder / "halving-1/study.db") as study:
            parents = [json.loads(info)["parent"] for info, in study.execute("SELECT info FROM trials ORDER BY number")]
        study.close()
        best = sorted(range(9), key=lambda trial: values[trial])
        self.assertEqual(parents, 9 * [None] + best[:3] + [min(range(9, 12), key=lambda trial: values[trial])])
        # The winner's training is that of a fit which nobody interrupted.
        self.sweep(epochs="9", trials="trials = 1,", more=f"enqueue = {{ {{ lr = {found[0][12][2]} }} }},")
        self.run_program("r.lua", "--out", "whole")
        def rows(run, trial):
            lines = (self.folder / run / f"trials/{trial:04}/seed-1/metrics.jsonl").read_text().splitlines()
            return [{key: row[key] for key in ("step", "train.loss", "val.loss")} for row in map(json.loads, lines)]
        self.assertEqual(rows("halving-1", 12), rows("whole", 0))
        # A trial's value is that of the weights which its training has kept so far, and the best trial is one of those
        # that have trained longest.
        parents_of = dict(enumerate(parents))
        for trial, (_, _, _, value, _) in enumerate(found[0]):
            self.assertEqual(float(value), min(row["val.loss"] for row in rows("halving-1", trial)))
            if parents_of[trial] is not None:
                self.assertLessEqual(float(value), float(found[0][parents_of[trial]][3]))
        summary = self.summary(self.folder / "halving-1")
        self.assertEqual((summary["best"]["trial"], summary["best"]["value"]), (12, float(found[0][12][3])))
        self.assertRegex(self.run_program("report", "halving-1").out, r"(?m)^  best .*trial 12")

    def test_a_trial_whose_parent_is_gone_is_an_error(self):
        self.sweep(**HALVING)
        self.run_program("r.lua", "--out", "whole")
        self.sweep(**{**HALVING, "trials": "trials = 9,"})
        self.run_program("r.lua", "--out", "cut")
        shutil.move(self.folder / "cut/trials", self.folder / "away")
        result = self.run_program("extend", "cut", "--trials", "13", code=3)
        self.assert_said(result, "trial 9 continues trial", "but there is no complete checkpoint in",
                         "put the folder back and resume the run")
        shutil.rmtree(self.folder / "cut/trials", ignore_errors=True)
        shutil.move(self.folder / "away", self.folder / "cut/trials")
        self.run_program("resume", "cut")
        self.assertEqual(trials(self.folder / "cut"), trials(self.folder / "whole"))

    def test_interrupted_and_resumed_it_ends_alike(self):
        self.sweep(**SLOW, **PRUNED)
        self.run_program("r.lua", "--out", "whole")
        running = self.start("r.lua", "--out", "cut", "--workers", "2")
        until_rows(running, self.folder / "cut", 1, 2)
        running.send(signal.SIGINT)
        self.end(running, 130)
        interrupted = self.summary(self.folder / "cut")
        self.assertEqual(interrupted["status"], "interrupted")
        self.assertEqual(sum(interrupted["trials"].values()), len(trials(self.folder / "cut")))
        self.assertEqual(interrupted["resumed"], [])
        self.assertGreater(interrupted["flops"], 0)
        ended = sum(state not in ("waiting", "running") for _, state, *_ in trials(self.folder / "cut"))
        running = self.start("resume", "cut")
        until_rows(running, self.folder / "cut", 9, 1, repeat=2)
        running.process.kill()
        running.end()
        self.run_program("resume", "cut")
        self.assertEqual(trials(self.folder / "cut"), trials(self.folder / "whole"))
        self.assertEqual(self.timeless(self.folder / "cut"), self.timeless(self.folder / "whole"))
        self.assertEqual(self.summary(self.folder / "whole")["resumed"], [])
        first, second = self.summary(self.folder / "cut")["resumed"]
        self.assertEqual(first, ended)
        self.assertGreaterEqual(second, first)

    def test_the_best_trials_are_confirmed_on_fresh_seeds(self):
        self.sweep(more="confirm = { top = 3, seeds = 4 },")
        checked = self.run_program("check", "r.lua")
        self.assertIn("confirm        the best 3 trials again, each on 4 fresh seeds", checked.out)
        self.assertEqual(self.run_program("check", "r.lua", "--json").json()["stages"][0]["confirm"],
                         {"top": 3, "seeds": 4})
        result = self.run_program("r.lua", "--out", "run")
        summary = self.summary(self.folder / "run")
        best = summary["best"]
        self.assert_said(result, "confirmation of s: 12 of 12 trainings on fresh seeds")
        self.assertRegex(result.out, r"best   val\.loss \S+ on fresh seeds, trial \d+; the search has seen \S+")
        values = {number: float(values) for number, _, _, values, _ in trials(self.folder / "run")}
        confirmed = {one["trial"]: one for one in summary["confirmed"]}
        self.assertEqual(set(confirmed), set(sorted(values, key=values.get)[:3]))
        self.assertEqual(best["observed"], values[best["trial"]])
        self.assertEqual({key: confirmed[best["trial"]][key] for key in best}, best)
        for one in confirmed.values():
            self.assertEqual((len(one["seed_values"]), one["failed"]), (4, 0))
            self.assertNotIn(one["observed"], one["seed_values"])
            self.assertAlmostEqual(one["value"], sum(one["seed_values"]) / 4)
        report = self.run_program("report", "run").out
        self.assertRegex(report, rf"best   \S+ ± \S+ on fresh seeds \(95 % interval\), trial {best['trial']}\n")
        self.assertIn("confirmed on fresh seeds", report)
        self.assertEqual(self.run_program("report", "run", "--json").json()["paste"]["trial"], best["trial"])
        self.run_program("r.lua", "--out", "two", "--workers", "2", "--quiet")
        self.assertEqual(self.timeless(self.folder / "two"), self.timeless(self.folder / "run"))

    def test_the_luck_of_a_winner_is_told(self):
        """Equal configurations: the best of 40 looks good by chance, and fresh seeds show that."""
        self.write("r.lua", """return lab.sweep {
  name = "luck", metric = "score", goal = "max", trials = 40, space = { x = lab.space.int(1, 1000000) },
  sampler = lab.sampler.random(), confirm = { top = 4, seeds = 8 },
  build = function(hp)
    return lab.task { name = "coin", run = function(ctx)
      ctx:log("score", lab.tensor.rand({ 1 }, { seed = (hp.seed + 7919 * hp.x) % 1000003 }):item())
    end }
  end,
}
""")
        best = self.run_program("r.lua", "--json", "--quiet").json()["best"]
        self.assertGreater(best["observed"], 0.85)
        self.assertLess(abs(best["value"] - 0.5), 3 * 12 ** -0.5 / 8 ** 0.5)  # three standard errors of the mean
        self.write("r.lua", (self.folder / "r.lua").read_text().replace("confirm = { top = 4, seeds = 8 },", ""))
        self.run_program("r.lua", "--quiet", "--out", "unconfirmed")
        self.assertIn("as the best of 40 up to 2.161 standard deviations of a seed too good",
                      self.run_program("report", "unconfirmed").out)

    def test_killed_while_it_confirms_it_ends_alike(self):
        self.sweep(**SLOW, more="confirm = { top = 3, seeds = 3 },")
        self.run_program("r.lua", "--out", "whole", "--set", "stack=false")
        running = self.start("r.lua", "--out", "cut", "--workers", "2", "--set", "stack=false")
        until_rows(running, self.folder / "cut/confirm", 1, 2)
        running.process.kill()
        running.end()
        self.assertIn("the trainings on fresh seeds will tell", self.run_program("report", "cut").out)
        running = self.start("resume", "cut")
        until_rows(running, self.folder / "cut/confirm", 5, 2)
        running.send(signal.SIGINT)
        self.end(running, 130)
        self.assertEqual(self.summary(self.folder / "cut")["status"], "interrupted")
        self.run_program("resume", "cut")
        self.assertEqual(self.timeless(self.folder / "cut"), self.timeless(self.folder / "whole"))
        self.assertEqual(trials(self.folder / "cut/confirm"), trials(self.folder / "whole/confirm"))

    def test_files_of_trials_whose_process_was_killed_at_their_end_are_found(self):
        self.sweep(**HALVING)
        self.run_program("r.lua", "--out", "whole")
        self.sweep(**{**HALVING, "trials": "trials = 9,"})
        self.run_program("r.lua", "--out", "cut")
        left = sorted(path.relative_to(self.folder / "cut") for path in (self.folder / "cut/trials").rglob("*"))
        # As a process leaves them that is killed when the study has its trials' ends but their files are not moved.
        for trial in (self.folder / "cut/trials").iterdir():
            (trial / "attempt-1").mkdir()
            (trial / "seed-1").rename(trial / "attempt-1/seed-1")
        (self.folder / "cut/summary.json").unlink()
        self.run_program("resume", "cut")
        cut = self.folder / "cut"
        self.assertEqual(sorted(path.relative_to(cut) for path in (cut / "trials").rglob("*")), left)
        for trial in (self.folder / "cut/trials").iterdir():
            (trial / "attempt-1").mkdir()
            (trial / "seed-1").rename(trial / "attempt-1/seed-1")
        self.run_program("extend", "cut", "--trials", "13")
        self.assertEqual(trials(self.folder / "cut"), trials(self.folder / "whole"))
        self.assertEqual(list((self.folder / "cut/trials").glob("*/attempt-*")), [])

    def test_a_damaged_checkpoint_sets_back_its_own_trial(self):
        self.sweep(**SLOW)
        self.run_program("r.lua", "--out", "whole")
        running = self.start("r.lua", "--out", "cut")
        until_rows(running, self.folder / "cut", 3, 2)
        running.send(signal.SIGTERM)
        self.end(running, 143)
        newest = sorted((self.folder / "cut/trials/0003/attempt-1/seed-1/checkpoints").glob("last-*.safetensors"))[-1]
        newest.write_bytes(newest.read_bytes()[:-1])
        self.run_program("resume", "cut")
        self.assertEqual(trials(self.folder / "cut"), trials(self.folder / "whole"))

    def test_killed_workers_lose_nothing(self):
        self.sweep(**SLOW)
        self.run_program("r.lua", "--out", "whole")
        running = self.start("r.lua", "--out", "cut", "--workers", "3")
        main = running.engine()
        children = pathlib.Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
        for kill in range(4):
            others = []
            running.until(lambda: others.extend(int(pid) for pid in children.read_text().split() if int(pid) != main)
                          or others, "it had workers")
            until_rows(running, self.folder / "cut", 2 * kill, 1)
            try:
                os.kill(others[0], signal.SIGKILL)
            except ProcessLookupError:
                pass  # there was nothing left for it to do
        result = self.end(running, 0)
        self.assertIn("a worker was killed; another one takes its place", result.err)
        self.assertEqual(trials(self.folder / "cut"), trials(self.folder / "whole"))
        self.assertEqual(reports(self.folder / "cut"), reports(self.folder / "whole"))

    def test_a_worker_that_joins_helps(self):
        self.sweep(**SLOW)
        running = self.start("r.lua", "--out", "run", "--set", "stack=false")
        until_rows(running, self.folder / "run", 0, 1)
        helper = self.start("worker", "run")
        self.end(running, 0)
        self.end(helper, 0)
        self.assertEqual(len(trials(self.folder / "run")), 12)
        with sqlite3.connect(self.folder / "run/study.db") as study:
            owners = study.execute("SELECT DISTINCT supervisor FROM trials").fetchall()
        study.close()
        self.assertEqual(len(owners), 2)
        self.assertIn(("",), owners)  # of one that has joined
        result = self.run_program("worker", "run", code=2)
        self.assert_said(result, "is not running: there is nothing to help with")

    def test_a_full_disk_ends_the_sweep_and_loses_no_trial(self):
        disk = small_disk(self, 3)
        self.sweep(trials="trials = 400,")
        result = self.run_program("r.lua", "--out", disk / "run", code=3)
        self.assert_said(result, "to continue: trainlab resume")
        known = [row for row in trials(disk / "run") if row[1] == "complete"]
        self.assertGreater(len(known), 0)
        # With room it goes on; what was known stays as it is.
        shutil.copytree(disk / "run", self.folder / "run")
        self.run_program("resume", "run")
        rows = trials(self.folder / "run")
        self.assertEqual([row[1] for row in rows], 400 * ["complete"])
        self.assertEqual([rows[row[0]] for row in known], known)

    def test_a_trial_that_is_wrong_fails_alone(self):
        cases = {
            "raises": ("if hp.trial == 2 then error('no such luck') end", "no such luck"),
            "no fit": ("if hp.trial == 2 then return 3 end", "expected lab.fit"),
            "another option": ("if hp.trial == 2 then return lab.fit { name = 'x' } end", "missing"),
            "changed parameter": ("if hp.trial == 2 then hp.lr = 3 end", "build changes hp.lr"),
            "unknown parameter": ("if hp.trial == 2 then print(hp.momentum) end", "momentum"),
        }
        for name, (before, reason) in cases.items():
            with self.subTest(name):
                self.sweep(before=before)
                self.run_program("r.lua", "--out", name)
                run = self.folder / name
                self.assertEqual(self.summary(run)["trials"]["failed"], 1)
                with sqlite3.connect(run / "study.db") as study:
                    info = study.execute("SELECT info FROM trials WHERE number = 2").fetchone()[0]
                study.close()
                self.assertIn(reason, json.loads(info)["reason"])

    def test_a_function_that_raises_in_a_stack_ends_its_own_trial(self):
        raising = (
            "on = { validate = function(run) if hp.trial == 2 and run.epoch == 2 then error('no such luck') end end },"
        )
        self.sweep(fit="on = { validate = function() end },")
        self.run_program("r.lua", "--out", "whole")
        self.sweep(fit=raising)
        self.run_program("r.lua", "--out", "run")
        rows = trials(self.folder / "run")
        self.assertEqual(rows[2][1], "failed")
        told = infos(self.folder / "run")
        self.assertRegex(told[2]["reason"], r"^r\.lua:\d+: .*no such luck")
        self.assertEqual({info["ran"] for info in told}, {"stack of 12"})
        whole = trials(self.folder / "whole")
        self.assertEqual(rows[:2] + rows[3:], whole[:2] + whole[3:])

    def widths(self, widths, more=""):
        """A sweep over two rates and these widths of the first layer."""
        text = sweep(space=f", width = lab.space.choice {{ {widths} }}", lr="lab.space.choice { 0.1, 0.2 }", trials="",
                     sampler="grid()", more=more)
        self.write("r.lua", text.replace("nn.Linear(8)", "nn.Linear(hp.width)"))

    def test_a_trial_too_large_for_the_memory_fails_alone(self):
        # 2^48 bytes of weights: more than a process can address.
        for name, options, more in (("alone", (), "stack = false,"), ("workers", ("--workers", 2), ""),
                                    ("stacks", (), "seeds = 2, stack = 4,")):
            with self.subTest(name):
                self.widths("2^45, 8, 9", more)
                summary = self.run_program("r.lua", "--out", name, "--json", *options).json()
                self.assertEqual((summary["trials"]["complete"], summary["trials"]["failed"]), (4, 2))
                self.assertRegex(summary["failures"]["reason"],
                                 r"^r\.lua:\d+: model\[3\]\.Linear: out of memory: expected at most the ")
        self.widths("2^45")
        result = self.run_program("r.lua", code=3)
        self.assertRegex(result.out, "no trial is complete: 2 of 2 trials failed, all of them with: .* out of memory")

    def test_a_task_too_large_for_the_memory_fails_alone(self):
        self.write("r.lua", "return lab.sweep { name = 's', space = { width = lab.space.choice { 2^45, 8 } },\n"
                   "  metric = 'val.loss', sampler = lab.sampler.grid(), build = function(hp)\n"
                   "    return lab.task { name = 't', run = function(ctx)\n"
                   "      lab.build(lab.nn.Linear(hp.width), { input = { 2 }, seed = 1 })\n"
                   "      ctx:log('val.loss', 1)\n    end }\n  end }\n")
        summary = self.run_program("r.lua", "--json").json()
        self.assertEqual((summary["trials"]["complete"], summary["trials"]["failed"]), (1, 1))
        self.assertIn("out of memory", summary["failures"]["reason"])

    def test_seeds_that_are_spared_do_not_depend_on_the_workers(self):
        found = []
        for workers in (1, 2, 8):
            self.sweep(trials="trials = 16, seeds = 3, deterministic = true, stack = false,")
            self.run_program("r.lua", "--workers", workers, "--out", f"run-{workers}")
            found.append(trials(self.folder / f"run-{workers}"))
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])
        spared = [
            info for info in infos(self.folder / "run-2") if info.get("reason", "").startswith("hopeless: all of its 2")
        ]
        self.assertGreater(len(spared), 0)
        self.assertEqual({len(info["seed_values"]) for info in spared}, {2})

    def test_a_pruner_judges_the_mean_of_a_stack(self):
        self.sweep(**PRUNED)
        self.run_program("r.lua")
        known, judged = reports(self.run_folder()), 0
        for trial, info in enumerate(infos(self.run_folder())):
            found = re.match(r"pruned after (\d+) validations, at val.loss (\S+)", info.get("reason", ""))
            if not found:
                continue
            judged += 1
            self.assertTrue(info["ran"].startswith("stack of"))
            last = int(found[1])
            self.assertAlmostEqual(float(found[2]), sum(float(known[trial, seed, last]) for seed in (1, 2)) / 2)
            self.assertNotIn((trial, 1, last + 1), known)
        self.assertGreater(judged, 0)

    def test_too_many_failures_end_the_sweep(self):
        self.sweep(before="if hp.trial > 3 then error('no such luck') end", more="max_failures = 2,")
        result = self.run_program("r.lua", code=3)
        self.assert_said(result, "more than max_failures = 2", "no such luck")
        count = len(trials(self.run_folder()))
        self.assert_said(self.run_program("resume", self.run_folder(), code=3), "more than max_failures = 2")
        self.assertEqual(len(trials(self.run_folder())), count)

    def test_the_commonest_reason_of_failed_trials_is_told(self):
        luck = "if hp.trial > 3 then error(hp.trial == 5 and 'rain' or 'no such luck') end"
        cases = (
            (dict(before=luck), 0, "  failed 8 of 12 trials, 7 of them with: r.lua:4: no such luck\n"
                                   "         such as trial 4: trainlab report runs/r/001 --csv has its parameters\n"),
            (dict(lr="lab.space.log(1e30, 1e35)", more="enqueue = { { lr = 2e30 } },"), 3,
             "no trial is complete: 12 of 12 trials failed, all of them with: the training loss is not finite at "
             "step "),
        )
        for options, code, said in cases:
            with self.subTest(options):
                shutil.rmtree(self.folder / "runs", ignore_errors=True)
                self.sweep(**options)
                result = self.run_program("r.lua", code=code)
                self.assertIn(said, result.out, result)
                self.assertIn(said, self.run_program("report", self.run_folder()).out)
                failures = self.summary(self.run_folder())["failures"]
                self.assertEqual(failures["ended"], 12)
                if code == 0:
                    self.assertNotIn("folder", failures)
                    continue
                self.assertIn("such as trial 0: trainlab report runs/r/001/trials/0000/seed-1\n", result.out)
                self.assertEqual((failures["folder"], failures["count"]), ("trials/0000/seed-1", 12))
                self.assertIn("not finite", self.run_program("report", self.run_folder() / failures["folder"]).out)

    def test_another_structure_in_each_trial(self):
        text = sweep().replace("nn.Linear(8)", "nn.Linear(4 + hp.trial)")
        self.write("r.lua", text)
        self.assertEqual(self.run_program("r.lua", "--json").json()["trials"]["complete"], 12)

    def test_a_sweep_may_choose_by_the_test_part(self):
        self.sweep(metric="test.accuracy", trials="trials = 3,")
        result = self.run_program("r.lua", "--out", "run", "--json")
        self.assert_said(result, "warning: s: chooses by test.accuracy, so that the test part says nothing of new data")
        best = result.json()["best"]
        trial = self.summary(self.folder / f"run/trials/{best['trial']:04}/seed-1")
        self.assertEqual(best["value"], trial["metrics"]["test.accuracy"])
        for judge in ("pruner = lab.pruner.median()", "scheduler = lab.scheduler.halving { configurations = 9 }"):
            self.sweep(metric="test.accuracy", more=judge + ",")
            self.assert_said(self.run_program("r.lua", code=1), judge.split()[0] + ": ",
                             "judges trials by their validations")

    def test_what_is_wrong_is_refused_before_anything_runs(self):
        cases = [
            (dict(metric="val.accurcy"), "metric", "accurcy"),
            (dict(space=", seed = lab.space.int(1, 2)"), "space.seed", "hp.seed is the study's own"),
            (dict(sampler="grid()"), "sampler.points", "infinitely many values"),
            (dict(trials=""), "trials", "expected a number of trials or a time"),
            (dict(lr="lab.space.log(0, 1)"), "low", "> 0"),
            (dict(more="constraints = function(hp) return false end,"), "constraints", "none of"),
            (dict(more='goal = "max",'), "goal", "better when smaller"),
            (dict(more="enqueue = { { lr = 7 } },"), "enqueue[1].lr", "found 7"),
            (dict(before="error('always')"), "", "always"),
            (dict(more="goal = {},"), "goal", "expected one for each of the 1 metrics, found 0"),
            (dict(more="enqueue = { {}, 5 },"), "enqueue[2]", "expected parameters by name, found 5"),
            (
                dict(trials="trials = 3,", more="enqueue = { {}, {}, {}, {} },"),
                "trials",
                "expected at least the 4 points",
            ),
            (
                dict(scheduler="scheduler = lab.scheduler.pbt { population = 2, interval = 3 },"),
                "scheduler",
                "up to 18 validations, the fit that build returns has 4",
            ),
            (dict(HALVING | OWN_MIN, epochs="4"), "scheduler", "up to 9 validations"),
            (dict(HALVING | OWN_MIN, epochs="4", trials='time = "1 h",'), "scheduler", "up to 9 validations"),
            (
                dict(scheduler="scheduler = lab.scheduler.pbt { population = 2 },", trials='time = "1 h",'),
                "trials",
                "expected a number of trials with scheduler.pbt, which trains on until they are used, found none",
            ),
            (
                dict(scheduler="scheduler = lab.scheduler.pbt { population = 2 },", trials="trials = 4,",
                     more="enqueue = { {}, {}, {} },"),
                "enqueue",
                "expected at most the 2 configurations with which scheduler.pbt begins, found 3 points",
            ),
            (
                dict(HALVING, more="enqueue = { {}, {}, {}, {}, {}, {}, {}, {}, {}, {} },"),
                "enqueue",
                "expected at most the 9 configurations with which scheduler.halving begins, found 10 points",
            ),
            (
                dict(HALVING, more="improvement = true,"),
                "improvement",
                "trials of scheduler.halving end after different numbers of validations",
            ),
            (
                dict(HALVING, sampler="grid { points = 8 }"),
                "sampler",
                "expected points for the 9 configurations of scheduler.halving, found 8",
            ),
            (
                dict(HALVING, more="pruner = lab.pruner.median(),"),
                "pruner",
                "scheduler.halving itself ends bad configurations",
            ),
            (dict(ASHA, epochs="8"), "scheduler", "up to 9 validations"),
            (
                dict(ASHA, sampler="grid { points = 6 }"),
                "sampler",
                "expected points for the 7 configurations of scheduler.asha, found 6",
            ),
            (
                dict(ASHA, scheduler="scheduler = lab.scheduler.asha { min = 4, max = 2 },"),
                "scheduler.max",
                "expected at least min = 4, found 2",
            ),
            (dict(ASHA, trials="trials = 8, seeds = 2,"), "seeds", "expected 1 with scheduler.asha, found 2"),
            (dict(more="confirm = { top = 13 },"), "confirm.top", "expected at most the 12 trials, found 13"),
            (dict(more="confirm = { seeds = 1 },"), "confirm.seeds", "expected an integer in [2, 1000], found 1"),
            (dict(more="confirm = { tops = 3 },"), "confirm", "did you mean"),
            (dict(fit="seed = 5,", more="confirm = {},"), "seed", "expected none, or seed = hp.seed"),
            (
                dict(scheduler="scheduler = lab.scheduler.pbt { population = 2 },", trials="trials = 4,",
                     more="confirm = { top = 2 },"),
                "confirm",
                "scheduler.pbt changes parameters while a model trains",
            ),
            (dict(sampler="halving()"), "lab.sampler has no 'halving'", "did you mean lab.scheduler.halving?"),
        ]
        for options, path, text in cases:
            with self.subTest(text):
                self.sweep(**options)
                result = self.run_program("r.lua", code=1)
                self.assert_said(result, path, text)
                self.assertFalse((self.folder / "runs").exists(), result)

    def test_what_a_fit_takes_from_its_study_is_told_of_the_study(self):
        ensemble = sweep().split("return lab.sweep")[0].replace("hp.lr", "0.1")
        for options, message in (
            ('metric = "val.nothing",', 'metric: there is no metric "val.nothing"'),
            ('metric = "val.nothing", goal = "max",', 'metric: there is no metric "val.nothing"'),
            ('metric = "val.loss", goal = "max",', "goal: val.loss is better when smaller, found goal = \"max\""),
        ):
            stages = {"sweep": sweep().replace('metric = "val.loss",', options),
                      "ensemble": f"{ensemble}return lab.ensemble {{\n  name = 'e', {options} build = build,\n}}\n"}
            for stage, text in stages.items():
                with self.subTest(message, stage=stage):
                    self.write("r.lua", text)
                    line = text[: text.index(f"lab.{stage}")].count("\n") + 1
                    self.assert_said(self.run_program("r.lua", code=1), f"r.lua:{line}: {message}")
        # What a fit says itself is told of the fit.
        self.sweep(fit='monitor = "val.other",')
        self.assert_said(self.run_program("r.lua", code=1), 'r.lua:5: monitor: there is no metric "val.other"')

    def test_a_metric_of_the_recipe_needs_a_goal(self):
        text = sweep(metric="val.metric_1").replace('metrics = { "accuracy" }',
                                                    "metrics = { function(out, batch) return 0.5 end }")
        self.write("r.lua", text)
        self.assert_said(self.run_program("r.lua", code=1), "goal")
        self.write("r.lua", text.replace("trials = 12,", 'trials = 3, goal = "max",'))
        self.assertEqual(self.run_program("r.lua", "--json").json()["best"]["value"], 0.5)

    def test_points_are_given_and_duplicates_known(self):
        self.sweep(lr="lab.space.choice { 0.1, 0.2 }", trials="trials = 6, duplicates = 'reuse',",
                   more="enqueue = { { lr = 0.2 }, { lr = 0.2 } },")
        self.run_program("r.lua")
        with sqlite3.connect(self.run_folder() / "study.db") as study:
            infos = [json.loads(row[0]) for row in study.execute("SELECT info FROM trials ORDER BY number")]
        study.close()
        self.assertNotIn("duplicate_of", infos[0])
        self.assertGreaterEqual(sum("duplicate_of" in info for info in infos), 3)
        self.sweep(lr="lab.space.choice { 0.1, 0.2 }", trials="trials = 6, duplicates = 'resample',")
        summary = self.run_program("r.lua", "--json").json()
        self.assertEqual(summary["trials"]["complete"], 2)

    def test_a_parameter_is_fixed_from_the_command_line(self):
        self.sweep()
        summary = self.run_program("r.lua", "--json", "--set", "space.lr=0.25", "--set", "trials=2").json()
        self.assertEqual(summary["best"]["params"], {"lr": 0.25})
        wrong = self.run_program("r.lua", "--set", "space.lt=0.25", code=2)
        self.assert_message(wrong, "trainlab: --set space.lt=0.25: there is no 'lt' in space")
        self.assert_said(wrong, "hint: did you mean 'lr'?")
        self.assert_message(self.run_program("r.lua", "--set", "metric.epochs=1", code=2),
                            "trainlab: --set metric.epochs=1: metric is a list of 1, which has no option 'epochs'")

    def test_the_flags_of_a_report_fix_the_space(self):
        space = (', optim = lab.space.choice { "1e3", "nan", "true", "a b" },\n'
                 '  m = lab.space.uniform(0, 1):when("optim", "a b")')
        first = sweep(run="local _ = lab.run(", space=space).replace('name = "s"', 'name = "first"')
        self.write("r.lua", first.rstrip() + ")\n" + sweep(space=space, trials="trials = 4,"))
        self.run_program("r.lua", "--out", "run")
        for stage, folder in (("s", ""), ("first", "stages/first")):
            with self.subTest(stage):
                best = self.summary(self.folder / "run" / folder)["best"]
                paste = self.run_program("report", self.folder / "run" / folder, "--json").json()["paste"]
                self.assertEqual(paste["trial"], best["trial"])
                out = f"again-{stage}"
                self.run_program("r.lua", *shlex.split(paste["flags"]), "--out", out)
                again = self.summary(self.folder / out / folder)["best"]["params"]
                self.assertEqual(again, best["params"])

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

    def test_what_a_fit_is_warned_of_is_told_once(self):
        self.write("r.lua", sweep().replace("nn.Linear(3) }", "nn.Linear(3), nn.Softmax() }"))
        result = self.run_program("r.lua", "--quiet", "--json")
        self.assertEqual(result.err.count("applies the softmax itself"), 1, result)
        self.assertEqual(len(result.json()["warnings"]), 1, result)

    def test_the_summary_has_the_warnings_of_all_processes(self):
        """Each trial is planned alone, and is warned of a time of its own."""
        widths = range(20, 100, 10)
        choices = ", ".join(map(str, widths))
        text = sweep(lr="lab.space.choice { 0.1 }", space=f", width = lab.space.choice {{ {choices} }}",
                     sampler="grid()", trials="workers = 3,",
                     fit="schedule = lab.sched.step { every = hp.width .. ' epochs', factor = 0.5 },")
        self.write("r.lua", text.replace("nn.Linear(8)", "nn.Linear(hp.width)"))
        warnings = self.run_program("r.lua", "--quiet", "--json").json()["warnings"]
        told = sorted(int(re.search(r"found (\d+) epochs", warning)[1]) for warning in warnings)
        self.assertEqual(told, list(widths))

    def test_points_that_are_taken_over_do_not_depend_on_the_workers(self):
        found = []
        for workers in (1, 2, 8):
            self.sweep(lr="lab.space.choice { 0.05, 0.1, 0.2, 0.4 }",
                       trials="trials = 24, duplicates = 'reuse', deterministic = true,", more=PRUNED["more"])
            self.run_program("r.lua", "--workers", workers, "--out", f"run-{workers}")
            found.append((trials(self.folder / f"run-{workers}"),
                          [info.get("duplicate_of") for info in infos(self.folder / f"run-{workers}")]))
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])

    def test_many_trials_are_taken_over_and_can_be_stopped(self):
        self.sweep(lr="lab.space.choice { 0.1, 0.2 }", trials="trials = 3000, duplicates = 'reuse',")
        self.assertEqual(self.run_program("r.lua", "--json").json()["trials"]["complete"], 3000)

    def test_it_ends_when_no_improvement_is_expected(self):
        # Whatever the rate, the accuracy on what was never learnt moves by less than is asked for.
        options = dict(epochs="1", trials="trials = 200, deterministic = true, improvement = 10,")
        found = []
        for workers in (1, 3):
            self.sweep(**options)
            summary = self.run_program("r.lua", "--json", "--workers", workers, "--out", f"run-{workers}").json()
            self.assertEqual((summary["status"], summary["reason"]), ("stopped", "no more improvement is expected"))
            found.append(trials(self.folder / f"run-{workers}"))
        self.assertLess(len(found[0]), 100)
        self.assertEqual(*found)

    def test_several_objectives_give_a_front(self):
        text = sweep().replace('metric = "val.loss"', 'metric = { "val.loss", "val.accuracy" }')
        self.write("r.lua", text)
        summary = self.run_program("r.lua", "--json").json()
        self.assertEqual(summary["goal"], ["min", "max"])
        front = [one["values"] for one in summary["pareto"]]
        self.assertGreater(len(front), 0)
        said = self.run_program("r.lua").out
        self.assertRegex(said, rf"(?m)^  front  val.loss \S+, val.accuracy \S+, trial {summary['pareto'][0]['trial']}$")
        for a in front:
            for b in front:
                self.assertFalse(b[0] <= a[0] and b[1] >= a[1] and b != a, front)
        self.write("r.lua", text.replace("build = build,", "build = build, confirm = {},"))
        self.assert_said(self.run_program("r.lua", code=1), "confirm", "it goes with one metric, found several")

    def test_two_supervisors(self):
        self.sweep(**SLOW)
        running = self.start("r.lua", "--out", "run")
        until_rows(running, self.folder / "run", 0, 1)
        self.assert_said(self.run_program("resume", "run", code=2), "is in use by process")
        running.send(signal.SIGTERM)
        self.end(running, 143)

    def test_a_damaged_study_is_told(self):
        self.sweep(**SLOW)
        running = self.start("r.lua", "--out", "run")
        until_rows(running, self.folder / "run", 0, 1)
        running.send(signal.SIGTERM)
        self.end(running, 143)
        study = self.folder / "run/study.db"
        for name in ("study.db-wal", "study.db-shm"):
            (self.folder / "run" / name).unlink(missing_ok=True)
        good = study.read_bytes()
        study.write_bytes(b"no study" * 1000)
        self.assert_said(self.run_program("resume", "run", code=3), "study.db", "not a database", "hint: ")
        summary = self.summary(self.folder / "run")
        (self.folder / "run/summary.json").write_text(json.dumps({**summary, "status": "done"}))
        self.assert_said(self.run_program("extend", "run", "--trials", 99, code=3), "not a database")
        self.assertEqual(self.summary(self.folder / "run")["status"], "done")
        (self.folder / "run/summary.json").write_text(json.dumps(summary))
        study.write_bytes(good)
        with sqlite3.connect(study) as newer:
            newer.execute("PRAGMA user_version = 99")
        newer.close()
        self.assert_said(self.run_program("resume", "run", code=2), "newer trainlab")

    def test_a_study_that_is_gone_is_told(self):
        self.sweep()
        self.run_program("r.lua", "--out", "run", "--quiet")
        (self.folder / "run/study.db").unlink()
        self.assert_said(self.run_program("extend", "run", "--trials", 99, code=3), "study.db is gone")
        (self.folder / "run/summary.json").unlink()
        for again in (["resume", "run"], ["extend", "run", "--trials", 99]):
            self.assert_said(self.run_program(*again, code=3), "study.db: expected the study whose trials lie in",
                             "found none", "hint: put the file back")

    def test_a_study_is_worked_on_by_one_machine(self):
        self.sweep()
        self.run_program("r.lua", "--out", "run")
        with sqlite3.connect(self.folder / "run/study.db") as study:
            study.execute(
                "UPDATE trials SET state = 'running', owner = 'elsewhere/1:7', expires = 1e12 WHERE number = 3"
            )
        study.close()
        (self.folder / "run/summary.json").unlink()
        result = self.run_program("resume", "run", code=2)
        self.assert_said(result, "the machine elsewhere works on this study", "one machine")


class Population(CliTest):
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


if __name__ == "__main__":
    unittest.main()
