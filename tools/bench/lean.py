"""Whether lean states and weights learn as well: the last validation losses of short trainings, three seeds each.

A way is compared with the way whose state it keeps in less memory, of the same seeds. Its mean is right where it is no
worse than that one's mean by more than the spread of its first three seeds. Trainings with Adafactor differ from those
with AdamW as much as two seeds do, so that both are trained with three further seeds, and the means are of all six.
"""

import concurrent.futures
import os
import statistics

from programs import HERE, TRAINLAB, fit_summary

RECIPE = os.path.join(HERE, "recipes", "lean.lua")
SEEDS = (1, 2, 3)
MORE_SEEDS = dict.fromkeys(("AdamW", "Adafactor"), (5, 6, 7))  # the rates were chosen with the seed 4
# Each way has its description, the arguments of the recipe, and the way with which it is compared.
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
    def train(way, more, seed):
        arguments = ["--net", net, "--data", path, "--steps", str(steps), "--seed", str(seed), *more]
        loss = fit_summary(TRAINLAB, RECIPE, arguments)["metrics"]["val.loss"]
        print(f"  {what}, seed {seed}, {way}: {loss:.4f}", flush=True)
        return loss

    # Each training has one thread, and its losses do not depend on what runs beside it.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        losses = {way: {seed: pool.submit(train, way, more, seed) for seed in (*SEEDS, *MORE_SEEDS.get(way, ()))}
                  for way, more, _ in WAYS}
        losses = {way: {seed: loss.result() for seed, loss in of.items()} for way, of in losses.items()}
    for way, _, full in WAYS:
        three = [losses[full or way][seed] for seed in SEEDS]
        peer, off = f"spread of the seeds {', '.join(map(str, SEEDS))} {max(three) - min(three):.4f}", ""
        if full:
            peer = f"{full}: {peer}"
            off = f"mean {statistics.mean(loss - losses[full][seed] for seed, loss in losses[way].items()):+.4f}"
        seeds, told = ", ".join(map(str, losses[way])), ", ".join(f"{loss:.4f}" for loss in losses[way].values())
        row(f"{what}, {steps} steps, {way}: validation loss of the seeds {seeds}", told, peer, off,
            "no worse than the spread")
