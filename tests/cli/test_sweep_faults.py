"""Sweeps that are interrupted, killed or damaged, and trials that fail: nothing is lost, and what fails fails alone."""

import json
import os
import pathlib
import shutil
import signal
import sqlite3
import unittest

from program import small_disk
from sweeping import HALVING, PRUNED, SLOW, SweepTest, infos, reports, sweep, trials, until_rows


class SweepFaults(SweepTest):
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


if __name__ == "__main__":
    unittest.main()
