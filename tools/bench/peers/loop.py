"""A training loop written by hand in Python, at its fastest: all data in one tensor, batches by index. Prints one JSON
object: steps, seconds (from the first batch to the end) and the validation accuracy.

    loop.py EPOCHS THREADS DATA
"""

import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

from fit import mnist


def main():
    epochs, threads, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    x, y = mnist(path).tensors
    order = torch.randperm(len(x))
    train, val = order[: len(x) * 9 // 10], order[len(x) * 9 // 10 :]
    x_train, y_train = x[train], y[train]
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)

    begin, steps, log = time.perf_counter(), 0, []
    for _ in range(epochs):
        for rows in torch.randperm(len(x_train)).split(64):
            loss = F.cross_entropy(model(x_train[rows]), y_train[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.append(loss.item())
            steps += 1
    seconds = time.perf_counter() - begin
    with torch.no_grad():
        accuracy = (model(x[val]).argmax(1) == y[val]).float().mean().item()
    print(json.dumps({"steps": steps, "seconds": seconds, "accuracy": accuracy}))


if __name__ == "__main__":
    main()
