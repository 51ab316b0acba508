"""Compares the results of `trainlab plan` and `trainlab find batch` with known ones.

    python3 tools/bench/planner.py [--seeds N] [--ladders N]

Prints four tables: the published answers of the approaches 1 and 2 of Hoffmann et al. 2022 beside ours; the constants
of a law that `plan fit` recovers from runs that were made by this law, with noise and without; how often the interval
of a law that few such runs determine holds the loss of another run; and the noise scale that `find batch` measures
beside its closed form, for linear models whose gradients are known.
"""

import argparse
import json
import math
import os
import random
import statistics
import tempfile

from programs import TRAINLAB, run

# Parameters, FLOPs and tokens.
TABLES = {
    "1": [  # Hoffmann et al. 2022, table 3
        (400e6, 1.92e19, 8.0e9), (1e9, 1.21e20, 20.2e9), (10e9, 1.23e22, 205.1e9), (67e9, 5.76e23, 1.5e12),
        (175e9, 3.85e24, 3.7e12), (280e9, 9.90e24, 5.9e12), (520e9, 3.43e25, 11.0e12), (1e12, 1.27e26, 21.2e12),
        (10e12, 1.30e28, 216.2e12)],
    "2": [  # table A3
        (400e6, 1.84e19, 7.7e9), (1e9, 1.20e20, 20.0e9), (10e9, 1.32e22, 219.5e9), (67e9, 6.88e23, 1.7e12),
        (175e9, 4.54e24, 4.3e12), (280e9, 1.18e25, 7.1e12), (520e9, 4.19e25, 13.4e12), (1e12, 1.59e26, 26.5e12),
        (10e12, 1.75e28, 292.0e12)],
}
# Besiroglu et al. 2024.
LAW = {"E": 1.81686, "A": 482.00572, "B": 2085.43420, "alpha": 0.34781, "beta": 0.36585}
# At the weights 0 the gradient of a sample is −2 y x. With x of d independent normal numbers and y = x·w + noise, the
# covariance of these gradients has a trace of (d + 1 + d noise² / |w|²) times the square of their mean.
LINEAR = """local d, noise = {d}, {noise}
local function samples()
  local x = lab.tensor.randn({{ 20000, d }}, {{ seed = lab.seed }})
  local w = lab.tensor.randn({{ d, 1 }}, {{ seed = lab.seed + 1000 }})
  local y = x:matmul(w / w:norm()) + noise * lab.tensor.randn({{ 20000, 1 }}, {{ seed = lab.seed + 2000 }})
  return x, y
end
return lab.fit {{
  name = "linear", data = lab.data.tensors(samples), loss = "mse", batch = {batch}, epochs = 4,
  model = lab.nn.Linear(1, {{ bias = false, init = lab.init.constant(0) }}), optim = lab.optim.SGD {{ lr = 1e-12 }},
}}
"""


def plan(*words):
    return json.loads(run([TRAINLAB, "plan", *words, "--json"]))


def print_tables():
    print("| approach | FLOPs | parameters | ours | tokens | ours |\n| --- | --- | --- | --- | --- | --- |")
    worst = 0
    for name, rows in TABLES.items():
        for parameters, flops, tokens in rows:
            ours = next(one for one in plan("--flops", repr(flops))["approaches"] if one["name"] == name)
            print(f"| {name} | {flops:.3g} | {parameters:.3g} | {ours['parameters']:.3g} | {tokens:.4g} |"
                  f" {ours['tokens']:.4g} |")
            worst = max(worst, abs(ours["parameters"] / parameters - 1), abs(ours["tokens"] / tokens - 1))
    print(f"\nThe largest difference is {100 * worst:.1f} %; the tables have two or three digits.\n")


def loss(parameters, tokens):
    return LAW["E"] + LAW["A"] / parameters ** LAW["alpha"] + LAW["B"] / tokens ** LAW["beta"]


