"""The common part of the attacks: each has a number, random draws of its own and an empty folder, which stays if the
attack has found something."""

import argparse
import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

from warm import warmed

PROGRAM = os.environ["TRAINLAB"]
SOURCE = pathlib.Path(os.environ["SOURCE_DIR"])
# Seconds. Nothing that the attacks start takes a tenth of this on an idle machine.
LIMIT = 300
# Words that only a fault of the program brings to a user's eyes.
INNER = ("internal error", "terminate called", "Exception raised from", "c10::", "at::", "std::", "Traceback",
         "AddressSanitizer", "lua_", "bad_alloc")


class Failure(Exception):
    """A find of an attack."""


def check(holds, what):
    if not holds:
        raise Failure(what)


def run(arguments, folder, before=(), may_be_silent=False, **more):
    """Exit code, standard output and standard error of the program, which must end, and say something if it fails,
    unless the attack may have hit the writing of the message."""
    command = [*before, PROGRAM, *map(str, arguments)]
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT,
                              check=False, **more)
    except subprocess.TimeoutExpired:
        raise Failure(f"{command}: no end after {LIMIT} s") from None
    out, err = (text.decode(errors="backslashreplace") for text in (done.stdout, done.stderr))
    said = f"{command} ended with {done.returncode}\n{out[-1500:]}\n{err[-3000:]}"
    for word in INNER:
        check(word not in out + err, f"the word {word!r} was said: {said}")
    check(done.returncode in (0, 1, 2, 3, 130, 143), f"an exit code that is not documented: {said}")
    if done.returncode in (1, 2, 3) and not may_be_silent:
        check(err.strip() != "", f"no message: {said}")
    if "--json" in arguments:
        json.loads(out)
    return done.returncode, out, err


def check_clean(folder):
    """No file is left that only a process under way needs."""
    left = [str(path) for path in folder.rglob("*") if path.name.endswith((".tmp", "-wal", "-shm", "-journal"))]
    check(left == [], f"left behind: {left}")


def newest(folder, kind):
    """Bytes of the newest checkpoint of a kind; nothing where there is none."""
    found = sorted(folder.glob(f"checkpoints/{kind}-*.safetensors"))
    return found[-1].read_bytes() if found else b""


def result_of(run):
    """Weights, rows and values of a run by place: all that must not depend on interruptions."""
    result = {}
    for summary in sorted(run.rglob("summary.json")):
        value = json.loads(summary.read_text())
        folder, place = summary.parent, str(summary.parent.relative_to(run))
        values = {key: value[key] for key in value
                  if key not in ("seconds", "resumed", "out", "speed", "memory", "stack")}
        result[place] = (values, newest(folder, "best"), newest(folder, "last"))
    for rows in sorted(run.rglob("metrics.jsonl")):
        lines = [json.loads(line) for line in rows.read_text().splitlines()]
        result[str(rows.relative_to(run))] = [{key: row[key] for key in row if key != "seconds"} for row in lines]
    for study in sorted(run.rglob("study.db")):
        base = sqlite3.connect(study)
        trials = base.execute("SELECT number, state, point, values_ FROM trials ORDER BY number").fetchall()
        base.close()
        result[str(study.relative_to(run))] = trials
    return result


def compare(run, whole):
    """The run has ended as `whole`, the result of an uninterrupted run, and leaves nothing behind."""
    check_clean(run)
    own = result_of(run)
    check(own.keys() == whole.keys(), f"other files: {sorted(own.keys() ^ whole.keys())}")
    for place, value in whole.items():
        check(own[place] == value, f"{place} of {run} is not that of the uninterrupted run")


def attack(name, default, one, prepare=None, unit="attacks", warm=False):
    """Calls one(random numbers, folder, what `prepare(folder)` gave, number) as often as the command line says. `warm`:
    with engines that start in milliseconds (warm.py), unless TORTURE_COLD is set."""
    global PROGRAM
    parser = argparse.ArgumentParser(prog=f"tests/torture/run {name}")
    parser.add_argument("--count", type=float, default=default, help=unit)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one attack, to repeat it")
    options = parser.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix=f"trainlab-{name}-"))
    if warm and "TORTURE_COLD" not in os.environ:
        PROGRAM = warmed(PROGRAM, place)
    prepared = prepare(place) if prepare else None
    found, done, begin, tallies = 0, 0, time.monotonic(), {}
    numbers = [options.only] if options.only is not None else range(int(options.count))
    for number in numbers:
        folder = place / f"{number:05}"
        folder.mkdir()
        try:
            tally = one(random.Random(f"{name} {options.seed} {number}"), folder, prepared, number)
            tallies[tally] = tallies.get(tally, 0) + 1
            shutil.rmtree(folder)
        except KeyboardInterrupt:  # what was done until then counts
            break
        except Exception:  # whatever an attack meets is a find
            found += 1
            print(f"attack {number}, see {folder}:\n{traceback.format_exc()}", flush=True)
        done += 1
        if sys.stderr.isatty():
            print(f"\r{done} of {len(numbers)}, {found} finds ", end="", file=sys.stderr)
    told = ", ".join(f"{count} {tally}" for tally, count in sorted(tallies.items(), key=str) if tally)
    print(f"{name}: {done} {unit} with seed {options.seed} in {time.monotonic() - begin:.0f} s: "
          f"{found} finds{': ' if told else ''}{told}")
    if not found:
        shutil.rmtree(place)
    sys.exit(1 if found else 0)
