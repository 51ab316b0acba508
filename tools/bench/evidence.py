"""How early stop.evidence ends trainings on digits, and what that costs.

    python3 tools/bench/evidence.py [--epochs 60] [--seeds 5]

Trains recipes/evidence.lua with each of its optimizers, with right and with wrong labels, once without the rule and
once for each number of readings with which the rule stops. Prints a row for each: how many trainings were stopped, at
which epochs, and how much worse the best validation loss until then is than that of the whole training.
"""

import argparse
import concurrent.futures
import itertools
import os
import statistics

from programs import HERE, TRAINLAB, fit_summary

RECIPE = os.path.join(HERE, "recipes", "evidence.lua")
KINDS = ("SGD", "momentum", "AdamW")
WRONG = (0, 0.2)  # shares of the labels
TIMES = (1, 5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    seeds = range(1, options.seeds + 1)

    def train(case):
        kind, wrong, times, seed = case
        return fit_summary(TRAINLAB, RECIPE, ["--kind", kind, "--wrong", str(wrong), "--times", str(times),
                                              "--epochs", str(options.epochs), "--seed", str(seed)])

    cases = list(itertools.product(KINDS, WRONG, (0, *TIMES), seeds))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(cases, pool.map(train, cases)))
    per_epoch = found[cases[0]]["steps"] / options.epochs
    for kind, wrong, times in itertools.product(KINDS, WRONG, TIMES):
        ended = [found[kind, wrong, times, seed] for seed in seeds]
        worse = [one["best"]["value"] / found[kind, wrong, 0, seed]["best"]["value"] - 1
                 for one, seed in zip(ended, seeds)]
        epochs = sorted(one["steps"] / per_epoch for one in ended)
        print(f"{kind:<9} {100 * wrong:>3g} % wrong  {times} in a row: "
              f"{sum(one['status'] == 'stopped' for one in ended)} of {len(ended)} stopped, "
              f"epochs {epochs[0]:g} to {epochs[-1]:g}, median {statistics.median(epochs):g}; "
              f"worse by {100 * min(worse):.3g} to {100 * max(worse):.3g} %, "
              f"median {100 * statistics.median(worse):.3g} %", flush=True)


if __name__ == "__main__":
    main()
