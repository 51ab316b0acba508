"""Writes optim_golden.json: PyTorch's optimizers and schedulers on small fixed problems, in float64, one thread.

tests/engine/optim computes the same; the problem is written in both places and has no random numbers:
value k (counted over all tensors) starts at sin(1 + 0.7 k) and has at step t the gradient
  (0.2 + 0.3 (k mod 7)) x + 0.3 cos(3 x) + 0.5 sin(0.3 t + k).
The rate at step t of 100 is lr (1 - t / 200). In the cases named "late" the last tensor has no gradient before step 3.
"""
import json
import math
import pathlib

import torch
from torch.optim import lr_scheduler

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

SHAPES = [(4, 5), (4,), (3, 4), (3,)]  # weights decay; biases (one axis) are the second group
SAVED = [1, 2, 10, 100]

CASES = {
    "sgd": ("SGD", {"lr": 0.05}),
    "sgd default rate": ("SGD", {}),
    "sgd momentum": ("SGD", {"lr": 0.05, "momentum": 0.9}),
    "sgd nesterov decay": ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    "sgd dampening late": ("SGD", {"lr": 0.05, "momentum": 0.8, "dampening": 0.3}),
    "sgd groups": ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.2, "decay_norms_and_biases": False}),
    "adam": ("Adam", {}),
    "adam l2 late": ("Adam", {"lr": 0.02, "weight_decay": 0.1, "betas": [0.8, 0.99], "eps": 1e-6}),
    "adam amsgrad": ("Adam", {"lr": 0.02, "amsgrad": True, "betas": [0.9, 0.9]}),
    "adamw": ("AdamW", {"lr": 0.02}),
    "adamw amsgrad late": ("AdamW", {"lr": 0.02, "amsgrad": True, "weight_decay": 0.3, "betas": [0.9, 0.95]}),
    "adamw groups": ("AdamW", {"lr": 0.02, "weight_decay": 0.3, "decay_norms_and_biases": False}),
}


def run_optimizer(name, entry, options):
    options = dict(options)
    decay_all = options.pop("decay_norms_and_biases", True)
    first, values, offsets = 0, [], []
    for shape in SHAPES:
        k = torch.arange(first, first + math.prod(shape)).double()
        values.append(torch.sin(1 + 0.7 * k).view(shape).requires_grad_())
        offsets.append(k.view(shape))
        first += math.prod(shape)
    groups = [{"params": values}]
    if not decay_all:
        groups = [{"params": [v for v in values if v.dim() > 1]},
                  {"params": [v for v in values if v.dim() == 1], "weight_decay": 0.0}]
    optimizer = getattr(torch.optim, entry)(groups, **options, foreach=False)
    rate = optimizer.param_groups[0]["lr"]
    saved = []
    for t in range(100):
        for value, k in zip(values, offsets):
            x = value.detach()
            value.grad = (0.2 + 0.3 * (k % 7)) * x + 0.3 * torch.cos(3 * x) + 0.5 * torch.sin(0.3 * t + k)
        if "late" in name and t < 3:
            values[-1].grad = None
        for group in optimizer.param_groups:
            group["lr"] = rate * (1 - t / 200)
        optimizer.step()
        if t + 1 in SAVED:
            saved.append(torch.cat([v.detach().flatten() for v in values]).tolist())
    return {"name": name, "entry": "optim." + entry, "rate": rate, "options": CASES[name][1], "values": saved}


def factors(make, steps, events=None):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scheduler = make(optimizer)
    result = []
    for i in range(steps):
        result.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step(*([] if events is None else [events[i]]))
    return result + [optimizer.param_groups[0]["lr"]]


def warm_cosine(total, warmup, floor):
    def make(optimizer):
        cosine = lr_scheduler.CosineAnnealingLR(optimizer, T_max=total - warmup, eta_min=floor)
        if warmup == 0:
            return cosine
        rise = lr_scheduler.LinearLR(optimizer, start_factor=1 / (warmup + 1), total_iters=warmup)
        return lr_scheduler.SequentialLR(optimizer, [rise, cosine], milestones=[warmup])

    return factors(make, total)


def plateau_cases():
    falling = [1.0 / (1 + 0.2 * i) for i in range(12)]
    sequences = {
        "never better": [1.0] * 20,
        "always better": [30.0 - i for i in range(20)],
        "stalls": [10.0 - i for i in range(8)] + [3.2] * 12,
        "rises": [float(i) for i in range(20)],
        "slow": [1.0 - 0.00005 * i for i in range(30)],
        "steps": falling + falling[::-1] + falling,
        "accuracies": [0.50, 0.60, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61],
        "wave": [1.5 + math.sin(0.7 * i) for i in range(40)],
        "nan": [1.0, 0.5, math.nan, math.nan, math.nan, 0.4, math.nan, 0.39, 0.39],
    }
    options = [
        {},
        {"factor": 0.1, "patience": 5, "mode": "abs", "threshold": 0.01, "cooldown": 1},
        {"factor": 0.1, "patience": 4, "mode": "abs", "threshold": 0.0, "cooldown": 4},
        {"factor": 0.5, "patience": 0, "threshold": 0.0},
        {"factor": 0.5, "patience": 2, "threshold": 0.1, "mode": "rel"},
        {"factor": 0.1, "patience": 3, "threshold": 1e-3, "mode": "abs"},
        {"factor": 0.3, "patience": 1, "threshold": 0.01, "floor": 0.05, "cooldown": 2},
        {"factor": 0.2, "patience": 1, "eps": 0.01},
    ]
    cases = []
    for name, sequence in sequences.items():
        for option in options:
            for direction in ["min", "max"]:
                names = {"mode": "threshold_mode", "floor": "min_lr"}
                arguments = {names.get(key, key): value for key, value in option.items()}
                lrs = factors(lambda o: lr_scheduler.ReduceLROnPlateau(o, direction, **arguments), len(sequence), sequence)
                changes = [[i, lr] for i, lr in enumerate(lrs) if i and lr != lrs[i - 1]]
                cases.append({"sequence": name, "options": option, "minimize": direction == "min", "changes": changes})
    return {"sequences": {k: [None if math.isnan(x) else x for x in v] for k, v in sequences.items()}, "cases": cases}


golden = {
    "torch": torch.__version__.split("+")[0],
    "steps": SAVED,
    "optimizers": [run_optimizer(name, *case) for name, case in CASES.items()],
    "step": [{"every": every, "factor": factor,
              "factors": factors(lambda o: lr_scheduler.StepLR(o, every, factor), 30)}
             for every, factor in [(1, 0.9), (7, 0.1), (10, 0.5)]],
    "cosine": [{"total": total, "warmup": warmup, "floor": floor, "factors": warm_cosine(total, warmup, floor)}
               for total, warmup, floor in [(40, 0, 0.0), (40, 0, 0.1), (40, 5, 0.0), (50, 1, 0.25)]],
    "plateau": plateau_cases(),
}
pathlib.Path(__file__).with_name("optim_golden.json").write_text(json.dumps(golden, separators=(",", ":")).replace("},{", "},\n{") + "\n")
