"""Verdicts of `trainlab profile` on stages that wait for one thing, and on balanced ones.

    python3 tools/bench/verdicts.py [--data DIR] [--seconds S] [--only CASE] [--model MODEL]

Each case slows a model down in one way, in three sizes: with the first, the steps wait for about as long as they
train. A balanced fit (--only none) has no such wait; each verdict but compute, bandwidth and none is a false alarm.
Prints a table of the verdicts by case and model, and ends with 1 if fewer than 95 % are right or more than one of the
balanced fits is called something. Where steps wait for their input, the stage of the input that limits has to be right
too, and where one thread of the loader is too few, the profile has to say so. The case "transfer" needs a GPU and is
left out without one. Where other work on the machine makes the verdict "contention", the verdict that the parts of a
step would give counts, but not for the case in which this program itself keeps the cores busy. For a balanced fit,
"contention" is a false alarm too where other processes took less than 5 % of the cores meanwhile.
"""

import sys

from bottlenecks import CASES, LIMITS, SHORT_OF_THREADS, SIZES, arguments, asked, parser, profile, stage
from busy import OtherWork

# Model, factor of its widths, samples in a batch.
BALANCED = [("mlp", width, batch) for width in (2, 4) for batch in (128, 256, 512)]
BALANCED += [("cnn", width, batch) for width in (1, 2, 4) for batch in (32, 64)]
BALANCED += [("gpt", width, batch) for width in (1, 2) for batch in (8, 16, 32)]
BALANCED += [("loop", width, 256) for width in (2, 4)]


def told(result, case):
    """The verdict in a cell of the table, and whether it is right."""
    expected = CASES[case][0]
    verdict = result["verdict"] if expected == "contention" else result["otherwise"]
    is_right = verdict == expected
    if is_right and case in LIMITS:
        pipeline = result["pipeline"] or {}
        limits = pipeline.get("limits")
        is_right = limits == LIMITS[case]
        verdict += f", {limits}"
        if case in SHORT_OF_THREADS:
            is_right = is_right and pipeline.get("threads_needed", 0) > pipeline["threads"]
            verdict += f", {pipeline.get('threads_needed')} threads"
    share = "" if result["share"] is None else f" {100 * result['share']:.0f} %"  # without steps there is none
    return f"{verdict if is_right else f'**{verdict}**'}{share}", is_right


def sick(options):
    right = count = 0
    print("| case | model | expected | size 1 | size 2 | size 3 |\n| --- | --- | --- | --- | --- | --- |")
    for case, model in asked(options):
        cells = []
        for size in SIZES:
            with stage(options, case, model, size) as words:
                result = profile(options, words)
            cell, is_right = told(result, case)
            cells.append(cell)
            right += is_right
            count += 1
        print(f"| {case} | {model} | {CASES[case][0]} | {' | '.join(cells)} |", flush=True)
    return right, count


def balanced(options):
    alarms = count = 0
    print("| balanced | width | batch | verdict |\n| --- | --- | --- | --- |")
    for model, width, batch in BALANCED:
        if options.only not in (None, "none") or options.model not in (None, model):
            continue
        with OtherWork() as beside:
            result = profile(options, arguments(options, "none", model, width=width, batch=batch))
        verdict = result["verdict"] if beside.share < OtherWork.QUIET else result["otherwise"]
        is_alarm = verdict not in ("compute", "bandwidth", "none")
        alarms += is_alarm
        count += 1
        verdict = f"**{verdict}**" if is_alarm else verdict
        print(f"| {model} | {width} | {batch} | {verdict} {100 * result['share']:.0f} % |", flush=True)
    return alarms, count


def measure(words):
    """Prints the tables for these words of the command line. Says how many are right, and whether these are enough."""
    options = parser(__doc__, 10, (*CASES, "none")).parse_args(words)
    right, count = sick(options)
    alarms, fits = balanced(options)
    text = f"{right} of {count} verdicts are right; {alarms} of {fits} balanced stages are called something"
    return text, right >= 0.95 * count and alarms <= 1


def main():
    text, is_enough = measure(sys.argv[1:])
    print(f"\n{text}.")
    sys.exit(0 if is_enough else 1)


if __name__ == "__main__":
    main()
