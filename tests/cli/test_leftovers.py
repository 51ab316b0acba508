"""Whatever ends a run, nothing that only a process under way needs is left in its folder: no temporaries, no logs of
SQLite, no weights that no checkpoint names."""

import contextlib
import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
import unittest

from program import LIMIT, CliTest, fit

# Each validation takes a moment and says so, so that a run can be caught between its first rows and its end.
SAYS = """  checkpoint = "1 epochs",
  on = { validate = function(run)
    print("validated")
    for i = 1, 300000 do end
    if fails and run.epoch == 4 then error("stop here") end
  end },
"""
HEAD = 'local nn = lab.nn\nlocal fails = lab.param { "fails", false }\nlocal function build(hp)\n'
OPTIONS = {"epochs": "40", "more": SAYS, "data": "lab.data.blobs { samples = 60 }:split { train = 0.5, val = 0.5 }"}


def built(optim="lab.optim.AdamW { lr = 0.01 }"):
    """The head of a recipe with build(), which makes a fit."""
    return HEAD + fit(optim=optim, **OPTIONS).split("\n", 1)[1] + "end\n"


RECIPES = {
    "fit": built() + "return build()\n",
    "sweep": built("lab.optim.AdamW { lr = hp.lr }")
    + 'return lab.sweep { name = "s", trials = 6, metric = "val.loss", workers = 2, stack = false, build = build,\n'
    "  space = { lr = lab.space.log(1e-4, 1e-1) } }\n",
    "ensemble": built() + 'return lab.ensemble { name = "e", seeds = 4, keep = 2, metric = "val.loss", stack = false,\n'
    "  workers = 2, build = build }\n",
    "task": """local nn = lab.nn
local fails = lab.param { "fails", false }
return lab.task { name = "t", run = function(ctx)
  local data = lab.data.blobs { samples = 64 }:split { val = 0.5 }
  local model = lab.build(nn.Linear(3), { input = { 2 }, seed = ctx.seed })
  local opt = lab.optimizer(lab.optim.SGD { lr = 0.1 }, model:parameters())
  local step = 0
  for batch in ctx:batches(data.train, { size = 16, epochs = 60, save = { model, opt }, checkpoint = "2 steps" }) do
    local loss = lab.ops.cross_entropy_loss(model:forward(batch.x), batch.y)
    opt:zero_grad() loss:backward() opt:step()
    ctx:log("train.loss", loss)
    step = step + 1
    if step % 10 == 0 then print("validated") end
    for i = 1, 100000 do end
    if fails and step == 40 then error("stop here") end
  end
end }
""",
}


class Leftovers(CliTest):
    def temporaries(self, run):
        return [os.path.join(folder, name) for folder, _, names in os.walk(run) for name in names
                if name.endswith((".tmp", "-wal", "-shm", "-journal"))]

    def strays(self, run):
        found = self.temporaries(run)
        for folder, _, names in os.walk(run):
            if os.path.basename(folder) == "checkpoints":
                found += self.unnamed(folder, names)
        return found

    def unnamed(self, folder, names):
        """Files of a folder of checkpoints to which no checkpoint belongs."""
        lasts = sorted(name for name in names if name.startswith("last-") and name.endswith(".json"))
        stems = {name.removesuffix(".json") for name in lasts[-2:]}
        for name in lasts[-2:]:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                best = json.load(file).get("best_weights")
                stems |= {best} if best else set()
        return [os.path.join(folder, name) for name in names
                if lasts and name.startswith(("last-", "best-")) and name.rsplit(".", 1)[0] not in stems]

    def assert_clean(self, how):
        self.assertEqual(self.strays(self.folder / "run"), [], how)

    def begun(self, kind):
        self.write("r.lua", RECIPES[kind])
        running = self.start("r.lua", "--threads", "1", "--out", "run")
        running.until(lambda: running.err.count(b"validated") >= 5, "it was under way")
        return running

    def plant(self):
        """Temporaries as killed processes leave them; no process has this number."""
        for folder, _, _ in list(os.walk(self.folder / "run")):
            with open(os.path.join(folder, ".summary.json.99999999-0.tmp"), "w", encoding="utf-8") as file:
                file.write("half")

    def check_kind(self, kind):
        with self.subTest("done"):
            self.write("r.lua", RECIPES[kind])
            self.run_program("r.lua", "--threads", "1", "--out", "run", "--quiet")
            self.assert_clean("done")
        with self.subTest("an error"):
            self.run_program("r.lua", "--threads", "1", "--out", "failed", "--quiet", "--fails", "true",
                             code=3 if kind in ("sweep", "ensemble") else 1)
            self.assertEqual(self.strays(self.folder / "failed"), [])
        for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, 3)):
            with self.subTest(number):
                os.rename(self.folder / "run", self.folder / f"before-{number}")
                running = self.begun(kind)
                if number == signal.SIGKILL:
                    os.kill(running.engine(), number)
                else:
                    running.send(number)
                self.end(running, code)
                self.assertEqual(self.temporaries(self.folder / "run"), [])
                self.plant()
                self.run_program("resume", "run", "--quiet")
                self.assert_clean(number)
        with self.subTest("killed with its supervisor"):
            os.rename(self.folder / "run", self.folder / "before-all")
            running = self.begun(kind)
            engine = os.pidfd_open(running.engine())
            self.addCleanup(os.close, engine)
            running.kill()
            self.wait_for_end(engine)
            self.run_program("resume", "run", "--quiet")
            self.assert_clean("killed with its supervisor")

    def test_a_process_that_is_killed_once_its_sweep_is_finished(self):
        self.write("r.lua", RECIPES["sweep"])
        self.run_program("r.lua", "--threads", "1", "--out", "run", "--quiet")
        study = self.folder / "run/study.db"
        before = self.rows(study)
        subprocess.run([sys.executable, "-c", "import os, sqlite3, sys\nopen_study = sqlite3.connect(sys.argv[1])\n"
                        "open_study.execute('PRAGMA journal_mode = WAL')\n"
                        "open_study.execute('UPDATE trials SET state = state')\nopen_study.commit()\nos._exit(0)\n",
                        study], check=True)
        self.assertTrue((self.folder / "run/study.db-wal").exists())
        self.run_program("resume", "run")
        self.assertEqual(self.strays(self.folder / "run"), [])
        self.assertEqual(self.rows(study), before)

    def test_a_process_that_nobody_has_waited_for(self):
        """As in containers whose first process does not wait for orphans."""
        self.write("r.lua", RECIPES["fit"])
        self.run_program("r.lua", "--threads", "1", "--out", "run", "--quiet")
        with subprocess.Popen(["true"]) as ended:
            os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
            for name in (f".summary.json.{ended.pid}-0.tmp", f".summary.json.{os.getpid()}-0.tmp"):
                (self.folder / "run" / name).write_text("half")
            self.run_program("resume", "run")
        self.assertEqual([os.path.basename(path) for path in self.temporaries(self.folder / "run")],
                         [f".summary.json.{os.getpid()}-0.tmp"])

    @staticmethod
    def rows(study):
        with contextlib.closing(sqlite3.connect(study)) as base:
            return base.execute("SELECT * FROM trials").fetchall()

    @staticmethod
    def wait_for_end(process):
        select.select([process], [], [], LIMIT)

    def test_fit(self):
        self.check_kind("fit")

    def test_sweep(self):
        self.check_kind("sweep")

    def test_ensemble(self):
        self.check_kind("ensemble")

    def test_task(self):
        self.check_kind("task")


if __name__ == "__main__":
    unittest.main()
