"""The programs that are measured: where they are, how they are run, and what a run takes."""

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("TRAINLAB_BUILD", os.path.join(ROOT, "build", "release"))
TRAINLAB = os.path.join(BUILD, "bin", "trainlab")


def bench_program(name):
    """The path of a program of bench/, which is to be built before."""
    path = os.path.join(BUILD, "bench", name)
    if not os.path.exists(path):
        sys.exit(f"there is no {path}; to build it: ninja -C {shlex.quote(os.path.relpath(BUILD))} benchmarks")
    return path


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def peer_command(name, *arguments):
    return [sys.executable, os.path.join(HERE, "peers", f"{name}.py"), *arguments]


def peer_result(name, *arguments, **more):
    """The object that a program of peers/ prints."""
    return json.loads(run(peer_command(name, *arguments), **more))


def fit_summary(program, recipe, arguments, threads=1):
    with tempfile.TemporaryDirectory() as out:
        more = ["--threads", str(threads), "--json", "--quiet", "--out", os.path.join(out, "run")]
        return json.loads(run([program, recipe, *arguments, *more]))


def step_microseconds(summary):
    return summary["seconds"] / summary["steps"] * 1e6


def wall(command, count):
    """Seconds from command to finished process, the median."""
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        run(command)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def seconds_until(command, words):
    """Seconds from command to the line `words` on standard error."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        seconds = next(time.perf_counter() - begin for line in process.stderr if line.strip() == words)
        process.communicate()
    return seconds


def engine_memory(command):
    """Peak resident memory (MB) of the engine, the only child of the program that uses more than a few MB."""
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL,"
        " stderr=subprocess.DEVNULL, check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    return int(run([sys.executable, "-c", script, *command])) / 1024
