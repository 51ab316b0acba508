"""The forecasts of `trainlab plan data`, beside what the data bring: error, and how often the interval holds the value.

    python3 tools/bench/more_data.py --mnist FOLDER [--pools 3]

Forecasts the validation of small fits from 2,000 and 4,000 samples of MNIST for twice and four times as many, and
trains with those. Prints a line for each metric and factor: the number of forecasts, the intervals that hold the
value, and the mean absolute errors of the forecast and of the last value.
"""

import argparse
import itertools
import json
import os
import subprocess
import tempfile

from programs import HERE, TRAINLAB

SAMPLES = (2000, 4000, 8000)
METRICS = ("val.loss", "val.accuracy")


def plan(folder, **parameters):
    """The object of `trainlab plan data` for these parameters of the recipe."""
    path = os.path.join(folder, "parameters.toml")
    with open(path, "w", encoding="utf-8") as file:
        for name, value in parameters.items():
            file.write(f"{name} = {json.dumps(value)}\n")
    done = subprocess.run([TRAINLAB, "plan", "data", os.path.join(HERE, "recipes", "more_data.lua"), "--params", path,
                           "--threads", "1", "--quiet", "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mnist", required=True, help="the folder of MNIST")
    parser.add_argument("--pools", type=int, default=3)
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for metric, hidden, pool in itertools.product(METRICS, (0, 64), range(1, options.pools + 1)):
            plans = {samples: plan(folder, mnist=os.path.abspath(options.mnist), samples=samples, pool=pool,
                                   hidden=hidden, metric=metric) for samples in SAMPLES}
            for samples, one in plans.items():
                for forecast in one["forecasts"]:
                    later = plans.get(samples * forecast["factor"])
                    if later and forecast["value"] is not None:
                        found.setdefault((metric, forecast["factor"]), []).append(
                            (forecast, later["sizes"][-1]["mean"], one["sizes"][-1]["mean"]))
    for (metric, factor), cases in found.items():
        held = sum(forecast["low"] <= value <= forecast["high"] for forecast, value, _ in cases)
        error = sum(abs(forecast["value"] - value) for forecast, value, _ in cases) / len(cases)
        last = sum(abs(now - value) for _, value, now in cases) / len(cases)
        print(f"{metric:<12}  times {factor:g}  {len(cases):>2} forecasts  {held:>2} held by the interval  "
              f"error {error:.4f}, of the last value {last:.4f}", flush=True)


if __name__ == "__main__":
    main()
