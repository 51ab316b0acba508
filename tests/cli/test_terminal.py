"""On a terminal: nothing that a recipe, a name or a file says moves its cursor, and its end stops the run."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
import unittest

from program import LIMIT, PROGRAM, SLOW, CliTest, fit

ESCAPE = "\x1b"
# What the program itself writes: a line is cleared before and after the progress bar.
OWN = "\x1b[K"


class OnTerminal:
    """The program as the leader of a terminal of its own."""

    def __init__(self, folder, *arguments):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=folder, stdin=slave, stdout=slave,
                                        stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.text = ""

    def read(self):
        """Takes what there is within a second. False at the end."""
        if not select.select([self.master], [], [], 1)[0]:
            return True
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            return False  # nobody has the terminal open any more
        self.text += data.decode(errors="replace")
        return bool(data)

    def end(self):
        deadline = time.monotonic() + LIMIT
        while self.read():
            if time.monotonic() > deadline:
                self.process.kill()
                raise AssertionError(f"no end after {LIMIT} s:\n{self.text}")
        os.close(self.master)
        return self.process.wait(LIMIT)


class Terminal(CliTest):
    def test_a_pipe_may_lead_to_a_terminal(self):
        self.write("r.lua", 'lab.param { "width", 1, doc = "\\27[2Jdoc" .. ("x"):rep(2^24) }\n' +
                   fit(more='  on = { validate = function(run) run:stop("\\27]0;stopped\\7") end },\n'))
        outputs = [self.run_program(*line).out for line in
                   (["r.lua", "--out", "run"], ["report", "run"], ["resume", "run"], ["r.lua", "--help"])]
        for output in outputs:
            self.assertNotIn(ESCAPE, output)
        self.assertIn("\\27]0;stopped\\7", outputs[1])
        self.assertIn("\\27[2Jdocxxx", outputs[3])
        self.assertLess(len(outputs[3]), 10000)
        self.write("r.lua", 'require "ok\\0x"')
        self.assertIn('expected a module\'s name, found "ok\\0x"', self.run_program("r.lua", code=1).err)

    def test_a_line_break_in_the_name_of_a_folder(self):
        self.write("r.lua", fit(epochs="1"))
        self.assertIn("  in     a\\10b\n", self.run_program("r.lua", "--out", "a\nb").out)
        for command in (("list", "."), ("report", "a\nb")):
            self.assertRegex(self.run_program(*command).out, r"(?m)^a\\10b\b")

    def shown(self, recipe, *arguments, code):
        """What the program writes to a terminal."""
        self.write("r.lua", recipe)
        program = OnTerminal(self.folder, "r.lua", "--threads", "1", *arguments)
        self.assertEqual(program.end(), code, program.text)
        self.assertNotIn(ESCAPE, program.text.replace(OWN, ""))
        self.assertNotIn("\x07", program.text)
        return program.text

    def test_prints_and_stops(self):
        text = self.shown('print("\\27[31mprinted")\n' + fit(more='''  on = { validate = function(run)
    run:stop("\\27]0;stopped\\7")
  end },
'''), code=0)
        self.assertIn("\\27[31mprinted", text)
        self.assertIn("\\27]0;stopped\\7", text)

    def test_errors(self):
        self.assertIn("\\27[2Jraised", self.shown('error("\\27[2Jraised")', code=1))
        data = 'lab.data.csv { path = "\\27[2Jfile.csv", target = "y" }:split { train = 0.5, val = 0.5 }'
        self.assertIn("\\27[2Jfile", self.shown(fit(data=data), code=1))
        self.assertIn("\\27[2Jkey", self.shown('return lab.fit { ["\\27[2Jkey"] = 1 }', code=1))
        self.assertIn("\\27[2Jname", self.shown('require "\\27[2Jname"', code=1))

    def test_help_of_a_recipe(self):
        text = self.shown('lab.param { "width", 1, doc = "\\27[2Jdoc" }\n' + fit(), "--help", code=0)
        self.assertIn("\\27[2Jdoc", text)

    def test_names_of_values(self):
        for name in ("\\27[2J", "a\\nb", "a\\0b", "", "x" * 201):
            text = self.shown(fit(more=f'  on = {{ validate = function(run) run:log("{name}", 1) end }},\n'), code=1)
            self.assertIn("run:log: expected a name of 1 to 200 bytes without control characters", text)

    def test_values_are_numbers_in_both_kinds_of_run(self):
        message = "expected a number or a tensor of one element, found a table"
        text = self.shown(fit(more='  on = { validate = function(run) run:log("x", {}) end },\n'), code=1)
        self.assertIn("run:log.value: " + message, text)
        text = self.shown('return lab.task { name = "t", run = function(ctx) ctx:log("x", {}) end }', code=1)
        self.assertIn("ctx:log.value: " + message, text)

    def test_a_long_error_is_cut(self):
        text = self.shown('error(("x"):rep(2^24))', code=1)
        self.assertIn("(16777216 bytes)", text)
        self.assertLess(len(text), 20_000)

    def test_a_closed_terminal_ends_the_run(self):
        self.write("r.lua", fit(**SLOW))
        run = self.folder / "run"
        program = OnTerminal(self.folder, "r.lua", "--threads", "1", "--out", "run")
        rows = run / "metrics.jsonl"
        while not rows.exists() or rows.read_bytes().count(b"\n") < 2:
            self.assertTrue(program.read(), program.text)
        os.close(program.master)
        self.assertEqual(program.process.wait(LIMIT), 143)
        self.assertEqual(self.summary(run)["status"], "interrupted")
        self.assertEqual(self.run_program("resume", "run", "--json", "--quiet").json()["status"], "done")


if __name__ == "__main__":
    unittest.main()
