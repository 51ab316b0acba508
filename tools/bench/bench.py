"""Benchmarks of trainlab, each against a peer measured in the same run: programs alternate, medians are compared.

    tools/bench/run [NAME…] [--data DIR] [--rounds N]       names: small mnist cnn loop gpt overhead operators averaging
    loader images start help memory study quality report sweep stack busy

`tools/bench/run` sets up the peer (PyTorch from PyPI in a folder of its own), builds, and calls this. DIR holds the
MNIST files, and the folder above it tinyshakespeare.txt and cifar10-jpeg.tar; benchmarks whose files are missing are
left out, with a message.
"""

import argparse
import collections
import functools
import glob
import importlib.util
import json
import math
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import busy

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("TRAINLAB_BUILD", os.path.join(ROOT, "build", "release"))
TRAINLAB = os.path.join(BUILD, "bin", "trainlab")


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def fit_summary(program, recipe, arguments, threads=1):
    with tempfile.TemporaryDirectory() as out:
        more = ["--threads", str(threads), "--json", "--quiet", "--out", os.path.join(out, "run")]
        return json.loads(run([program, recipe, *arguments, *more]))


def step_microseconds(summary):
    return summary["seconds"] / summary["steps"] * 1e6


def trainlab_run(recipe, arguments, metric, threads=1):
    """µs a step, and a metric."""
    summary = fit_summary(TRAINLAB, recipe, arguments, threads)
    return step_microseconds(summary), summary["metrics"][metric]


