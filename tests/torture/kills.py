"""Engines and supervisors killed at random moments, up to four times a run: it goes on to the uninterrupted end."""

import os
import pathlib
import signal
import subprocess
import time

from attacks import LIMIT, PROGRAM, attack, check, compare, run
from subjects import SUBJECTS
from wholes import prepare


def engines(supervisor):
    try:
        text = pathlib.Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def one(draw, folder, wholes, number):
    kind = list(SUBJECTS)[number % len(SUBJECTS)]
    whole, seconds = wholes[kind]
    out, recipe = folder / "run", folder.parent / f"{kind}.lua"
    first = [recipe, "--threads", "1", "--out", out, "--quiet"]
    kills = 0
    for _ in range(draw.randint(1, 4)):
        begun = (out / "manifest.toml").exists()
        command = [PROGRAM, *map(str, ["resume", out, "--quiet"] if begun else first)]
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        time.sleep(draw.uniform(0, seconds))  # the moment of the kill is what is drawn, not a wait for something
        victims = engines(process.pid)
        if draw.random() < 0.3 or not victims:
            process.kill()
        else:
            os.kill(draw.choice(victims), signal.SIGKILL)
        _, err = process.communicate(timeout=LIMIT)
        check(b"internal" not in err, err.decode(errors="replace"))
        check(process.returncode in (0, 3, -signal.SIGKILL), f"exit code {process.returncode}: {err}")
        kills += 1
        if process.returncode == 0:
            break
    begun = (out / "manifest.toml").exists()
    code, _, err = run(["resume", out, "--quiet"] if begun else first, folder)
    check(code == 0, f"after {kills} kills the run does not go on: {err}")
    compare(out, whole)
    return kind


attack("kills", 300, one, prepare, "runs")
