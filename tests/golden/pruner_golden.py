"""Makes pruner_golden.json: which trials Optuna's pruners give up, and when, on recorded curves.

    python3 pruner_golden.py > pruner_golden.json        (Optuna 5.0, scipy)

Trials run one after the other. Each row: an entry of ours and the same pruner of Optuna's, whether larger values are
better, and for each trial the report after which it was pruned (0: it was not). Where the two differ by design no row
is made: ties at a rung (ours: the earlier trial is the better one), in Wilcoxon's test differences that are zero (ours
leaves them out) and a trial that is worse repeat by repeat while its mean so far is better than the best trial's over
all repeats (ours compares means over the same repeats), and which trial is dealt to which of Hyperband's brackets: of
these the file has the shares only.
"""

import json
import random
import warnings

import optuna
from optuna import pruners

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")
TRIALS, LENGTH = 40, 27


def curves(seed):
    rng = random.Random(seed)
    made = []
    for _ in range(TRIALS):
        floor, start, speed = rng.random(), 1 + rng.random(), rng.uniform(0.05, 0.5)
        made.append([round(floor + start * (1 - speed) ** step + rng.gauss(0, 0.05), 9) for step in range(LENGTH)])
    return made


def seeds_of_configurations(seed):
    """Reports of repeats: an effect of the configuration, one of the repeat, and noise."""
    rng = random.Random(seed)
    repeats = [rng.gauss(0, 0.3) for _ in range(12)]
    return [
        [round(effect + one + rng.gauss(0, 0.3), 9) for one in repeats]
        for effect in (rng.gauss(0, 0.4) for _ in range(TRIALS))
    ]


def replay(pruner, recorded, maximize, first_step, every=1):
    study = optuna.create_study(direction="maximize" if maximize else "minimize", pruner=pruner)
    ends = []
    for curve in recorded:
        trial, end = study.ask(), 0
        for k, value in enumerate(curve):
            trial.report(-value if maximize else value, k * every + first_step)
            if trial.should_prune():
                end = k + 1
                break
        last = sum(curve) / len(curve) if isinstance(pruner, pruners.WilcoxonPruner) else curve[-1]
        if end:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            study.tell(trial, -last if maximize else last)
        ends.append(end)
    return ends


# Entry, Optuna's pruner, the step of the first report (those that count "warm-up steps" count from 0), and how many
# steps lie between two reports.
CASES = [
    ({"@": "pruner.median"}, lambda: pruners.MedianPruner(), 0, 1),
    ({"@": "pruner.median", "startup": 3, "warmup": 4, "interval": 3}, lambda: pruners.MedianPruner(3, 4, 3), 0, 1),
    ({"@": "pruner.percentile", "percentile": 25.0}, lambda: pruners.PercentilePruner(25.0), 0, 1),
    (
        {"@": "pruner.percentile", "percentile": 80.0, "startup": 2, "warmup": 1},
        lambda: pruners.PercentilePruner(80.0, 2, 1),
        0,
        1,
    ),
    ({"@": "pruner.asha"}, lambda: pruners.SuccessiveHalvingPruner(1, 3), 1, 1),
    ({"@": "pruner.asha", "min": 2, "reduction": 2}, lambda: pruners.SuccessiveHalvingPruner(2, 2), 1, 1),
    ({"@": "pruner.asha", "min": 4, "reduction": 4}, lambda: pruners.SuccessiveHalvingPruner(4, 4), 1, 1),
    ({"@": "pruner.asha", "min": 2}, lambda: pruners.SuccessiveHalvingPruner(2, 3), 5, 5),
    ({"@": "pruner.asha", "min": 4, "reduction": 4}, lambda: pruners.SuccessiveHalvingPruner(4, 4), 3, 3),
    ({"@": "pruner.median", "startup": 3, "warmup": 6, "interval": 5}, lambda: pruners.MedianPruner(3, 6, 5), 1, 2),
]


def brackets(low, high, reduction):
    """The first rung and the share of trials of each bracket."""
    pruner = pruners.HyperbandPruner(low, high, reduction)
    pruner._try_initialization(None)
    return [[low * reduction**b, share] for b, share in enumerate(pruner._trial_allocation_budgets)]


def main():
    recorded, repeats = curves(5), seeds_of_configurations(7)
    rows = [{"entry": entry, "every": every, "maximize": maximize,
             "ends": replay(make(), recorded, maximize, first, every)}
            for entry, make, first, every in CASES for maximize in (False, True)]
    wilcoxon = [{"entry": {"@": "pruner.wilcoxon", "p": p, "startup": startup}, "maximize": maximize,
                 "ends": replay(pruners.WilcoxonPruner(p_threshold=p, n_startup_steps=startup), repeats, maximize, 1)}
                for p, startup in ((0.1, 4), (0.05, 6)) for maximize in (False, True)]
    hyperband = [{"min": low, "max": high, "reduction": reduction, "brackets": brackets(low, high, reduction)}
                 for low, high, reduction in ((1, 9, 3), (2, 60, 3), (1, 20, 4), (1, 10, 2))]
    print(json.dumps({"curves": recorded, "repeats": repeats}, separators=(",", ":"))[:-1] + ",")
    for name, part, end in (("pruners", rows, ","), ("wilcoxon", wilcoxon, ","), ("hyperband", hyperband, "}")):
        print(f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in part) + "]" + end)


if __name__ == "__main__":
    main()
