"""Batches of MNIST from torch.utils.data.DataLoader over a TensorDataset. Prints {"us_per_batch": {"0": …, "2": …}} by
number of workers, the median of five epochs (the first, which starts the workers, is left out).

    loader.py DATA
"""

import json
import statistics
import sys
import time

import torch
from torch.utils.data import DataLoader

from fit import mnist


def main():
    torch.set_num_threads(1)
    data = mnist(sys.argv[1])
    result = {}
    for workers in (0, 2):
        loader = DataLoader(data, batch_size=64, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
        times = []
        for _ in range(6):
            begin, batches = time.perf_counter(), 0
            for _x, _y in loader:
                batches += 1
            times.append((time.perf_counter() - begin) / batches * 1e6)
        result[str(workers)] = statistics.median(times[1:])
    print(json.dumps({"us_per_batch": result}))


if __name__ == "__main__":
    main()
