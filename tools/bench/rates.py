"""The learning rates that finders suggest, against the best rate of a grid, for eight recipes with short trainings.

    python3 tools/bench/rates.py --mnist FOLDER --text FILE [--only NAME] [--seeds 3]

`trainlab find lr` gives its suggestion (with the probe), its start (a quarter of the least loss's rate, by range tests
alone) and the mean curve of the range tests. The rules of fastai and Lightning are applied to this curve:

- fastai: valley, steep and minimum / 10 of the smoothed losses, without the first tenth and the last five points
  (fastai/callback/schedule.py of github.com/fastai/fastai: valley, steep, minimum, lr_find);
- Lightning: the steepest descent of the smoothed losses by the rate itself, without the first ten points and the last
  (src/lightning/pytorch/tuner/lr_finder.py of github.com/Lightning-AI/pytorch-lightning: _LRFinder.suggestion).

A grid has rates a factor of two apart around the recipe's own. It grows until the two outermost rates on both sides
are worse than the best. The loss of a rate is the mean over the seeds of the validation loss of the kept weights. One
grid trains with the recipe's schedule, as its peak rate, as `find lr` does, and another one at a constant rate.
"""

import argparse
import json
import math
import os
import subprocess
import tempfile

from programs import ROOT, TRAINLAB, run


def recipes(mnist, text):
    """name: recipe, its own rate, arguments that make it short."""
    return {
        "digits": ("digits", 3e-3, ["--epochs", "10"]),
        "autoencoder": ("autoencoder", 3e-3, ["--epochs", "10"]),
        "tabular": ("tabular", 3e-3, ["--set", "epochs=15"]),
        "names": ("names", 5e-3, ["--epochs", "20"]),
        "sine": ("sine", 1e-2, ["--epochs", "8"]),
        "mnist mlp": ("mnist", 2e-3, ["--data", mnist, "--set", "epochs=nil", "--set", "steps=500"]),
        "mnist cnn": ("mnist", 2e-3, ["--data", mnist, "--model", "cnn", "--set", "epochs=nil", "--set", "steps=300"]),
        "chargpt": ("chargpt", 1e-3, ["--text", text, "--layers", "2", "--width", "32", "--context", "32",
                                      "--steps", "400"]),
    }


def smoothed(losses, keep=0.98):
    mean, weight, out = 0, 1, []
    for loss in losses:
        mean = keep * mean + (1 - keep) * loss
        weight *= keep
        out.append(mean / (1 - weight))
    return out


def until_divergence(curve):
    """Rates and smoothed losses, as far as both libraries go: to four times the least."""
    rates, losses = [point["lr"] for point in curve], smoothed([point["loss"] for point in curve])
    end = next((i for i in range(len(losses)) if losses[i] > 4 * min(losses[:i + 1])), len(losses))
    return rates[:end], losses[:end]


def valley(rates, losses):
    length, begin, end = [1] * len(losses), 0, 0
    for i in range(1, len(losses)):
        length[i] = 1 + max((length[j] for j in range(i) if losses[i] < losses[j]), default=0)
        if length[i] > length[end]:
            begin, end = i - length[i], i
    third = (end - begin) / 3
    return rates[begin + int(third) + int(third / 2)]


def steep(rates, losses):
    slopes = [(b - a) / math.log(s / r) for a, b, r, s in zip(losses, losses[1:], rates, rates[1:])]
    return rates[slopes.index(min(slopes))]


def steepest_by_rate(rates, losses):
    def slope(i):
        below, above = max(i - 1, 0), min(i + 1, len(rates) - 1)
        if below == i or above == i:
            return (losses[above] - losses[below]) / (rates[above] - rates[below])
        left, right = rates[i] - rates[i - 1], rates[i + 1] - rates[i]
        rise, before = losses[i + 1] - losses[i], losses[i] - losses[i - 1]
        return (rise * left / right + before * right / left) / (left + right)

    return rates[min(range(len(rates)), key=slope)]


def rules_of_others(curve):
    rates, losses = until_divergence(curve)
    tenth = len(curve) // 10
    fastai = rates[tenth:-5], losses[tenth:-5]
    return {"fastai valley": valley(*fastai), "fastai steep": steep(*fastai),
            "fastai minimum / 10": fastai[0][fastai[1].index(min(fastai[1]))] / 10,
            "Lightning": steepest_by_rate(rates[10:-1], losses[10:-1])}


def loss_of(recipe, arguments, rate, seeds):
    values = []
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            done = os.path.join(folder, "run")
            # A training that diverges ends with another exit code; its summary says so.
            subprocess.run([TRAINLAB, recipe, *arguments, "--set", f"optim.lr={rate:.8g}", "--seed", str(seed),
                            "--threads", "1", "--quiet", "--out", done], check=False, capture_output=True)
            with open(os.path.join(done, "summary.json")) as file:
                summary = json.load(file)
        values.append(summary["metrics"]["val.loss"] if summary["status"] in ("done", "stopped") else math.inf)
    return sum(values) / len(values)


def best_of_grid(recipe, arguments, own, seeds):
    losses = {}  # by powers of two times the recipe's own rate

    def loss(step):
        if step not in losses:
            losses[step] = loss_of(recipe, arguments, own * 2.0 ** step, seeds)
        return losses[step]

    best = 0
    while True:
        around = min(range(best - 2, best + 3), key=loss)
        if around == best:
            return own * 2.0 ** best
        best = around


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mnist", required=True, help="folder with the files of MNIST")
    parser.add_argument("--text", required=True, help="a text file for chargpt")
    parser.add_argument("--only", default="", help="the recipe of this name")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for name, (file, own, arguments) in recipes(options.mnist, options.text).items():
        if options.only not in ("", name):
            continue
        recipe = os.path.join(ROOT, "recipes", f"{file}.lua")
        found = json.loads(run([TRAINLAB, "find", "lr", recipe, *arguments, "--threads", "1", "--json", "--quiet"]))
        best = best_of_grid(recipe, arguments, own, options.seeds)
        constant = best_of_grid(recipe, [*arguments, "--set", "schedule=nil"], own, options.seeds)
        rates = {"find lr": found["lr"]["suggestion"], "range tests": found["lr"]["start"],
                 **rules_of_others(found["curve"])}
        if not rows:
            print("| recipe | best | best constant | " + " | ".join(rates) + " |")
            print("| --- | --- | --- |" + " --- |" * len(rates))
        rows.append((best, constant, rates))
        shown = [name, *(f"{rate:.2g}" for rate in (best, constant, *rates.values()))]
        print("| " + " | ".join(shown) + " |", flush=True)
    for column, what in ((0, "the best"), (1, "the best constant rate")) if rows else ():
        within = [sum(0.5 <= row[2][rule] / row[column] <= 2 for row in rows) for rule in rows[0][2]]
        print(f"| within a factor of 2 of {what} | | | "
              + " | ".join(f"{count} of {len(rows)}" for count in within) + " |")


if __name__ == "__main__":
    main()
