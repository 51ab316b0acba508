"""The stages of recipes/bottlenecks.lua, each of which waits for one thing, and their profiles."""

import argparse
import contextlib
import json
import os

from busy import busy_processes
from programs import HERE, ROOT, TRAINLAB, run

RECIPE = os.path.join(HERE, "recipes", "bottlenecks.lua")
ALL = ("mlp", "cnn", "gpt", "loop")
FITS = ("mlp", "cnn", "gpt")
# Case → the verdict that is right, and the models that have the case.
CASES = {
    "transform": ("host", FITS),
    "decode": ("input", ("cnn",)),
    "augment": ("input", ("cnn",)),
    "functions": ("host", ALL),
    "reads": ("synchronisation", ALL),
    "validate": ("evaluation", FITS),
    "metrics": ("evaluation", FITS),
    "commit": ("checkpoint", FITS),
    "optimizer": ("optimizer", FITS),
    "tiny": ("launch", ALL),
    "gemm": ("compute", ALL),
    "elementwise": ("bandwidth", ("mlp", "cnn", "loop")),
    "contention": ("contention", ALL),
}
SIZES = (1, 2, 3)


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
    """Pairs of a case and a model."""
    for case, (_, models) in CASES.items():
        for model in models:
            if options.only in (None, case) and options.model in (None, model):
                yield case, model


def others(case, size):
    """A context in which the programs run that compete with the stage of this case."""
    return busy_processes(size) if case == "contention" else contextlib.nullcontext()


def arguments(options, case, model, **parameters):
    """The recipe and its parameters, as on the command line."""
    words = [RECIPE, "--case", "none" if case == "contention" else case, "--model", model]
    for name, value in parameters.items():
        words += [f"--{name}", str(value)]
    for name, file in (("images", "cifar10-jpeg.tar"), ("text", "tinyshakespeare.txt")):
        words += [f"--{name}", os.path.join(options.data, file)]
    return words


def profile(options, words, *more):
    """What `trainlab profile` says of the stage with these arguments."""
    return json.loads(run([TRAINLAB, "profile", *words, "--json", "--quiet", "--seconds", str(options.seconds), *more]))
