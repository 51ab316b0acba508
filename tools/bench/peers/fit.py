"""The benchmarks' fits as a PyTorch user writes them: DataLoader over a TensorDataset, AdamW, a running loss, a
validation with accuracy after each epoch. Prints one JSON object: steps, seconds (from the first batch to the end) and
the validation accuracy. On a GPU, batches come from pinned memory, and nothing in an epoch waits for the GPU.

    fit.py mlp_small|mnist_mlp|mnist_cnn EPOCHS THREADS DATA [DEVICE]
"""

import gzip
import json
import os
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

MODELS = {
    "mlp_small": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)),
    "mnist_mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)),
    "mnist_cnn": lambda: nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(784, 10),
    ),
}


def digits(path):
    table = torch.tensor(np.loadtxt(gzip.open(path), delimiter=","))
    return TensorDataset(table[:, :64].float().reshape(-1, 1, 8, 8) / 16, table[:, 64].long())


def idx(path):
    opener = gzip.open(path + ".gz") if os.path.exists(path + ".gz") else open(path, "rb")
    raw = opener.read()
    shape = [int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(raw[3])]
    return torch.from_numpy(np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape).copy())


def mnist(folder):
    x = idx(f"{folder}/train-images-idx3-ubyte").float().unsqueeze(1) / 255
    return TensorDataset(x, idx(f"{folder}/train-labels-idx1-ubyte").long())


class Training:
    """The model of this kind with what trains it."""

    def __init__(self, kind, path, device="cpu"):
        torch.manual_seed(1)
        self.device = torch.device(device)
        data = digits(path) if kind == "mlp_small" else mnist(path)
        share = 0.2 if kind == "mlp_small" else 0.1
        train, self.val = random_split(data, [1 - share, share])
        self.loader = DataLoader(train, batch_size=32 if kind == "mlp_small" else 64, shuffle=True,
                                 pin_memory=self.device.type != "cpu")
        self.model = MODELS[kind]().to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.01)
        self.criterion = nn.CrossEntropyLoss()

    def moved(self, batch):
        return [column.to(self.device, non_blocking=True) for column in batch]

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item() if self.device.type == "cpu" else loss.detach()


def main():
    kind, epochs, threads, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(threads)
    training = Training(kind, path, sys.argv[5] if len(sys.argv) > 5 else "cpu")
    model, val = training.model, training.val
    val_loader = DataLoader(val, batch_size=256, pin_memory=training.device.type != "cpu")

    begin, steps, accuracy = time.perf_counter(), 0, 0.0
    for _ in range(epochs):
        model.train()
        total = 0.0
        for x, y in map(training.moved, training.loader):
            total += training.step(x, y) * len(y)
            steps += 1
        model.eval()
        right = 0
        with torch.no_grad():
            for x, y in map(training.moved, val_loader):
                right += (model(x).argmax(1) == y).sum()
        accuracy = float(right) / len(val)
    print(json.dumps({"steps": steps, "seconds": time.perf_counter() - begin, "accuracy": accuracy}))


if __name__ == "__main__":
    main()
