"""`trainlab profile` beside PyTorch's own profiler on the same models: which operators take most time, and what both
profilers cost.

    PYTHON tools/bench/profilers.py [--data DIR] [--seconds S] [--rounds N] [--only MODEL]

PYTHON is one with PyTorch (tools/bench/run makes it in .deps/peer). DIR holds the folder mnist and tinyshakespeare.txt.
For each model, on one thread, both profilers take turns: PyTorch's with memory (peers/profiler.py), and
`trainlab profile --by operator`. Prints the five longest operators of both by their own time in a step, how many of
them agree, and how much longer a step takes with each profiler. (bench/bench_layers also measures what the counters of
trainlab's phases cost.)

The two libraries call some arithmetic by other names, so operators are compared in the groups of GROUPS. What the
optimizer does is one entry on both sides; the making of batches is left out, because trainlab's loader does it on other
threads. trainlab's own kernels have no name of an operator: they count under the part of the step that they do.
"""

import argparse
import collections
import json
import os
import statistics

from programs import HERE, ROOT, TRAINLAB, peer_result, run

GROUPS = {
    "addmm": ("aten::addmm", "aten::_addmm_activation", "aten::linear"),
    "mm": ("aten::mm", "aten::bmm", "aten::matmul"),
    "convolution": ("aten::convolution", "aten::_convolution", "aten::conv2d", "aten::mkldnn_convolution",
                    "aten::convolution_overrideable", "aten::thnn_conv2d", "aten::_slow_conv2d_forward"),
    "convolution_backward": ("aten::convolution_backward", "aten::convolution_backward_overrideable",
                             "aten::mkldnn_convolution_backward", "aten::_slow_conv2d_backward"),
    "attention": ("aten::_scaled_dot_product_flash_attention_for_cpu", "aten::scaled_dot_product_attention"),
    "attention_backward": ("aten::_scaled_dot_product_flash_attention_for_cpu_backward",),
    "relu": ("aten::relu", "aten::relu_", "aten::clamp_min", "aten::clamp_min_"),
    "loss": ("loss", "aten::cross_entropy_loss", "aten::_log_softmax", "aten::log_softmax", "aten::nll_loss",
             "aten::nll_loss_nd", "aten::nll_loss_forward", "aten::_log_softmax_backward_data",
             "aten::nll_loss_backward"),
    "sum": ("aten::sum",),
    "add": ("aten::add", "aten::add_"),
    "copy": ("aten::copy_", "aten::clone", "aten::contiguous", "aten::_to_copy", "aten::to"),
}
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
# Rows of trainlab's table whose operators make or move batches.
OF_INPUT = ("fetch", "move")
TOP = 5


class Model:
    def __init__(self, recipe, arguments, kind, path, steps):
        self.recipe, self.arguments, self.kind, self.path, self.steps = recipe, arguments, kind, path, steps


def models(data):
    recipes, mnist, text = os.path.join(HERE, "recipes"), os.path.join(data, "mnist"), "tinyshakespeare.txt"
    rare = ["--set", 'validate="100000 steps"']
    of_mnist = [os.path.join(recipes, "mnist.lua"), ["--data", mnist, "--epochs", "100", *rare]]
    return {
        "mlp": Model(*of_mnist, "mnist_mlp", mnist, 200),
        "cnn": Model(of_mnist[0], ["--model", "cnn", *of_mnist[1]], "mnist_cnn", mnist, 50),
        "gpt": Model(os.path.join(ROOT, "recipes", "chargpt.lua"), ["--text", os.path.join(data, text), *rare], "gpt",
                     os.path.join(data, text), 10),
    }


def grouped(seconds):
    """Seconds by group, the longest first, each with the names that it had."""
    groups, names = collections.Counter(), collections.defaultdict(list)
    for name, one in sorted(seconds.items(), key=lambda item: -item[1]):
        group = GROUP_OF.get(name, name.removeprefix("aten::"))
        groups[group] += one
        names[group].append(name.removeprefix("aten::"))
    return [(group, one, names[group]) for group, one in groups.most_common()]


def our_operators(profile):
    """Seconds of a step by operator, with the kernels that are no operators under the part of the step."""
    seconds = collections.Counter()
    for row in profile["layers"]:
        path, whole = row["path"], row["forward"] + row["backward"]
        if path in OF_INPUT:
            continue
        if path in ("optimizer", "loss"):
            seconds[path] += whole
            continue
        for one in row["operators"]:
            seconds[one["name"]] += one["seconds"]
    return seconds


def profiled(model, seconds):
    """Returns the profile of the model."""
    command = [TRAINLAB, "profile", model.recipe, *model.arguments, "--by", "operator", "--threads", "1", "--json",
               "--quiet", "--seconds", str(seconds)]
    return json.loads(run(command))


def cell(entries, place):
    if place >= len(entries):
        return "-"
    group, seconds, names = entries[place]
    others = [name for name in names[:3] if name != group]
    return f"{group} {1e6 * seconds:.0f} µs" + (f" ({', '.join(others)})" if others else "")


def compare(name, model, options):
    peer, ours = [], []
    for number in range(options.rounds):
        turns = [lambda: peer.append(peer_result("profiler", model.kind, "1", model.path, str(model.steps), "3")),
                 lambda: ours.append(profiled(model, options.seconds))]
        for turn in turns if number % 2 == 0 else reversed(turns):
            turn()
    theirs, mine = grouped(median_of(one["operators"] for one in peer)), grouped(median_of(map(our_operators, ours)))
    top = [{group for group, _, _ in entries[:TOP]} for entries in (theirs, mine)]
    agree = len(top[0] & top[1])
    print(f"\n| {name} | PyTorch | trainlab |\n| --- | --- | --- |")
    for place in range(TOP):
        print(f"| {place + 1} | {cell(theirs, place)} | {cell(mine, place)} |")
    print(f"\n{agree} of {TOP} agree", flush=True)
    return (name, f"{agree} of {TOP}",
            f"{1e6 * statistics.median(one['plain_seconds'] for one in peer):.0f} µs",
            f"{100 * (statistics.median(one['ratio'] for one in peer) - 1):.0f} %",
            f"{statistics.median(one['table_seconds'] for one in peer):.2f} s",
            f"{1e6 * statistics.median(one['layer_steps']['step_seconds'] for one in ours):.0f} µs",
            *(cost(one["layer_steps"][kind] for one in ours) for kind in ("overhead", "operator_overhead")))


def cost(overheads):
    """The median of the shares that are known, as text."""
    known = [one for one in overheads if one is not None]
    return f"{100 * statistics.median(known):.0f} %" if known else "unknown"


def median_of(rounds):
    """Name → the median of its seconds over the rounds; a name that a round lacks has taken none there."""
    rounds = list(rounds)
    return {name: statistics.median(one.get(name, 0) for one in rounds) for name in set().union(*rounds)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data"),
                        help="folder with mnist and tinyshakespeare.txt")
    parser.add_argument("--seconds", type=float, default=5, help="the longest time of a profile")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("mlp", "cnn", "gpt"), help="this model alone")
    options = parser.parse_args()
    rows = [compare(name, model, options) for name, model in models(options.data).items()
            if options.only in (None, name)]
    heads = ("model", "operators", "PyTorch: a step", "its profiler", "its table", "trainlab: a step",
             "with timed layers", "with timed operators")
    print("\n| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