def print_constants(folder):
    truth = {**LAW, "exponent": LAW["beta"] / (LAW["alpha"] + LAW["beta"])}
    print("| noise | " + " | ".join(truth) + " |\n| --- |" + " --- |" * len(truth))
    print("| the law | " + " | ".join(f"{value:.4g}" for value in truth.values()) + " |")
    for noise in (0, 0.001, 0.005):
        draw = random.Random(1)
        path = os.path.join(folder, "runs.csv")
        with open(path, "w", encoding="ascii") as file:
            file.write("parameters,tokens,loss\n")
            for n in (5e7, 2e8, 1e9, 4e9):
                for d in (3, 10, 30, 100):
                    file.write(f"{n},{n * d},{loss(n, n * d) * (1 + noise * draw.gauss(0, 1))!r}\n")
        found = plan("fit", path)
        cells = []
        for name in truth:
            value = found["law"].get(name, found["law"]["beta"] / (found["law"]["alpha"] + found["law"]["beta"]))
            low, high = found["intervals"][name]
            cells.append(f"{value:.4g} ({low:.4g} … {high:.4g})")
        print(f"| {100 * noise:g} % | " + " | ".join(cells) + " |")
    print()


def ladder(draw, sizes, budgets, noise):
    """Rows of a CSV file: models of several sizes with budgets of which each is twice the one before."""
    rows = ["parameters,tokens,loss"]
    for c in (1e19 * 2 ** i for i in range(budgets)):
        for n in (2e8 * 2 ** i for i in range(sizes)):
            d = c / 6 / n
            rows.append(f"{n},{d},{loss(n, d) * math.exp(noise * draw.gauss(0, 1))!r}")
    return "\n".join(rows) + "\n"


def print_coverage(folder, ladders):
    print("| runs of a ladder | intervals that hold a run within the ladder | 8 times as long as its longest run |")
    print("| --- | --- | --- |")
    noise = 0.004
    table, law = (os.path.join(folder, name) for name in ("ladder.csv", "law.json"))
    for sizes, budgets in ((3, 2), (3, 3), (5, 3)):
        flops = 1e19 * 2 ** (budgets - 1)
        runs = [(4e8, math.sqrt(1e19 * flops)), (8e8, 8 * flops)]
        held = [0] * len(runs)
        for number in range(ladders):
            draw = random.Random(f"{sizes} {budgets} {number}")
            with open(table, "w", encoding="ascii") as file:
                file.write(ladder(draw, sizes, budgets, noise))
            with open(law, "w", encoding="ascii") as file:
                file.write(run([TRAINLAB, "plan", "fit", table, "--json"]))
            for i, (n, c) in enumerate(runs):
                d = c / 6 / n
                predicted = plan("--parameters", repr(n), "--tokens", repr(d), "--law", law)
                found = loss(n, d) * math.exp(noise * draw.gauss(0, 1))
                held[i] += predicted["loss_low"] <= found <= predicted["loss_high"]
        print(f"| {sizes * budgets} | " + " | ".join(f"{one} of {ladders}" for one in held) + " |")
    print()


def print_noise_scales(folder, seeds):
    print("| numbers | noise | batch | closed form | median of the seeds | all | its intervals hold it |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    recipe = os.path.join(folder, "linear.lua")
    for d, noise, batch in ((64, 0, 16), (64, 1, 16), (64, 1, 64), (256, 2, 64)):
        with open(recipe, "w", encoding="ascii") as file:
            file.write(LINEAR.format(d=d, noise=noise, batch=batch))
        scale = d + 1 + d * noise ** 2
        found = []
        for seed in range(1, seeds + 1):
            words = ["find", "batch", recipe, "--seed", str(seed), "--threads", "1", "--json", "--quiet"]
            found.append(json.loads(run([TRAINLAB, *words]))["noise"][1])
        values = [one["value"] for one in found]
        held = sum(one["low"] <= scale <= (one["high"] or float("inf")) for one in found)
        print(f"| {d} | {noise} | {batch} | {scale} | {statistics.median(values):.3g} |"
              f" {min(values):.3g} … {max(values):.3g} | {held} of {seeds} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="measurements of each noise scale")
    parser.add_argument("--ladders", type=int, default=100, help="ladders of each length")
    options = parser.parse_args()
    print_tables()
    with tempfile.TemporaryDirectory() as folder:
        print_constants(folder)
        print_coverage(folder, options.ladders)
        print_noise_scales(folder, options.seeds)


if __name__ == "__main__":
    main()
