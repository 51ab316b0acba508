#!/usr/bin/env python3
"""This checkout against another one, an older commit for example: the figures of docs/benchmarks.md without the peers.

  tools/bench/against.py OTHER [--rounds 9] [--data DIR] [--over 2] [NAME…]

Both checkouts have a build folder build/release (`cmake --preset release`), in which this program builds what it runs.
The two programs alternate, and which of them begins alternates too. A row gives both medians, the median of the pairs'
ratios (this checkout over the other one: below 1 is faster or smaller), the middle half of the ratios, and the ratio of
the two lower quartiles, which a machine that is disturbed now and then changes least. A row fails when its median ratio
is above 1 + OVER percent; the exit status is 1 when a row fails. A row whose middle half has ratios on both sides of
this line says little: it is marked, and asks for more rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import programs
import studies

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TARGETS = ["trainlab", "trainlab-engine", "make_study", "bench_averaging", "bench_images", "bench_loader",
           "bench_memory", "bench_ops", "bench_overhead", "bench_study"]


class Checkout:
    """One of the two checkouts. Each measurement returns {row: figure}, where smaller is better."""

    def __init__(self, root, data):
        self.root, self.data = root, data
        self.program = os.path.join(root, "build", "release", "bin", "trainlab")
        build = os.path.join(root, "build", "release")
        if not os.path.exists(os.path.join(build, "build.ninja")):
            sys.exit(f"no build folder {build}: run `cmake --preset release` in that checkout first")
        if subprocess.run(["ninja", "-C", build, *TARGETS], stdout=sys.stderr).returncode != 0:
            sys.exit(f"{root} was not built")

    def figures(self, name, *arguments, cwd=None):
        program = os.path.join(self.root, "build", "release", "bench", name)
        return json.loads(programs.run([program, *arguments], cwd=cwd))

    def recipe(self, name, folder="tools/bench/recipes"):
        return os.path.join(self.root, folder, name)

    def beside(self, name):
        return os.path.join(os.path.dirname(os.path.abspath(self.data)), name)

    def fit(self, recipe, *arguments, threads=1):
        return programs.step_microseconds(programs.fit_summary(self.program, recipe, arguments, threads))

    def whole(self, *command):
        """Seconds of a whole command with a run folder of its own."""
        with tempfile.TemporaryDirectory() as out:
            return programs.wall([self.program, *command, "--json", "--quiet", "--out", os.path.join(out, "run")], 1)

    def small(self):
        return {"MLP 64-32-10, µs a step": self.fit(self.recipe("mlp_small.lua"), "--epochs", "40")}

    def mnist(self):
        arguments = ["--data", self.data, "--epochs", "2"]
        return {"MLP 784-128-10, µs a step": self.fit(self.recipe("mnist.lua"), *arguments)}

    def cnn(self):
        arguments = ["--data", self.data, "--model", "cnn", "--epochs", "1"]
        return {"small CNN, µs a step": self.fit(self.recipe("mnist.lua"), *arguments)}

    def loop(self):
        arguments = ["--data", self.data, "--epochs", "2"]
        return {"loop by hand, µs a step": self.fit(self.recipe("by_hand.lua"), *arguments)}

    def gpt(self):
        arguments = ["--text", self.beside("tinyshakespeare.txt"), "--steps", "100"]
        return {"chargpt, µs a step": self.fit(self.recipe("chargpt.lua", "recipes"), *arguments, threads=2)}

    def operators(self):
        return {f"lab.ops {name}, µs": one["lua_us"] for name, one in self.figures("bench_ops").items()}

    def overhead(self):
        result = self.figures("bench_overhead", self.data)
        return {"trainer, µs a step": result["trainer_us"], "trainer over the bare loop": result["ratio"]}

    def averaging(self):
        result = self.figures("bench_averaging")
        return {"ema over its arithmetic": result["ema_ratio"], "clip over its arithmetic": result["clip_ratio"],
                "ema, µs": result["ema_us"], "clip, µs": result["clip_us"]}

    def loader(self):
        return {"loader, µs a batch": self.figures("bench_loader", self.data)["us_per_batch"]}

    def images(self):
        archive = self.beside("cifar10-jpeg.tar")
        with tempfile.TemporaryDirectory() as folder:
            result = self.figures("bench_images", archive, "2", os.path.join(folder, "pack"))
        return {"JPEG, crop, flip, µs an image": result["decode_us"], "packed, µs an image": result["packed_us"]}

    def start(self):
        return {"one-step digits fit, s": self.whole(self.recipe("first_step.lua")),
                "whole digits run, s": self.whole(self.recipe("digits.lua", "recipes"))}

    def help(self):
        return {"--help, s": programs.wall([self.program, "--help"], 1),
                "help optim.AdamW, s": programs.wall([self.program, "help", "optim.AdamW"], 1)}

    def resident(self):
        with tempfile.TemporaryDirectory() as out:
            command = [self.program, self.recipe("digits.lua", "recipes"), "--quiet", "--out", os.path.join(out, "run")]
            peak = programs.engine_memory(command)
        result = self.figures("bench_memory")
        return {"engine's memory in digits, MB": peak, "resident memory, epoch 50, MB": result["late_mb"],
                "epoch 50 over epoch 5": result["late_mb"] / result["early_mb"]}

    def study(self):
        rows = ["random 2 × 10000", "tpe 2 × 1000", "tpe 40 × 1000", "tpe 2 × 1000, two objectives",
                "cma_es 10 × 10000", "nsga2 2 × 10000, two objectives", "gp 4 × 100", "random 1000 × 10"]
        with tempfile.TemporaryDirectory() as folder:
            return {f"{row}, s": self.figures("bench_study", row, cwd=folder)[row] for row in rows}

    def late(self):
        samplers = ("random", "grid", "sobol", "halton")
        rows = [f"{sampler} 2{more}" for sampler in samplers for more in (" × 10000", ", after 90000: 10000")]
        with tempfile.TemporaryDirectory() as folder:
            return {f"{row}, s": figure for row, figure in self.figures("bench_study", *rows, cwd=folder).items()}

    def script(self):
        rows = ["random 2 × 10000", "tpe 2 × 1000", "cma_es 10 × 10000"]
        recipe = self.recipe("ask_tell.lua")
        with tempfile.TemporaryDirectory() as folder:
            return {f"{row}, from Lua, s": studies.ask_tell(self.program, recipe, row, folder) for row in rows}

    def sqlite(self):
        row = "random 2 × 1000, SQLite"
        with tempfile.TemporaryDirectory() as folder:
            return {f"{row}, s": self.figures("bench_study", row, cwd=folder)[row]}

    def report(self):
        make_study = os.path.join(self.root, "build", "release", "tests", "make_study")
        return {"report of 10,000 trials, s": studies.report_seconds(self.program, make_study, 10000, 5)}

    def sweep(self):
        return {"sweep of 64 trials × 10 epochs, s": self.whole(self.recipe("sweep.lua"))}


NAMES = ["small", "mnist", "cnn", "loop", "gpt", "operators", "overhead", "averaging", "loader", "images", "start",
         "help", "resident", "study", "late", "script", "sqlite", "report", "sweep"]


def lower_quartile(figures):
    return statistics.quantiles(figures, n=4)[0] if len(figures) > 1 else figures[0]


def judged(ratios, over):
    """Whether a row with these ratios fails, its median ratio and middle half, and the marks that it gets."""
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    most = 1 + over / 100
    marks = ["above"] if middle > most else []
    if low <= most < high:
        marks.append("repeat with more rounds")
    return middle > most, (low, middle, high), "  <-- " + ", ".join(marks) if marks else ""


def compare(name, ours, theirs, rounds, over):
    """Prints the rows of one measurement; the names of those that fail."""
    pairs = []
    for i in range(rounds):
        order = (ours, theirs) if i % 2 == 0 else (theirs, ours)
        results = {side: getattr(side, name)() for side in order}
        pairs.append((results[ours], results[theirs]))
    above = []
    for row in pairs[0][0]:
        ratios = [mine[row] / other[row] for mine, other in pairs]
        fails, (low, middle, high), marks = judged(ratios, over)
        if fails:
            above.append(row)
        medians = [statistics.median(pair[side][row] for pair in pairs) for side in (0, 1)]
        quiet = [lower_quartile([pair[side][row] for pair in pairs]) for side in (0, 1)]
        figures = (f"{medians[0]:.4g} | {medians[1]:.4g} | {middle:.3f} | {low:.3f} … {high:.3f} | "
                   f"{quiet[0] / quiet[1]:.3f}")
        print(f"| {row} | {figures} |{marks}", flush=True)
    return above


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", metavar="OTHER")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of " + ", ".join(NAMES))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data", "mnist"))
    parser.add_argument("--over", type=float, default=2, metavar="PERCENT")
    options = parser.parse_intermixed_args()
    for name in options.names:
        if name not in NAMES:
            parser.error(f"unknown measurement {name}; there are {', '.join(NAMES)}")
    ours, theirs = Checkout(ROOT, options.data), Checkout(os.path.abspath(options.other), options.data)
    print("| what | this | other | this / other | middle half | lower quartiles |\n"
          "| --- | --- | --- | --- | --- | --- |")
    above = []
    for name in options.names or NAMES:
        above += compare(name, ours, theirs, options.rounds, options.over)
    if above:
        print("\nabove: " + "; ".join(above))
    sys.exit(1 if above else 0)


if __name__ == "__main__":
    main()
