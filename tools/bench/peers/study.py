"""Ask and tell without training, by Optuna or Rustuna: prints {"seconds": …} of a row of bench_study.cpp.

    python3 study.py optuna|rustuna ROW

The SQLite row writes into the current folder, as durably as ours: rustuna and optuna as they come.
"""

import json
import os
import sys
import tempfile
import time
import warnings

warnings.simplefilter("ignore")

# Row: sampler, parameters, trials, objectives.
ROWS = {
    "random 2 × 10000": ("Random", 2, 10_000, 1),
    "random 1000 × 10": ("Random", 1000, 10, 1),
    "sobol 2 × 10000": ("QMC", 2, 10_000, 1),
    "tpe 2 × 1000": ("TPE", 2, 1000, 1),
    "tpe 40 × 1000": ("TPE", 40, 1000, 1),
    "tpe 2 × 1000, two objectives": ("TPE", 2, 1000, 2),
    "cma_es 10 × 10000": ("CmaEs", 10, 10_000, 1),
    "nsga2 2 × 10000, two objectives": ("NSGAII", 2, 10_000, 2),
    "gp 4 × 100": ("GP", 4, 100, 1),
    "random 2 × 1000, SQLite": ("Random", 2, 1000, 1),
}


def main():
    peer, row = sys.argv[1], sys.argv[2]
    sampler, parameters, trials, objectives = ROWS[row]
    if peer == "optuna":
        import optuna as library

        library.logging.set_verbosity(library.logging.ERROR)
    else:
        import rustuna as library

    names = [f"x{i}" for i in range(parameters)]

    def objective(trial):
        values = [trial.suggest_float(name, -5, 5) for name in names]
        total = sum(x * x for x in values)
        return total if objectives == 1 else (total, abs(values[0] - 1))

    with tempfile.TemporaryDirectory(dir=".") as folder:
        more = {}
        if row.endswith("SQLite"):
            file = os.path.join(folder, "study.db")
            more["storage"] = f"sqlite:///{file}" if peer == "optuna" else library.storages.SQLite3Storage(file)
        # The modules that the sampler loads at its first use are not timed.
        warm = library.create_study(
            directions=["minimize"] * objectives, sampler=getattr(library.samplers, sampler + "Sampler")(seed=2)
        )
        warm.optimize(objective, n_trials=12)
        begin = time.perf_counter()
        study = library.create_study(
            directions=["minimize"] * objectives, sampler=getattr(library.samplers, sampler + "Sampler")(seed=1), **more
        )
        study.optimize(objective, n_trials=trials)
        seconds = time.perf_counter() - begin
        assert len(study.trials) == trials
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
