"""The forecasts of learning curves, on many stored ones: error, and how often the interval holds the value.

    python3 tools/bench/forecasts.py [--trials 240] [--epochs 60] [--seed N] [--run FOLDER]

Trains small fits of recipes/forecast.lua (or takes those of a run that is there), cuts each curve at 25, 50 and 75 %,
and prints the median relative error of the forecast, of the last value and of a power law, and the share of intervals
that hold the value. The interval's factor is chosen on curves of even number; those of odd number are reported.
"""

import argparse
import os
import subprocess
import tempfile

from programs import BUILD, HERE, TRAINLAB


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=240)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--run", help="the folder of a run with stored curves")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = options.run or os.path.join(folder, "run")
        if not options.run:
            subprocess.run([TRAINLAB, os.path.join(HERE, "recipes", "forecast.lua"), "--trials", str(options.trials),
                            "--epochs", str(options.epochs), "--seed", str(options.seed), "--workers", "1",
                            "--quiet", "--json", "--out", run], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([os.path.join(BUILD, "bench", "bench_forecast"), run], check=True)


if __name__ == "__main__":
    main()
