"""`trainlab profile` of stages that are no fit: trials of a sweep or an ensemble, tasks, and runs that train them; and
what it says where there is too little to measure, or the machine gives less than it should."""

import contextlib
import json
import os
import re
import shutil
import signal
import unittest

from program import LINES, PROGRAM, SLOW_INPUT, SOURCE, CliTest, Running, fit, small_disk, small_sweep
from verdict_words import sum_of

# Seconds that are enough for remedies, on a busy machine too.
WITH_REMEDIES = "60"
# A validation takes far longer than a step, so that it is what a fit with one after each step spends its time on.
LARGE_VALIDATION = "lab.data.blobs { samples = 20000 }:split { train = 0.01, val = 0.99 }"
TASK = """local data = lab.data.blobs { samples = 256 }:split { val = 0.25 }
local function task(name, epochs, lr)
  return lab.task { name = name, run = function(ctx)
    local model = lab.build(lab.nn.Linear(3), { input = { 2 }, seed = ctx.seed })
    local opt = lab.optimizer(lab.optim.SGD { lr = lr }, model:parameters())
    for batch in ctx:batches(data.train, { size = 32, epochs = epochs, save = { model, opt } }) do
      local loss = lab.ops.cross_entropy_loss(model:forward(batch.x), batch.y)
      opt:zero_grad(); loss:backward(); opt:step()
      ctx:log("val.loss", loss)
    end
  end }
end
"""


# The names of trials that train together.
TRIALS = r"trials? \d+[\d, andto]*"


def search(trial, more="", kind="sweep"):
    """A recipe with a sweep or an ensemble of such trials."""
    options = 'trials = 3, space = { lr = lab.space.log(1e-3, 1e-1) },' if kind == "sweep" else "seeds = 3,"
    return (f'return lab.{kind} {{ name = "s", metric = "val.loss", {options} {more}\n'
            f"  build = function(hp)\n{trial}end }}\n")


