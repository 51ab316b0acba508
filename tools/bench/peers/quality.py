"""Runs Optuna's samplers on the functions of test_functions.cpp: makes quality.json, or parts of it anew.

    python3 quality.py quality.json [SAMPLER…]     SAMPLER: random tpe cma_es gp sobol nsga2; all unless named

Needs optuna, cmaes, scipy, numpy and torch. The file holds the versions, the budgets, for each function its optimum,
the median of a random point and its value at a probe point, and the best value of each seed.
"""

import json
import math
import os
import statistics
import sys
import warnings

import cmaes
import numpy
import optuna
import scipy
from optuna._hypervolume import compute_hypervolume

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")


def box(n, low, high):
    return lambda t: [t.suggest_float(f"x{i}", low, high) for i in range(n)]


def box_probe(n, low, high):
    return {f"x{i}": low + (high - low) * (0.15 + 0.13 * i) for i in range(n)}


def branin(t):
    x, y = t.suggest_float("x", -5, 10), t.suggest_float("y", 0, 15)
    return (
        (y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6) ** 2
        + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x)
        + 10
    )


HARTMANN_A = [
    [10, 3, 17, 3.5, 1.7, 8],
    [0.05, 10, 17, 0.1, 8, 14],
    [3, 3.5, 1.7, 10, 17, 8],
    [17, 8, 0.05, 10, 0.1, 14],
]
HARTMANN_P = [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
              [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]


def hartmann6(t):
    x = box(6, 0, 1)(t)
    return -sum(c * math.exp(-sum(a * (v - 1e-4 * p) ** 2 for a, v, p in zip(row, x, places)))
                for c, row, places in zip([1.0, 1.2, 3.0, 3.2], HARTMANN_A, HARTMANN_P))


def rosenbrock5(t):
    x = box(5, -5, 10)(t)
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in zip(x, x[1:]))


def rastrigin5(t):
    x = box(5, -5.12, 5.12)(t)
    return 50 + sum((v - b) ** 2 - 10 * math.cos(2 * math.pi * (v - b)) for v, b in zip(x, [1.3, -2.1, 0.7, 2.9, -0.4]))


def ackley5(t):
    z = [v - b for v, b in zip(box(5, -32.768, 32.768)(t), [7, -12, 4, 18, -3])]
    squares, waves = sum(v * v for v in z), sum(math.cos(2 * math.pi * v) for v in z)
    return -20 * math.exp(-0.2 * math.sqrt(squares / 5)) - math.exp(waves / 5) + 20 + math.e


def mixed(t):
    dropout, layers = t.suggest_float("dropout", 0, 0.6), t.suggest_int("layers", 1, 6)
    lr, optim = t.suggest_float("lr", 1e-5, 1e-1, log=True), t.suggest_categorical("optim", ["adam", "sgd", "lion"])
    width = t.suggest_int("width", 8, 256, log=True)
    rate, behind = {"adam": (-3.0, 0.0), "sgd": (-1.5, 0.1), "lion": (-2.2, 0.25)}[optim]
    return (behind + 0.4 * (math.log10(lr) - rate + 0.2 * (layers - 3)) ** 2 + 0.075 * math.log2(width / 91) ** 2
            + 0.1 * (layers - 4) ** 2 + 4 * (dropout - 0.05 * layers) ** 2)


def conditional(t):
    model = t.suggest_categorical("model", ["linear", "tree", "net"])
    common = 0.5 * (t.suggest_float("scale", 0, 1) - 0.3) ** 2
    if model == "linear":
        return common + 0.5 + 0.1 * (math.log10(t.suggest_float("c", 1e-4, 1e2, log=True)) - 0.5) ** 2
    if model == "tree":
        depth, leaf = t.suggest_int("depth", 1, 20), t.suggest_int("leaf", 1, 64, log=True)
        return common + 0.25 + 0.01 * (depth - 7) ** 2 + 0.05 * (math.log2(leaf) - 2) ** 2
    lr, momentum = t.suggest_float("lr", 1e-5, 1e-1, log=True), t.suggest_float("momentum", 0, 0.99)
    width = t.suggest_int("width", 8, 256, log=True)
    return common + 0.3 * (math.log10(lr) + 2.5) ** 2 + 0.8 * (momentum - 0.8) ** 2 + 0.1 * math.log2(width / 64) ** 2


