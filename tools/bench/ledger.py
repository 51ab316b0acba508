"""What `trainlab check` predicts of the memory of the project's recipes, and what their trainings hold and take.

    python3 tools/bench/ledger.py [--data DIR]

DIR holds the folder mnist and tinyshakespeare.txt. For each recipe whose first stage is a fit, on one thread:

- predicted: the peak of `trainlab check` over that of a whole short training, which the allocator counts;
- categories: the sum of the categories over the peak of a step, in `trainlab profile`;
- layers: the time of all rows of the table of layers over that of a step.

Of a fit with a `step` of its own only the least is predicted, which is left out here.
"""

import argparse
import json
import os
import statistics

from programs import ROOT, TRAINLAB, fit_summary, run

RECIPES = (
    ("autoencoder", ["--epochs", "2"]),
    ("daily", []),
    ("digits", []),
    ("kfold", []),
    ("names", ["--epochs", "1"]),
    ("sine", ["--epochs", "1"]),
    ("tabular", []),
    ("mnist", ["--data", "{data}/mnist", "--epochs", "1"]),
    ("mnist", ["--data", "{data}/mnist", "--model", "cnn", "--epochs", "1"]),
    ("chargpt", ["--text", "{data}/tinyshakespeare.txt", "--steps", "12"]),
)
OF_PROCESS = ("program", "script")  # categories that are no tensors


def told(command, recipe, arguments, more=()):
    return json.loads(run([TRAINLAB, command, recipe, *arguments, "--threads", "1", "--json", "--quiet", *more]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data"))
    options = parser.parse_args()
    ratios = {"predicted": [], "categories": [], "layers": []}
    print("| recipe | predicted | measured | ratio | categories over the peak of a step | layers over a step |\n"
          "| --- | --- | --- | --- | --- | --- |")
    for name, given in RECIPES:
        arguments = [text.format(data=options.data) for text in given]
        recipe = os.path.join(ROOT, "recipes", f"{name}.lua")
        predicted = told("check", recipe, arguments)["stages"][0]["memory"]["peak"]
        measured = fit_summary(TRAINLAB, recipe, arguments)["memory"]["peak"]
        profile = told("profile", recipe, arguments, ["--seconds", "5"])
        memory = profile["memory"]
        categories = sum(count for kind, count in memory["categories"].items() if kind not in OF_PROCESS)
        layers = sum(row["forward"] + row["backward"] for row in profile["layers"])
        found = {"predicted": predicted / measured, "categories": categories / memory["peak"],
                 "layers": layers / profile["layer_steps"]["step_seconds"]}
        for kind, ratio in found.items():
            ratios[kind].append(abs(ratio - 1))
        shown = " ".join([name, *given]).replace("{data}/", "")
        print(f"| {shown} | {predicted / 1e6:.2f} MB | {measured / 1e6:.2f} MB | {found['predicted']:.3f} | "
              f"{found['categories']:.4f} | {found['layers']:.3f} |", flush=True)
    for kind, off in ratios.items():
        print(f"\n{kind}: off by {100 * statistics.median(off):.1f} % in the median, {100 * max(off):.1f} % at most")


if __name__ == "__main__":
    main()