def ask_tell(program, recipe, row, folder):
    """Seconds that the recipe ask_tell.lua prints for a row, which count the time of all threads. One thread, because
    the idle threads of LibTorch's pools spin at first."""
    done = subprocess.run(
        [program, recipe, "--row", row, "--threads", "1"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(next(line for line in done.stderr.splitlines() if line.startswith("{")))[row]


def wall(command, count):
    """Seconds from command to finished process, the median."""
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        run(command)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def report_seconds(program, make_study, trials, count):
    """The leaderboard of a study with many trials, each with its reports, from command to finished process."""
    with tempfile.TemporaryDirectory() as folder:
        spec, made = os.path.join(folder, "spec.json"), os.path.join(folder, "run")
        with open(spec, "w") as file:
            json.dump({"stages": [{"name": "s", "kind": "sweep", "folder": ".", "study": big_study(trials)}]}, file)
        run([make_study, spec, made])
        return wall([program, "report", made], count)


def peer_run(script, arguments, metric):
    result = json.loads(run([sys.executable, os.path.join(HERE, script), *arguments]))
    return result["seconds"] / result["steps"] * 1e6, result[metric]


class Bench:
    def __init__(self, options):
        self.data, self.rounds = options.data, options.rounds
        self.rows = []

    def row(self, what, ours, peer, ratio, aim):
        self.rows.append((what, ours, peer, ratio, aim))
        print(f"  {what}: {ours}; {peer}; {ratio} (aim {aim})", flush=True)

    def pairs(self, what, ours, peer, metric, aim):
        """Alternating whole runs; the ratio is the median of the pairs' ratios."""
        mine, theirs = [], []
        for i in range(self.rounds):
            for side in (0, 1) if i % 2 == 0 else (1, 0):
                (theirs if side else mine).append(peer() if side else ours())
        ratio = statistics.median(p[0] / o[0] for o, p in zip(mine, theirs))
        self.row(
            what,
            f"{statistics.median(o[0] for o in mine):.0f} µs a step ({metric} {mine[-1][1]:.3f})",
            f"PyTorch {statistics.median(p[0] for p in theirs):.0f} µs ({metric} {theirs[-1][1]:.3f})",
            f"{ratio:.2f}×",
            aim,
        )

    def fit(self, what, recipe, arguments, kind, epochs, path, aim):
        self.pairs(what, lambda: trainlab_run(os.path.join(HERE, "recipes", recipe), arguments, "val.accuracy"),
                   lambda: peer_run("peer_fit.py", [kind, str(epochs), "1", path], "accuracy"), "accuracy", aim)

    def small(self):
        digits = os.path.join(ROOT, "engine", "data", "assets", "digits.csv.gz")
        self.fit(
            "MLP 64-32-10, batch 32, AdamW, 1 thread",
            "mlp_small.lua",
            ["--epochs", "40"],
            "mlp_small",
            40,
            digits,
            "≥ 4×",
        )

    def mnist(self):
        self.fit(
            "MLP 784-128-10, batch 64, AdamW, 1 thread",
            "mnist.lua",
            ["--data", self.data, "--epochs", "3"],
            "mnist_mlp",
            3,
            self.data,
            "≥ 1.35×",
        )

    def cnn(self):
        self.fit(
            "small CNN on MNIST, batch 64, 1 thread",
            "mnist.lua",
            ["--data", self.data, "--model", "cnn", "--epochs", "1"],
            "mnist_cnn",
            1,
            self.data,
            "≥ 1.05×",
        )

    def loop(self):
        recipe = os.path.join(HERE, "recipes", "by_hand.lua")
        self.pairs("MLP 784-128-10, batch 64, a loop written by hand, 1 thread",
                   lambda: trainlab_run(recipe, ["--data", self.data, "--epochs", "2"], "val.accuracy"),
                   lambda: peer_run("peer_loop.py", ["2", "1", self.data], "accuracy"), "accuracy", "≥ 1.2×")

    def gpt(self):
        text, steps = self.beside("tinyshakespeare.txt"), 200
        if not text:
            return
        recipe = os.path.join(ROOT, "recipes", "chargpt.lua")
        self.pairs(f"recipes/chargpt.lua, {steps} steps, 2 threads",
                   lambda: trainlab_run(recipe, ["--text", text, "--steps", str(steps)], "val.loss", threads=2),
                   lambda: peer_run("peer_gpt.py", [text, str(steps), "2"], "val_loss"), "val.loss", "≥ 1.0×")

    def beside(self, name):
        """A file beside the folder of MNIST; None, and said so, where it is missing."""
        path = os.path.join(os.path.dirname(os.path.abspath(self.data)), name)
        if os.path.exists(path):
            return path
        print(f"  left out, no {path}")
        return None

    def operators(self):
        result = json.loads(run([os.path.join(BUILD, "bench", "bench_ops")]))
        for name, one in result.items():
            self.row(
                f"lab.ops on 8 × 8: {name}",
                f"{one['lua_us']:.2f} µs",
                f"C++ {one['native_us']:.2f} µs",
                f"{one['difference_us']:+.2f} µs",
                "≤ 0.6 µs",
            )

    def overhead(self):
        result = json.loads(run([os.path.join(BUILD, "bench", "bench_overhead"), self.data]))
        self.row("trainer over a bare ATen loop, MLP 784-128-10, batch 64", f"{result['trainer_us']:.0f} µs a step",
                 f"bare {result['bare_us']:.0f} µs", f"{100 * (result['ratio'] - 1):+.1f} %", "≤ 3 %")

    def averaging(self):
        result = json.loads(run([os.path.join(BUILD, "bench", "bench_averaging")]))
        for name, what in (("ema", "moving average of the weights"), ("clip", "clipping by norm")):
            self.row(
                f"{what} over its bare arithmetic, {result['values']} values",
                f"{result[name + '_us']:.0f} µs",
                f"bare {result[name + '_bare_us']:.0f} µs",
                f"{100 * (result[name + '_ratio'] - 1):+.1f} %",
                "≤ 3 %",
            )

    def loader(self):
        ours = json.loads(run([os.path.join(BUILD, "bench", "bench_loader"), self.data]))["us_per_batch"]
        peer = json.loads(run([sys.executable, os.path.join(HERE, "peer_loader.py"), self.data]))["us_per_batch"]
        best = min(peer.values())
        self.row(
            "MNIST batches of 64 from the loader",
            f"{ours:.1f} µs a batch",
            f"DataLoader {peer['0']:.0f} µs with 0 workers, {peer['2']:.0f} µs with 2",
            f"{best / ours:.1f}×",
            "≥ 5×",
        )

    def images(self):
        archive = self.beside("cifar10-jpeg.tar")
        if not archive:
            return
        ours, packed, peer = [], [], []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(3):
                result = json.loads(
                    run([os.path.join(BUILD, "bench", "bench_images"), archive, "2", os.path.join(folder, "pack")])
                )
                ours.append(result["decode_us"])
                packed.append(result["packed_us"])
                peer.append(
                    json.loads(run([sys.executable, os.path.join(HERE, "peer_images.py"), archive, "2"]))[
                        "us_per_image"
                    ]
                )
        theirs = f"DataLoader {statistics.median(peer):.0f} µs with 2 workers"
        for what, mine, aim in (
            ("CIFAR-10: JPEG, padded crop, flip, 2 threads", ours, "≥ 2×"),
            ("the same from the packed cache", packed, "≥ 10×"),
        ):
            ratio = statistics.median(p / o for o, p in zip(mine, peer))
            self.row(what, f"{statistics.median(mine):.1f} µs an image", theirs, f"{ratio:.1f}×", aim)

    def peers_of_studies(self):
        if all(importlib.util.find_spec(name) for name in ("optuna", "rustuna")):
            return True
        print("  left out, no optuna and rustuna")
        return False

    def study(self):
        """Ask and tell without training, one thread."""
        if not self.peers_of_studies():
            return
        with tempfile.TemporaryDirectory() as folder:

            def ours(*rows):
                return json.loads(run([os.path.join(BUILD, "bench", "bench_study"), *rows], cwd=folder))

            def peer(name, row):
                return json.loads(run([sys.executable, os.path.join(HERE, "peer_study.py"), name, row], cwd=folder))[
                    "seconds"
                ]

            def from_lua(row):
                return ask_tell(TRAINLAB, os.path.join(HERE, "recipes", "ask_tell.lua"), row, folder)

            for row, aim in (
                ("random 2 × 10000", "> 1×"),
                ("tpe 2 × 1000", "> 1×, 2× wished"),
                ("tpe 40 × 1000", "> 1×, 2× wished"),
                ("tpe 2 × 1000, two objectives", "> 1×"),
                ("cma_es 10 × 10000", "> 1×, 2× wished"),
                ("nsga2 2 × 10000, two objectives", "> 1×"),
            ):
                mine, lua, theirs = [], [], []
                for i in range(self.rounds):
                    sides = [
                        lambda: mine.append(ours(row)[row]),
                        lambda: lua.append(from_lua(row)),
                        lambda: theirs.append(peer("rustuna", row)),
                    ]
                    for measure in sides if i % 2 == 0 else reversed(sides):
                        measure()
                peers = f"Rustuna {milliseconds(theirs)}, Optuna {milliseconds([peer('optuna', row)])} (once)"
                for name, times in ((row, mine), (row + ", from Lua", lua)):
                    ratio = statistics.median(t / m for m, t in zip(times, theirs))
                    self.row(name, milliseconds(times), peers, f"{ratio:.1f}×", aim)
            for row, aim in (("gp 4 × 100", "≥ 5×"), ("random 2 × 1000, SQLite", "≤ 500 ms, ≥ 50×")):
                mine, theirs = statistics.median(ours(row)[row] for _ in range(self.rounds)), peer("optuna", row)
                self.row(
                    row, milliseconds([mine]), f"Optuna {milliseconds([theirs])} (once)", f"{theirs / mine:.1f}×", aim
                )
            row = "random 1000 × 10"
            self.row(
                row,
                milliseconds([ours(row)[row] for _ in range(self.rounds)]),
                f"Optuna {milliseconds([peer('optuna', row)])}",
                "",
                "≤ 50 ms",
            )
            for sampler in ("random", "grid", "sobol", "halton"):
                late, early = f"{sampler} 2, after 90000: 10000", f"{sampler} 2 × 10000"
                pairs = [ours(early, late) for _ in range(self.rounds)]
                ratio = statistics.median(p[late] / p[early] for p in pairs)
                self.row(
                    f"{sampler}, trials up to 100,000 over those up to 10,000",
                    milliseconds([p[late] for p in pairs]),
                    milliseconds([p[early] for p in pairs]),
                    f"{ratio:.2f}",
                    "≤ 2",
                )

    def quality(self):
        """The best value that samplers find, against Optuna's as peer_quality.json has them."""
        peer = json.load(open(os.path.join(HERE, "peer_quality.json")))
        program = os.path.join(BUILD, "bench", "bench_quality")
        for name, values in json.loads(run([program, "probe"])).items():
            if any(abs(a - b) > 1e-9 * max(1, abs(b)) for a, b in zip(values, peer["functions"][name]["probe"])):
                sys.exit(
                    f"{name} is not the same function here and in peer_quality.py: {values},"
                    f" {peer['functions'][name]['probe']}"
                )

        @functools.cache
        def found(function, sampler, trials, seeds):
            return json.loads(run([program, function, sampler, str(trials), str(seeds)]))

        chance = {(row["function"], row["trials"]): row["best"] for row in peer["rows"] if row["sampler"] == "random"}
        for row in peer["rows"]:
            function, trials, seeds = row["function"], row["trials"], len(row["best"])
            if row["sampler"] == "random":
                continue
            optimum, typical = (peer["functions"][function][key] for key in ("optimum", "typical"))
            mine = found(function, row["sampler"], trials, seeds)
            ours, theirs = ((statistics.median(best) - optimum) / (typical - optimum) for best in (mine, row["best"]))
            p = worse_by_chance(mine, found(function, "random", trials, 30))
            peer_p = worse_by_chance(row["best"], chance[function, trials])
            ratio = theirs / ours
            holds = ratio >= 1 / 1.05 and (p < 0.01 or peer_p >= 0.01)
            judged = row["sampler"] in ("tpe", "cma_es", "gp")
            self.row(
                f"{row['sampler']}, {function}, {trials} trials, {seeds} seeds: normalised regret",
                f"{ours:.3g} (p {p:.2g})",
                f"{row['peer']} {theirs:.3g} (p {peer_p:.2g})",
                f"{ratio:.2f}×" + (" PASS" if holds else " short") * judged,
                "≥ 0.95×, p < 0.01 against random" if judged else "",
            )
        # The peer's file has no rows of the Gaussian process with two objectives: TPE and chance are its peers.
        optimum, typical = (peer["functions"]["zdt1"][key] for key in ("optimum", "typical"))
        gp, tpe, drawn = (found("zdt1", sampler, 60, 30) for sampler in ("gp", "tpe", "random"))
        ours, theirs = ((statistics.median(best) - optimum) / (typical - optimum) for best in (gp, tpe))
        p = max(worse_by_chance(gp, tpe), worse_by_chance(gp, drawn))
        self.row(
            "gp, zdt1, 60 trials, 30 seeds: normalised regret",
            f"{ours:.3g} (p {p:.2g})",
            f"tpe of trainlab {theirs:.3g}",
            f"{theirs / ours:.2f}×" + (" PASS" if p < 0.01 else " short"),
            "p < 0.01 against tpe and random",
        )

    def start(self):
        with tempfile.TemporaryDirectory() as out:
            command = [TRAINLAB, os.path.join(HERE, "recipes", "first_step.lua"), "--json", "--quiet", "--out"]
            numbers = iter(range(1000))
            first = statistics.median(wall([*command, os.path.join(out, str(next(numbers)))], 1) for _ in range(9))
            digits = [TRAINLAB, os.path.join(ROOT, "recipes", "digits.lua"), "--json", "--quiet", "--out"]
            whole = statistics.median(
                wall([*digits, os.path.join(out, "d" + str(next(numbers)))], 1) for _ in range(5)
            )
            memory = engine_memory([*digits, os.path.join(out, "m")])
        self.row(
            "command to the end of a one-step digits fit",
            f"{first:.2f} s",
            "with validation, test and checkpoint",
            "",
            "≤ 0.4 s to the first step",
        )
        self.row("the whole digits run", f"{whole:.2f} s", "", "", "≤ 3 s")
        self.row("the engine's memory in it", f"{memory:.0f} MB RSS", "", "", "≤ 200 MB")

    def busy(self):
        cores = len(os.sched_getaffinity(0))
        digits = os.path.join(ROOT, "engine", "data", "assets", "digits.csv.gz")

        def ours(recipe, arguments):
            return lambda: fit_summary(TRAINLAB, os.path.join(ROOT, "recipes", recipe), arguments, cores)["seconds"]

        def peer(script, arguments):
            return lambda: json.loads(run([sys.executable, os.path.join(HERE, script), *arguments]))["seconds"]

        busy.measure(self.row, "recipes/digits.lua", ours("digits.lua", []),
                     peer("peer_fit.py", ["mlp_small", "20", str(cores), digits]), self.rounds)
        if text := self.beside("tinyshakespeare.txt"):
            busy.measure(self.row, "recipes/chargpt.lua, 20 steps",
                         ours("chargpt.lua", ["--text", text, "--steps", "20"]),
                         peer("peer_gpt.py", [text, "20", str(cores)]), self.rounds)

    def help(self):
        for arguments in (["--help"], ["help", "optim.AdamW"]):
            self.row(
                "trainlab " + " ".join(arguments),
                f"{1e3 * wall([TRAINLAB, *arguments], 21):.1f} ms",
                "",
                "",
                "≤ 20 ms",
            )

    def report(self):
        for trials in (100, 10000):
            seconds = report_seconds(TRAINLAB, os.path.join(BUILD, "tests", "make_study"), trials, 21)
            self.row(f"trainlab report, {trials} trials with 10 reports", f"{1e3 * seconds:.1f} ms", "", "", "≤ 50 ms")

    def memory(self):
        """Growth of the engine's resident memory between the 5th and the 50th epoch."""
        result = json.loads(run([os.path.join(BUILD, "bench", "bench_memory")]))
        self.row(
            "resident memory, epoch 50 over epoch 5",
            f"{result['late_mb']:.1f} MB",
            f"{result['early_mb']:.1f} MB",
            f"{100 * (result['late_mb'] / result['early_mb'] - 1):+.2f} %",
            "flat",
        )


    def sweep(self):
        """64 trials of 10 epochs, command to finished process; memory of a long sweep."""
        if not self.peers_of_studies():
            return
        digits = os.path.join(ROOT, "engine", "data", "assets", "digits.csv.gz")
        recipe = os.path.join(HERE, "recipes", "sweep.lua")
        peer = [sys.executable, os.path.join(HERE, "peer_sweep.py"), "64", "2", digits]
        mine, theirs = [], []
        for i in range(max(self.rounds, 1)):
            for side in (0, 1) if i % 2 == 0 else (1, 0):
                with tempfile.TemporaryDirectory() as out:
                    command = [TRAINLAB, recipe, "--quiet", "--json", "--out", os.path.join(out, "run")]
                    begin = time.perf_counter()
                    text = run(peer if side else command)
                    (theirs if side else mine).append(time.perf_counter() - begin)
                    if not side:
                        best = json.loads(text)["best"]["value"]
        ratio = statistics.median(t / m for m, t in zip(mine, theirs))
        self.row(
            "sweep: 64 trials × 10 epochs of MLP 64-32-10 on digits, random, SQLite, 2 processes",
            f"{statistics.median(mine):.2f} s (accuracy {best:.3f})",
            f"Optuna + PyTorch {statistics.median(theirs):.1f} s",
            f"{ratio:.1f}×",
            "≥ 10×, 20× wanted",
        )

        def memory(trials):
            with tempfile.TemporaryDirectory() as out:
                return engine_memory(
                    [
                        TRAINLAB,
                        recipe,
                        "--trials",
                        str(trials),
                        "--epochs",
                        "1",
                        "--workers",
                        "1",
                        "--quiet",
                        "--out",
                        os.path.join(out, "run"),
                    ]
                )
        few, many = memory(32), memory(1000)
        self.row(
            "resident memory of a sweep, 1,000 trials over 32",
            f"{many:.1f} MB",
            f"{few:.1f} MB",
            f"{(many / few - 1) * 100:+.1f} %",
            "≤ 5 %",
        )

    def stack(self):
        """A step of a model alone, alone in its padded stack of two, and in stacks, by the arithmetic of a step."""
        recipe = os.path.join(HERE, "recipes", "sweep.lua")

        def step(trials, stack, *more):
            times = []
            for _ in range(max(self.rounds, 1)):
                with tempfile.TemporaryDirectory() as out:
                    text = run(
                        [
                            TRAINLAB,
                            recipe,
                            "--trials",
                            str(trials),
                            "--workers",
                            "1",
                            "--quiet",
                            "--json",
                            "--out",
                            out + "/run",
                            "--set",
                            f"stack={stack}",
                            *more,
                        ]
                    )
                    assert json.loads(text)["trials"]["complete"] == trials
                    fits = [json.load(open(p)) for p in glob.glob(out + "/run/trials/*/seed-1/summary.json")]
                    times.append(sum(f["seconds"] for f in fits) / sum(f["steps"] for f in fits) * 1e6)
            return statistics.median(times)

        for width, depth, batch in (
            (32, 1, 32),
            (64, 1, 32),
            (128, 1, 32),
            (256, 1, 32),
            (256, 2, 32),
            (512, 2, 32),
            (128, 1, 128),
        ):
            sizes = ["--width", str(width), "--depth", str(depth), "--batch", str(batch), "--epochs", "10"]
            weights = 64 * width + (depth - 1) * width * width + 10 * width
            alone, padded = step(4, "false", *sizes), step(1, 2, *sizes)
            stacks = {n: step(n, n, *sizes) for n in (2, 4, 8, 16, 32)}
            best = min(stacks, key=stacks.get)
            self.row(
                f"stack: MLP 64-{'-'.join([str(width)] * depth)}-10, batch {batch}, {6 * weights * batch / 1e6:.2f}"
                " MFLOP a step",
                ", ".join(f"{n}: {t:.0f}" for n, t in stacks.items()) + " µs a model-step",
                f"alone {alone:.0f} µs, alone and padded {padded:.0f} µs",
                f"{alone / stacks[best]:.2f}× with {best}",
                "what `auto` decides by",
            )


def milliseconds(times):
    return f"{1e3 * statistics.median(times):.3g} ms"


def worse_by_chance(ours, others):
    """How likely ours are this much smaller by chance alone: Mann-Whitney's test, one-sided, by its normal limit."""
    n, m = len(ours), len(others)
    wins = sum((a < b) + 0.5 * (a == b) for a in ours for b in others)
    counts = collections.Counter(ours + others)
    ties = sum(c**3 - c for c in counts.values()) / ((n + m) * (n + m - 1))
    deviation = math.sqrt(n * m / 12 * (n + m + 1 - ties))
    return 1 - statistics.NormalDist().cdf((wins - n * m / 2 - 0.5) / deviation) if deviation else 1.0


def big_study(trials):
    """As tests/support/make_study.cpp takes it: four parameters; every fourth trial was pruned."""
    draw = random.Random(1)
    ranges = {"lr": (1e-4, 1e-1), "decay": (1e-6, 1e-2), "dropout": (0, 0.5), "momentum": (0, 0.99)}
    rows = []
    for number in range(trials):
        values = [0.5 + 0.5 * draw.random() ** (1 / step) for step in range(1, 11)]
        row = {
            "state": "pruned" if number % 4 == 0 else "complete",
            "values": [values[-1]],
            "params": {name: draw.uniform(low, high) for name, (low, high) in ranges.items()},
            "info": {
                "seed_values": [values[-1]],
                "seconds": 1.5,
                "ran": "stack of 8",
                "metrics": {"val.accuracy": values[-1]},
            },
        }
        rows.append({**row, "reports": [[1, step + 1, value] for step, value in enumerate(values)]})
    space = [{"name": name, "kind": "real", "low": low, "high": high} for name, (low, high) in sorted(ranges.items())]
    return {
        "trials": rows,
        "description": {
            "format": 1,
            "kind": "sweep",
            "name": "s",
            "space": space,
            "objectives": [{"metric": "val.accuracy", "goal": "max"}],
            "sampler": "sampler.random()",
            "pruner": "pruner.asha()",
            "seeds": 1,
            "aggregate": "mean",
            "seed": 1,
            "by_order": [],
        },
    }


def engine_memory(command):
    """Peak resident memory (MB) of the engine, the only child of the program that uses more than a few MB."""
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL,"
        " stderr=subprocess.DEVNULL, check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    return int(run([sys.executable, "-c", script, *command])) / 1024


def machine():
    model = re.search(r"model name\s*:\s*(.*)", open("/proc/cpuinfo").read())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{model.group(1) if model else platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB,"
        f" {platform.system()} {platform.release()}"
    )


def main():
    names = [
        "small",
        "mnist",
        "cnn",
        "loop",
        "gpt",
        "overhead",
        "operators",
        "averaging",
        "loader",
        "images",
        "start",
        "help",
        "memory",
        "study",
        "quality",
        "report",
        "sweep",
        "stack",
        "busy",
    ]
    needs_data = {"mnist", "cnn", "loop", "overhead", "loader"}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data", "mnist"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for name in options.names:
        if name not in names:
            parser.error(f"unknown benchmark {name}; there are {', '.join(names)}")
    bench = Bench(options)
    for name in options.names or names:
        if name in needs_data and not os.path.isdir(options.data):
            print(f"  {name}: left out, no MNIST files at {options.data} (--data DIR)")
            continue
        getattr(bench, name)()
    print(f"\nMachine: {machine()}\n\n| what | trainlab | peer | ratio | aim |\n| --- | --- | --- | --- | --- |")
    for row in bench.rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
