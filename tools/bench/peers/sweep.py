"""The sweep of recipes/sweep.lua as users of Optuna and PyTorch write it: two processes, each with the loop of
fit.py, share a study in SQLite. Prints one JSON object: the best validation accuracy.

    sweep.py TRIALS PROCESSES DIGITS
"""

import json
import multiprocessing
import os
import sys
import tempfile


def work(storage, trials, path):
    import optuna
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, random_split

    from fit import MODELS, digits

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    torch.set_num_threads(1)
    data = digits(path)
    train, val = random_split(data, [0.8, 0.2], torch.Generator().manual_seed(7))

    def objective(trial):
        lr = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
        decay = trial.suggest_float("weight_decay", 1e-5, 1e-1, log=True)
        torch.manual_seed(1)
        model = MODELS["mlp_small"]()
        optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=decay)
        criterion = nn.CrossEntropyLoss()
        best = 0.0
        for epoch in range(10):
            model.train()
            for x, y in DataLoader(train, batch_size=32, shuffle=True):
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                right = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(val, batch_size=256))
            trial.report(right / len(val), epoch)
            best = max(best, right / len(val))
        return best

    study = optuna.load_study(study_name="sweep", storage=storage, sampler=optuna.samplers.RandomSampler())
    study.optimize(objective, n_trials=trials)


def main():
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    trials, processes, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{os.path.join(folder, 'study.db')}"
        optuna.create_study(study_name="sweep", storage=storage, direction="maximize")
        context = multiprocessing.get_context("spawn")
        workers = [context.Process(target=work, args=(storage, trials // processes, path)) for _ in range(processes)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        study = optuna.load_study(study_name="sweep", storage=storage)
        print(json.dumps({"accuracy": study.best_value, "trials": len(study.trials)}))


if __name__ == "__main__":
    main()
