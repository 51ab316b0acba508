"""The loss of a large run of recipes/chargpt.lua, predicted from a ladder of small ones.

    python3 tools/bench/scaling.py [--flops 8e12] [--sizes 16,32,48,64] [--text FILE] [--threads N] [--folder FOLDER]

`trainlab plan sweep` trains the ladder, models of several widths on three budgets each, which together have --flops.
The law that it fits then predicts the loss of a run with 8 times the FLOPs of the ladder's largest run, of a width that
the ladder does not have, and this run is trained. Prints both losses, and ends with 1 when the run lies outside the
interval. Without --text, the models read the sources of Python's standard library.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import sysconfig
import tempfile

from programs import ROOT, TRAINLAB

RECIPE = os.path.join(ROOT, "recipes", "chargpt.lua")
FACTOR = 8  # times the FLOPs of the ladder's largest run
MOST_BYTES = 24_000_000
# Every size has the same shape but for its width. Short windows make many steps of few FLOPs.
SHAPE = {"context": 32, "layers": 2, "heads": 2, "batch": 32}
# In shares of the run, because the runs differ in length; a validation takes as long as many steps.
LENGTHS = ["--set", "schedule.warmup=10%", "--set", "validate=100%"]


def standard_library(path):
    """Writes the sources of Python's standard library, printable characters alone, in an order of chance."""
    files = sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).rglob("*.py"))
    random.Random(1).shuffle(files)
    allowed = {"\n", *map(chr, range(32, 127))}
    left = MOST_BYTES
    with open(path, "w", encoding="ascii") as out:
        for file in files:
            text = "".join(c for c in file.read_text(encoding="utf-8", errors="ignore") if c in allowed)
            out.write(text[:left])
            left -= len(text)
            if left <= 0:
                return


def trainlab(*words, folder):
    done = subprocess.run([TRAINLAB, *map(str, words)], cwd=folder, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"trainlab {' '.join(map(str, words))} ended with {done.returncode}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flops", type=float, default=8e12, help="of the ladder")
    parser.add_argument("--sizes", default="16,32,48,64", help="widths of the ladder")
    parser.add_argument("--width", type=int, default=96, help="of the large run")
    parser.add_argument("--text", help="a text file")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", help="where the runs are kept")
    options = parser.parse_args()
    sizes = options.sizes.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        text = os.path.abspath(options.text) if options.text else str(folder / "python.txt")
        if not options.text:
            standard_library(text)
        parameters = folder / "parameters.toml"
        parameters.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in
                                      {**SHAPE, "text": text}.items()), encoding="utf-8")
        words = [RECIPE, "--params", parameters, *LENGTHS, "--threads", options.threads, "--json"]
        law = trainlab("plan", "sweep", *words, "--flops", options.flops, "--size", f"width={options.sizes}",
                       folder=folder)
        (folder / "law.json").write_text(json.dumps(law), encoding="utf-8")
        runs = [json.loads(path.read_text(encoding="utf-8"))
                for path in sorted(pathlib.Path(law["out"]).glob("run-*/summary.json"))]
        print("| parameters | windows | FLOPs | val.loss |\n| --- | --- | --- | --- |")
        for run in runs:
            print(f"| {run['parameters']} | {run['samples']} | {run['flops']:.3g} | {run['metrics']['val.loss']:.4f} |")
        flops = FACTOR * 4 * options.flops / (7 * len(sizes))
        large = trainlab(*words, "--width", options.width, "--set", "steps=nil", "--set", f"flops={flops}",
                         "--out", folder / "large", folder=folder)
        tokens = large["flops"] / (6 * large["parameters"])
        plan = trainlab("plan", "--parameters", large["parameters"], "--tokens", tokens, "--law", folder / "law.json",
                        "--json", folder=folder)
    loss = large["metrics"]["val.loss"]
    holds = plan["loss_low"] <= loss <= plan["loss_high"]
    print(f"\nthe law: {law['law']}, {100 * law['deviation']:.2f} % off its {law['runs']} runs")
    print(f"the large run: {large['parameters']} parameters, {large['samples']} windows, {large['flops']:.3g} FLOPs, "
          f"{large['flops'] / max(run['flops'] for run in runs):.2f} times the ladder's largest run")
    print(f"predicted {plan['loss']:.4f} ({plan['loss_low']:.4f} to {plan['loss_high']:.4f}), trained {loss:.4f}: "
          f"{'inside' if holds else 'OUTSIDE'} the interval")
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
