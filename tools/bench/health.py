"""The verdicts on the health of trainings, on small fits with a fault and on healthy ones.

    python3 tools/bench/health.py [--seeds 101-103] [--only NAME] [--jobs N] [--keep FOLDER] [--fix]

With --fix the fits whose fault another option heals train with health.action = "fix" and without: how many come to at
least nine tenths of the accuracy that a healthy fit of the same kind has.

Prints how often each fault is found by its strength, beside what the rules of three other tools find in the same runs
(health_rules.py); the confusion matrix; and the share of false alarms. Thresholds are chosen on other seeds than those
that are reported: 1 to 20 are for choosing. The recipe is recipes/health.lua. Runs in the folder of --keep are not
trained again, so that a bench that was interrupted goes on.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import health_rules
from programs import HERE, TRAINLAB

RECIPE = os.path.join(HERE, "recipes", "health.lua")
FAMILIES = ("mlp", "cnn", "transformer", "recurrent")
# A rate that trains each family well.
GOOD = {
    "mlp": {"optim": "SGD", "lr": 0.05, "momentum": 0.9},
    "cnn": {"optim": "SGD", "lr": 0.05, "momentum": 0.9},
    "transformer": {"optim": "Adam", "lr": 0.002},
    "recurrent": {"optim": "Adam", "lr": 0.01},
}


def case(fault, strength, family, findable=True, **options):
    return {"fault": fault, "strength": strength, "findable": findable,
            "options": {"family": family, **GOOD[family], **options}}


def healthy():
    for family in FAMILIES:
        for change in ({}, {"lr": GOOD[family]["lr"] / 2}, {"batch": 100}, {"batch": 20, "epochs": 4},
                       {"width": 128}, {"decay": 1e-3}, {"epochs": 15}, {"schedule": "cosine"},
                       {"values": "normalised"},
                       {"optim": "RMSprop", "lr": 0.002, "momentum": 0}):
            yield case("none", ",".join(f"{k}={v}" for k, v in change.items()) or "plain", family, **change)
        yield case("none", "noisy labels", family, labels="noisy", epochs=6)
        for schedule in ("none", "wsd", "multi_step"):
            yield case("none", f"60 epochs, {schedule}", family, epochs=60, schedule=schedule)
    for family in ("mlp", "cnn"):
        adam = {"optim": "Adam", "lr": 0.003, "momentum": 0}
        yield case("none", "Adam", family, **adam)
        yield case("none", "Adam, half the rate", family, **{**adam, "lr": 0.0015})
        yield case("none", "Adam, batch norm", family, norm="batch", **adam)
        yield case("none", "Adam, GELU, dropout", family, activation="GELU", dropout=0.2, **adam)
        yield case("none", "no momentum", family, lr=0.2, momentum=0)
        yield case("none", "tanh", family, activation="Tanh")
        yield case("none", "GELU", family, activation="GELU")
        yield case("none", "batch norm", family, norm="batch")
        yield case("none", "one layer", family, depth=1)
        yield case("none", "four layers", family, depth=4)
        yield case("none", "dropout", family, dropout=0.2)
    yield case("none", "blobs", "mlp", source="blobs", values="normalised")
    yield case("none", "spirals", "mlp", source="spirals", optim="Adam", lr=0.01, momentum=0, epochs=30)


def sick():
    for family in FAMILIES:
        rate = GOOD[family]["lr"]
        for factor in (32, 100, 1000):
            yield case("rate_too_high", f"x {factor}", family, lr=rate * factor)
        for factor in (32, 100, 1000):
            yield case("rate_too_low", f"/ {factor}", family, lr=rate / factor)
        for name, change in (("x 255", {"scale": 255}), ("+ 10", {"shift": 10}), ("+ 100", {"shift": 100}),
                             ("x 0.001", {"scale": 0.001})):
            yield case("unnormalised_inputs", name, family, **change)
        yield case("not_finite", "logarithm of 0", family, values="logarithms")
        yield case("leakage", "all twice", family, values="copies", epochs=3)
        yield case("class_collapse", "one label", family, labels="one", epochs=3)
        yield case("class_collapse", "2 %", family, labels="rare", epochs=3)
        yield case("overfitting", "64 samples, 30 % wrong", family, samples=64, epochs=60, batch=16, labels="noisy")
        yield case("overfitting", "random labels", family, labels="random", samples=300, epochs=60, batch=20)
        yield case("below_floor", "scores as logarithms", family, loss="nll", epochs=3)
        yield case("noisy_gradients", "batch 1, 90 % wrong", family, labels="mostly_noisy", batch=1, epochs=1,
                   lr=rate / 10)
        # Few features cannot learn the wrong labels by heart, and a high rate keeps the loss from its least value. A
        # few units of nn.ReLU would die, which is another fault.
        yield case("plateau", "few features, rate x 2", family, epochs=60, lr=rate * 2, labels="noisy",
                   activation="GELU", width={"mlp": 8, "cnn": 16}.get(family, 4))
        yield case("underfitting", "weight decay", family, False, decay=30 if GOOD[family]["optim"] == "Adam" else 0.3)
    for family in ("mlp", "cnn"):
        yield case("dead_units", "bias -3", family, bias=-3)
        yield case("dead_units", "bias -10", family, bias=-10)
        yield case("saturated_units", "tanh, deviation 2", family, activation="Tanh", std=2)
        yield case("saturated_units", "tanh, deviation 20", family, activation="Tanh", std=20)
        yield case("exploding_gradients", "deviation 1", family, std=1)
        yield case("exploding_gradients", "deviation 5", family, std=5)
        yield case("vanishing_gradients", "deviation 0.01", family, depth=6, std=0.01)
        yield case("vanishing_gradients", "sigmoid, 6 layers", family, activation="Sigmoid", depth=6)
        yield case("small_batch_statistics", "batch 2", family, norm="batch", batch=2, epochs=1, lr=0.005,
                   findable=family == "mlp")


def folder_of(one, seed, keep):
    name = hashlib.sha256(json.dumps([one["options"], seed], sort_keys=True).encode()).hexdigest()[:16]
    return os.path.join(keep, name)


def train(one, seed, keep):
    arguments = [item for name, value in one["options"].items() for item in (f"--{name}", str(value))]
    out = folder_of(one, seed, keep)
    path = os.path.join(out, "summary.json")
    if not os.path.exists(path):
        done = subprocess.run([TRAINLAB, RECIPE, *arguments, "--peers", "true", "--seed", str(seed), "--threads", "1",
                               "--json", "--quiet", "--out", out], capture_output=True, text=True, check=False)
        if not os.path.exists(path):
            sys.exit(f"no summary of {one}, seed {seed}:\n{done.stderr[-2000:]}")
    with open(path) as file:
        summary = json.load(file)
    facts = health_rules.read_facts(out, {"epochs": 8, **one["options"]}, summary)
    return {**one, "seed": seed, "status": summary["status"], "alarms": health_rules.alarms(facts),
            "fixes": [fix["option"] for fix in summary.get("fixes", [])],
            "metrics": summary["metrics"], "kinds": [verdict["kind"] for verdict in summary["health"]]}


def counted(one, tool):
    """The rules of a tool that count as its alarms in a run."""
    return [rule for rule in one["alarms"][tool] if rule not in health_rules.ADVICE]


def names_fault(one, tool):
    return any(one["fault"] in health_rules.NAMES.get(rule, ()) for rule in counted(one, tool))


def print_strengths(runs):
    tools = list(health_rules.TOOLS)
    print("Runs with a fault: how many trainlab names, and how many without another verdict; how many another tool"
          " names /\nraises any alarm in. The last row: healthy runs with an alarm.\n")
    print("| fault | strength | runs | named | alone | other verdicts | " + " | ".join(tools) + " |")
    print("| --- | --- | --- | --- | --- | --- |" + " --- |" * len(tools))
    by_case = collections.defaultdict(list)
    for one in runs:
        if one["fault"] != "none":
            by_case[one["fault"], one["strength"]].append(one)
    for (fault, strength), cases in by_case.items():
        others = collections.Counter(kind for one in cases for kind in one["kinds"] if kind != fault)
        cells = [f"{sum(names_fault(one, tool) for one in cases)} / {sum(bool(counted(one, tool)) for one in cases)}"
                 for tool in tools]
        print(f"| {fault} | {strength} | {len(cases)} | {sum(fault in one['kinds'] for one in cases)} |"
              f" {sum(one['kinds'] == [fault] for one in cases)} |"
              f" {', '.join(f'{kind} {count}' for kind, count in others.most_common())} | {' | '.join(cells)} |")
    well = [one for one in runs if one["fault"] == "none"]
    if well:
        kinds = collections.Counter(kind for one in well for kind in one["kinds"])
        cells = [str(sum(bool(counted(one, tool)) for one in well)) for tool in tools]
        print(f"| none | | {len(well)} | {sum(bool(one['kinds']) for one in well)} | |"
              f" {', '.join(f'{kind} {count}' for kind, count in kinds.most_common())} | {' | '.join(cells)} |")


def print_confusion(runs):
    kinds = sorted({one["fault"] for one in runs} | {kind for one in runs for kind in one["kinds"]})
    verdicts = [kind for kind in kinds if any(kind in one["kinds"] for one in runs)]
    print("\nConfusion: runs with the fault of the row and the verdict of the column.\n")
    print("| | runs | " + " | ".join(verdicts) + " | nothing |")
    print("| --- | --- |" + " --- |" * (len(verdicts) + 1))
    for fault in kinds:
        cases = [one for one in runs if one["fault"] == fault]
        if cases:
            counts = [sum(kind in one["kinds"] for one in cases) for kind in verdicts]
            print(f"| {fault} | {len(cases)} | " + " | ".join(str(count or "") for count in counts)
                  + f" | {sum(not one['kinds'] for one in cases) or ''} |")


def print_rules(runs):
    print("\nThe rules of the other tools: share of the healthy and of the sick runs in which a rule fires.\n")
    print("| tool | rule | healthy | sick |\n| --- | --- | --- | --- |")
    well = [one for one in runs if one["fault"] == "none"]
    ill = [one for one in runs if one["fault"] != "none"]

    def share(cases, tool, rule):
        return f"{100 * sum(rule in one['alarms'][tool] for one in cases) / max(len(cases), 1):.0f} %"

    for tool in health_rules.TOOLS:
        for rule in sorted({rule for one in runs for rule in one["alarms"][tool]}):
            mark = " *" if rule in health_rules.ADVICE else ""
            print(f"| {tool} | {rule}{mark} | {share(well, tool, rule)} | {share(ill, tool, rule)} |")


def print_totals(runs):
    well = [one for one in runs if one["fault"] == "none"]
    ill = [one for one in runs if one["fault"] != "none" and one["findable"]]
    alarms = [one for one in well if one["kinds"]]
    named = [one for one in ill if one["fault"] in one["kinds"]]
    if ill:
        print(f"\nFaults that the run alone shows: {len(named)} of {len(ill)} named"
              f" ({100 * len(named) / len(ill):.1f} %).")
        for tool in health_rules.TOOLS:
            count = sum(names_fault(one, tool) for one in ill)
            print(f"  {tool}: {count} named, an alarm in {sum(bool(counted(one, tool)) for one in ill)}")
    if well:
        print(f"Healthy runs: {len(alarms)} of {len(well)} with a false alarm ({100 * len(alarms) / len(well):.1f} %).")
        for tool in health_rules.TOOLS:
            print(f"  {tool}: {sum(bool(counted(one, tool)) for one in well)}")
    for one in alarms:
        print(f"  {one['options']['family']}, {one['strength']}, seed {one['seed']}: {', '.join(one['kinds'])}")
    for one in ill:
        if one["fault"] not in one["kinds"]:
            print(f"  not named: {one['options']['family']}, {one['fault']} {one['strength']}, seed {one['seed']}")


HEALABLE = {"rate_too_high", "rate_too_low", "unnormalised_inputs", "exploding_gradients", "vanishing_gradients",
            "saturated_units", "dead_units", "small_batch_statistics"}


def accuracy(one):
    # A fit that has failed has not learnt anything that its user could use.
    return one["metrics"].get("val.accuracy", 0) if one["status"] in ("done", "stopped") else 0


def print_fixes(pool, only, seeds, keep):
    well = [one for one in healthy() if one["strength"] == "plain"]
    ill = [one for one in sick() if one["fault"] in HEALABLE and only in ("", one["fault"])]
    fixed = [{**one, "options": {**one["options"], "action": "fix"}} for one in ill]
    work = [(one, seed) for one in [*well, *ill, *fixed] for seed in seeds]
    runs = list(pool.map(lambda pair: train(*pair, keep), work))
    aims = {(one["options"]["family"], one["seed"]): 0.9 * accuracy(one) for one in runs[:len(well) * len(seeds)]}
    by_case = collections.defaultdict(list)
    for one in runs[len(well) * len(seeds):]:
        is_well = accuracy(one) >= aims[one["options"]["family"], one["seed"]]
        by_case[one["fault"], one["strength"]].append((one, is_well))
    print("| fault | strength | runs | well without a fix | well with | fixes |\n| --- | --- | --- | --- | --- | --- |")
    healed = ill_alone = 0
    for (fault, strength), cases in by_case.items():
        with_fix = [case for case in cases if "action" in case[0]["options"]]
        without = [case for case in cases if "action" not in case[0]["options"]]
        changes = collections.Counter(change for one, _ in with_fix for change in one["fixes"])
        print(f"| {fault} | {strength} | {len(with_fix)} | {sum(is_well for _, is_well in without)} |"
              f" {sum(is_well for _, is_well in with_fix)} |"
              f" {', '.join(f'{change} {count}' for change, count in changes.most_common())} |")
        for (_, was_well), (_, is_well) in zip(without, with_fix):
            ill_alone += not was_well
            healed += is_well and not was_well
    share = 100 * healed / max(ill_alone, 1)
    print(f"\nHealed: {healed} of {ill_alone} that do not learn by themselves ({share:.1f} %).")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="101-103", help="first and last seed")
    parser.add_argument("--only", default="", help="cases of this fault, or \"none\"")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="a folder for the runs")
    parser.add_argument("--fix", action="store_true", help="how many fits health.action = \"fix\" heals")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        keep = options.keep or folder
        if options.fix:
            return print_fixes(pool, options.only, seeds, keep)
        cases = [one for one in [*healthy(), *sick()] if options.only in ("", one["fault"])]
        work = [(one, seed) for one in cases for seed in seeds]
        runs = list(pool.map(lambda pair: train(*pair, keep), work))
    for table in (print_strengths, print_confusion, print_rules, print_totals):
        table(runs)


if __name__ == "__main__":
    main()
