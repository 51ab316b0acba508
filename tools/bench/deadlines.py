"""Recipes of one to four stages under budgets of time: whether they end in time, with a model, and use their time.

    python3 tools/bench/deadlines.py [--budgets 5,10,20,60] [--busy 0,2] [--kills N] [--seed N]

--busy: processes that compute meanwhile. --kills: how often each run is killed at a random moment and resumed. Prints a
table and ends with 1 when a run ends late, has no model, or uses less than 85 % of its budget. `wall` is the time from
the first command to the end of the last without the time between them, measured from outside; what a killed process
used after its last account (at most 2 % of the budget) is in `wall` and not in `used`.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from busy import busy_processes
from programs import HERE, TRAINLAB

RECIPE = os.path.join(HERE, "recipes", "deadlines.lua")
LEAST = 0.85
UNCOUNTED = 0.02  # of a budget, for each kill


def run_within(budget, stages, kills, chance, folder):
    """The summary, and the seconds of all processes."""
    out = os.path.join(folder, "run")
    first = [TRAINLAB, RECIPE, "--stages", str(stages), "--within", f"{budget} s", "--out", out]
    wall = 0
    for kill in range(kills + 1):
        # A process that is killed in its first moments has not begun a run.
        is_begun = os.path.exists(os.path.join(out, "manifest.toml"))
        command = [TRAINLAB, "resume", out, "--json", "--quiet"] if is_begun else [*first, "--json", "--quiet"]
        wall = wall if is_begun else 0
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            output, errors = process.communicate(
                timeout=budget * chance.uniform(0.2, 0.9) / kills + 1 if kill < kills else None)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            wall += time.monotonic() - begin
            continue
        wall += time.monotonic() - begin
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{errors[-2000:]}")
        if kill == kills or json.loads(output)["status"] in ("done", "stopped"):
            return json.loads(output), wall
    raise AssertionError("the last process is not killed")


def has_model(summary):
    if summary["kind"] == "ensemble":
        return "val.accuracy" in summary["ensemble"] and len(summary["members"]) > 0
    return "test.accuracy" in summary["metrics"]


def measure(row, budgets=(5, 10, 20, 60), busy=(0, 2), kills=0, seed=1):
    """Calls row(cells, is_right) for each recipe, budget and number of busy processes."""
    chance = random.Random(seed)
    for count in busy:
        for stages in (1, 2, 3, 4):
            for budget in budgets:
                with tempfile.TemporaryDirectory() as folder, busy_processes(count):
                    summary, wall = run_within(budget, stages, kills, chance, folder)
                used = summary["budget"]["used"]
                is_late = used > budget or wall > budget * (1 + UNCOUNTED * kills)
                is_right = has_model(summary) and not is_late and used >= LEAST * budget
                row((str(stages), f"{budget} s", str(count), f"{100 * used / budget:.1f} %", f"{wall:.2f} s",
                     f"{max(wall - budget, 0):.2f} s", str(len(summary["resumed"]) if "resumed" in summary else 0),
                     "yes" if is_right else "**no**"), is_right)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: tuple(int(part) for part in text.split(","))  # noqa: E731
    parser.add_argument("--budgets", type=numbers, default=(5, 10, 20, 60))
    parser.add_argument("--busy", type=numbers, default=(0, 2))
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wrong = []

    def row(cells, is_right):
        wrong.extend([] if is_right else [cells])
        print("| " + " | ".join(cells) + " |", flush=True)

    row(("stages", "budget", "busy", "used", "wall", "late", "resumed", "right"), True)
    row(("---",) * 8, True)
    measure(row, **vars(options))
    print(f"\n{len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