def zdt1(t):
    x = box(5, 0, 1)(t)
    g = 1 + 9 * sum(x[1:]) / 4
    return x[0], g * (1 - math.sqrt(x[0] / g))


def distance(x):
    return sum((v - 0.5) ** 2 for v in x)


def dtlz2(objectives):
    def value(t):
        x = box(objectives + 4, 0, 1)(t)
        values, rest = [], 1 + distance(x[objectives - 1:])
        for v in x[:objectives - 1]:
            values.append(rest * math.sin(math.pi / 2 * v))
            rest *= math.cos(math.pi / 2 * v)
        return (*values, rest)

    return value


def plane(objectives):
    def value(t):
        x = box(objectives + 4, 0, 1)(t)
        values, rest = [], 1 + distance(x[objectives - 1:])
        for v in x[:objectives - 1]:
            values.append(rest * (1 - v))
            rest *= v
        return (*values, rest)

    return value


# With several objectives: the point below which the dominated volume is measured, and the volume of the true front.
VOLUMES = {
    "zdt1": ((1.1, 6.0), 6 - (1 - 2 / 3) + 0.1 * 6),
    "dtlz2_3": ((1.1,) * 3, 1.1**3 - math.pi / 6),
    "dtlz2_4": ((1.1,) * 4, 1.1**4 - math.pi**2 / 32),
    "plane_3": ((1.1,) * 3, 1.1**3 - 1 / 6),
    "plane_4": ((1.1,) * 4, 1.1**4 - 1 / 24),
}

# Function: itself, its optimum, a probe point.
FUNCTIONS = {
    "branin": (branin, 0.39788735772973816, {"x": 1.5, "y": 4.5}),
    "hartmann6": (hartmann6, -3.322368011415515, box_probe(6, 0, 1)),
    "rosenbrock5": (rosenbrock5, 0.0, box_probe(5, -5, 10)),
    "rastrigin5": (rastrigin5, 0.0, box_probe(5, -5.12, 5.12)),
    "ackley5": (ackley5, 0.0, box_probe(5, -32.768, 32.768)),
    "mixed": (mixed, 0.0, {"dropout": 0.25, "layers": 2, "lr": 2e-3, "optim": "sgd", "width": 40}),
    "conditional": (conditional, 0.0, {"model": "net", "scale": 0.7, "lr": 1e-3, "momentum": 0.5, "width": 100}),
    "zdt1": (zdt1, -VOLUMES["zdt1"][1], box_probe(5, 0, 1)),
    "dtlz2_3": (dtlz2(3), -VOLUMES["dtlz2_3"][1], box_probe(7, 0, 1)),
    "dtlz2_4": (dtlz2(4), -VOLUMES["dtlz2_4"][1], box_probe(8, 0, 0.9)),
    "plane_3": (plane(3), -VOLUMES["plane_3"][1], box_probe(7, 0, 1)),
    "plane_4": (plane(4), -VOLUMES["plane_4"][1], box_probe(8, 0, 0.9)),
}
ONE = [name for name in FUNCTIONS if name not in VOLUMES]
MANY = ["dtlz2_3", "dtlz2_4", "plane_3", "plane_4"]

