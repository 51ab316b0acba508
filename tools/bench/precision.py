"""Whether recipes learn as well in bfloat16: their best validation losses, three seeds each, activations and steps; and
the activations of larger nets.

A way is compared with float32, of the same seeds. Its mean is right where it is no worse than that of float32 by more
than the spread of float32's seeds.
"""

import json
import os
import statistics

from programs import HERE, ROOT, TRAINLAB, fit_summary, run, step_microseconds

RECIPES = ("digits", "autoencoder", "tabular", "sine", "names")
SEEDS = (1, 2, 3)
WEIGHTS = ["precision.compute=bfloat16", "precision.weights=bfloat16"]
# The name of a way in the table, and the texts of --set that make it.
WAYS = (
    ("float32", []),
    ("bfloat16", ["precision=bfloat16"]),
    ("weights in bfloat16, stochastic", [*WEIGHTS, "precision.rounding=stochastic"]),
    ("weights in bfloat16, compensated", [*WEIGHTS, "precision.rounding=compensated"]),
)

NETS = (("mlp", "MLP of 64 layers"), ("transformer", "transformer of 12 blocks"),
        ("cnn", "4 convolutions of 64 channels"))


def measure_activations(row, net, what, rounds):
    """The activations at the peak of a step, as `trainlab check` tells them; and the time of a step."""
    recipe = os.path.join(HERE, "recipes", "budgets.lua")
    ways = {way: ["--net", net, *(word for one in said for word in ("--set", one))] for way, said in WAYS[:3]}
    kept = {way: json.loads(run([TRAINLAB, "check", recipe, *fit, "--json"]))["stages"][0]["memory"]["categories"]
            for way, fit in ways.items()}
    steps = {way: [] for way in ways}
    for _ in range(rounds):
        for way, fit in ways.items():
            steps[way].append(step_microseconds(fit_summary(TRAINLAB, recipe, [*fit, "--steps", "8"])))
    full = kept["float32"]["activations"]
    for way in list(ways)[1:]:
        few = kept[way]["activations"]
        step = statistics.median(mine / theirs for mine, theirs in zip(steps[way], steps["float32"]))
        row(f"{what}, {way}: activations", f"{few / 1e6:.1f} MB", f"float32 {full / 1e6:.1f} MB",
            f"{100 * (few / full - 1):+.0f} %, step {step:.2f}×", "about half")


def measure(row, name):
    recipe = os.path.join(ROOT, "recipes", f"{name}.lua")
    runs = {way: [] for way, _ in WAYS}
    for seed in SEEDS:
        for way, said in WAYS:
            more = [word for one in said for word in ("--set", one)]
            runs[way].append(fit_summary(TRAINLAB, recipe, ["--seed", str(seed), *more]))
    losses = {way: [one["metrics"]["val.loss"] for one in runs[way]] for way, _ in WAYS}
    spread = max(losses["float32"]) - min(losses["float32"])
    for way, _ in WAYS:
        told = ", ".join(f"{loss:.4f}" for loss in losses[way])
        activations = max(one["memory"]["categories"]["activations"] for one in runs[way])
        told += f"; activations {activations / 1e3:.0f} kB"
        peer, off = f"spread of its seeds {spread:.4f}", ""
        if way != "float32":
            step = statistics.median(step_microseconds(mine) / step_microseconds(full)
                                     for mine, full in zip(runs[way], runs["float32"]))
            peer = f"spread of float32 {spread:.4f}"
            off = f"mean {statistics.mean(losses[way]) - statistics.mean(losses['float32']):+.4f}, step {step:.2f}×"
        row(f"recipes/{name}.lua, {way}: best validation loss of the seeds {', '.join(map(str, SEEDS))}", told, peer,
            off, "no worse than the spread")
