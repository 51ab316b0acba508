"""Verdicts of `trainlab profile` on fits that wait for one thing by far.

    python3 tools/bench/verdicts.py [--images FILE.tar] [--seconds S]

Prints a table and ends with 1 if a verdict is another one. Where other work on the machine makes the verdict
"contention", the verdict that the parts of a step would give counts.
"""

import argparse
import json
import os
import sys

from programs import HERE, ROOT, TRAINLAB, run

EXPECTED = {
    "tiny": "launch",
    "gemm": "compute",
    "optimizer": "optimizer",
    "transform": "input",
    "images": "input",
    "reads": "synchronisation",
    "functions": "host",
    "validate": "evaluation",
    "commit": "checkpoint",
}
RECIPE = os.path.join(HERE, "recipes", "bottlenecks.lua")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", default=os.path.join(ROOT, "..", "shared", "data", "cifar10-jpeg.tar"))
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    wrong = 0
    print("| fit | expected | verdict | confidence | of a step | a step, ms | interval | short of a core |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for case, expected in EXPECTED.items():
        if case == "images" and not os.path.exists(options.images):
            print(f"| {case} | {expected} | left out: no {options.images} | | | | | |")
            continue
        profile = json.loads(run([TRAINLAB, "profile", RECIPE, "--case", case, "--images", options.images, "--json",
                                  "--quiet", "--seconds", str(options.seconds)]))
        step, verdict = profile["step_seconds"], profile["verdict"]
        if verdict == "contention":
            verdict += f", else {profile['otherwise']}"
        wrong += profile["otherwise"] != expected
        print(f"| {case} | {expected} | {verdict} | {profile['confidence']} | {100 * profile['share']:.0f} % |"
              f" {1e3 * step['median']:.3g} | {1e3 * step['low']:.3g} to {1e3 * step['high']:.3g} |"
              f" {100 * (profile['cores']['run_queue'] or 0):.1f} % |", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
