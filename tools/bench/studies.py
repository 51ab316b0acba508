"""Rows of studies: the speed and quality of samplers, reports, sweeps and stacks."""

import collections
import functools
import glob
import importlib.util
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from programs import BUILD, HERE, ROOT, TRAINLAB, bench_program, engine_memory, peer_command, peer_result, run, wall


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


def report_seconds(program, make_study, trials, count):
    """The leaderboard of a study with many trials, each with its reports, from command to finished process."""
    with tempfile.TemporaryDirectory() as folder:
        spec, made = os.path.join(folder, "spec.json"), os.path.join(folder, "run")
        with open(spec, "w") as file:
            json.dump({"stages": [{"name": "s", "kind": "sweep", "folder": ".", "study": big_study(trials)}]}, file)
        run([make_study, spec, made])
        return wall([program, "report", made], count)


def peers_are_there():
    if all(importlib.util.find_spec(name) for name in ("optuna", "rustuna")):
        return True
    print("  left out, no optuna and rustuna")
    return False


def ask_and_tell(add_row, rounds):
    """Ask and tell without training, one thread."""
    if not peers_are_there():
        return
    with tempfile.TemporaryDirectory() as folder:

        def ours(*rows):
            return json.loads(run([bench_program("bench_study"), *rows], cwd=folder))

        def peer(name, row):
            return peer_result("study", name, row, cwd=folder)["seconds"]

        def from_lua(row):
            return ask_tell(TRAINLAB, os.path.join(HERE, "recipes", "ask_tell.lua"), row, folder)

        for row, aim in (
            ("random 2 × 10000", "> 1×"),
            ("tpe 2 × 1000", "≥ 2×"),
            ("tpe 40 × 1000", "> 1×, 2× wished"),
            ("tpe 2 × 1000, two objectives", "> 1×"),
            ("cma_es 10 × 10000", "> 1×, 2× wished"),
            ("nsga2 2 × 10000, two objectives", "> 1×"),
        ):
            mine, lua, theirs = [], [], []
            for i in range(rounds):
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
                add_row(name, milliseconds(times), peers, f"{ratio:.1f}×", aim)
        for row, aim in (("gp 4 × 100", "≥ 5×"), ("random 2 × 1000, SQLite", "≤ 500 ms, ≥ 50×")):
            mine, theirs = statistics.median(ours(row)[row] for _ in range(rounds)), peer("optuna", row)
            add_row(
                row, milliseconds([mine]), f"Optuna {milliseconds([theirs])} (once)", f"{theirs / mine:.1f}×", aim
            )
        row = "random 1000 × 10"
        add_row(
            row,
            milliseconds([ours(row)[row] for _ in range(rounds)]),
            f"Optuna {milliseconds([peer('optuna', row)])}",
            "",
            "≤ 50 ms",
        )
        for sampler in ("random", "grid", "sobol", "halton"):
            late, early = f"{sampler} 2, after 90000: 10000", f"{sampler} 2 × 10000"
            pairs = [ours(early, late) for _ in range(rounds)]
            ratio = statistics.median(p[late] / p[early] for p in pairs)
            add_row(
                f"{sampler}, trials up to 100,000 over those up to 10,000",
                milliseconds([p[late] for p in pairs]),
                milliseconds([p[early] for p in pairs]),
                f"{ratio:.2f}",
                "≤ 2",
            )


