"""The rules of three other tools for the health of trainings, for the runs of health.py.

- AutoTrainer: Zhang, Zhai, Ma and Shen, ICSE 2021, "AUTOTRAINER: An Automatic DNN Training Problem Detection and Repair
  System": its problem checker. Thresholds and order: AutoTrainer/utils/monitor.py and utils.py of
  github.com/shiningrain/AUTOTRAINER, commit 04f4033, which is the version of that paper.
- UMLAUT: Schoop, Huang and Hartmann, CHI 2021, "Debugging Deep Learning Programs Using Program Structure and Model
  Behavior": its heuristics for each epoch. umlaut/heuristics.py of github.com/BerkeleyHCI/umlaut.
- TheDeepChecker: Ben Braiek and Khomh, TOSEM 2023 (arXiv 2204.00694), "Testing Feedforward Neural Networks Training
  Programs": the checks before and during a training. deep_checker/checkers.py, hooks.py and config/settings.yaml of
  github.com/thedeepchecker/thedeepchecker.

Each function returns the names of the rules that fire in a run. What is left out, because our runs do not have it:

- AutoTrainer: nothing. It takes the gradients of the first batch after an epoch; here they are those of the epoch's
  last step.
- UMLAUT: the heuristics for the program's structure (shape and type of inputs, missing or final activations, softmax
  before the loss, dropout above 0.5), as no fault of health.py is one of structure.
- TheDeepChecker: what trains by itself (fitting of one batch, labels, augmentation, train and evaluation mode) and what
  needs values of each activation or the accuracy of each batch (standard deviation of activations, constant outputs,
  correlation of loss and accuracy). Its checks of a training watch 200 steps on one batch; here they watch the first
  200 steps of the run. Dead and saturated units are those of the run's figures: never above 0, or near a limit.
"""

import collections
import dataclasses
import glob
import json
import math
import os

PERIOD, FIRST_STEPS = 10, 200  # of TheDeepChecker

Weight = collections.namedtuple("Weight", "shape std size update dead negative gradient norm zeros")


@dataclasses.dataclass
class Facts:
    """The figures that a run has told: see the end of recipes/health.lua."""
    options: dict
    rows: list         # of metrics.jsonl, one for each epoch
    accuracies: list   # of the training part, for each epoch
    inputs: tuple      # min, max, mean, standard deviation
    labels: list       # samples of each class
    steps: dict        # step: name: Weight
    losses: list       # of each step, or means of a few
    units: list        # "dead" and "saturated" shares of each activation, at the beginning and at the end
    is_finite: bool


def number(value):
    return value if isinstance(value, (int, float)) else math.nan


def block_means(curve):
    """The mean losses of the blocks of a curve in a checkpoint; all blocks but the last have equally many steps."""
    sums, steps = curve["sums"], curve["block_steps"]
    return [total / min(steps, curve["steps"] - i * steps) for i, total in enumerate(sums)]


def read_facts(folder, options, summary):
    steps, accuracies, inputs, labels = collections.defaultdict(dict), [], (), []
    with open(os.path.join(folder, "log.txt")) as file:
        for line in file:
            head, mark, rest = line.partition(" peers ")
            if not mark:
                continue
            kind, *fields = rest.split()
            if kind == "input":
                inputs = tuple(map(float, fields))
            elif kind == "labels":
                labels = list(map(float, fields))
            elif kind == "epoch":
                accuracies.append(float(fields[1]))
            else:
                shape = [int(axis) for axis in fields[2].split("x")]
                steps[int(fields[0])][fields[1]] = Weight(shape, *map(float, fields[3:]))
    with open(os.path.join(folder, "metrics.jsonl")) as file:
        rows = [json.loads(line) for line in file]
    figures = {}
    for path in sorted(glob.glob(os.path.join(folder, "checkpoints", "last-*.json"))):
        with open(path) as file:
            figures = json.load(file)["health"]["figures"]
    losses = block_means(figures["losses"]) if figures else []
    units = [[number(unit.get(share)) for share in ("dead_at_start", "dead", "saturated_at_start", "saturated")]
             for unit in figures.get("units", [])]
    return Facts(options, rows, accuracies, inputs, labels, steps, losses, units, summary["status"] != "failed")


def largest_rise(values):
    return max((after - before for before, after in zip(values, values[1:])), default=0)


def oscillates(accuracies, least=0.03, share=0.2):
    """Whether a maximum lies `least` above the minimum of the same number for a share of the epochs."""
    inner = list(zip(accuracies, accuracies[1:], accuracies[2:]))
    highs = [b for a, b, c in inner if b >= a and b >= c]
    lows = [b for a, b, c in inner if b <= a and b <= c]
    return sum(high - low >= least for high, low in zip(highs, lows)) >= share * len(accuracies)


