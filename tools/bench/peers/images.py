"""Batches of CIFAR-10 from torch.utils.data.DataLoader: torchvision's ImageFolder on extracted JPEG files,
RandomCrop(32, padding 4), RandomHorizontalFlip, ToTensor. Prints {"us_per_image"}: the median of
the epochs after the first.

    images.py ARCHIVE WORKERS [IMAGES]        extracts the archive's training part to a folder of its own
"""

import json
import os
import statistics
import sys
import tarfile
import tempfile
import time

import torch
from torch.utils.data import DataLoader, Subset
from torchvision import transforms
from torchvision.datasets import ImageFolder


def main():
    torch.set_num_threads(1)
    workers = int(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 20000
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sys.argv[1]) as archive:
            archive.extractall(folder, members=[m for m in archive if "/train/" in m.name])
        train = next(root for root, names, _ in os.walk(folder) if os.path.basename(root) == "train" and names)
        change = transforms.Compose(
            [transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
        )
        data = ImageFolder(train, change)
        data = Subset(data, torch.randperm(len(data), generator=torch.Generator().manual_seed(1))[:count].tolist())
        loader = DataLoader(data, batch_size=128, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
        times = []
        for _ in range(4):
            begin = time.perf_counter()
            for _x, _y in loader:
                pass
            times.append((time.perf_counter() - begin) / len(data) * 1e6)
    print(json.dumps({"us_per_image": statistics.median(times[1:])}))


if __name__ == "__main__":
    main()