class OfTrials(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.keep_machine()

    def profile(self, *arguments, seconds="0.5", **options):
        return self.run_program("profile", *arguments, "--seconds", seconds, "--json", **options).json()

    def trial_summary(self, trial, seed=1):
        return self.summary(self.run_folder() / f"trials/{trial:04}/seed-{seed}")


class Trials(OfTrials):
    def test_changes_of_a_trial_are_tried_and_applied(self):
        self.write("r.lua", search(fit(**SLOW_INPUT, optim="lab.optim.SGD { lr = hp.lr }"), "stack = false,"))
        profile = self.profile("r.lua", "--apply", "faster.toml", seconds=WITH_REMEDIES)
        self.assertRegex(profile["note"], r"^trial 0 of sweep s \(lr = [\d.e-]+\)$")
        self.assertEqual(profile["together"], 1)
        options = [one for one in profile["remedies"] if one["set"]]
        self.assertTrue(options, profile["remedies"])
        for one in options:
            self.assertRegex(one["set"][0], r"^build\.loader\.")
            self.assertTrue(one["tried"] and one["ratio"]["low"] > 0, one)
            self.assertEqual(one["result"], "same bytes")
        applied = (self.folder / "faster.toml").read_text().replace('"', "'")
        self.assertIn("stage = 's'", applied)
        self.assertIn("machine = '", applied)
        head = re.search(r"recipe = .*", applied).group(0)
        self.write("faster.toml", head + '\nstage = "s"\nset = [ "build.batch=8", "build.epochs=2" ]\n')
        self.run_program("run", "r.lua", "--apply", "faster.toml")
        self.assertEqual([self.trial_summary(trial)["steps"] for trial in range(3)], [2 * 120 // 8] * 3)

    def test_trials_that_train_together(self):
        trial = fit(data=LARGE_VALIDATION, optim="lab.optim.SGD { lr = hp.lr }", more='  validate = "1 steps",\n')
        self.write("r.lua", search(trial, "stack = 3,"))
        text = self.run_program("profile", "r.lua", "--seconds", "0.3").out
        self.assertRegex(text, r"trial 0 of sweep s \(lr = [\d.e-]+\) was measured by itself; the sweep does "
                               r"3 trainings together\n")
        options = [line for line in text.split("remedies (speed")[-1].splitlines() if " --set " in line]
        self.assertTrue(options, text)
        for line in options:
            self.assertIn("not tried: the stage does 3 trainings together, ", line)

    def test_of_an_ensemble(self):
        self.write("r.lua", search(fit(**SLOW_INPUT), "stack = false,", kind="ensemble"))
        profile = self.profile("r.lua", seconds=WITH_REMEDIES)
        self.assertEqual((profile["stage"], profile["note"]), ("f", "trial 0 of ensemble s"))
        self.assertTrue(any(one["tried"] for one in profile["remedies"]), profile["remedies"])

    def test_a_change_that_the_sweep_refuses_is_not_tried(self):
        """Each step is followed by a validation of a large part, with the metric by which the sweep compares trials."""
        trial = fit(data=LARGE_VALIDATION, optim="lab.optim.SGD { lr = hp.lr }",
                    more='  metrics = { "accuracy" }, validate = "1 steps", keep = "last",\n'
                    '  loader = { threads = 0 }, checkpoint = "1000 steps",\n')
        sweep = search(trial, "stack = false, scheduler = lab.scheduler.asha { max = 4 },")
        self.write("r.lua", sweep.replace("val.loss", "val.accuracy"))
        profile = self.profile("r.lua", "--threads", "1", "--apply", "c.toml", seconds=WITH_REMEDIES)
        self.assertEqual(profile["otherwise"], "evaluation", profile["evidence"])
        remedies = {one["set"][0]: one for one in profile["remedies"] if one["set"]}
        rarer, refused = remedies['build.validate="4 steps"'], remedies["build.metrics=nil"]
        self.assertFalse(refused["tried"])
        self.assertIn("val.accuracy", refused["reason"])
        if str(rarer["reason"]).startswith("no time left"):
            self.skipTest("this machine is too busy for the remedies of the verdict")
        self.assertEqual(rarer["result"], "may change the result: fewer validations decide which trials go on")
        self.assertNotIn("validate", (self.folder / "c.toml").read_text())

    def test_the_trial_that_can_be_built(self):
        self.write("r.lua", search("if hp.trial < 2 then error('not this one') end\n" +
                                   fit(optim="lab.optim.SGD { lr = hp.lr }")))
        self.assertRegex(self.profile("r.lua")["note"], r"^trial 2 of sweep s ")

    def test_a_trial_beside_itself_with_another_option(self):
        self.write("r.lua", search(fit(optim="lab.optim.SGD { lr = hp.lr }")))
        stages = self.run_program("profile", "r.lua", "--with", "build.batch=32", "--seconds", "2", "--json").json()
        self.assertEqual((stages["a"]["samples"], stages["b"]["samples"]), (15, 30))
        self.assertRegex(stages["b"]["note"], r"^trial 0 of sweep s \(.*\), with build\.batch=32$")

    def test_of_a_task_the_threads_are_tried(self):
        self.write("r.lua", TASK + 'return task("t", 400, 0.1)\n')
        profile = self.profile("r.lua", "--threads", "2", seconds=WITH_REMEDIES)
        for one in profile["remedies"]:
            if one["set"] and one["set"][0].startswith("--threads"):
                if str(one["reason"]).startswith("no time left"):
                    self.skipTest("this machine is too busy for the remedies of the verdict")
                self.assertTrue(one["tried"], one)
                self.assertIn(one["result"], ("same bytes", "same to rounding"))
            else:
                self.assertFalse(one["tried"] or one["set"], one)

    def test_of_a_sweep_of_tasks(self):
        self.write("r.lua", TASK + search('return task("t", 100, hp.lr)\n'))
        profile = self.profile("r.lua")
        self.assertEqual((profile["stage_kind"], profile["stage"]), ("task", "t"))
        self.assertRegex(profile["note"], r"^trial 0 of sweep s \(lr = ")


class SetBelowBuild(OfTrials):
    def test_options_of_all_fits(self):
        self.write("r.lua", search(fit(optim="lab.optim.SGD { lr = hp.lr }")))
        self.run_program("r.lua", "--set", "build.epochs=1", "--set", "s:build.model[1].out_features=4")
        for trial in range(3):
            summary = self.trial_summary(trial)
            self.assertEqual((summary["steps"], summary["parameters"]), (4, 2 * 4 + 4 + 4 * 3 + 3))
        self.assertIn("36 steps of 5 samples", self.run_program("check", "r.lua", "--set", "build.batch=5").out)

    def bytes_of_rows(self):
        # Names alone are looked up, because folders of trials are renamed while a search goes on.
        size = 0
        for folder, _, files in os.walk(self.run_folder()):
            if "metrics.jsonl" in files:
                with contextlib.suppress(FileNotFoundError):
                    size += os.path.getsize(os.path.join(folder, "metrics.jsonl"))
        return size

    def test_a_change_of_speed_alone_makes_no_other_run(self):
        trial = fit(optim="lab.optim.SGD { lr = hp.lr }", epochs="1000000", more='  validate = "100 steps",\n')
        self.write("r.lua", search(trial, "stack = false,"))
        arguments = ["r.lua", "--quiet", "--out", self.run_folder()]
        for change in ("build.loader.threads=0", "build.loader.threads=2"):
            before = self.bytes_of_rows()
            running = self.start(*arguments, "--set", change)
            running.until(lambda: self.bytes_of_rows() > before, "it trained")
            running.send(signal.SIGTERM)
            self.end(running, 143)
        told = self.run_program(*arguments, "--set", "build.batch=3", code=2)
        self.assert_said(told, "--set", "build.batch=3")

    def test_what_does_not_fit(self):
        self.write("r.lua", search(fit(optim="lab.optim.SGD { lr = hp.lr }")))
        for change, said in {"build.batc=3": ("--set build.batc=3: ", "there is no option 'batc'"),
                             "build.batch=x": ("--set build.batch=x: ", "batch: expected an integer"),
                             "build.model[9].p=1": ("--set build.model[9].p=1: there is no build.model[9]",),
                             "constraints.x=1": ("--set constraints.x=1: ",)}.items():
            with self.subTest(change):
                self.assert_said(self.run_program("r.lua", "--set", change, code=2), *said)
        self.assertEqual(os.listdir(self.folder), ["r.lua"])

    def test_what_fits_some_trials(self):
        """Trial 1 has a layer less, so that it fails alone."""
        model = "nn.Sequential(hp.trial == 1 and { nn.Linear(3) } or { nn.Linear(8), nn.ReLU(), nn.Linear(3) })"
        self.write("r.lua", search(fit(model=model, optim="lab.optim.SGD { lr = hp.lr }")))
        self.run_program("r.lua", "--set", "build.model[2]={ \"@\" = \"nn.Tanh\" }")
        report = self.run_program("report", self.run_folder(), "--csv").out.splitlines()
        self.assertEqual([line.split(",")[1] for line in report[1:]], ["complete", "failed", "complete"])


class Attached(OfTrials):
    def attach(self, *arguments, **options):
        return self.run_program("profile", "--attach", self.run_folder(), "--seconds", "0.2", *arguments, **options)

    def begin(self, recipe, *arguments, until="metrics.jsonl"):
        """A run that trains, once such a file is somewhere in its folder."""
        self.write("r.lua", recipe)
        running = self.start("r.lua", "--quiet", *arguments)
        running.until(lambda: self.run_folder().exists() and any(self.run_folder().rglob(until)), "it trained")
        return running

    def left(self):
        return [str(path) for path in self.run_folder().rglob("snapshot*")]

    def check_snapshot(self, snapshot, kind):
        self.assertEqual((snapshot["kind"], snapshot["stage_kind"]), ("snapshot", kind))
        self.assertAlmostEqual(sum_of(snapshot["shares"]), 1, delta=0.01)
        self.assertGreater(snapshot["steps"], 0)
        self.assertGreater(snapshot["phase_seconds"]["backward"], 0)
        self.assertEqual(self.left(), [])

    def test_a_task(self):
        running = self.begin(TASK + 'return task("t", 1000000, 0.1)\n', "--threads", "1")
        snapshot = self.attach("--json").json()
        self.check_snapshot(snapshot, "task")
        self.assertEqual(snapshot["stage"], "t")
        self.assertGreater(snapshot["step"], snapshot["steps"] / 2)
        self.attach("--trace", "t.json")
        events = json.loads((self.folder / "t.json").read_text())["traceEvents"]
        names = {event["name"] for event in events if event["ph"] == "X"}
        self.assertTrue({"step", "fetch", "backward", "aten::addmm"} <= names, names)
        self.assertNotIn("samples per second", {event["name"] for event in events})
        running.send(signal.SIGTERM)
        self.end(running, 143)

    def test_a_task_between_its_loops(self):
        """Code outside of the loops of ctx answers nothing, which is said; the question can be taken back."""
        self.begin('return lab.task { name = "t", run = function()\n'
                   "  local x = lab.tensor.zeros { 1 }\n"
                   "  while true do x = x + 1 end\nend }\n", until="stages.json")
        asking = self.start("profile", "--attach", self.run_folder(), "--seconds", "0.2")
        asking.until_said('the task "t" has not answered yet: a task answers in its loops over ctx:batches and '
                          "ctx:steps, and nowhere else; waiting for at most 62 s")
        asking.send(signal.SIGINT)
        self.end(asking, 130)
        self.assertEqual(self.left(), [])

    def test_a_sweep_of_several_processes(self):
        """One process answers, and says which of its trials train together."""
        self.begin(small_sweep(1_000_000).replace("trials = 3", "trials = 8"), "--workers", "2")
        snapshot = self.attach("--json").json()
        self.check_snapshot(snapshot, "fit")
        self.assertRegex(snapshot["note"], rf"^{TRIALS} of sweep s$")
        ranges = re.findall(r"(\d+)(?: to (\d+))?", snapshot["note"])
        count = sum(int(last or first) - int(first) + 1 for first, last in ranges)
        speed = snapshot["samples_per_second"]["median"] * snapshot["step_seconds"]["median"]
        self.assertAlmostEqual(speed / count, 30, delta=0.5)  # of the data's training part, in one batch
        text = self.attach().out
        self.assertRegex(text, rf"\n{TRIALS} of sweep s, measured while the stage goes on\nafter step \d+\n$")

    def test_trials_of_a_stack_are_named_by_their_range(self):
        self.begin(small_sweep(1_000_000).replace("trials = 3", "trials = 4, stack = 4, workers = 1"))
        self.assertEqual(self.attach("--json").json()["note"], "trials 0 to 3 of sweep s")

    def test_an_ensemble_of_tasks(self):
        self.begin(TASK + search('return task("t", 1000000, 0.1)\n', 'goal = "min",', kind="ensemble"))
        snapshot = self.attach("--json").json()
        self.check_snapshot(snapshot, "task")
        self.assertEqual(snapshot["note"], "trial 0 of ensemble s")

    def test_trials_that_were_attached_to_end_in_the_same_bytes(self):
        recipe = TASK + search('return task("t", 300, hp.lr)\n')
        running = self.begin(recipe)
        self.attach()
        self.end(running, 0)
        self.run_program("r.lua", "--quiet")
        for trial in range(3):
            attached, alone = (self.run_folder(run) / f"trials/{trial:04}/seed-1" for run in (1, 2))
            rows = [[{**row, "seconds": None} for row in self.rows(folder)] for folder in (attached, alone)]
            self.assertEqual(*rows)

    def test_a_full_disk_for_a_trace(self):
        disk = small_disk(self, 1)
        (disk / "rest").write_bytes(b"x" * (1 << 20))
        running = self.begin(fit(epochs="1000000"), "--threads", "1")
        self.assert_said(self.attach("--trace", disk / "t.json", code=3), "disk full or failing: ", "t.json")
        self.assertEqual((os.listdir(disk), self.left()), (["rest"], []))
        self.assertIsNone(running.process.poll())
        running.send(signal.SIGTERM)
        self.end(running, 143)

    def test_a_search_for_a_rate(self):
        self.begin("local found = lab.run(lab.find.lr { fit = (function()\n" + fit(epochs="1000") + "end)() })\n",
                   until="stages.json")
        self.assert_said(self.attach(code=2), "--attach: expected a run that trains a fit, a task, a sweep or an "
                         "ensemble, found the find.lr", "in runs/r/001")


class TooLittle(OfTrials):
    """Stages that give no evidence get no verdict, and those of no cost get one of what there is."""

    def check_unknown(self, recipe, evidence, *missing):
        self.write("r.lua", recipe)
        profile = self.profile("r.lua", "--threads", "1")
        self.assertEqual((profile["verdict"], profile["confidence"], profile["steps"]), ("unknown", "none", 0))
        self.assertEqual((profile["evidence"], profile["remedies"]), (evidence, []))
        for text in missing:
            self.assertTrue(any(text in one for one in profile["missing"]), profile["missing"])

    def test_a_fit_of_one_step(self):
        self.check_unknown(fit(epochs="nil, steps = 1"),
                           ["No step could be timed: it ends after its first step, which no run is judged by; two "
                            "steps are enough."],
                           "layers, memory and roofs: no step could be timed")

    def test_a_fit_that_is_stopped_before_its_first_step(self):
        self.check_unknown(fit(more="  on = { start = function(run) run:stop('enough') end },\n"),
                           ["No step could be timed: it ends before its first step."])
        told = self.run_program("bench", "r.lua", "--seconds", "0.3", code=3)
        self.assert_said(told, "no step of stage f could be timed: it ends before its first step")

    def test_without_a_verdict_no_changes_replace_earlier_ones(self):
        self.write("r.lua", fit(epochs="nil, steps = 1"))
        earlier = self.changes_of() + '\nstage = "f"\nset = [ "batch=8" ]\n'
        self.write("c.toml", earlier)
        told = self.run_program("profile", "r.lua", "--seconds", "0.3", "--threads", "1", "--apply", "c.toml", code=3)
        self.assert_said(told, "--apply: not written, because without a verdict no change is tried")
        self.assertEqual((self.folder / "c.toml").read_text(), earlier)

    def test_tasks_without_steps(self):
        for body in ("", "for step in ctx:steps(0) do end"):
            self.check_unknown(f'return lab.task {{ name = "t", run = function(ctx) {body} end }}',
                               ["No step could be timed: it has no pass through a loop of ctx:batches or ctx:steps."],
                               "roofs: no pass through a loop of ctx:batches or ctx:steps could be timed")

    def test_a_task_of_few_steps_is_run_again_until_they_are_timed(self):
        body = "local x = lab.tensor.ones { 64, 64 }\n  for step in ctx:steps(5) do x = x:mm(x):tanh() end"
        self.write("r.lua", f'return lab.task {{ name = "t", run = function(ctx)\n  {body}\nend }}\n')
        profile = self.profile("r.lua", "--threads", "1")
        self.assertGreater(profile["steps"], 5)  # those of more than one run
        self.assertNotEqual(profile["verdict"], "unknown")
        self.assertGreater(self.run_program("bench", "r.lua", "--seconds", "0.3", "--json").json()["steps"], 5)

    def test_a_loop_of_no_cost(self):
        self.write("r.lua", 'return lab.task { name = "t", run = function(ctx)\n'
                            "  for step in ctx:steps(100000) do end\nend }\n")
        profile = self.profile("r.lua", "--threads", "1")
        self.assertEqual(profile["otherwise"], "host")
        self.assertGreater(profile["step_seconds"]["median"], 0)
        self.assertEqual(profile["operators"]["per_step"], 0)
        self.assertIsNone(profile["operators"]["seconds"])
        self.assertIn("operators        0 a step; ", self.run_program("profile", "r.lua", "--seconds", "0.3").out)

    def test_a_recipe_that_fails_in_its_first_step(self):
        self.write("r.lua", fit(more="  on = { step = function() error('not today') end },\n"))
        told = self.run_program("profile", "r.lua", "--seconds", "0.3", code=1)
        self.assert_said(told, "r.lua:10: not today")
        self.assertEqual(told.out, "")
        self.write("t.lua", 'return lab.task { name = "t", run = function(ctx)\n'
                            "  for step in ctx:steps(100) do error('not today') end\nend }\n")
        for command in ("profile", "bench"):
            told = self.run_program(command, "t.lua", "--seconds", "0.3", code=1)
            self.assert_said(told, "t.lua:2: not today")
            self.assertEqual(told.out, "")

    def test_a_recipe_that_fails_when_it_is_begun_for_the_third_time(self):
        """A short stage is run again and again, which is news to a recipe that counts."""
        begun = "local begun = 0\n"
        fails = ("  on = { start = function() begun = begun + 1; "
                 "if begun == 3 then error('it exists already') end end },\n")
        self.write("r.lua", begun + fit(more=fails))
        why = "r.lua:11: it exists already; it came in run 3 of the stage"
        profile = self.profile("r.lua", "--threads", "1", seconds="10")
        self.assertNotEqual(profile["verdict"], "unknown")
        missing = [one for one in profile["missing"] if one.startswith("further runs of the stage: ")]
        self.assertTrue(missing and missing[0].startswith(f"further runs of the stage: {why}"), profile["missing"])
        told = self.run_program("bench", "r.lua", "--seconds", "10")
        self.assertIn(f"\nfurther runs of the stage were not measured: {why}", told.out)
        self.write("r.lua", begun + fit(epochs="nil, steps = 3", more=fails))
        told = self.run_program("profile", "r.lua", "--seconds", "10", code=1)
        self.assert_said(told, "r.lua:11: it exists already", "hint: it came in run 3 of the stage")
        self.assertEqual(told.out, "")

    def test_a_loss_that_is_not_finite(self):
        self.write("r.lua", fit(optim="lab.optim.SGD { lr = 1e38 }"))
        told = self.run_program("profile", "r.lua", "--seconds", "0.3", code=3)
        self.assert_said(told, f"r.lua:{LINES['fit']}: the stage failed while its steps were measured: ",
                         "hint: trainlab run watches the health of a training")
        self.assertEqual(told.out, "")

    def test_a_speed_of_one_step(self):
        self.write("r.lua", fit(epochs="nil, steps = 1"))
        told = self.run_program("bench", "r.lua", "--seconds", "0.3", "--json", code=3)
        self.assert_said(told, "no step of stage f could be timed: it ends after ")
        told = self.run_program("profile", "r.lua", "--with", "batch=8", "--seconds", "0.3", code=3)
        self.assert_said(told, "r.lua: no step of stage f could be timed: it ends after ",
                         "; two steps are enough")


@unittest.skipUnless(shutil.which("taskset"), "there is no taskset")
class OneCore(OfTrials):
    def test_one_core(self):
        self.write("r.lua", fit(**SLOW_INPUT))
        profile = self.profile("r.lua", before=["taskset", "-c", str(min(os.sched_getaffinity(0)))])
        self.assertEqual(profile["cores"]["usable"], 1)
        self.assertEqual(profile["otherwise"], "input", profile["evidence"])
        reasons = {one["name"]: one["reason"] for one in profile["remedies"]}
        self.assertEqual(reasons["more loader threads"], "the loader has 1 thread, and the process 1 core")


class Outside(OfTrials):
    """Something is wrong with the machine, and not with the recipe."""

    def test_changes_of_another_machine(self):
        self.recipe()
        head = self.changes_of()
        self.write("c.toml", head + '\nstage = "f"\nset = [ "epochs=1" ]\nmachine = "abacus, 3 cores"\n')
        result = self.run_program("run", "r.lua", "--apply", "c.toml")
        self.assert_said(result, "warning: --apply ", "c.toml: the changes were tried on another machine (abacus, 3 "
                         "cores), and on this one (")
        self.write("c.toml", head + '\nstage = "f"\nset = [ "epochs=1" ]\n')  # of an earlier version
        self.assertNotIn("another machine", self.run_program("run", "r.lua", "--apply", "c.toml").err)

    def test_changes_of_other_parameters_or_modules(self):
        self.write("lib.lua", "return { lr = 0.01 }\n")
        trial = fit(optim="lab.optim.SGD { lr = lib.lr * hp.lr }", batch="size", epochs="1")
        # No changes of trials that train together are tried, so that the file is there soon.
        self.write("r.lua", "local lib, size = require('lib'), lab.param { 'size', 16, doc = 'of a batch' }\n" +
                   search(trial, "stack = 3,"))
        self.run_program("profile", "r.lua", "--size", "8", "--seconds", "1", "--threads", "1", "--apply", "c.toml")
        self.run_program("run", "r.lua", "--size", "8", "--apply", "c.toml")
        told = self.run_program("run", "r.lua", "--apply", "c.toml", code=2)
        self.assert_said(told, "c.toml: the changes were tried with --size 8, and this run has no --size")
        self.write("lib.lua", "return { lr = 0.02 }\n")
        told = self.run_program("run", "r.lua", "--size", "8", "--apply", "c.toml", code=2)
        self.assert_said(told, "c.toml: the changes were tried with another text of lib.lua, which the recipe loads")

    def test_an_interrupted_profile_keeps_what_was_measured(self):
        self.recipe(**SLOW_INPUT)
        running = self.start("profile", "r.lua", "--seconds", "30", "--threads", "1", "--apply", "c.toml")
        running.until_said("; trying remedies")
        running.send(signal.SIGINT)
        result = self.end(running, 130)
        self.assert_said(result, "stopping (once more", "--apply: not written, because the profile was interrupted")
        self.assertRegex(result.out, r"^(input|contention|none): ")
        for text in ("fetch", "not measured: the rest: asked to stop"):
            self.assertIn(text, result.out)
        self.assertEqual(os.listdir(self.folder), ["r.lua"])

    def test_interrupted_while_the_machine_is_measured(self):
        """What is known is printed, the ending is that of an interrupted program, and no half measurement is kept."""
        # No changes of trials that train together are tried: nothing after the machine ends for the signal.
        self.write("r.lua", search(fit(optim="lab.optim.SGD { lr = hp.lr }"), "stack = 3,"))
        cache = self.folder / "cache"
        running = Running(["env", f"XDG_CACHE_HOME={cache}", PROGRAM, "profile", "r.lua", "--seconds", "5",
                           "--threads", "1"], self.folder)
        self.addCleanup(running.kill)
        running.until(lambda: b"trying remedies" in running.err or b"measuring this machine" in running.err,
                      "it measured the machine")
        if b"contention: " in running.err:
            self.skipTest("this machine is busy, so that a profile does not measure it")
        running.send(signal.SIGINT)
        result = self.end(running, 130)
        self.assertIn("not measured: machine: asked to stop while the machine was measured", result.out)
        self.assertFalse((cache / "trainlab" / "machine.json").exists())

    def test_an_error_after_the_steps_keeps_what_was_measured(self):
        """The recipe bears to be begun once; layers, the memory and the remedies begin it again."""
        self.write("r.lua", "local began = 0\n" + fit(
            epochs="1000000", more='  checkpoint = "20 steps", on = {\n'
            "    start = function() began = began + 1; if began > 1 then error('begun again') end end,\n"
            "    step = function() for i = 1, 300000 do end end },\n"))
        result = self.run_program("profile", "r.lua", "--seconds", "10", "--threads", "1", "--apply", "c.toml", code=3)
        self.assertRegex(result.out, r"^(host|contention): ")
        for part in ("layers", "memory", "remedies"):
            self.assertRegex(result.out, rf"not measured: {part}: .*begun again")
        self.assert_said(result, "--apply: not written, because the remedies were not tried")

    def test_a_full_disk(self):
        """For a trace or the changes the profile is lost by no means; a full folder for temporary files ends it."""
        trial = fit(optim="lab.optim.SGD { lr = hp.lr }")
        self.write("r.lua", search(trial, "stack = 3,"))  # of trials that train together no remedies are tried
        disk = small_disk(self, 1)
        (disk / "rest").write_bytes(b"x" * (1 << 20))
        arguments = ["r.lua", "--threads", "1", "--trace", disk / "t.json", "--apply", disk / "c.toml"]
        result = self.run_program("profile", *arguments, "--seconds", "0.3", "--json", code=3)
        profile = result.json()
        self.assertGreater(profile["steps"], 0)
        for flag, file in (("--trace", "t.json"), ("--apply", "c.toml")):
            said = f"{flag}: disk full or failing: cannot write {disk / file}"
            self.assert_said(result, said)
            self.assertTrue(any(one.startswith(said) for one in profile["missing"]), profile["missing"])
        self.assertEqual(os.listdir(disk), ["rest"])
        for recipe in ("r.lua", SOURCE / "recipes" / "by_hand.lua"):
            told = self.run_program("profile", recipe, "--seconds", "0.3", code=3, before=["env", f"TMPDIR={disk}"])
            self.assert_said(told, "disk full or failing: ", str(disk), "hint: the environment variable TMPDIR names")
        told = self.run_program("profile", "r.lua", code=3, before=["env", f"TMPDIR={disk / 'no'}"])
        self.assert_said(told, "cannot make a folder for temporary files in ", "hint: the environment variable TMPDIR")


if __name__ == "__main__":
    unittest.main()