# Sampler: the peer's, seeds, trials, functions. Optuna's TPE is multivariate as it comes, which differs from groups
# where parameters are conditional; its CMA-ES has no conditional space, and with whole numbers it takes its margin.
SAMPLERS = {
    "random": [
        ("RandomSampler()", lambda s: optuna.samplers.RandomSampler(seed=s), 30, trials, ONE)
        for trials in (60, 100, 200)
    ]
    + [
        ("RandomSampler()", lambda s: optuna.samplers.RandomSampler(seed=s), 30, trials, names)
        for trials, names in ((60, ["zdt1"]), (200, ["zdt1", *MANY]), (500, ["zdt1"]))
    ],
    "sobol": [
        ("QMCSampler(scramble=True)", lambda s: optuna.samplers.QMCSampler(seed=s, scramble=True), 30, 100, ONE[:5])
    ],
    "tpe": [
        (
            "TPESampler(multivariate=True, group=True)",
            lambda s: optuna.samplers.TPESampler(seed=s, multivariate=True, group=True),
            30,
            100,
            ONE,
        ),
        ("TPESampler()", lambda s: optuna.samplers.TPESampler(seed=s), 30, 100, ["conditional"]),
        ("TPESampler()", lambda s: optuna.samplers.TPESampler(seed=s), 30, 200, ["zdt1", *MANY]),
    ],
    "cma_es": [
        ("CmaEsSampler()", lambda s: optuna.samplers.CmaEsSampler(seed=s), 30, 200, ONE[:5]),
        (
            "CmaEsSampler(with_margin=True)",
            lambda s: optuna.samplers.CmaEsSampler(seed=s, with_margin=True),
            30,
            200,
            ["mixed"],
        ),
    ],
    # On hartmann6 a search ends in one of two basins: ten of them say little.
    "gp": [
        ("GPSampler()", lambda s: optuna.samplers.GPSampler(seed=s), 60 if name == "hartmann6" else 10, 60, [name])
        for name in ONE
    ]
    + [("GPSampler()", lambda s: optuna.samplers.GPSampler(seed=s), 10, 60, ["zdt1"])],
    "nsga2": [("NSGAIISampler()", lambda s: optuna.samplers.NSGAIISampler(seed=s), 30, 500, ["zdt1"])],
}


def loss(name, points):
    reference = numpy.array(VOLUMES[name][0])
    return -compute_hypervolume(numpy.minimum(points, reference), reference)  # beyond it is no volume


def searched(name, sampler, trials):
    study = optuna.create_study(directions=["minimize"] * len(VOLUMES.get(name, ((0,),))[0]), sampler=sampler)
    study.optimize(FUNCTIONS[name][0], n_trials=trials)
    return study


def search(name, sampler, trials):
    study = searched(name, sampler, trials)
    return loss(name, [t.values for t in study.trials]) if name in VOLUMES else study.best_value


def typical(name):
    trials = searched(name, optuna.samplers.RandomSampler(seed=1), 1001).trials
    # With several objectives: the volume that a single point dominates.
    return statistics.median(loss(name, [t.values]) if name in VOLUMES else t.value for t in trials)


def probe(name):
    function, _, point = FUNCTIONS[name]
    value = function(optuna.trial.FixedTrial(point))
    return list(value) if name in VOLUMES else [value]


def main():
    path, samplers = sys.argv[1], sys.argv[2:] or list(SAMPLERS)
    kept = json.load(open(path))["rows"] if os.path.exists(path) else []
    head = {"versions": {m.__name__: m.__version__ for m in (optuna, cmaes, scipy, numpy)},
            "functions": {name: {"optimum": optimum, "typical": typical(name), "probe": probe(name)}
                          for name, (_, optimum, _) in FUNCTIONS.items()}}
    for sampler in samplers:
        for peer, make, seeds, trials, functions in SAMPLERS[sampler]:
            for name in functions:
                row = {"function": name, "sampler": sampler, "peer": peer, "trials": trials}
                row["best"] = [search(name, make(seed), trials) for seed in range(seeds)]
                kept = [one for one in kept if any(one[key] != row[key] for key in ("function", "peer", "trials"))] + [
                    row
                ]
                print(f"{name} {peer}, {trials} trials: median {statistics.median(row['best']):.6g}", flush=True)
                with open(path, "w") as file:  # a line for each row
                    file.write(
                        json.dumps(head, indent=1)[:-2]
                        + ',\n "rows": [\n'
                        + ",\n".join(map(json.dumps, kept))
                        + "\n]}\n"
                    )


if __name__ == "__main__":
    main()
