"""What the command-line tests share: small recipes, the program run to its end or watched while it runs, run folders.

Each test has an empty folder of its own, self.folder, in which the program runs. A check that fails shows what the
program said. Nothing here waits for a time to pass: tests wait for what the program writes.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import select
import selectors
import shutil
import struct
import subprocess
import tempfile
import time
import typing
import unittest

PROGRAM = os.environ["TRAINLAB"]
SOURCE = pathlib.Path(os.environ["SOURCE_DIR"])

# Far beyond what any command here needs, also on a loaded machine and under sanitizers; a hang ends as a failure.
LIMIT = 100

FIT = """local nn = lab.nn
return lab.fit {
  name = "f",
  data = %(data)s,
  model = %(model)s,
  loss = "%(loss)s",
  optim = %(optim)s,
  batch = %(batch)s,
  epochs = %(epochs)s,
%(more)s}
"""
DEFAULTS = {
    "data": "lab.data.blobs { samples = 120 }:split { train = 0.5, val = 0.25, test = 0.25 }",
    "model": "nn.Sequential { nn.Linear(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(3) }",
    "loss": "cross_entropy",
    "optim": "lab.optim.AdamW { lr = 0.01 }",
    "batch": "16",
    "epochs": "3",
    "more": "",
}
# Where the options stand in the text of fit(): "more" begins on line 10.
LINES = {"fit": 2, "data": 4, "model": 5, "loss": 6, "optim": 7, "more": 10}

# Each validation counts for some ten milliseconds and each leaves a checkpoint, so that a run of `slow` can be caught
# between its first rows and its end, and the rest of it takes seconds.
SLOW = {
    "epochs": "150",
    "more": '  checkpoint = "1 epochs",\n'
            "  on = { validate = function() for i = 1, 1000000 do end end },\n",
}


def fit(**options):
    """The text of a recipe with one small fit, at the lines that LINES tells."""
    return FIT % {**DEFAULTS, **options}

# Images that the loader's thread turns for most of a step, so that a step waits for its input.
SLOW_INPUT = {
    "data": "lab.data.tensors(function()\n"
            "      return lab.tensor.randint(0, 256, { 240, 1, 64, 64 }, { seed = 1, dtype = 'uint8' }),\n"
            "        lab.tensor.randint(3, { 240 }, { seed = 2 })\n"
            "    end):split { train = 0.5, val = 0.5 }:augment { lab.augment.rotate { 20 } }",
    "model": "nn.Sequential { nn.Flatten(), nn.Linear(3) }",
}
# A function of the recipe that takes most of a step, on the thread that trains.
SLOW_TRANSFORM = ("lab.data.blobs { samples = 240 }:split { train = 0.5, val = 0.5 }:transform(function(batch)\n"
                  "    for i = 1, 300000 do end\n    return batch\n  end)")


def small_sweep(epochs):
    """The text of a recipe with a sweep of three short trials."""
    return f"""return lab.sweep {{
  name = "s", space = {{ lr = lab.space.log(1e-3, 1e-1) }}, metric = "val.loss", trials = 3,
  build = function(hp)
    return lab.fit {{ name = "m", data = lab.data.blobs {{ samples = 60 }}:split {{ val = 0.5 }},
      model = lab.nn.Linear(3), loss = "cross_entropy", optim = lab.optim.SGD {{ lr = hp.lr }}, epochs = {epochs} }}
  end }}
"""


class Stored(typing.NamedTuple):
    """A tensor of a .safetensors file."""

    dtype: str
    shape: list
    bytes: bytes


def tensors(path):
    """Name → Stored of a .safetensors file."""
    content = path.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    return {name: Stored(entry["dtype"], entry["shape"], content[begin:][slice(*entry["data_offsets"])])
            for name, entry in json.loads(content[8:begin]).items() if name != "__metadata__"}


def npy(shape, values):
    """The bytes of a float32 .npy file."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(values)}f", *values))


