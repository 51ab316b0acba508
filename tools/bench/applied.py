"""Compares the gains that `trainlab profile --apply` promises with those of `trainlab run --apply`.

    python3 tools/bench/applied.py [--data DIR] [--seconds S] [--run S] [--only CASE] [--model MODEL] [--size N]

Each case of recipes/bottlenecks.lua is profiled. Where changes win, whole runs of the same time without and with them
take turns, A B B A. The speed of a run is its steps divided by the `seconds` of its summary, from the first batch to
the last commit. The time of evaluations counts only where steps wait for validations: every run ends with a validation
and with the test part, which in runs as short as these would take more than their proportion.

A gain is the ratio of the speeds with and without the changes, less 1. Ratios near 1 lie near each other whatever they
promise, gains do not. A promise is held ("yes") where the promised gain lies within 20 % of the gain of the runs, by
the medians of both. Else it is broken ("no") where the 95 % intervals of both exclude that the two lie so near, and
"unclear" where they do not. Up to 10 rounds of runs follow while a promise is unclear.

Prints for each case what the profile promises (the speed with all changes to the speed without, the median and the
95 % interval), what the runs gain (the same of the ratios of neighbours), how far the promised ratio and the promised
gain lie from those of the runs, and whether the promise is held. Ends with 1 if less than 90 % of those that are held
or broken are held, if more than a fifth are unclear, or if the profile promises nothing for more than half of the
stages for which there is a change that is faster and keeps the result.
"""

import json
import math
import os
import statistics
import sys
import tempfile

from bottlenecks import SIZES, asked, parser, profile, stage
from programs import TRAINLAB, run

# Some cases have a change that keeps the result only if validations decide nothing, or if a core is idle.
MORE = {"validate": ["--set", 'keep="last"']}
THREADS = {"gemm": ["--threads", "1"]}
EVALUATED = ("validate", "metrics")
# Cases for which there is such a change: more loader threads, rarer validations and checkpoints, more threads.
PROMISING = ("augment", "storage", "threads", "validate", "commit", "gemm")
WITHOUT_SPEED = ("capacity",)  # nothing trains without the change
ALLOWED = 0.2
ROUNDS, MOST_ROUNDS = 3, 10  # of A B B A; three have six ratios, the fewest with a 95 % interval of their median
# Seconds in which a run opens its data, begins, and ends with its evaluations; some test parts are slow to decode.
OPENING, SLOW_OPENING = 2, {"decode": 12, "augment": 12}


def speed(case, words, seconds, folder):
    """Steps a second of a whole run, whose parameters are those of the profile: changes hold for no others."""
    with tempfile.TemporaryDirectory(dir=folder) as out:
        within = SLOW_OPENING.get(case, OPENING) + seconds
        more = ["--within", f"{within:g} s", "--json", "--quiet", "--out", os.path.join(out, "run")]
        summary = json.loads(run([TRAINLAB, "run", *words, *more]))
    evaluation = 0 if case in EVALUATED else summary["speed"]["shares"]["evaluation"]
    return summary["steps"] / (summary["seconds"] * (1 - evaluation))


def median_interval(values):
    """The median of at least six values and its 95 % interval, from order statistics."""
    values, count = sorted(values), len(values)
    cut = 0  # values that are left out on each side
    while sum(math.comb(count, i) for i in range(cut + 2)) <= 0.025 * 2**count:
        cut += 1
    return {"median": statistics.median(values), "low": values[cut], "high": values[-1 - cut]}


def judged(promised, gained):
    """How far the promised ratio and the promised gain lie from those of the runs, and whether the promise is held."""
    def gain_off(promise, gain):
        return (promise - 1) / (gain - 1) - 1 if gain > 1 else math.inf

    off = promised["median"] / gained["median"] - 1
    middle = gain_off(promised["median"], gained["median"])
    if abs(middle) <= ALLOWED:
        return off, middle, "yes"
    least, most = gain_off(promised["low"], gained["high"]), gain_off(promised["high"], gained["low"])
    return off, middle, "unclear" if least <= ALLOWED and most >= -ALLOWED else "no"


def gains(case, plain, changed, promised, seconds, folder):
    """The ratios of the speeds of neighbouring runs: their median and its interval."""
    ratios = []
    for round_ in range(MOST_ROUNDS):
        if round_ >= ROUNDS and judged(promised, median_interval(ratios))[2] != "unclear":
            break
        first = speed(case, plain, seconds, folder)
        ratios.append(speed(case, changed, seconds, folder) / first)
        second = speed(case, changed, seconds, folder)
        ratios.append(second / speed(case, plain, seconds, folder))
    return median_interval(ratios)


def told(ratio):
    return f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"


def judge(options, case, words, folder):
    """A row of the table without case, model and size, and whether the promise held: None where there was none."""
    words = words + MORE.get(case, [])
    threads = THREADS.get(case, [])
    changes = os.path.join(folder, "changes.toml")
    result = profile(options, words, *threads, "--apply", changes)
    if not result["applied"]:
        return f"{result['verdict']} | nothing | | | | | ", None
    promised, names = result["applied"]["ratio"], result["applied"]["set"]
    if any(name.startswith("--threads") for name in names):
        plain, changed = words + threads, words
    else:
        plain = changed = words + threads
    gained = gains(case, plain, [*changed, "--apply", changes], promised, options.run, folder)
    off, gain_off, holds = judged(promised, gained)
    named = ", ".join(f"`{name}`" for name in names)
    return (f"{result['verdict']} | {named} | {told(promised)} | {told(gained)} | {100 * off:+.0f} % | "
            f"{100 * gain_off:+.0f} % | {'**no**' if holds == 'no' else holds}"), holds


def is_enough(held):
    """Whether promises were made and held: `held` has the case of each stage, and "yes", "no", "unclear" or None."""
    promises = [one for _, one in held if one is not None]
    promising = [one is not None for case, one in held if case in PROMISING]
    yes, no, unclear = (promises.count(one) for one in ("yes", "no", "unclear"))
    return (yes > 0 and yes >= 0.9 * (yes + no) and unclear <= 0.2 * len(promises)
            and sum(promising) >= 0.5 * len(promising))


def main():
    given = parser(__doc__, 30)  # with 10 s, no time is left for the remedies of many cases
    given.add_argument("--run", type=float, default=4, help="seconds of each run (default 4)")
    given.add_argument("--size", type=int, choices=SIZES, help="this size alone; without it, all three")
    options = given.parse_args()
    held = []
    print("| case | model | size | verdict | changes | promised | gained | ratio off | gain off | held |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for case, model in asked(options):
        if case in WITHOUT_SPEED:
            continue
        for size in SIZES:
            if options.size not in (None, size):
                continue
            with stage(options, case, model, size) as words, tempfile.TemporaryDirectory() as folder:
                row, holds = judge(options, case, words, folder)
            print(f"| {case} | {model} | {size} | {row} |", flush=True)
            held.append((case, holds))
    promises = [one for _, one in held if one is not None]
    print(f"\n{len(promises)} of {len(held)} stages have a promise.")
    print(f"{promises.count('yes')} of {len(promises)} promised gains lie within 20 % of the gain, "
          f"{promises.count('no')} do not, and {promises.count('unclear')} are unclear.")
    sys.exit(0 if is_enough(held) else 1)


if __name__ == "__main__":
    main()
