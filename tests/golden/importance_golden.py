"""Parameter importances by Optuna's PED-ANOVA, for tests/engine/study/test_importance.cpp.

    python importance_golden.py      with optuna 5 installed; writes importance_golden.json beside this file
"""

import json
import pathlib
import random
import warnings

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

LABELS = ["a", "b", "c"]
DISTRIBUTIONS = {
    "x": FloatDistribution(-2, 3),
    "lr": FloatDistribution(1e-4, 1e-1, log=True),
    "step": FloatDistribution(0, 1, step=0.25),
    "n": IntDistribution(1, 200),
    "width": IntDistribution(16, 300, log=True),
    "kind": CategoricalDistribution(LABELS),
    "only_b": FloatDistribution(0, 1),  # active where kind is b
}
SPACE = [
    {"name": "x", "kind": "real", "low": -2, "high": 3},
    {"name": "lr", "kind": "real", "low": 1e-4, "high": 1e-1, "log": True},
    {"name": "step", "kind": "real", "low": 0, "high": 1, "step": 0.25},
    {"name": "n", "kind": "integer", "low": 1, "high": 200, "step": 1},
    {"name": "width", "kind": "integer", "low": 16, "high": 300, "step": 1, "log": True},
    {"name": "kind", "labels": LABELS},
    {"name": "only_b", "kind": "real", "low": 0, "high": 1, "conditions": [{"parent": 5, "values": [1]}]},
]
FUNCTIONS = {
    "one number": lambda p: abs(p["x"] - 1),
    "logarithms": lambda p: (p["lr"] * 100 - 1) ** 2 + p["width"] / 200,
    "a choice": lambda p: LABELS.index(p["kind"]) + 0.1 * p["n"] / 200,
    "a condition": lambda p: (1.0 - p["only_b"] if "only_b" in p else 0.6) + 0.2 * p["step"],
}


def main():
    warnings.simplefilter("ignore")
    draw = random.Random(7)
    cases = []
    for name, function in FUNCTIONS.items():
        for count in (12, 150):
            study = optuna.create_study()
            points, losses = [], []
            for _ in range(count):
                params = {
                    "x": draw.uniform(-2, 3), "lr": 10 ** draw.uniform(-4, -1), "step": 0.25 * draw.randint(0, 4),
                    "n": draw.randint(1, 200), "width": draw.randint(16, 300), "kind": draw.choice(LABELS)}
                if params["kind"] == "b":
                    params["only_b"] = draw.random()
                loss = function(params)
                own = {key: DISTRIBUTIONS[key] for key in params}
                study.add_trial(optuna.trial.create_trial(params=params, distributions=own, value=loss))
                points.append(params)
                losses.append(loss)
            shares = optuna.importance.get_param_importances(
                study, evaluator=optuna.importance.PedAnovaImportanceEvaluator())
            cases.append({"name": f"{name}, {count} trials", "points": points, "losses": losses, "shares": shares})
    path = pathlib.Path(__file__).with_name("importance_golden.json")
    path.write_text(json.dumps({"optuna": optuna.__version__, "space": SPACE, "cases": cases}) + "\n")


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    main()