class Result:
    """How a process ended: code, out and err as text."""

    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err

    def __str__(self):
        return (f"\n$ {' '.join(map(str, self.command))}\nexit code {self.code}\n"
                f"--- standard output\n{self.out}\n--- standard error\n{self.err}\n---")

    def json(self):
        """The one JSON object that standard output must be."""
        try:
            value = json.loads(self.out)
        except ValueError as error:
            raise AssertionError(f"standard output is not one JSON value: {error}{self}") from None
        if not isinstance(value, dict):
            raise AssertionError(f"standard output is no JSON object{self}")
        return value


class Running:
    """A process of the program under way, ended with everything it started when the test ends."""

    def __init__(self, command, folder):
        self.command = command
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.out, self.err = b"", b""
        self.selector = selectors.DefaultSelector()
        for name, stream in (("out", self.process.stdout), ("err", self.process.stderr)):
            os.set_blocking(stream.fileno(), False)
            self.selector.register(stream, selectors.EVENT_READ, name)
        self.deadline = time.monotonic() + LIMIT

    def result(self):
        return Result(self.command, self.process.returncode, self.out.decode(), self.err.decode())

    def read(self, seconds):
        """Takes what the process has written, waiting for it at most so long. False at the end of both streams."""
        if time.monotonic() > self.deadline:
            raise AssertionError(f"the test waited {LIMIT} s{self.result()}")
        for key, _ in self.selector.select(seconds):
            data = key.fileobj.read()
            if data:
                setattr(self, key.data, getattr(self, key.data) + data)
            else:
                self.selector.unregister(key.fileobj)
        return bool(self.selector.get_map())

    def until(self, condition, what):
        while not condition():
            if not self.read(0.01) and not condition():
                self.end()
                raise AssertionError(f"the process ended before {what}{self.result()}")

    def until_said(self, text):
        self.until(lambda: text in self.err.decode(errors="replace"), f"it said {text!r}")

    def until_rows(self, run, count):
        """Waits for `count` rows of metrics.jsonl."""
        path = run / "metrics.jsonl"
        self.until(lambda: path.exists() and path.read_bytes().count(b"\n") >= count, f"row {count} of {path}")

    def engines(self):
        """The process ids of its engines at this moment."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(child) for child in children.read_text().split()]

    def engine(self):
        """The process id of the engine, once there is one."""
        self.until(self.engines, "it had an engine")
        return self.engines()[0]

    def send(self, number):
        self.process.send_signal(number)

    def end(self):
        """Waits for the end; gives the Result."""
        while self.read(1):
            pass
        self.process.wait(LIMIT)
        return self.result()

    def kill(self):
        """Ends the process and its engine, which has given back its files and locks when this returns."""
        if self.process.poll() is None:
            engines = []
            for engine in self.engines():
                with contextlib.suppress(ProcessLookupError):
                    engines.append(os.pidfd_open(engine))
            self.process.kill()  # its engine dies with it, a little later
            self.process.wait()
            for engine in engines:
                select.select([engine], [], [], LIMIT)
                os.close(engine)
        self.selector.close()
        self.process.stdout.close()
        self.process.stderr.close()


class CliTest(unittest.TestCase):
    @classmethod
    def keep_machine(cls):
        """Lets the tests of this class share the figures of the machine, which are measured once, in a new folder."""
        cache = tempfile.TemporaryDirectory(dir=os.getcwd())
        cls.addClassCleanup(cache.cleanup)
        os.environ["XDG_CACHE_HOME"] = cache.name

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=self._testMethodName + "-", dir=os.getcwd()))

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def recipe(self, name="r.lua", **options):
        return self.write(name, fit(**options))

    def changes_of(self, name="r.lua"):
        """The first line of a file for `trainlab run --apply` whose changes were tried with this recipe."""
        return f'recipe = "{hashlib.blake2b((self.folder / name).read_bytes(), digest_size=32).hexdigest()}"'

    def run_program(self, *arguments, code=0, cwd=None, program=PROGRAM, before=()):
        """Runs the program to its end, which must be `code`; `before` are words of a command in front of it. Every
        ending must keep the rules that hold for all of them: see check_rules."""
        command = [*before, program, *map(str, arguments)]
        done = subprocess.run(command, cwd=cwd or self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LIMIT, check=False)
        result = Result(command, done.returncode, done.stdout.decode(), done.stderr.decode())
        self.assertEqual(result.code, code, result)
        self.check_rules(result)
        return result

    def train(self, *arguments, recipe="r.lua", code=0, **options):
        """`trainlab RECIPE --threads 1 …`: one thread, because that is the fastest for models of this size."""
        return self.run_program(recipe, "--threads", "1", *arguments, code=code, **options)

    def start(self, *arguments):
        running = Running([PROGRAM, *map(str, arguments)], self.folder)
        self.addCleanup(running.kill)
        return running

    def end(self, running, code):
        result = running.end()
        self.assertEqual(result.code, code, result)
        self.check_rules(result)
        return result

    def check_rules(self, result):
        """One clear message: no crash, no inner words of C++ or LibTorch, nothing but the result on standard output."""
        for text in ("internal error", "terminate called", "Exception raised from", "c10::", "at::", "std::", "stack:",
                     "Traceback"):
            self.assertNotIn(text, result.out + result.err, result)
        if "--json" in result.command:
            result.json()
        elif result.code in (1, 2):
            self.assertEqual(result.out, "", result)
        if result.code in (1, 2):
            self.assertNotEqual(result.err.strip(), "", result)

    def assert_said(self, result, *texts):
        """Standard error has the texts, in this order."""
        at = 0
        for text in texts:
            found = result.err.find(text, at)
            self.assertGreaterEqual(found, 0, f"expected {text!r} on standard error{result}")
            at = found + len(text)

    def assert_message(self, result, line):
        """Standard error has this line, and no other message than it (but for hints, tracebacks and progress)."""
        lines = result.err.splitlines()
        self.assertEqual(lines.count(line), 1, f"expected the line {line!r} once on standard error{result}")
        others = [text for text in lines if text != line and not text.startswith(
            ("  ", "epoch ", "traceback:", "to continue: ", "everything saved "))]
        self.assertEqual(others, [], f"more than one message{result}")

    def run_folder(self, number=1, name="r"):
        return self.folder / "runs" / name / f"{number:03d}"

    def summary(self, run):
        return json.loads((run / "summary.json").read_text())

    def rows(self, run):
        return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]

    def assert_status(self, run, status):
        """The run's folder says how it ended, and `report` and `list` can read it."""
        self.assertEqual(self.summary(run)["status"], status)
        report = self.run_program("report", run)
        self.assertIn(f": {status}", report.out, report)

    def weights(self, run):
        """Name without step → bytes, of the newest `best` and `last`."""
        newest = {}
        for path in sorted((run / "checkpoints").glob("[bl]*-*.safetensors")):  # not those set aside as damaged
            newest[path.name.rsplit("-", 1)[0]] = path.read_bytes()
        self.assertTrue(newest, f"no checkpoint in {run}")
        return newest

    def assert_same_end(self, run, other):
        """Both runs ended in the same bytes of weights and in the same rows."""
        timeless = [[{key: row[key] for key in row if key != "seconds"} for row in self.rows(r)] for r in (run, other)]
        self.assertEqual(*timeless)
        weights, others = self.weights(run), self.weights(other)
        self.assertEqual(weights.keys(), others.keys())
        for name, data in weights.items():
            self.assertEqual(data, others[name], f"{name} of {run} and {other} differ")


def small_disk(test, megabytes):
    """A folder on a disk of its own with `megabytes`, or a skipped test where this user cannot mount one."""
    folder = test.folder / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount"):
        test.skipTest("only root can mount a small disk")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        test.skipTest(done.stderr.strip())
    test.addCleanup(subprocess.run, ["umount", "-l", str(folder)], check=True)
    return folder
