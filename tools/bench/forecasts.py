"""The forecasts of learning curves, on many stored ones: error, and how often the interval holds the value.

    python3 tools/bench/forecasts.py [--trials 40] [--runs 10] [--epochs 60] [--seed N] [--folder FOLDER]

Trains small fits of recipes/forecast.lua, the same points in each run and each run with another seed (or takes the runs
that are in FOLDER), cuts each curve at 25, 50 and 75 % and nearer to its ends, and prints the median relative error of
the forecast, of the last value and of a power law, and the share of intervals that hold the value: from the curve
alone, and from 1, 3 and 9 finished curves of the same point (0: none). From the curve alone all points are reported:
take a seed on which no factor was chosen. From finished curves the points of odd number are, and "factor" is of the
others. Then it prints how often stop.forecast would have stopped a training of all these too early, and what that would
have cost.
"""

import argparse
import os
import subprocess
import tempfile

from programs import HERE, TRAINLAB, bench_program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40, help="points")
    parser.add_argument("--runs", type=int, default=10, help="seeds of each point")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1, help="of the points")
    parser.add_argument("--folder", help="a folder with stored runs, or for them")
    options = parser.parse_args()
    forecast = bench_program("bench_forecast")  # asked before all the training
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or temporary
        for number in range(1, options.runs + 1):
            run = os.path.join(folder, f"{number:03}")
            if os.path.exists(run):
                continue
            subprocess.run([TRAINLAB, os.path.join(HERE, "recipes", "forecast.lua"), "--trials", str(options.trials),
                            "--epochs", str(options.epochs), "--draw", str(options.seed), "--seed", str(number),
                            "--workers", "1", "--quiet", "--json", "--out", run],
                           check=True, stdout=subprocess.DEVNULL)
        subprocess.run([forecast, folder], check=True)


if __name__ == "__main__":
    main()
