"""The time of a step within budgets of memory, beside PyTorch with torch.utils.checkpoint placed by hand.

Budgets are shares of the most that our plain training takes. Ours is what memory.budget chooses by itself of what gives
the same results; the peer's are equal segments of the length that is fastest among those whose tensors fit into the
same bytes.
"""

import json
import os
import re
import statistics
import subprocess
import tempfile

from programs import HERE, TRAINLAB, peer_result, run

RECIPE = os.path.join(HERE, "recipes", "budgets.lua")
SHARES = (1.0, 0.75, 0.5, 0.35, 0.25)
STEPS = 12


def trained(fit, threads, budget):
    """The summary of a training within a budget; where it is refused, a text with the least that it needs. `fit`: the
    recipe and its arguments."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [TRAINLAB, *fit, "--threads", str(threads), "--json", "--quiet", "--out", os.path.join(out, "run"),
             "--set", f"memory.budget={budget} B"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout)
    if least := re.search(r"expected at least ([\d.]+ \w+)", done.stderr):
        return f"refused, at least {least[1]}"
    raise SystemExit(done.stderr)


def step_seconds(summary):
    return summary["seconds"] * summary["speed"]["shares"]["training"] / summary["steps"]


def budgets_of(fit):
    plain = json.loads(run([TRAINLAB, "check", *fit, "--json"]))["stages"][0]["memory"]["peak"]
    return [int(plain * share) for share in SHARES]


def told(all_of_one, budget):
    """A text, and the seconds of a step; no seconds where the training is refused."""
    first = all_of_one[0]
    if isinstance(first, str):
        return first, []
    times, memory = [step_seconds(one) for one in all_of_one], first["memory"]
    over = "" if max(one["memory"]["peak"] for one in all_of_one) <= budget else " **over the budget**"
    return (f"{1e3 * statistics.median(times):.3g} ms, {memory['peak'] / 1e6:.1f} MB{over}, "
            + (", ".join(memory["chosen"]) or "nothing to choose")), times


def measure_recipe(row, fit, what, threads, rounds):
    """A recipe within budgets, whose steps are compared with those of the largest budget."""
    budgets = budgets_of(fit)
    ours = {budget: [] for budget in budgets}
    for _ in range(rounds):
        for budget in budgets:
            ours[budget].append(trained(fit, threads, budget))
    _, whole = told(ours[budgets[0]], budgets[0])
    for share, budget in zip(SHARES, budgets):
        mine, times = told(ours[budget], budget)
        ratio = f"{statistics.median(one / first for one, first in zip(times, whole)):.2f}×" if times else ""
        row(f"{what}, {100 * share:.0f} % = {budget / 1e6:.1f} MB", mine, "", ratio and f"{ratio} the step",
            "peak ≤ budget")


def measure(row, net, what, threads, rounds):
    fit = [RECIPE, "--net", net, "--steps", str(STEPS)]
    budgets = budgets_of(fit)
    ours, peers = {budget: [] for budget in budgets}, []
    for _ in range(rounds):
        for budget in budgets:
            ours[budget].append(trained(fit, threads, budget))
        peers.append(peer_result("checkpointed", net, str(threads), str(STEPS)))
    peaks = {length: one["peak"] for length, one in peers[0].items()}
    for share, budget in zip(SHARES, budgets):
        fitting = [length for length, peak in peaks.items() if peak <= budget]
        theirs, ratio = "PyTorch: none fits", ""
        if fitting:
            length = min(fitting, key=lambda one: statistics.median(peer[one]["seconds"] for peer in peers))
            seconds = [peer[length]["seconds"] for peer in peers]
            theirs = (f"PyTorch {1e3 * statistics.median(seconds):.0f} ms, {peaks[length] / 1e6:.1f} MB, "
                      + (f"segments of {length}" if length != "0" else "no segments"))
        mine, times = told(ours[budget], budget)
        if times and fitting:
            ratio = f"{statistics.median(their / my for their, my in zip(seconds, times)):.2f}×"
        row(f"{what}, {100 * share:.0f} % = {budget / 1e6:.1f} MB", mine, theirs, ratio, "peak ≤ budget")