def quality(add_row):
    """The best value that samplers find, against Optuna's as peers/quality.json has them."""
    peer = json.load(open(os.path.join(HERE, "peers", "quality.json")))
    program = bench_program("bench_quality")
    for name, values in json.loads(run([program, "probe"])).items():
        if any(abs(a - b) > 1e-9 * max(1, abs(b)) for a, b in zip(values, peer["functions"][name]["probe"])):
            sys.exit(
                f"{name} is not the same function here and in peers/quality.py: {values},"
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
        add_row(
            f"{row['sampler']}, {function}, {trials} trials, {seeds} seeds: normalised regret",
            f"{ours:.3g} (p {p:.2g})",
            f"{row['peer']} {theirs:.3g} (p {peer_p:.2g})",
            f"{ratio:.2f}×" + (" PASS" if holds else " short") * judged,
            "≥ 0.95×, p < 0.01 against random" if judged else "",
        )
    # The peer's file has no rows of the Gaussian process with several objectives: TPE and chance are its peers.
    for function, is_ahead in (("zdt1", True), ("dtlz2_3", False), ("plane_3", True)):
        optimum, typical = (peer["functions"][function][key] for key in ("optimum", "typical"))
        gp, tpe, drawn = (found(function, sampler, 60, 30) for sampler in ("gp", "tpe", "random"))
        ours, theirs = ((statistics.median(best) - optimum) / (typical - optimum) for best in (gp, tpe))
        p, behind = worse_by_chance(gp, drawn), worse_by_chance(tpe, gp)
        holds = p < 0.01 and (worse_by_chance(gp, tpe) < 0.01 if is_ahead else behind >= 0.01)
        add_row(
            f"gp, {function}, 60 trials, 30 seeds: normalised regret",
            f"{ours:.3g} (p {p:.2g})",
            f"tpe of trainlab {theirs:.3g}",
            f"{theirs / ours:.2f}×" + (" PASS" if holds else " short"),
            "p < 0.01 against random" + (" and tpe" if is_ahead else ", not behind tpe"),
        )


def reports(add_row):
    for trials in (100, 10000):
        seconds = report_seconds(TRAINLAB, os.path.join(BUILD, "tests", "make_study"), trials, 21)
        add_row(f"trainlab report, {trials} trials with 10 reports", f"{1e3 * seconds:.1f} ms", "", "", "≤ 50 ms")


SWEEP = os.path.join(HERE, "recipes", "sweep.lua")


def our_sweep():
    """Seconds of a sweep of 64 trials of 10 epochs by two processes, command to finished process; its best accuracy."""
    with tempfile.TemporaryDirectory() as out:
        begin = time.perf_counter()
        text = run([TRAINLAB, SWEEP, "--quiet", "--json", "--out", os.path.join(out, "run")])
        return time.perf_counter() - begin, json.loads(text)["best"]["value"]


def sweeps(add_row, rounds):
    """64 trials of 10 epochs, command to finished process; memory of a long sweep."""
    if not peers_are_there():
        return
    digits = os.path.join(ROOT, "engine", "data", "assets", "digits.csv.gz")
    peer = peer_command("sweep", "64", "2", digits)
    mine, theirs = [], []
    for i in range(max(rounds, 1)):
        for side in (0, 1) if i % 2 == 0 else (1, 0):
            if side:
                theirs.append(wall(peer, 1))
            else:
                seconds, best = our_sweep()
                mine.append(seconds)
    ratio = statistics.median(t / m for m, t in zip(mine, theirs))
    add_row(
        "sweep: 64 trials × 10 epochs of MLP 64-32-10 on digits, random, SQLite, 2 processes",
        f"{statistics.median(mine):.2f} s (accuracy {best:.3f})",
        f"Optuna + PyTorch {statistics.median(theirs):.1f} s",
        f"{ratio:.1f}×",
        "≥ 15×, 25× wanted",
    )

    def memory(trials):
        with tempfile.TemporaryDirectory() as out:
            return engine_memory(
                [
                    TRAINLAB,
                    SWEEP,
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
    add_row(
        "resident memory of a sweep, 1,000 trials over 32",
        f"{many:.1f} MB",
        f"{few:.1f} MB",
        f"{(many / few - 1) * 100:+.1f} %",
        "≤ 5 %",
    )


def stacks(add_row, rounds):
    """A step of a model alone, alone in its padded stack of two, and in stacks, by the arithmetic of a step."""
    recipe = os.path.join(HERE, "recipes", "sweep.lua")

    def step(trials, stack, *more):
        times = []
        for _ in range(max(rounds, 1)):
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
        add_row(
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
