"""Sweeps: the same trials for any number of workers, and what is wrong is refused before anything runs."""

import json
import re
import shlex
import signal
import sqlite3
import unittest

from sweeping import ASHA, HALVING, OWN_MIN, PRUNED, SweepTest, infos, last_tensors, reports, sweep, trials, until_rows


class Sweep(SweepTest):
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


if __name__ == "__main__":
    unittest.main()