def auto_trainer(facts, every=3, satisfied=0.7):
    """Looks at each third epoch, and stops at the first problem."""
    epochs, vanishing, exploding, dead, slow, stuck, unstable = facts.options["epochs"], 0, 0, 0, False, False, False
    last_steps = [int(row["step"]) for row in facts.rows]
    for epoch in range(0, len(facts.rows), every):
        seen = epoch + 1
        train_loss = [number(row.get("train.loss")) for row in facts.rows[:seen]]
        val_loss = [number(row.get("val.loss")) for row in facts.rows[:seen]]
        train, val = facts.accuracies[:seen], [number(row.get("val.accuracy")) for row in facts.rows[:seen]]
        weights = list(facts.steps[max(step for step in facts.steps if step <= last_steps[epoch])].values())
        kernels = [one for one in weights if len(one.shape) > 1]
        size = sum(math.prod(one.shape) for one in weights)
        if not all(map(math.isfinite, train_loss + val_loss + [one.norm for one in weights])) or val_loss[-1] >= 1e5:
            return ["explode"]
        ratio = kernels[0].norm / kernels[-1].norm if kernels[-1].norm else math.inf
        vanishing += ratio < 1e-3 and kernels[0].norm < 1e-4
        exploding += ratio > 70 and kernels[-1].norm > 0
        dead += sum(one.zeros * math.prod(one.shape) for one in weights) / size >= 0.7
        if seen > 1 and seen >= 0.3 * epochs:
            unstable = unstable or oscillates(train)
            slow = slow or max(val) < satisfied or max(train) < satisfied
            stuck = stuck or (largest_rise(val) < 0.01 and largest_rise(train) < 0.01)
        if slow or stuck:
            if dead:
                return ["dying ReLU"]
            if exploding:
                return ["explode"]
            if vanishing:
                return ["vanish"]
            if stuck:
                return ["slow convergence"]
        elif unstable:
            return ["oscillating"]
    return [] if facts.is_finite else ["explode"]


def umlaut(facts):
    low, high = facts.inputs[:2]
    found = set()
    if low < -1 or high > 1:
        found.add("input outside -1 … 1")
    if math.isnan(low) or math.isnan(high):
        found.add("NaN in input")
    if facts.options["lr"] > 0.01:
        found.add("rate above 0.01")
    if facts.options["lr"] < 1e-7:
        found.add("rate below 1e-7")
    for epoch, row in enumerate(facts.rows):
        if epoch > 0:
            before = facts.rows[epoch - 1]
            val_rose = number(row["val.loss"]) > number(before["val.loss"])
            if val_rose and number(row["train.loss"]) <= number(before["train.loss"]):
                found.add("validation loss rises once")
        if epoch >= 3 and (row["val.accuracy"] > 0.95 or row["val.accuracy"] > facts.accuracies[epoch] + 0.05):
            found.add("validation accuracy high")
    return sorted(found)


def fits_deviation(std, wanted):
    """TheDeepChecker's F test: the variances' ratio is below 2.71."""
    ratio = (std / wanted) ** 2
    return ratio > 0 and max(ratio, 1 / ratio) <= 2.70554


def initial_weights(facts):
    found = set()
    for name, one in facts.steps[0].items():
        if len(one.shape) == 1:
            if name.endswith("bias") and one.size != 0:
                found.add("initial biases not 0")
            continue
        places = math.prod(one.shape[2:])
        inner, outer = one.shape[1] * places, one.shape[0] * places
        he, glorot, lecun = (fits_deviation(one.std, math.sqrt(variance))
                             for variance in (2 / inner, 2 / (inner + outer), 1 / inner))
        wanted = {"ReLU": he, "Tanh": glorot, "Sigmoid": lecun}.get(facts.options.get("activation", "ReLU"),
                                                                     he or glorot or lecun)
        if not wanted:
            found.add("initial weights")
    return found


def grows(values, factor):
    """Whether each of the last five values is `factor` times that before it; below 1: at most."""
    last = values[-5:]
    if len(last) < 5 or not all(last):
        return False
    ratios = [after / before for before, after in zip(last, last[1:])]
    return all(ratio >= factor if factor > 1 else ratio <= factor for ratio in ratios)


