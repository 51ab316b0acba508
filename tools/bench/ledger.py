"""Compares the memory that `trainlab check` predicts for the project's recipes with the memory of their trainings.

    python3 tools/bench/ledger.py [--data DIR] [--only RECIPE] [--rounds 3]

DIR holds the folder mnist, tinyshakespeare.txt and cifar10-jpeg.tar. For each recipe whose first stage trains fits or
is a task, on one thread:

- predicted: the peak of `trainlab check` over that of a whole short training, which the allocator counts; of a sweep or
  an ensemble, the predicted peak of a step over the counted one, of the trial that `trainlab profile` measures;
- categories: the sum of the categories over the peak of the same step that the allocator itself counts;
- layers: the time of all rows of the table of layers, which is a median step's, with the difference of a mean step from
  it, over the mean step of the profile, which was measured before and in other runs of the stage, by another clock and
  with all functions of the recipe; where steps are too few to tell a mean one, the median steps of both. This ratio
  judges the table. It is the median of several profiles, because the same steps take a few percent more time in one
  process than in another. Other work on the machine spoils it: "busy" is the largest share of a profile's time in which
  the thread had no core.

The memory of a fit with a `step` of its own, or of a task, cannot be predicted: both have no first ratio here.
"""

import argparse
import json
import os
import statistics

from programs import ROOT, TRAINLAB, fit_summary, run

RECIPES = (
    ("autoencoder", ["--epochs", "2"]),
    ("by_hand", []),
    ("daily", []),
    ("day", []),
    ("digits", []),
    ("kfold", []),
    ("names", ["--epochs", "1"]),
    ("reinforce", []),
    ("sine", ["--epochs", "1"]),
    ("tabular", []),
    ("mnist", ["--data", "{data}/mnist", "--epochs", "1"]),
    ("mnist", ["--data", "{data}/mnist", "--model", "cnn", "--epochs", "1"]),
    ("chargpt", ["--text", "{data}/tinyshakespeare.txt", "--steps", "12"]),
    ("cifar", ["--data", "{data}/cifar10-jpeg.tar", "--time", "60 s", "--set", 'validate="20 steps"']),
    ("gan", ["--epochs", "1"]),
    ("digits_sweep", []),
    ("lr_grid", ["--data", "{data}/mnist"]),
    ("population", []),
    ("seed_ensemble", []),
    ("two_stage", []),
)
OF_PROCESS = ("lua", "program")  # categories that are no tensors


def told(command, recipe, arguments, more=()):
    return json.loads(run([TRAINLAB, command, recipe, *arguments, "--threads", "1", "--json", "--quiet", *more]))


def peaks(profile, recipe, arguments):
    """The predicted peak and the counted one, in bytes; None where only the least is predicted, or nothing."""
    if profile["predicted"] is None or "estimated_because" in profile["predicted"]:
        return None
    if "note" in profile:  # a trial of a sweep or an ensemble
        return profile["predicted"]["peak"], profile["memory"]["counted_peak"]
    return (told("check", recipe, arguments)["stages"][0]["memory"]["peak"],
            fit_summary(TRAINLAB, recipe, arguments)["memory"]["peak"])


def ratios_of(profile):
    """The ratios that the profile itself tells: the sum of the parts over the whole that something else measures."""
    memory = profile["memory"]
    categories = sum(count for kind, count in memory["categories"].items() if kind not in OF_PROCESS)
    layers = sum(row["forward"] + row["backward"] for row in profile["layers"])
    steps = profile["layer_steps"]
    step = profile["step_seconds"]["median"]
    if steps["mean_seconds"]:
        layers += steps["mean_seconds"] - steps["step_seconds"]
        step = sum(profile["phase_seconds"].values())
    return {"categories": categories / memory["counted_peak"], "layers": layers / step}


def median_ratios(profiles):
    found = [ratios_of(profile) for profile in profiles]
    return {kind: statistics.median(one[kind] for one in found) for kind in found[0]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data"))
    parser.add_argument("--rounds", type=int, default=3, help="profiles of each recipe")
    parser.add_argument("--only", choices=sorted({name for name, _ in RECIPES}), help="this recipe alone")
    options = parser.parse_args()
    ratios = {"predicted": [], "categories": [], "layers": []}
    heads = ("recipe", "predicted", "measured", "ratio", "categories over the counted peak",
             "steps of each use, in the first", "layers over the profile's step", "busy")
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    for name, given in RECIPES:
        if options.only not in (None, name):
            continue
        arguments = [text.format(data=options.data) for text in given]
        recipe = os.path.join(ROOT, "recipes", f"{name}.lua")
        profiles = [told("profile", recipe, arguments, ["--seconds", "15"]) for _ in range(options.rounds)]
        found, both = median_ratios(profiles), peaks(profiles[0], recipe, arguments)
        if both:
            found["predicted"] = both[0] / both[1]
        for kind, ratio in found.items():
            ratios[kind].append(abs(ratio - 1))
        shown = " ".join([name, *given]).replace("{data}/", "")
        figures = f"{both[0] / 1e6:.2f} MB | {both[1] / 1e6:.2f} MB | {found['predicted']:.3f}" if both else "- | - | -"
        busy = [profile["cores"]["run_queue"] for profile in profiles]
        busy = "?" if None in busy else f"{100 * max(busy):.0f} %"
        print(f"| {shown} | {figures} | {found['categories']:.4f} | {profiles[0]['layer_steps']['steps']} | "
              f"{found['layers']:.3f} | {busy} |", flush=True)
    for kind, off in ratios.items():
        if off:
            middle = statistics.median(off)
            print(f"\n{kind}: off by {100 * middle:.1f} % in the median, {100 * max(off):.1f} % at most")


if __name__ == "__main__":
    main()
