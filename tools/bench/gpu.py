"""Training on a GPU beside PyTorch eager on the same GPU: steps a second of whole runs, with their validations."""

import os
import pathlib
import statistics
import tempfile

from programs import HERE, ROOT, TRAINLAB, fit_summary, peer_result

PRECISIONS = ("float32", "bfloat16")
GPT_SIZES = {  # steps, and arguments: those of nanoGPT for a CPU and for a GPU
    "small": (1000, []),
    "large": (600, ["--context", "256", "--width", "384", "--heads", "6", "--layers", "6", "--batch", "64"]),
}


def steps_a_second(summary):
    return summary["steps"] / summary["seconds"]


def pair(row, what, recipe, arguments, peer, peer_arguments, metric, peer_metric, rounds, threads=2):
    """Alternating runs of a recipe and of a program of peers/; the ratio is the median of the pairs' ratios."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(fit_summary(TRAINLAB, recipe, [*arguments, "--device", "cuda"], threads))
        theirs.append(peer_result(peer, *peer_arguments))
    ratio = statistics.median(steps_a_second(a) / steps_a_second(b) for a, b in zip(ours, theirs))
    mine, other = [statistics.median(map(steps_a_second, all_of_them)) for all_of_them in (ours, theirs)]
    row(f"{what}, GPU", f"{mine:.0f} steps a second ({metric} {ours[-1]['metrics'][metric]:.3f})",
        f"PyTorch {other:.0f} ({metric} {theirs[-1][peer_metric]:.3f})", f"{ratio:.2f}×", "≥ 1×")


def in_precision(name, precision, folder):
    """The file of a recipe that computes in `precision`."""
    text = pathlib.Path(ROOT, "recipes", name).read_text(encoding="utf-8")
    path = pathlib.Path(folder, f"{precision}-{name}")
    path.write_text(text.replace("\n  loss ", f'\n  precision = "{precision}",\n  loss ', 1), encoding="utf-8")
    return str(path)


def measure(row, data, beside, rounds):
    mnist = os.path.join(HERE, "recipes", "mnist.lua")
    for kind, what in (("mlp", "MLP 784-128-10"), ("cnn", "small CNN on MNIST")):
        pair(row, f"{what}, batch 64", mnist, ["--data", data, "--model", kind, "--epochs", "2"],
             "fit", [f"mnist_{kind}", "2", "2", data, "cuda"], "val.accuracy", "accuracy", rounds)
    with tempfile.TemporaryDirectory() as folder:
        if text := beside("tinyshakespeare.txt"):
            for size, (steps, arguments) in GPT_SIZES.items():
                for precision in PRECISIONS:
                    pair(row, f"recipes/chargpt.lua, {size}, {precision}",
                         in_precision("chargpt.lua", precision, folder),
                         ["--text", text, "--steps", str(steps), *arguments],
                         "gpt", [text, str(steps), "2", "1", "cuda", size, precision], "val.loss", "val_loss", rounds)
        if archive := beside("cifar10-jpeg.tar"):
            for precision in PRECISIONS:
                pair(row, f"recipes/cifar.lua, width 64, {precision}, from decoded images in PyTorch",
                     in_precision("cifar.lua", precision, folder),
                     ["--data", archive, "--time", "10 s", "--width", "64"],
                     "cifar", [archive, "10", "8", "64", "cuda", precision], "test.accuracy", "accuracy", rounds,
                     threads=8)