def parameters_of_checker(facts):
    """The checks of weights, biases and gradients: each tenth step of the first 200."""
    found = set()
    last = min(max(facts.steps), FIRST_STEPS)
    for name, first in facts.steps[0].items():
        rows = [facts.steps[step][name] for step in range(1, last + 1) if name in facts.steps[step]]
        sizes, gradients = [one.size for one in rows], [one.gradient for one in rows]
        if not all(map(math.isfinite, sizes + gradients)):
            found.add("not finite")
            rows = rows[:next(i for i, one in enumerate(rows) if not math.isfinite(one.size + one.gradient))]
        is_kernel = len(first.shape) > 1
        for end in range(PERIOD, len(rows) + 1, PERIOD):
            now, sizes_now, gradients_now = rows[end - 1], sizes[:end], gradients[:end]
            if now.size > 1e8 or grows(sizes_now, 2):
                found.add("weights diverge")
            if not is_kernel:
                continue
            if now.negative > 0.95:
                found.add("weights negative")
            if now.dead > 0.95:
                found.add("weights dead")
            if now.gradient < 1e-6 or grows(gradients_now, 0.5):
                found.add("gradients vanish")
            if now.gradient > 1e6 or grows(gradients_now, 2):
                found.add("gradients explode")
            updates = [math.log10(one.update / before.size) if one.update > 0 and before.size > 0 else 0
                       for before, one in zip([first, *rows][end - PERIOD:end], rows[end - PERIOD:end])]
            scale = sum(updates) / len(updates)
            if scale == 0:
                found.add("weights untrained")
            elif scale > -1:
                found.add("updates fast")
            elif scale < -4:
                found.add("updates slow")
    return found


def losses_of_checker(facts):
    """The checks of the loss: means of ten steps each."""
    losses = facts.losses[:FIRST_STEPS]
    means = [sum(losses[i:i + PERIOD]) / PERIOD for i in range(0, len(losses) - PERIOD + 1, PERIOD)]
    found = set() if facts.is_finite else {"not finite"}
    for end in range(2, len(means) + 1):
        seen = means[:end]
        falls = [(before - after) / before for before, after in zip(seen[-5:], seen[-4:]) if before]
        if len(seen) >= 5 and all(fall < 0.05 for fall in falls):
            found.add("loss stagnates")
        if grows(seen, 2):
            found.add("loss diverges")
        rises = [after > before for before, after in zip(seen[-50:], seen[-49:])]
        turns = sum(after != before for before, after in zip(rises, rises[1:]))
        if (len(seen[-50:]) - turns) / len(seen[-50:]) < 0.5:
            found.add("loss fluctuates")
    return found


def deep_checker(facts):
    low, high, mean, std = facts.inputs

    def near(a, b):
        return abs(a - b) <= 0.01

    is_scaled = near(high, 1) and (near(low, 0) or near(low, -1))
    found = initial_weights(facts) | parameters_of_checker(facts) | losses_of_checker(facts)
    if std == 0 or not (is_scaled or (near(mean, 0) and near(std, 1))):
        found.add("features not normalised")
    total, classes = sum(facts.labels), max(len(facts.labels), 2)
    entropy = -sum(count / total * math.log(count / total) for count in facts.labels if count)
    if (math.exp(entropy) - 1) / (classes - 1) < 0.5:
        found.add("labels unbalanced")
    if facts.losses and abs(facts.losses[0] - math.log(classes)) >= math.log(classes):
        found.add("initial loss")
    # A share that was not measured is NaN, which is not above 0.5.
    if any(share > 0.5 for unit in facts.units for share in unit[:2]):
        found.add("units dead")
    if any(share > 0.5 for unit in facts.units for share in unit[2:]):
        found.add("units saturated")
    return sorted(found)


TOOLS = {"AutoTrainer": auto_trainer, "UMLAUT": umlaut, "TheDeepChecker": deep_checker}
# The faults that a rule names. A rule without any is an alarm all the same.
NAMES = {
    "explode": {"exploding_gradients", "not_finite", "rate_too_high"},
    "vanish": {"vanishing_gradients", "saturated_units"},
    "dying ReLU": {"dead_units"},
    "slow convergence": {"rate_too_low", "underfitting"},
    "oscillating": {"rate_too_high"},
    "input outside -1 … 1": {"unnormalised_inputs"},
    "NaN in input": {"not_finite"},
    "rate above 0.01": {"rate_too_high"},
    "rate below 1e-7": {"rate_too_low"},
    "validation loss rises once": {"overfitting"},
    "validation accuracy high": {"leakage"},
    "features not normalised": {"unnormalised_inputs"},
    "labels unbalanced": {"class_collapse"},
    "initial loss": {"exploding_gradients"},
    "units dead": {"dead_units"},
    "units saturated": {"saturated_units"},
    "not finite": {"not_finite"},
    "weights diverge": {"exploding_gradients", "rate_too_high"},
    "gradients vanish": {"vanishing_gradients"},
    "gradients explode": {"exploding_gradients"},
    "updates fast": {"rate_too_high"},
    "updates slow": {"rate_too_low", "vanishing_gradients"},
    "weights untrained": {"rate_too_low"},
    "loss stagnates": {"rate_too_low", "underfitting"},
    "loss diverges": {"rate_too_high"},
    "loss fluctuates": {"rate_too_high"},
}
# TheDeepChecker's advice about initial values fires for every model with the usual ones: it is shown, and not counted.
ADVICE = {"initial weights", "initial biases not 0"}


def alarms(facts):
    """By tool, the rules that fire."""
    return {tool: rule(facts) for tool, rule in TOOLS.items()}
