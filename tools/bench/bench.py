"""Benchmarks of trainlab, each against a peer measured in the same run: programs alternate, medians are compared.

    tools/bench/run [NAME…] [--data DIR] [--rounds N]       names: small mnist cnn loop gpt overhead operators averaging
    loader images start help memory budgets lean precision offload study quality report sweep stack busy deadlines
    profile gpu

`tools/bench/run` sets up the peer (PyTorch from PyPI in a folder of its own), builds, and calls this. DIR holds the
MNIST files, and the folder above it tinyshakespeare.txt and cifar10-jpeg.tar; benchmarks whose files are missing are
left out, with a message.
"""

import argparse
import json
import os
import platform
import re
import statistics
import tempfile

import budgets
import busy
import deadlines
import lean
import offload
import precision
import studies
import verdicts
from programs import (HERE, ROOT, TRAINLAB, bench_program, engine_memory, fit_summary, peer_result, run, seconds_until,
                      step_microseconds, wall)


def trainlab_run(recipe, arguments, metric, threads=1):
    """µs a step, and a metric."""
    summary = fit_summary(TRAINLAB, recipe, arguments, threads)
    return step_microseconds(summary), summary["metrics"][metric]


def peer_run(name, arguments, metric):
    result = peer_result(name, *arguments)
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
                   lambda: peer_run("fit", [kind, str(epochs), "1", path], "accuracy"), "accuracy", aim)

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
                   lambda: peer_run("loop", ["2", "1", self.data], "accuracy"), "accuracy", "≥ 1.2×")

    def gpt(self):
        text, steps = self.beside("tinyshakespeare.txt"), 200
        if not text:
            return
        recipe = os.path.join(ROOT, "recipes", "chargpt.lua")
        self.pairs(f"recipes/chargpt.lua, {steps} steps, 2 threads",
                   lambda: trainlab_run(recipe, ["--text", text, "--steps", str(steps)], "val.loss", threads=2),
                   lambda: peer_run("gpt", [text, str(steps), "2"], "val_loss"), "val.loss", "≥ 1.0×")

    def beside(self, name):
        """A file beside the folder of MNIST; None, and said so, where it is missing."""
        path = os.path.join(os.path.dirname(os.path.abspath(self.data)), name)
        if os.path.exists(path):
            return path
        print(f"  left out, no {path}")
        return None

    def operators(self):
        result = json.loads(run([bench_program("bench_ops")]))
        for name, one in result.items():
            self.row(
                f"lab.ops on 8 × 8: {name}",
                f"{one['lua_us']:.2f} µs",
                f"C++ {one['native_us']:.2f} µs",
                f"{one['difference_us']:+.2f} µs",
                "≤ 0.6 µs",
            )

    def overhead(self):
        result = json.loads(run([bench_program("bench_overhead"), self.data]))
        self.row("trainer over a bare ATen loop, MLP 784-128-10, batch 64", f"{result['trainer_us']:.0f} µs a step",
                 f"bare {result['bare_us']:.0f} µs", f"{100 * (result['ratio'] - 1):+.1f} %", "≤ 3 %")

    def averaging(self):
        result = json.loads(run([bench_program("bench_averaging")]))
        for name, what in (("ema", "moving average of the weights"), ("clip", "clipping by norm")):
            self.row(
                f"{what} over its bare arithmetic, {result['values']} values",
                f"{result[name + '_us']:.0f} µs",
                f"bare {result[name + '_bare_us']:.0f} µs",
                f"{100 * (result[name + '_ratio'] - 1):+.1f} %",
                "≤ 3 %",
            )

    def loader(self):
        ours = json.loads(run([bench_program("bench_loader"), self.data]))["us_per_batch"]
        peer = peer_result("loader", self.data)["us_per_batch"]
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
                    run([bench_program("bench_images"), archive, "2", os.path.join(folder, "pack")])
                )
                ours.append(result["decode_us"])
                packed.append(result["packed_us"])
                peer.append(peer_result("images", archive, "2")["us_per_image"])
        theirs = f"DataLoader {statistics.median(peer):.0f} µs with 2 workers"
        for what, mine, aim in (
            ("CIFAR-10: JPEG, padded crop, flip, 2 threads", ours, "≥ 2×"),
            ("the same from the packed cache", packed, "≥ 10×"),
        ):
            ratio = statistics.median(p / o for o, p in zip(mine, peer))
            self.row(what, f"{statistics.median(mine):.1f} µs an image", theirs, f"{ratio:.1f}×", aim)

    def start(self):
        with tempfile.TemporaryDirectory() as out:
            command = [TRAINLAB, os.path.join(HERE, "recipes", "first_step.lua"), "--json", "--out"]
            numbers = iter(range(1000))
            first = statistics.median(
                seconds_until([*command, os.path.join(out, str(next(numbers)))], "first step") for _ in range(9))
            digits = [TRAINLAB, os.path.join(ROOT, "recipes", "digits.lua"), "--json", "--quiet", "--out"]
            whole = statistics.median(
                wall([*digits, os.path.join(out, "d" + str(next(numbers)))], 1) for _ in range(5)
            )
            memory = engine_memory([*digits, os.path.join(out, "m")])
        self.row(
            "command to the end of the first step of the digits",
            f"{first:.2f} s",
            "",
            "",
            "≤ 0.2 s to the first step",
        )
        self.row("the whole digits run", f"{whole:.2f} s", "", "", "≤ 3 s")
        checked = wall([TRAINLAB, "check", os.path.join(ROOT, "recipes", "digits.lua")], 9)
        self.row("trainlab check recipes/digits.lua", f"{checked:.2f} s", "", "", "≤ 0.25 s")
        self.row("the engine's memory in it", f"{memory:.0f} MB RSS", "", "", "≤ 200 MB")

    def busy(self):
        cores = len(os.sched_getaffinity(0))
        digits = os.path.join(ROOT, "engine", "data", "assets", "digits.csv.gz")

        def ours(recipe, arguments):
            return lambda: fit_summary(TRAINLAB, os.path.join(ROOT, "recipes", recipe), arguments, cores)["seconds"]

        def peer(name, arguments):
            return lambda: peer_result(name, *arguments)["seconds"]

        busy.measure(self.row, "recipes/digits.lua", ours("digits.lua", []),
                     peer("fit", ["mlp_small", "20", str(cores), digits]), self.rounds)
        if text := self.beside("tinyshakespeare.txt"):
            busy.measure(self.row, "recipes/chargpt.lua, 20 steps",
                         ours("chargpt.lua", ["--text", text, "--steps", "20"]),
                         peer("gpt", [text, "20", str(cores)]), self.rounds)
        busy.measure(self.row, "sweep of 64 trials on digits, 2 processes", lambda: studies.our_sweep()[0], None,
                     self.rounds)

    def deadlines(self):
        for busy_count in (0, 2):

            def row(cells, is_right, beside=busy_count):
                _, stages, kind, budget, used, wall, late, _ = cells
                self.row(f"{stages} stages of kind {kind} within {budget}, beside {beside} busy processes",
                         f"used {used}, {wall} from command to end", "",
                         f"late by {late}" if is_right else f"WRONG, late by {late}", "in time, with a model, ≥ 85 %")

            deadlines.measure(row, busy=busy_count)

    def help(self):
        for arguments in (["--help"], ["help", "optim.AdamW"]):
            self.row(
                "trainlab " + " ".join(arguments),
                f"{1e3 * wall([TRAINLAB, *arguments], 21):.1f} ms",
                "",
                "",
                "≤ 20 ms",
            )

    def profile(self):
        text, is_enough = verdicts.measure(["--data", os.path.dirname(os.path.abspath(self.data))])
        self.row("verdicts of trainlab profile", text, "", "enough" if is_enough else "TOO FEW",
                 "≥ 95 % right, at most 1 balanced stage called something")

    def study(self):
        studies.ask_and_tell(self.row, self.rounds)

    def quality(self):
        studies.quality(self.row)

    def report(self):
        studies.reports(self.row)

    def sweep(self):
        studies.sweeps(self.row, self.rounds)

    def stack(self):
        studies.stacks(self.row, self.rounds)

    def memory(self):
        """Growth of the engine's resident memory between the 5th and the 50th epoch; the option `memory`."""
        result = json.loads(run([bench_program("bench_memory")]))
        self.row(
            "resident memory, epoch 50 over epoch 5",
            f"{result['late_mb']:.1f} MB",
            f"{result['early_mb']:.1f} MB",
            f"{100 * (result['late_mb'] / result['early_mb'] - 1):+.2f} %",
            "flat",
        )
        for line in run([bench_program("bench_recompute"), str(os.cpu_count())]).splitlines():
            one = json.loads(line)
            if one["way"] == "plain":
                plain = one
            if one["arithmetic"]:
                self.row(
                    f"{one['fit']}, {one['way']}",
                    f"{one['weight_bytes']:.2f} bytes a weight, {one['step_ms']:.1f} ms a step",
                    f"arithmetic {one['arithmetic']:.2f}",
                    f"{100 * (one['weight_bytes'] / one['arithmetic'] - 1):+.1f} %, {one['ratio']:.2f} × the step",
                    "within 5 %",
                )
                continue
            if one["way"] == "plain":
                continue
            activations, peak = (100 * (one[what] / plain[what] - 1) for what in ("activations_mb", "peak_mb"))
            self.row(
                f"{one['fit']}, {one['way']}, {os.cpu_count()} threads",
                f"{one['activations_mb']:.1f} MB of activations and temporaries, {one['peak_mb']:.1f} MB in all,"
                f" {one['step_ms']:.1f} ms a step",
                f"plain {plain['activations_mb']:.1f} MB, {plain['peak_mb']:.1f} MB, {plain['step_ms']:.1f} ms",
                f"{activations:+.0f} %, in all {peak:+.0f} %, {one['ratio']:.2f} × the step",
                "−50 to −80 % at ≤ 1.35 ×" if one["way"].startswith(("every", "auto")) else "less",
            )

    def budgets(self):
        for net, what in (("mlp", "MLP of 64 layers"), ("transformer", "transformer of 12 blocks")):
            budgets.measure(self.row, net, what, os.cpu_count(), min(self.rounds, 3))
        budgets.measure_recipe(self.row, [os.path.join(ROOT, "recipes", "digits.lua")], "recipes/digits.lua", 1,
                               min(self.rounds, 3))

    def lean(self):
        for net, what, name, steps in (("text", "characters", "tinyshakespeare.txt", 300),
                                       ("images", "CIFAR-10", "cifar10-jpeg.tar", 150)):
            if path := self.beside(name):
                lean.measure(self.row, net, what, path, steps)

    def precision(self):
        for name in precision.RECIPES:
            precision.measure(self.row, name)
        for net, what in precision.NETS:
            precision.measure_activations(self.row, net, what, self.rounds)

    def offload(self):
        def row(cells, is_right):
            what, peak, in_file, step, same = cells
            said = f"{peak}, {in_file} in the file, {step} a step" if in_file else peak
            self.row(what, said, "", "" if is_right else "**wrong**",
                     "peak ≤ limit, the bytes of the plain training" if same else "refused under the limit")

        offload.measure(row)

    def gpu(self):
        if not os.path.exists("/dev/nvidiactl"):
            print("  left out, there is no GPU")
            return
        for kind, what in (("mlp", "MLP 784-128-10"), ("cnn", "small CNN on MNIST")):
            self.on_gpu(f"{what}, batch 64", os.path.join(HERE, "recipes", "mnist.lua"),
                        ["--data", self.data, "--model", kind, "--epochs", "2"], "val.accuracy",
                        "fit", [f"mnist_{kind}", "2", "2", self.data, "cuda"], "accuracy")
        text, archive = self.beside("tinyshakespeare.txt"), self.beside("cifar10-jpeg.tar")
        sizes = (  # of nanoGPT for a CPU, and for a GPU
            ("small", "1000", []),
            ("large", "600", ["--context", "256", "--width", "384", "--heads", "6", "--layers", "6", "--batch", "64"]))
        for size, steps, arguments in sizes if text else ():
            for precision in ("float32", "bfloat16"):
                self.on_gpu(f"recipes/chargpt.lua, {size}, {precision}", os.path.join(ROOT, "recipes", "chargpt.lua"),
                            ["--text", text, "--steps", steps, "--set", f"precision={precision}", *arguments],
                            "val.loss", "gpt", [text, steps, "2", "1", "cuda", size, precision], "val_loss")
        for precision in ("float32", "bfloat16") if archive else ():
            self.on_gpu(f"recipes/cifar.lua, width 64, {precision}, from decoded images in PyTorch",
                        os.path.join(ROOT, "recipes", "cifar.lua"),
                        ["--data", archive, "--time", "10 s", "--width", "64", "--set", f"precision={precision}"],
                        "test.accuracy", "cifar", [archive, "10", "8", "64", "cuda", precision], "accuracy", threads=8)

    def on_gpu(self, what, recipe, arguments, metric, peer, peer_arguments, peer_metric, threads=2):
        self.pairs(f"{what}, GPU", lambda: trainlab_run(recipe, [*arguments, "--device", "cuda"], metric, threads),
                   lambda: peer_run(peer, peer_arguments, peer_metric), metric, "≥ 1×")


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
        "budgets",
        "lean",
        "precision",
        "offload",
        "study",
        "quality",
        "report",
        "sweep",
        "stack",
        "busy",
        "deadlines",
        "profile",
        "gpu",
    ]
    needs_data = {"mnist", "cnn", "loop", "overhead", "loader", "gpu"}
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
