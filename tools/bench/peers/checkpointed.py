"""The nets of tools/bench/recipes/budgets.lua in PyTorch, with torch.utils.checkpoint placed by hand: equal segments of
layers, each computed again in the backward pass. Prints a JSON object by the length of the segments in layers ("0":
without any): the median time of a step, and the most bytes of tensors in a step.

    checkpointed.py mlp|transformer THREADS STEPS
"""

import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.distributed._tools.mem_tracker import MemTracker
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

LENGTHS = {"mlp": (0, 32, 16, 8, 4, 2), "transformer": (0, 6, 4, 3, 2, 1)}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        shape = x.shape
        parts = self.qkv(self.norm1(x)).split(shape[2], dim=2)
        q, k, v = (part.view(*shape[:2], self.heads, -1).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Embedded(nn.Module):
    def __init__(self, vocabulary, width, context):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)

    def forward(self, x):
        return self.tokens(x) + self.positions(torch.arange(x.shape[1]))


def network(kind):
    """The layers before those that are computed again, these, and the layers after them."""
    if kind == "mlp":
        inputs = [64] + 63 * [256]
        layers = [nn.Sequential(nn.Linear(n, 256), nn.GELU(), nn.Dropout(0.1)) for n in inputs]
        return nn.Identity(), nn.ModuleList(layers), nn.Linear(256, 10)
    blocks = nn.ModuleList(Block(128, 4) for _ in range(12))
    return Embedded(26, 128, 64), blocks, nn.Sequential(nn.LayerNorm(128), nn.Linear(128, 26))


def batch_of(kind):
    if kind == "mlp":
        return torch.rand(512, 64), torch.randint(10, (512,))
    return torch.randint(26, (16, 64)), torch.randint(26, (16, 64))


def segment(layers):
    def run(x):
        for layer in layers:
            x = layer(x)
        return x

    return run


def main():
    kind, threads, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    before, layers, after = network(kind)
    parameters = [*before.parameters(), *layers.parameters(), *after.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, fused=True)

    def step(length):
        x, y = batch_of(kind)
        x = before(x)
        if length == 0:
            x = segment(layers)(x)
        else:
            for first in range(0, len(layers), length):
                some = segment(layers[first : first + length])
                # The backward pass begins with the last segment, which is kept.
                x = some(x) if first + length >= len(layers) else checkpoint(some, x, use_reentrant=False)
        loss = F.cross_entropy(after(x).flatten(0, -2), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    step(0)  # the optimizer's state is made
    results = {}
    for length in LENGTHS[kind]:
        tracker = MemTracker()
        tracker.track_external(before, layers, after, optimizer)
        with tracker:
            step(length)
        results[length] = {"peak": tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"], "seconds": []}
    for _ in range(steps):
        for length, result in results.items():
            begin = time.perf_counter()
            step(length)
            result["seconds"].append(time.perf_counter() - begin)
    for result in results.values():
        result["seconds"] = statistics.median(result["seconds"])
    print(json.dumps(results))


if __name__ == "__main__":
    main()
