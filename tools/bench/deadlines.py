"""40 recipes of one to four stages under budgets of time: whether they end in time, with a model, and use their time.

    python3 tools/bench/deadlines.py [--busy N] [--kills N] [--recipes N] [--seed N]

Each recipe has its own number of stages, kind of model and search (recipes/deadlines.lua), and budget: 5 to 20 s, of
six of them one to five minutes. --busy: processes that compute meanwhile. --kills: how often each run is killed at a
random moment and resumed. Prints a row for each recipe and one for each number of stages, and ends with 1 when a run
ends late, has no model, or uses less than 85 % of its budget. `wall` is the time from the first command to the end of
the last without the time between them, measured from outside; what a killed process used after its last account (at
most 2 % of the budget) is in `wall` and not in `used`.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from busy import busy_processes
from programs import HERE, TRAINLAB

RECIPE = os.path.join(HERE, "recipes", "deadlines.lua")
LEAST = 0.85
UNCOUNTED = 0.02  # of a budget, for each kill
STAGES, KINDS = (1, 2, 3, 4), range(1, 11)
RECIPES = [(stages, kind) for kind in KINDS for stages in STAGES]
BUDGETS = (5, 8, 10, 15, 20)  # seconds
LONGER = {6: 60, 13: 60, 20: 120, 27: 60, 34: 120, 39: 300}  # of these recipes, one or two for each number of stages


def run_within(budget, parameters, kills, chance, folder):
    """The summary, and the seconds of all processes."""
    out = os.path.join(folder, "run")
    first = [TRAINLAB, RECIPE, *parameters, "--within", f"{budget} s", "--out", out]
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
            return {"error": errors.strip().splitlines()[-1] if errors else "", "budget": {"used": 0}}, wall
        if kill == kills or json.loads(output)["status"] in ("done", "stopped"):
            return json.loads(output), wall
    raise AssertionError("the last process is not killed")


def has_model(summary):
    if "error" in summary:
        return False
    if summary["kind"] == "ensemble":
        return "val.accuracy" in summary["ensemble"] and len(summary["members"]) > 0
    if summary["kind"] == "sweep":
        return summary["best"]["value"] is not None
    return "test.accuracy" in summary["metrics"]


def measure(row, busy=0, kills=0, recipes=len(RECIPES), seed=1):
    """Calls row(cells, is_right) for each recipe; returns what each number of stages has used, as shares."""
    chance = random.Random(seed)
    used_by_stages = {stages: [] for stages in STAGES}
    with busy_processes(busy):
        for number, (stages, kind) in enumerate(RECIPES[:recipes]):
            budget = LONGER.get(number, BUDGETS[number % len(BUDGETS)])
            with tempfile.TemporaryDirectory() as folder:
                parameters = ["--stages", str(stages), "--kind", str(kind)]
                summary, wall = run_within(budget, parameters, kills, chance, folder)
            used = summary["budget"]["used"]
            is_late = used > budget or wall > budget * (1 + UNCOUNTED * kills)
            is_right = has_model(summary) and not is_late and used >= LEAST * budget
            used_by_stages[stages].append((used / budget, is_right))
            row((str(number + 1), str(stages), str(kind), f"{budget} s", f"{100 * used / budget:.1f} %",
                 f"{wall:.2f} s", f"{max(wall - budget, 0):.2f} s",
                 "yes" if is_right else f"**no** {summary.get('error', '')}".strip()), is_right)
    return used_by_stages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--recipes", type=int, default=len(RECIPES))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wrong = []

    def row(cells, is_right):
        wrong.extend([] if is_right else [cells])
        print("| " + " | ".join(cells) + " |", flush=True)

    row(("recipe", "stages", "kind", "budget", "used", "wall", "late", "right"), True)
    row(("---",) * 8, True)
    used = measure(row, options.busy, options.kills, options.recipes, options.seed)
    print(f"\nbusy {options.busy}, kills {options.kills}")
    row(("stages", "runs", "right", "used: least", "median"), True)
    row(("---",) * 5, True)
    for stages, runs in used.items():
        if not runs:
            continue
        shares = [share for share, _ in runs]
        row((str(stages), str(len(runs)), str(sum(is_right for _, is_right in runs)), f"{100 * min(shares):.1f} %",
             f"{100 * statistics.median(shares):.1f} %"), True)
    print(f"\n{len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
