"""Eight processes on PostgreSQL work on one sweep of 500 trials, while one of them is killed each second and the server
restarts twice: each trial ends once, and the table is that of one process with a file.

A process is `trainlab worker --study` in a run of its own, or the run itself; who was killed is resumed. --count is the
number of such sweeps, --trials that of their trials, --processes that of the processes. With --kills 0 no process is
killed and the server stays up: what many processes do that begin together."""

import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import postgresql

PROGRAM = os.environ["TRAINLAB"]
LIMIT = 1200
RECIPE = """
return lab.sweep {
  name = "s", metric = "value", goal = "min", trials = %d, sampler = lab.sampler.random(),
  space = { x = lab.space.uniform(0, 1), y = lab.space.log(1e-3, 1) },
  build = function(hp)
    return lab.task { name = "t", run = function(ctx)
      local sum = lab.tensor.zeros(2)
      for step in ctx:steps(30, { save = sum }) do
        for i = 1, 20000 do end
        sum:add_(lab.tensor { hp.x, hp.y } * step)
        ctx:log("value", sum:sum():item())
      end
    end }
  end,
}
"""
# What must not depend on how a trial ran.
ROWS = "SELECT number, state, point, values_ FROM trials ORDER BY number"


class Failure(Exception):
    """A find."""


def check(holds, what):
    if not holds:
        raise Failure(what)


def rows(folder):
    study = sqlite3.connect(folder / "study.db")
    try:
        return study.execute(ROWS).fetchall()
    finally:
        study.close()


def start(folder, name, url):
    """Begins or continues the process of this name."""
    own = folder / name
    if (own / "manifest.toml").exists():
        command = ["resume", own]
    elif name == "main":
        command = ["r.lua", "--out", own]
    else:
        command = ["worker", "--study", url, "r.lua", "--out", own]
    with open(folder / f"{name}.err", "ab") as err:
        return subprocess.Popen([PROGRAM, *map(str, command)], cwd=folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=err)


def ended(server):
    try:
        return int(server.sql('SELECT COUNT(*) FROM "s/001".trials WHERE state = \'complete\'')[0])
    except RuntimeError:  # the server restarts, or there is no study yet
        return 0


def one(draw, folder, server, trials, number, attacked):
    (folder / "r.lua").write_text(RECIPE % trials)
    subprocess.run([PROGRAM, "r.lua", "--out", "file", "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    expected = rows(folder / "file")
    os.environ["TRAINLAB_STORAGE"] = server.url
    begun = time.monotonic()
    names = ["main", *(f"w{i}" for i in range(1, number))]
    processes = {name: start(folder, name, server.url) for name in names}
    restarts = [("fast", trials // 3), ("immediate", 2 * trials // 3)] if attacked else []
    done = set()
    kills = 0
    try:
        while len(done) < len(names):
            check(time.monotonic() - begun < LIMIT, f"no end after {LIMIT} s")
            time.sleep(1)  # the pace of the kills
            count = ended(server)
            if restarts and count >= restarts[0][1]:
                server.restart(restarts.pop(0)[0])
            for name, process in processes.items():
                if process.poll() is None or name in done:
                    continue
                said = (folder / f"{name}.err").read_text()[-2000:]
                # Who begins while the server is away is told so.
                check(process.returncode in (0, -signal.SIGKILL)
                      or (process.returncode == 3 and "connection to server" in said),
                      f"{name} ended with {process.returncode}: {said}")
                if process.returncode == 0:
                    done.add(name)
                else:
                    processes[name] = start(folder, name, server.url)
            alive = [name for name in names if processes[name].poll() is None]
            if attacked and count < trials and alive:
                processes[draw.choice(alive)].kill()
                kills += 1
    finally:
        for process in processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()
        del os.environ["TRAINLAB_STORAGE"]
    seconds = time.monotonic() - begun
    check(not restarts, "all trials had ended before the server restarted twice")
    for name in names:
        check(rows(folder / name) == expected, f"the table of {name} is another one than that of one process")
    attempts = server.sql('SELECT SUM(attempt), SUM(lost) FROM "s/001".trials')[0].split("|")
    best = json.loads((folder / "main/summary.json").read_text())["best"]
    check(best == json.loads((folder / "file/summary.json").read_text())["best"], "another best trial")
    restarted = 2 if attacked else 0
    print(f"{trials} trials by {number} processes in {seconds:.0f} s, {kills} kills, {restarted} restarts of the "
          f"server, {attempts[0]} attempts, {attempts[1]} of them lost; all tables are equal", flush=True)


def main():
    if not postgresql.programs():
        print("skipped: PostgreSQL is not installed")
        return 0
    given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    number = {name: int(given.get("--" + name, value)) for name, value in
              {"count": 1, "seed": 1, "trials": 500, "processes": 8, "kills": 1}.items()}
    for attack in range(number["count"]):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="trainlab-database-"))
        server = postgresql.Server()
        try:
            one(random.Random(number["seed"] + attack), folder, server, number["trials"], number["processes"],
                number["kills"] > 0)
        except Failure as failure:
            print(f"{failure}\nkept: {folder}")
            return 1
        finally:
            server.remove()
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
