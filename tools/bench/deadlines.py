"""40 recipes of one to four stages under budgets: whether they end in time, with a model, and use their budget.

    python3 tools/bench/deadlines.py [--busy N] [--kills N] [--recipes N] [--seed N]

Each recipe has its own number of stages, kind of model, search and budget (recipes/deadlines.lua), and 5 to 20 s, of
six of them one to five minutes. --busy: processes that compute meanwhile. --kills: how often each run is killed at a
random moment and resumed. Prints a row for each recipe and one for each number of stages, and ends with 1 when a run
ends late, has no usable model, or uses less than 85 % of its time and, where its FLOPs are bounded too, of these. A
model is usable when it is better than a guess, and `trainlab predict` gives probabilities for new inputs. `used` is the
share of the time or of the FLOPs, whichever is larger. `wall` is the time from the first command to the end of the last
without the time between them, measured from outside. What a killed process used after its last account (at most 2 % of
the budget) is in `wall` and not in `used`, so that a run is late when `wall` is more than the budget and 2 % of it for
each kill.
"""

import argparse
import glob
import json
import math
import os
import random
import statistics
import struct
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
KIND_OF_PROMOTION, KIND_OF_MONEY = 2, 5
SERVED = 3  # seconds of the earlier run
INPUTS, CLASSES = 8, 10
BUDGETS = (5, 8, 10, 15, 20)  # seconds
LONGER = {6: 60, 13: 60, 20: 120, 27: 60, 34: 120, 39: 300}  # of these recipes, one or two for each number of stages


def begun_runs(folder):
    manifests = glob.glob(os.path.join(folder, "runs", "deadlines", "*", "manifest.toml"))
    return {os.path.dirname(path) for path in manifests}


def run_within(budget, parameters, kills, chance, folder):
    """The summary, and the seconds of all processes. The runs lie in `folder`."""
    first = [TRAINLAB, RECIPE, *parameters]
    earlier = begun_runs(folder)
    wall = 0
    for kill in range(kills + 1):
        # A process that is killed in its first moments has not begun a run.
        begun = begun_runs(folder) - earlier
        command = [TRAINLAB, "resume", *begun] if begun else first
        wall = wall if begun else 0
        begin = time.monotonic()
        process = subprocess.Popen([*command, "--json", "--quiet"], cwd=folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
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
            return {"error": " ".join(errors.split()), "budget": {"used": 0}}, wall
        if kill == kills or json.loads(output)["status"] in ("done", "stopped"):
            return json.loads(output), wall
    raise AssertionError("the last process is not killed")


def write_inputs(path):
    """Images of the size of those with which the models are trained, in a .npy file."""
    chance = random.Random(0)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({INPUTS}, 1, 8, 8), }}".ljust(117) + "\n"
    values = [chance.random() for _ in range(INPUTS * 64)]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                   + struct.pack(f"<{len(values)}f", *values))


def is_better_than_a_guess(summary):
    if summary["kind"] == "sweep":
        return summary["best"]["value"] is not None and summary["best"]["value"] < math.log(CLASSES)
    metrics, part = (summary["ensemble"], "val") if summary["kind"] == "ensemble" else (summary["metrics"], "test")
    return metrics[f"{part}.accuracy"] > 2 / CLASSES


def why_unusable(summary, folder):
    """Empty for a run whose model is usable."""
    if "error" in summary:
        return summary["error"]
    if not is_better_than_a_guess(summary):
        return "no better than a guess"
    inputs = os.path.join(folder, "inputs.npy")
    write_inputs(inputs)
    done = subprocess.run([TRAINLAB, "predict", summary["out"], "--input", inputs, "--json", "--quiet"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return " ".join(done.stderr.split())
    sums = [sum(one["probabilities"].values()) for one in json.loads(done.stdout)["predictions"]]
    return "" if len(sums) == INPUTS and all(abs(one - 1) < 1e-4 for one in sums) else f"predicts {sums}"


def budget_flags(kind, budget):
    """The recipe itself has a budget of money."""
    return [] if kind == KIND_OF_MONEY else ["--within", f"{budget} s"]


def used_share(summary, budget):
    """The share of the time, or of the FLOPs where it is larger."""
    flops = summary["budget"].get("flops")
    return max(summary["budget"]["used"] / budget, flops["used"] / flops["limit"] if flops else 0)


def serve(parameters, chance, folder):
    """An earlier run, which is promoted, so that the run that is measured has to be no worse."""
    summary, _ = run_within(SERVED, [*parameters, "--within", f"{SERVED} s"], 0, chance, folder)
    if "error" in summary or not os.path.exists(os.path.join(folder, "runs", "deadlines", "current")):
        raise AssertionError(f"no run is served: {summary}")


def measure(row, busy=0, kills=0, recipes=len(RECIPES), seed=1):
    """Calls row(cells, is_right) for each recipe; returns what each number of stages has used, as shares."""
    chance = random.Random(seed)
    used_by_stages = {stages: [] for stages in STAGES}
    with busy_processes(busy):
        for number, (stages, kind) in enumerate(RECIPES[:recipes]):
            budget = LONGER.get(number, BUDGETS[number % len(BUDGETS)])
            with tempfile.TemporaryDirectory() as folder:
                parameters = ["--stages", str(stages), "--kind", str(kind), "--budget", str(budget)]
                if kind == KIND_OF_PROMOTION and stages != 2:  # the fits of two stages promote nothing
                    serve(parameters, chance, folder)
                summary, wall = run_within(budget, parameters + budget_flags(kind, budget), kills, chance, folder)
                unusable = why_unusable(summary, folder)
            share = used_share(summary, budget)
            is_late = summary["budget"]["used"] > budget or wall > budget * (1 + UNCOUNTED * kills)
            is_right = not unusable and not is_late and share >= LEAST
            used_by_stages[stages].append((share, is_right))
            row((str(number + 1), str(stages), str(kind), f"{budget} s", f"{100 * share:.1f} %", f"{wall:.2f} s",
                 f"{max(wall - budget, 0):.2f} s", "yes" if is_right else f"**no** {unusable}".strip()), is_right)
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
