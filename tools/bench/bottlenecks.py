"""The stages of recipes/bottlenecks.lua, each of which waits for one thing, and their profiles."""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from unittest import mock

from busy import busy_processes
from programs import HERE, ROOT, TRAINLAB, run

RECIPE = os.path.join(HERE, "recipes", "bottlenecks.lua")
ALL = ("mlp", "cnn", "gpt", "loop")
FITS = ("mlp", "cnn", "gpt")
# Case → the verdict that is right, and the models that have the case.
CASES = {
    "transform": ("host", FITS),
    "decode": ("input", FITS),
    "augment": ("input", FITS),
    "storage": ("input", FITS),
    "threads": ("input", FITS),
    "functions": ("host", ALL),
    "reads": ("synchronisation", ALL),
    "validate": ("evaluation", FITS),
    "metrics": ("evaluation", FITS),
    "step_metrics": ("host", ALL),
    "commit": ("checkpoint", FITS),
    "optimizer": ("optimizer", FITS),
    "embedding": ("optimizer", ("mlp", "gpt")),
    "tiny": ("launch", ALL),
    "gemm": ("compute", ALL),
    "elementwise": ("bandwidth", ("mlp", "cnn", "loop")),
    "transfer": ("transfer", ("cnn",)),
    "contention": ("contention", ALL),
    "capacity": ("capacity", FITS),
}
SIZES = (1, 2, 3)
# Case → the stage of the input that is the slowest.
LIMITS = {"decode": "decode", "augment": "augment", "storage": "read", "threads": "augment"}
SHORT_OF_THREADS = ("threads",)  # cases in which the profile has to say that the loader has too few threads
ON_GPU = ("transfer",)  # on the CPU batches need not be moved
SLOW_IMAGES = 2000  # about, in the archive whose reads are slow; each is read once while the archive is opened
SLOW_NANOSECONDS = (200_000, 600_000, 2_000_000)  # before each read, by size
MEMORY_SHARES = (0.9, 0.7, 0.5)  # of what `trainlab check` says that a step takes, by size


def parser(doc, seconds, cases=tuple(CASES)):
    """The options of a program that goes through the cases."""
    options = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data"),
                         help="folder with cifar10-jpeg.tar and tinyshakespeare.txt")
    options.add_argument("--seconds", type=float, default=seconds,
                         help=f"the longest time of a profile (default {seconds})")
    options.add_argument("--only", choices=cases, help="this case alone")
    options.add_argument("--model", choices=ALL, help="the cases of this model alone")
    return options


def asked(options):
    """Pairs of a case and a model. Says which of them this machine cannot have, and why."""
    for case, (_, models) in CASES.items():
        for model in models:
            if options.only not in (None, case) or options.model not in (None, model):
                continue
            if case in ON_GPU and (reason := why_no_gpu(arguments(options, case, model))):
                print(f"The case {case} is left out: {reason}", file=sys.stderr)
                continue
            yield case, model


def why_no_gpu(words):
    """The reason why a recipe cannot train on a GPU here; empty: it can."""
    checked = subprocess.run([TRAINLAB, "check", *words, "--quiet"], capture_output=True, text=True)
    return "" if checked.returncode == 0 else checked.stderr.strip().splitlines()[0]


def arguments(options, case, model, **parameters):
    """The recipe and its parameters, as on the command line."""
    words = [RECIPE, "--case", "none" if case == "contention" else case, "--model", model]
    for name, value in parameters.items():
        words += [f"--{name}", str(value)]
    if case in ON_GPU:
        words += ["--device", "cuda"]
    for name, file in (("images", "cifar10-jpeg.tar"), ("text", "tinyshakespeare.txt")):
        words += [f"--{name}", os.path.join(options.data, file)]
    return words


@contextlib.contextmanager
def slow_archive(archive, nanoseconds):
    """Some images of the archive in an archive of their own, whose reads are slow for programs that begin meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        path, library = os.path.join(folder, "images.tar"), os.path.join(folder, "slow_reads.so")
        with tarfile.open(archive) as all_images, tarfile.open(path, "w") as some:
            files = [member for member in all_images if member.isfile()]
            for member in files[::max(len(files) // SLOW_IMAGES, 1)]:
                some.addfile(member, all_images.extractfile(member))
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, os.path.join(HERE, "slow_reads.c"), "-ldl"],
                       check=True)
        slow = {"LD_PRELOAD": library, "SLOW_FILE": path, "SLOW_NANOSECONDS": str(nanoseconds)}
        with mock.patch.dict(os.environ, slow):
            yield path


@contextlib.contextmanager
def stage(options, case, model, size):
    """The recipe and its parameters, as on the command line, for as long as what slows the case down is there."""
    words = arguments(options, case, model, size=size)
    if case == "contention":
        with busy_processes(size):
            yield words
    elif case == "storage":
        images = words.index("--images") + 1
        with slow_archive(words[images], SLOW_NANOSECONDS[size - 1]) as path:
            yield [*words[:images], path, *words[images + 1:]]
    elif case == "capacity":
        checked = json.loads(run([TRAINLAB, "check", *words, "--json", "--quiet"]))
        limit = MEMORY_SHARES[size - 1] * checked["stages"][0]["memory"]["step"]
        yield [*words, "--memory", f"{limit / 1e6:.3f}MB"]
    else:
        yield words


def profile(options, words, *more):
    """Returns the profile of the stage with these arguments."""
    return json.loads(run([TRAINLAB, "profile", *words, "--json", "--quiet", "--seconds", str(options.seconds), *more]))
