"""recipes/cifar.lua in PyTorch: the same net, augmentation, optimizer, schedule and average. The images are decoded
once into memory, which costs PyTorch less than its DataLoader. Prints {"accuracy", "steps",
"seconds", "images_per_second"}.

    cifar.py ARCHIVE SECONDS [THREADS [WIDTH [DEVICE [PRECISION]]]]

PRECISION is "float32", without TF32, or "bfloat16", which is torch.autocast.
"""

import copy
import io
import json
import sys
import tarfile
import time

import numpy
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn

BATCH, LR = 128, 0.2


def decoded(path):
    parts = {"train": [], "test": []}
    with tarfile.open(path) as archive:
        for member in archive:
            pieces = member.name.split("/")
            if member.isfile() and len(pieces) >= 3:
                image = numpy.asarray(Image.open(io.BytesIO(archive.extractfile(member).read())).convert("RGB"))
                parts[pieces[-3]].append((image, pieces[-2]))
    classes = sorted({name for _, name in parts["train"]})
    mean = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)
    std = torch.tensor([0.2470, 0.2435, 0.2616]).view(3, 1, 1)

    def tensors(part):
        x = torch.from_numpy(numpy.stack([image for image, _ in part])).permute(0, 3, 1, 2).float() / 255
        return (x - mean) / std, torch.tensor([classes.index(name) for _, name in part])

    return tensors(parts["train"]), tensors(parts["test"])


def conv(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(conv(channels, channels), conv(channels, channels))

    def forward(self, x):
        return x + self.body(x)


def network(width):
    return nn.Sequential(
        conv(3, width), conv(width, 2 * width), nn.MaxPool2d(2), Residual(2 * width),
        conv(2 * width, 4 * width), nn.MaxPool2d(2), conv(4 * width, 8 * width), nn.MaxPool2d(2), Residual(8 * width),
        nn.MaxPool2d(4), nn.Flatten(), nn.Linear(8 * width, 10))


def augmented(x):
    """Padded crop with the mirrored edge, and flip, one draw for each image."""
    padded = F.pad(x, (4, 4, 4, 4), mode="reflect")
    place = {"device": x.device}
    rows = torch.randint(9, (len(x), 1, 1), **place) + torch.arange(32, **place).view(1, 32, 1)
    columns = torch.randint(9, (len(x), 1, 1), **place) + torch.arange(32, **place).view(1, 1, 32)
    columns = torch.where(torch.rand(len(x), 1, 1, **place) < 0.5, columns.flip(2), columns)
    return padded[torch.arange(len(x), **place).view(-1, 1, 1), :, rows, columns].permute(0, 3, 1, 2).contiguous()


def factor(share):
    """One cycle in straight lines: up to 1 at a fifth of the time, then down."""
    return 0.04 + 0.96 * share / 0.2 if share < 0.2 else max(0.0, (1 - share) / 0.8)


def main():
    seconds = float(sys.argv[2])
    torch.set_num_threads(int(sys.argv[3]) if len(sys.argv) > 3 else 2)
    torch.manual_seed(1)
    torch.backends.cudnn.allow_tf32 = False
    precision = sys.argv[6] if len(sys.argv) > 6 else "float32"
    device = torch.device(sys.argv[5] if len(sys.argv) > 5 else "cpu")
    (x, y), (test_x, test_y) = [[part.to(device) for part in pair] for pair in decoded(sys.argv[1])]
    model = network(int(sys.argv[4]) if len(sys.argv) > 4 else 16).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9, nesterov=True, weight_decay=5e-4)
    average = copy.deepcopy(model)
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for rows in torch.randperm(len(x), device=device).split(BATCH):
            share = (time.perf_counter() - begin) / seconds
            if share >= 1:
                break
            optimizer.param_groups[0]["lr"] = LR * factor(share)
            with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"):
                loss = F.cross_entropy(model(augmented(x[rows])), y[rows], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for mine, theirs in zip(average.state_dict().values(), model.state_dict().values()):
                    if mine.is_floating_point():
                        mine.lerp_(theirs, 0.01 if steps else 1.0)
            steps += 1
    spent = time.perf_counter() - begin
    average.eval()
    with torch.inference_mode():
        right = sum((average(a).argmax(1) == b).sum().item() for a, b in zip(test_x.split(512), test_y.split(512)))
    print(
        json.dumps(
            {
                "accuracy": right / len(test_y),
                "steps": steps,
                "seconds": spent,
                "images_per_second": steps * BATCH / spent,
            }
        )
    )


if __name__ == "__main__":
    main()
