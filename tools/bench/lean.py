"""Whether lean states and weights learn as well: the last validation losses of short trainings, three seeds each.

A way is compared with the way whose state it keeps in less memory, of the same seeds. Its mean is right where it is no
worse than that one's mean by more than the spread of that one's seeds.
"""

import os
import statistics

from programs import HERE, TRAINLAB, fit_summary

RECIPE = os.path.join(HERE, "recipes", "lean.lua")
SEEDS = (1, 2, 3)
# What is said of a way, the arguments of the recipe, and what the way is compared with.
WAYS = (
    ("AdamW", [], None),
    ("AdamW, `fuse_step`", ["--fuse", "true"], "AdamW"),
    ('AdamW, `state = "bfloat16"`', ["--state", "bfloat16"], "AdamW"),
    ('AdamW, `state = "8bit"`', ["--state", "8bit"], "AdamW"),
    ("Adafactor", ["--optimizer", "Adafactor"], "AdamW"),
    ("Adam", ["--optimizer", "Adam"], None),
    ('Adam, `state = "8bit"`', ["--optimizer", "Adam", "--state", "8bit"], "Adam"),
    ("Lion", ["--optimizer", "Lion"], None),
    ('Lion, `state = "8bit"`', ["--optimizer", "Lion", "--state", "8bit"], "Lion"),
    ("AdamW, weights in bfloat16, stochastic", ["--weights", "stochastic"], "AdamW"),
    ("AdamW, weights in bfloat16, compensated", ["--weights", "compensated"], "AdamW"),
)


def measure(row, net, what, path, steps):
    losses = {way: [] for way, _, _ in WAYS}
    for seed in SEEDS:
        for way, more, _ in WAYS:
            arguments = ["--net", net, "--data", path, "--steps", str(steps), "--seed", str(seed), *more]
            losses[way].append(fit_summary(TRAINLAB, RECIPE, arguments)["metrics"]["val.loss"])
            print(f"  {what}, seed {seed}, {way}: {losses[way][-1]:.4f}", flush=True)
    for way, _, full in WAYS:
        told = ", ".join(f"{loss:.4f}" for loss in losses[way])
        spread = max(losses[full or way]) - min(losses[full or way])
        peer, off = f"spread of its seeds {spread:.4f}", ""
        if full:
            peer = f"spread of {full} {spread:.4f}"
            off = f"mean {statistics.mean(losses[way]) - statistics.mean(losses[full]):+.4f}"
        row(f"{what}, {steps} steps, {way}: validation loss of the seeds {', '.join(map(str, SEEDS))}", told, peer, off,
            "no worse than the spread")
