"""Makes train_golden.json: losses of 100 training steps in PyTorch, for every optimizer on an MLP, a CNN and a CNN with
batch normalisation, in float64 and float32, on one thread.

Weights and batches are integers scaled to fractions, so that another program can make the very same ones
(test_parity.cpp does): parameter j of the model holds value(i, j) * 2 * bound with bound = 1 / sqrt(fan_in).

    python3 train_golden.py > train_golden.json        (PyTorch 2.11)
"""

import gzip
import json
import math
import os
import sys

import torch
from torch import nn

torch.set_num_threads(1)
STEPS, BATCH = 100, 32
DIGITS = os.path.join(os.path.dirname(__file__), "../../engine/data/assets/digits.csv.gz")

MODELS = {
    "mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)),
    "cnn": lambda: nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 8, 3),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(32, 10),
    ),
    "cnn_bn": lambda: nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(96, 10)
    ),
}
OPTIMIZERS = {
    "SGD": ({"lr": 0.1}, lambda p: torch.optim.SGD(p, lr=0.1)),
    "SGD_momentum": (
        {"lr": 0.05, "momentum": 0.9, "weight_decay": 1e-3},
        lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3),
    ),
    "SGD_nesterov": (
        {"lr": 0.05, "momentum": 0.9, "nesterov": True},
        lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    ),
    "Adam": ({"lr": 3e-3}, lambda p: torch.optim.Adam(p, lr=3e-3)),
    "AdamW": ({"lr": 3e-3, "weight_decay": 0.05}, lambda p: torch.optim.AdamW(p, lr=3e-3, weight_decay=0.05)),
}


def fill(model):
    with torch.no_grad():
        for j, (name, p) in enumerate(model.named_parameters()):
            if "weight" in name and p.dim() == 1:
                continue  # scale of a norm stays 1
            if p.dim() == 1 and "1.bias" == name and isinstance(model[1], nn.BatchNorm2d):
                continue  # shift of a norm stays 0
            fan_in = math.prod(p.shape[1:]) if p.dim() > 1 else p.numel()
            i = torch.arange(p.numel(), dtype=torch.int64)
            word = (i * 2654435761 + (j + 1) * 40503) % (1 << 32)
            value = word.to(torch.float64) / (1 << 32) - 0.5
            p.copy_((value * 2 / math.sqrt(fan_in)).reshape(p.shape))


def digits():
    rows = [[float(v) for v in line.split(",")] for line in gzip.open(DIGITS, "rt").read().split()]
    table = torch.tensor(rows, dtype=torch.float64)
    return table[:, :64].reshape(-1, 1, 8, 8) / 16, table[:, 64].long()


def losses(make, optimizer, dtype):
    x, y = digits()
    model = make().to(dtype)
    fill(model)
    step = optimizer(model.parameters())
    out = []
    for t in range(STEPS):
        rows = (torch.arange(BATCH) * 7 + t * BATCH) % len(y)
        step.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows].to(dtype)), y[rows])
        loss.backward()
        step.step()
        out.append(loss.item())
    return out


def main():
    golden = {
        "torch": torch.__version__,
        "optimizers": {name: options for name, (options, _) in OPTIMIZERS.items()},
        "losses": {},
    }
    for model, make in MODELS.items():
        for name, (_, optimizer) in OPTIMIZERS.items():
            for dtype in (torch.float64, torch.float32):
                key = f"{model}/{name}/{str(dtype).removeprefix('torch.')}"
                golden["losses"][key] = losses(make, optimizer, dtype)
    json.dump(golden, sys.stdout, indent=0)
    print()


main()
