"""Compares the gains that `trainlab profile --apply` promises with those of `trainlab run --apply`.

    python3 tools/bench/applied.py [--data DIR] [--seconds S] [--run S] [--only CASE] [--model MODEL] [--size N]

Each case of recipes/bottlenecks.lua is profiled. Where changes win, whole runs of the same time without and with them
take turns, A B B A. The speed of a run is its steps divided by the `seconds` of its summary, from the first batch to
the last commit. The time of evaluations counts only where steps wait for validations: every run ends with a validation
and with the test part, which in runs as short as these would take more than their proportion.

Prints for each case what the profile promises (the speed with all changes to the speed without, the median and the
95 % interval), what the runs gain (the median of the ratios of neighbours, the least and the greatest), and whether the
promise lies within 20 % of the gain. Ends with 1 if less than 90 % do, or if the profile promises nothing for more than
half of the stages for which there is a change that is faster and keeps the result.
"""

import json
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
PROMISING = ("augment", "storage", "validate", "commit", "gemm")
WITHOUT_SPEED = ("capacity",)  # nothing trains without the change
ALLOWED = 0.2
ROUNDS = 2  # of A B B A
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


def gains(case, plain, changed, seconds, folder):
    """Ratios of the speeds of neighbouring runs."""
    ratios = []
    for _ in range(ROUNDS):
        first = speed(case, plain, seconds, folder)
        ratios.append(speed(case, changed, seconds, folder) / first)
        second = speed(case, changed, seconds, folder)
        ratios.append(second / speed(case, plain, seconds, folder))
    return ratios


def judge(options, case, words, folder):
    """A row of the table without case, model and size, and whether the promise held: None where there was none."""
    words = words + MORE.get(case, [])
    threads = THREADS.get(case, [])
    changes = os.path.join(folder, "changes.toml")
    result = profile(options, words, *threads, "--apply", changes)
    if not result["applied"]:
        return f"{result['verdict']} | nothing | | | ", None
    promised, names = result["applied"]["ratio"], result["applied"]["set"]
    if any(name.startswith("--threads") for name in names):
        plain, changed = words + threads, words
    else:
        plain = changed = words + threads
    found = gains(case, plain, [*changed, "--apply", changes], options.run, folder)
    gain = statistics.median(found)
    holds = abs(promised["median"] / gain - 1) <= ALLOWED
    return (f"{result['verdict']} | {', '.join(names)} | "
            f"{promised['median']:.2f} ({promised['low']:.2f} to {promised['high']:.2f}) | "
            f"{gain:.2f} ({min(found):.2f} to {max(found):.2f}) | {'yes' if holds else '**no**'}"), holds


def is_enough(held):
    """Whether promises were made and held: `held` has the case of each stage, and whether its promise held, or None."""
    promises = [one for _, one in held if one is not None]
    promising = [one is not None for case, one in held if case in PROMISING]
    return bool(promises) and sum(promises) >= 0.9 * len(promises) and sum(promising) >= 0.5 * len(promising)


def main():
    given = parser(__doc__, 30)  # with 10 s, no time is left for the remedies of many cases
    given.add_argument("--run", type=float, default=4, help="seconds of each run (default 4)")
    given.add_argument("--size", type=int, choices=SIZES, help="this size alone; without it, all three")
    options = given.parse_args()
    held = []
    print("| case | model | size | verdict | changes | promised | gained | within 20 % |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
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
    print(f"{sum(promises)} of {len(promises)} promises lie within 20 % of the gain.")
    sys.exit(0 if is_enough(held) else 1)


if __name__ == "__main__":
    main()
