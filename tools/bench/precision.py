"""Whether recipes learn as well in bfloat16: their best validation losses, three seeds each, activations and steps.

A way is compared with float32, of the same seeds. Its mean is right where it is no worse than that of float32 by more
than the spread of float32's seeds.
"""

import os
import statistics

from programs import ROOT, TRAINLAB, fit_summary, step_microseconds

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
