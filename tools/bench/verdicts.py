"""Verdicts of `trainlab profile` on stages that wait for one thing, and on balanced ones.

    python3 tools/bench/verdicts.py [--data DIR] [--seconds S] [--only CASE] [--model MODEL]

Each case slows a model down in one way, in three sizes: with the first, the steps wait for about as long as they
train. A balanced fit (--only none) has no such wait; each verdict but compute, bandwidth and none is a false alarm.
Prints a table of the verdicts by case and model, and ends with 1 if fewer than 95 % are right or more than one of the
balanced fits is called something. Where other work on the machine makes the verdict "contention", the verdict that the
parts of a step would give counts, but not for the case in which this program itself keeps the cores busy.
"""

import sys

from bottlenecks import CASES, SIZES, arguments, asked, others, parser, profile

# Model, factor of its widths, samples in a batch.
BALANCED = [("mlp", width, batch) for width in (2, 4) for batch in (128, 256, 512)]
BALANCED += [("cnn", width, batch) for width in (1, 2, 4) for batch in (32, 64)]
BALANCED += [("gpt", width, batch) for width in (1, 2) for batch in (8, 16, 32)]
BALANCED += [("loop", width, 256) for width in (2, 4)]


def told(result, expected):
    """The verdict in a cell of the table, and whether it is right."""
    if expected == "contention":
        verdict = result["verdict"]
    else:
        verdict = result["otherwise"]
    is_right = verdict == expected
    return f"{verdict if is_right else f'**{verdict}**'} {100 * result['share']:.0f} %", is_right


def sick(options):
    right = count = 0
    print("| case | model | expected | size 1 | size 2 | size 3 |\n| --- | --- | --- | --- | --- | --- |")
    for case, model in asked(options):
        expected = CASES[case][0]
        cells = []
        for size in SIZES:
            with others(case, size):
                result = profile(options, arguments(options, case, model, size=size))
            cell, is_right = told(result, expected)
            cells.append(cell)
            right += is_right
            count += 1
        print(f"| {case} | {model} | {expected} | {' | '.join(cells)} |", flush=True)
    return right, count


def balanced(options):
    alarms = count = 0
    print("| balanced | width | batch | verdict |\n| --- | --- | --- | --- |")
    for model, width, batch in BALANCED:
        if options.only not in (None, "none") or options.model not in (None, model):
            continue
        result = profile(options, arguments(options, "none", model, width=width, batch=batch))
        is_alarm = result["otherwise"] not in ("compute", "bandwidth", "none")
        alarms += is_alarm
        count += 1
        verdict = f"**{result['otherwise']}**" if is_alarm else result["otherwise"]
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
