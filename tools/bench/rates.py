"""The learning rates that finders suggest, against the best rate of a grid: for eight recipes with trainings so short
that those of the search are as long, and for four whose trainings are 25 times as long as those of the search.

    python3 tools/bench/rates.py --mnist FOLDER --text FILE [--only NAME] [--seeds 3]

`trainlab find lr` gives its suggestion (with the probe), its start (a quarter of the least loss's rate, by range tests
alone) and the mean curve of the range tests. The rules of fastai and Lightning are applied to this curve:

- fastai: valley, steep and minimum / 10 of the smoothed losses, without the first tenth and the last five points
  (fastai/callback/schedule.py of github.com/fastai/fastai: valley, steep, minimum, lr_find);
- Lightning: the steepest descent of the smoothed losses by the rate itself, without the first ten points and the last
  (src/lightning/pytorch/tuner/lr_finder.py of github.com/Lightning-AI/pytorch-lightning: _LRFinder.suggestion).

A grid has rates a factor of two apart around the recipe's own. It grows until the two outermost rates on both sides
are worse than the best. The loss of a rate is the mean over the seeds of the validation loss of the kept weights. One
grid trains with the recipe's schedule, as its peak rate, as `find lr` does, and another one at a constant rate. All
trainings have one thread, and as many run side by side as there are cores.
"""

import argparse
import concurrent.futures
import json
import math
import os
import subprocess
import tempfile

from programs import ROOT, TRAINLAB, run


def short_recipes(mnist, text):
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


def long_recipes(mnist, text):
    """The same of trainings of 8,000 steps or more, that end by their length alone, with small models."""
    return {
        "autoencoder, long": ("autoencoder", 3e-3, ["--epochs", "350"]),
        "tabular, long": ("tabular", 3e-3, ["--set", "epochs=nil", "--set", "steps=8000", "--set", "stop=nil"]),
        "mnist mlp, long": ("mnist", 2e-3, ["--data", mnist, "--epochs", "9"]),
        "chargpt, long": ("chargpt", 1e-3, ["--text", text, "--layers", "1", "--width", "16", "--context", "16",
                                            "--steps", "8000", "--set", "validate=2000 steps"]),
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


def loss_of(recipe, arguments, rate, seed):
    with tempfile.TemporaryDirectory() as folder:
        done = os.path.join(folder, "run")
        # A training that diverges ends with another exit code; its summary says so.
        subprocess.run([TRAINLAB, recipe, *arguments, "--set", f"optim.lr={rate:.8g}", "--seed", str(seed),
                        "--threads", "1", "--quiet", "--out", done], check=False, capture_output=True)
        with open(os.path.join(done, "summary.json")) as file:
            summary = json.load(file)
    return summary["metrics"]["val.loss"] if summary["status"] in ("done", "stopped") else math.inf


def best_of_grid(recipe, arguments, own, seeds):
    losses = {}  # by powers of two times the recipe's own rate

    def rate(step):
        return own * 2.0 ** step

    best = 0
    while True:
        around = range(best - 2, best + 3)
        new = [(step, seed) for step in around if step not in losses for seed in range(1, seeds + 1)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = pool.map(lambda one: loss_of(recipe, arguments, rate(one[0]), one[1]), new)
            for (step, _), loss in zip(new, found):
                losses[step] = losses.get(step, 0) + loss / seeds
        least = min(around, key=losses.get)
        if least == best:
            return rate(best)
        best = least


def steps_of(recipe, arguments):
    [stage] = json.loads(run([TRAINLAB, "check", recipe, *arguments, "--json"]))["stages"]
    return stage["length"]["steps"]


def compare(recipes, seeds):
    """Prints a row for each recipe, and how many rates of each rule are near the best."""
    rows = []
    for name, (file, own, arguments) in recipes.items():
        recipe = os.path.join(ROOT, "recipes", f"{file}.lua")
        found = json.loads(run([TRAINLAB, "find", "lr", recipe, *arguments, "--threads", "1", "--json", "--quiet"]))
        best = best_of_grid(recipe, arguments, own, seeds)
        constant = best_of_grid(recipe, [*arguments, "--set", "schedule=nil"], own, seeds)
        rates = {"find lr": found["lr"]["suggestion"], "range tests": found["lr"]["start"],
                 **rules_of_others(found["curve"])}
        if not rows:
            print("\n| recipe | steps, of a probe | best | best constant | " + " | ".join(rates) + " |")
            print("| --- | --- | --- | --- |" + " --- |" * len(rates))
        rows.append((best, constant, rates))
        lengths = f"{steps_of(recipe, arguments):,}, {found['steps']:,}"
        shown = [name, lengths, *(f"{rate:.2g}" for rate in (best, constant, *rates.values()))]
        print("| " + " | ".join(shown) + " |", flush=True)
    for column, what in ((0, "the best"), (1, "the best constant rate")) if rows else ():
        within = [sum(0.5 <= row[2][rule] / row[column] <= 2 for row in rows) for rule in rows[0][2]]
        print(f"| within a factor of 2 of {what} | | | | "
              + " | ".join(f"{count} of {len(rows)}" for count in within) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mnist", required=True, help="folder with the files of MNIST")
    parser.add_argument("--text", required=True, help="a text file for chargpt")
    parser.add_argument("--only", default="", help="the recipe of this name")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    for recipes in (short_recipes, long_recipes):
        all_recipes = recipes(options.mnist, options.text)
        compare({name: one for name, one in all_recipes.items() if options.only in ("", name)}, options.seeds)


if __name__ == "__main__":
    main()
