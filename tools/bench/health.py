"""The verdicts on the health of trainings, on small fits with a fault and on healthy ones.

    python3 tools/bench/health.py [--seeds 101-103] [--only NAME] [--jobs N] [--keep FOLDER] [--fix]
                                   [--chosen | --larger | --drawn]

With --fix the fits whose fault another option heals train with health.action = "fix" and without: how many come to at
least nine tenths of the accuracy that a healthy fit of the same kind has; and of those that overfit, how many end with
a lower validation loss.

Prints how often each fault is found by its strength, beside what the rules of three other tools find in the same runs
(health_rules.py); the confusion matrix; and the share of false alarms. The cases are those of health_cases.reported().
Thresholds were chosen on other cases and seeds, those of health_cases.chosen() with the seeds 1 to 6, which --chosen
has; --larger has those of health_cases.larger(), and --drawn cases that are drawn at random, others for each seed
(health_drawn.py). The recipe is recipes/health.lua. Runs in the folder of --keep are not trained again, so that a bench
that was interrupted goes on.
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

import health_cases
import health_drawn
import health_rules
from programs import HERE, TRAINLAB

RECIPE = os.path.join(HERE, "recipes", "health.lua")


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


def accuracy(one):
    # A fit that has failed has not learnt anything that its user could use.
    return one["metrics"].get("val.accuracy", 0) if one["status"] in ("done", "stopped") else 0


def twin_of(one):
    """A healthy fit of the same kind."""
    return health_cases.healthy_case(one["options"]["family"])


def fixed_case(one):
    return {**one, "options": {**one["options"], "action": "fix"}}


def is_well(one, alone, twin):
    """Whether a fit does well beside the one with the same fault and no fix, and beside a healthy one. The remedy of
    overfitting is the end: it does well if the weights that it ends with have a lower validation loss."""
    if one["fault"] == "overfitting":
        return one["metrics"]["val.loss"] < alone["metrics"]["val.loss"]
    return accuracy(one) >= 0.9 * accuracy(twin)


def print_fixes(pool, work, keep):
    ill = [(one, seed) for one, seed in work if health_cases.is_healable(one)]
    by_options = {json.dumps([one["options"], seed]): (one, seed) for case, seed in ill
                  for one in (case, fixed_case(case), twin_of(case))}
    runs = dict(zip(by_options, pool.map(lambda pair: train(*pair, keep), by_options.values())))

    def run_of(one, seed):
        return runs[json.dumps([one["options"], seed])]

    by_case = collections.defaultdict(list)
    for one, seed in ill:
        alone, fixed, twin = (run_of(case, seed) for case in (one, fixed_case(one), twin_of(one)))
        by_case[one["fault"], one["strength"]].append(
            (is_well(alone, alone, twin), is_well(fixed, alone, twin), fixed["fixes"]))
    print("| fault | strength | runs | well without a fix | well with | fixes |\n| --- | --- | --- | --- | --- | --- |")
    for (fault, strength), cases in by_case.items():
        changes = collections.Counter(change for *_, fixes in cases for change in fixes)
        print(f"| {fault} | {strength} | {len(cases)} | {sum(was_well for was_well, *_ in cases)} |"
              f" {sum(is_now for _, is_now, _ in cases)} |"
              f" {', '.join(f'{change} {count}' for change, count in changes.most_common())} |")
    ill_alone = [is_now for cases in by_case.values() for was_well, is_now, _ in cases if not was_well]
    share = 100 * sum(ill_alone) / max(len(ill_alone), 1)
    print(f"\nHealed: {sum(ill_alone)} of {len(ill_alone)} that do not do well by themselves ({share:.1f} %).")


def listed(options, seed):
    """The cases of the list and the fault that the command line names."""
    cases = (health_cases.chosen() if options.chosen else health_cases.larger() if options.larger
             else health_drawn.drawn(seed) if options.drawn else health_cases.reported())
    return [one for one in cases if options.only in ("", one["fault"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="101-103", help="first and last seed")
    parser.add_argument("--only", default="", help="cases of this fault, or \"none\"")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="a folder for the runs")
    lists = parser.add_mutually_exclusive_group()
    lists.add_argument("--chosen", action="store_true", help="the cases that thresholds were chosen on")
    lists.add_argument("--larger", action="store_true", help="the cases of larger networks")
    lists.add_argument("--drawn", action="store_true", help="cases that are drawn at random, others for each seed")
    parser.add_argument("--fix", action="store_true", help="how many fits health.action = \"fix\" heals")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    work = [(one, seed) for seed in seeds for one in listed(options, seed)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        keep = options.keep or folder
        if options.fix:
            return print_fixes(pool, work, keep)
        runs = list(pool.map(lambda pair: train(*pair, keep), work))
    for table in (print_strengths, print_confusion, print_rules, print_totals):
        table(runs)


if __name__ == "__main__":
    main()
