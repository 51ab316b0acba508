"""Signals: the first asks for a checkpoint, the second kills; an engine that is killed from outside; what is locked."""

import ctypes
import os
import pathlib
import re
import select
import signal
import socket
import unittest

from program import LIMIT, LINES, SLOW, CliTest, fit


class Signals(CliTest):
    whole_run = None

    def whole(self):
        """The run that nobody interrupts, made once for all these tests."""
        if Signals.whole_run is None:
            self.train("--out", "whole", "--quiet")
            Signals.whole_run = self.folder / "whole"
        return Signals.whole_run

    def begun(self, *arguments):
        """A run under way, some rows old."""
        self.write("r.lua", fit(**SLOW))
        running = self.start("r.lua", "--threads", "1", "--out", "cut", *arguments)
        running.until_rows(self.folder / "cut", 3)
        return running, self.folder / "cut"

    def resumed(self, run):
        """Goes on with the run to its end, which must be that of a run that nobody interrupted."""
        result = self.run_program("resume", run, "--json", "--quiet")
        self.assertEqual(result.json()["status"], "done", result)
        self.assertEqual(len(result.json()["resumed"]), 1, result)
        self.assert_same_end(run, self.whole())

    def check_interrupted(self, number, code):
        running, run = self.begun()
        running.send(number)
        result = self.end(running, code)
        self.assert_said(result, "trainlab: stopping at the next step, after a checkpoint",
                         "\nto continue: trainlab resume cut\n")
        self.assertIn("f (fit): interrupted", result.out, result)
        self.assert_status(run, "interrupted")
        steps = self.summary(run)["steps"]
        self.resumed(run)
        self.assertEqual(self.summary(run)["resumed"], [steps])

    def test_sigint(self):
        self.check_interrupted(signal.SIGINT, 130)

    def test_sigterm(self):
        self.check_interrupted(signal.SIGTERM, 143)

    def test_json(self):
        running, run = self.begun("--json")
        running.send(signal.SIGINT)
        result = self.end(running, 130)
        self.assertEqual(result.json(), self.summary(run))
        self.assertEqual(result.json()["status"], "interrupted", result)
        self.assertTrue(result.err.endswith("\nto continue: trainlab resume cut\n"), result)

    def test_second_signal_kills(self):
        # The engine sleeps, so that it cannot come to its checkpoint.
        running, run = self.begun()
        engine = running.engine()
        os.kill(engine, signal.SIGSTOP)
        running.send(signal.SIGINT)
        running.until_said("once more: stop at once")
        while pathlib.Path(f"/proc/{engine}").exists():  # the first tries may come so soon that they count as the same
            running.send(signal.SIGINT)                  # request
            running.read(0.02)
        result = self.end(running, 130)
        self.assert_said(result, "stopped at once by a second signal, without a checkpoint\n",
                         "to continue: trainlab resume cut\n")
        self.assertEqual(result.err.count("trainlab resume"), 1, result)
        self.assert_status(run, "interrupted")
        self.resumed(run)

    def test_two_signals_at_once_are_one_request(self):
        # `timeout` signals the program, and in the next moment the program's whole group.
        running, run = self.begun()
        running.send(signal.SIGINT)
        running.send(signal.SIGINT)
        self.end(running, 130)
        self.assert_status(run, "interrupted")
        self.assertNotEqual(self.summary(run)["steps"], 0)
        self.resumed(run)

    def test_time_of_grace(self):
        # One signal; the engine sleeps, as it would in an operator that takes minutes.
        running, run = self.begun("--grace", "0.1 s")
        os.kill(running.engine(), signal.SIGSTOP)
        running.send(signal.SIGTERM)
        result = self.end(running, 143)
        self.assert_said(result, "stopped without a checkpoint: the step, callback or file under way took longer than "
                                 "--grace\n", "to continue: trainlab resume cut\n")
        self.assert_status(run, "interrupted")
        self.resumed(run)

    def test_an_operator_that_takes_long(self):
        """After the time of grace, or a second signal, the engine ends within an operator."""
        operator = "local t = lab.tensor.randn({ 3000, 3000 }, { seed = 1 }) for _ = 1, 3 do t:linalg_svdvals() end"
        more = f"  on = {{ validate = function() print('begins') {operator} end }},\n"
        self.write("r.lua", fit(epochs="2", more=more))
        for grace, signals in (("0.1 s", 1), ("10 min", 2)):
            with self.subTest(grace=grace):
                out = f"cut-{signals}"
                running = self.start("r.lua", "--threads", "1", "--grace", grace, "--out", out)
                running.until_said("begins")
                running.send(signal.SIGTERM)
                if signals == 2:
                    running.until_said("once more: stop at once")
                    engine = running.engine()
                    while pathlib.Path(f"/proc/{engine}").exists():
                        running.send(signal.SIGTERM)
                        running.read(0.02)
                self.assert_said(self.end(running, 143), "without a checkpoint", "trainlab resume")
                self.assert_status(self.folder / out, "interrupted")

    def test_time_of_grace_that_is_none(self):
        for text in ("soon", "-1 s", "3 epochs", ""):
            result = self.run_program("r.lua", "--grace", text, code=2)
            self.assert_message(result, 'trainlab: --grace: expected a time with its unit, as "90 s", "90 min" or '
                                f'"3 h", found "{text}"')

    def test_an_engine_that_was_expected_in_vain_ends(self):
        self.recipe(more=SLOW["more"] + "  -- workers = 2\n", epochs=SLOW["epochs"])
        running = self.start("r.lua", "--threads", "1", "--out", "run")
        running.until_rows(self.folder / "run", 1)
        children = pathlib.Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text().split()
        self.assertEqual(len(children), min(2, len(os.sched_getaffinity(0))))
        running.send(signal.SIGTERM)
        self.end(running, 143)
        for child in children:
            self.assertFalse(pathlib.Path(f"/proc/{child}").exists(), child)

    def test_silence_of_the_recipe(self):
        # The pattern takes the processor for some seconds; with more patience it comes to its end.
        slow = '("a"):rep(26):find(("a?"):rep(26) .. ("a"):rep(26))'
        more = '  checkpoint = "1 epochs",\n'
        more += f"  on = {{ validate = function(run) if run.epoch == 5 then local _ = {slow} end end }},\n"
        self.write("r.lua", fit(epochs="8", more=more))
        self.train("--out", "whole", "--quiet")
        result = self.train("--out", "cut", "--silence", "0.2 s", "--grace", "0.1 s", code=1)
        self.assert_said(result, f"r.lua:{LINES['more'] + 1}: no answer for 0.2 s (--silence)", "hint: string patterns",
                         "to continue: trainlab resume ")
        self.assert_status(self.folder / "cut", "failed")
        self.assertIn("no answer for 0.2 s", self.summary(self.folder / "cut")["reason"])
        self.run_program("resume", "cut", "--quiet")
        self.assertEqual(len(self.summary(self.folder / "cut")["resumed"]), 1)
        self.assert_same_end(self.folder / "cut", self.folder / "whole")

    def test_engine_killed_from_outside(self):
        running, run = self.begun()
        os.kill(running.engine(), signal.SIGKILL)
        result = self.end(running, 3)
        self.assert_message(result, "trainlab: the engine was killed from outside (SIGKILL), often by the system when "
                                    "memory runs out")
        self.assertIn("\nto continue: trainlab resume ", result.err, result)
        self.assertNotIn("hint: ", result.err, result)
        self.assert_status(run, "failed")
        self.resumed(run)

    def test_engine_that_crashes(self):
        running, run = self.begun("--json")
        os.kill(running.engine(), signal.SIGABRT)
        result = self.end(running, 3)
        self.assertEqual(result.json()["error"]["message"], "the engine crashed: SIGABRT (Aborted)")
        self.assert_status(run, "failed")
        self.resumed(run)

    def check_dies_in_operator(self, number, message, kill=os.kill):
        # abs() works on two threads. Singular values of a matrix of this size take minutes.
        self.write("r.lua", "local big = lab.tensor.rand(6000, 6000):abs()\nprint('begins')\n"
                            "lab.ops.linalg_svdvals(big)\n")
        running = self.start("r.lua", "--threads", "2", "--json")
        running.until_said("begins")
        engine = running.engine()
        status = pathlib.Path(f"/proc/{engine}/stat")

        def used():  # ticks of the processor
            return sum(map(int, status.read_text().rsplit(")", 1)[1].split()[11:13]))

        before = used()
        running.until(lambda: used() > before + 20, "it was in the operator")
        kill(engine, number)
        error = self.end(running, 3).json()["error"]
        self.assertEqual((error["file"], error["line"]), ("r.lua", 3), error)
        self.assertEqual(error["message"], message)

    def test_engine_that_crashes_in_an_operator(self):
        self.check_dies_in_operator(signal.SIGSEGV,
                                    "the engine crashed in lab.ops.linalg_svdvals: SIGSEGV (Segmentation fault)")

    def test_engine_that_crashes_on_another_thread_of_an_operator(self):
        def kill(engine, number):
            # The threads of a team leave SIGTERM to others.
            for task in pathlib.Path(f"/proc/{engine}/task").iterdir():
                blocked = int(re.search(r"SigBlk:\s*(\w+)", (task / "status").read_text())[1], 16)
                if blocked >> (signal.SIGTERM - 1) & 1:
                    self.assertEqual(ctypes.CDLL(None).tgkill(engine, int(task.name), number), 0)
                    return
            self.fail("the operator had one thread")

        self.check_dies_in_operator(signal.SIGSEGV, "the engine crashed in lab.ops.linalg_svdvals: SIGSEGV "
                                    "(Segmentation fault)", kill)

    def test_engine_killed_in_an_operator(self):
        self.check_dies_in_operator(signal.SIGKILL, "the engine was killed from outside (SIGKILL) in "
                                    "lab.ops.linalg_svdvals, often by the system when memory runs out")

    def test_engine_dies_with_its_supervisor(self):
        running, run = self.begun()
        engine = os.pidfd_open(running.engine())
        self.addCleanup(os.close, engine)
        running.send(signal.SIGKILL)
        running.end()
        self.assertEqual(select.select([engine], [], [], LIMIT)[0], [engine], "the engine lives on")
        self.assertIn("unfinished", self.run_program("report", run).out)
        self.resumed(run)


class Locked(CliTest):
    def test_second_supervisor(self):
        self.write("r.lua", fit(**SLOW))
        running = self.start("r.lua", "--threads", "1", "--out", "run")
        running.until_rows(self.folder / "run", 1)
        message = (f"trainlab: the run folder {self.folder}/run is in use by process {running.process.pid} on "
                   f"{socket.gethostname()}")
        for command in (["r.lua", "--out", "run"], ["resume", "run"], ["extend", "run", "--epochs", "200"]):
            with self.subTest(command=command):
                result = self.run_program(*command, code=2)
                self.assert_message(result, message)
                self.assert_said(result, "hint: wait until that process ends")
        self.assertIn("running", self.run_program("report", "run").out)
        running.send(signal.SIGTERM)
        self.end(running, 143)


if __name__ == "__main__":
    unittest.main()
