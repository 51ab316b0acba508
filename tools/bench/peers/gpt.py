"""recipes/chargpt.lua in PyTorch eager, as nanoGPT trains its character model on a CPU: the same net, initial values,
optimizer, schedule and windows. Prints one JSON object: steps, the loss at the end on the whole validation part, in
consecutive windows, and the seconds from the first batch to that loss.

    gpt.py TEXT STEPS THREADS [SEED [DEVICE [SIZE [PRECISION]]]]

SIZE is "small", nanoGPT's setting for a CPU, or "large", its setting for a GPU. PRECISION is "float32" or "bfloat16",
which is torch.autocast.
"""

import collections
import json
import math
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

Size = collections.namedtuple("Size", "context width heads layers batch")
SIZES = {"small": Size(64, 128, 4, 4, 12), "large": Size(256, 384, 6, 6, 64)}
LR, WARMUP = 1e-3, 100


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads = width, heads
        self.norm1, self.norm2 = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        shape = x.shape
        parts = self.qkv(self.norm1(x)).split(self.width, dim=2)
        q, k, v = (part.view(*shape[:2], self.heads, self.width // self.heads).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, vocabulary, size):
        super().__init__()
        width = size.width
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(size.context, width)
        self.blocks = nn.ModuleList(Block(width, size.heads) for _ in range(size.layers))
        self.norm = nn.LayerNorm(width, bias=False)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                residual = "out." in name or "down." in name
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * size.layers) if residual else 0.02)

    def forward(self, x):
        y = self.tokens(x) + self.positions(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            y = block(y)
        return self.head(self.norm(y))


def rate(step, steps):
    if step < WARMUP:
        return LR * (step + 1) / (WARMUP + 1)
    return 0.1 * LR + 0.45 * LR * (1 + math.cos(math.pi * (step - WARMUP) / max(steps - WARMUP, 1)))


class Training:
    """The model with what trains it for a number of steps."""

    def __init__(self, path, steps, seed=1, device="cpu", size="small", precision="float32"):
        torch.manual_seed(seed)
        self.steps, self.size, self.device, self.precision = steps, SIZES[size], torch.device(device), precision
        text = open(path, encoding="utf-8").read()
        codes = {c: i for i, c in enumerate(sorted(set(text)))}
        tokens = torch.tensor([codes[c] for c in text])
        self.train, self.val = tokens[: int(0.9 * len(tokens))], tokens[int(0.9 * len(tokens)) :]
        self.model = Gpt(len(codes), self.size).to(self.device)
        groups = [{"params": [p for p in self.model.parameters() if p.dim() > 1], "weight_decay": 0.1},
                  {"params": [p for p in self.model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=LR, betas=(0.9, 0.99))

    def moved(self, column):
        if self.device.type == "cpu":
            return column
        return column.pin_memory().to(self.device, non_blocking=True)

    def batch(self):
        context = self.size.context
        places = torch.randint(len(self.train) - context, (self.size.batch,))
        x = torch.stack([self.train[i : i + context] for i in places])
        return self.moved(x), self.moved(torch.stack([self.train[i + 1 : i + context + 1] for i in places]))

    def loss(self, x, y, reduction="mean"):
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            return F.cross_entropy(self.model(x).flatten(0, 1), y.flatten(), reduction=reduction)

    def step(self, number, x, y):
        for group in self.optimizer.param_groups:
            group["lr"] = rate(number, self.steps)
        loss = self.loss(x, y)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()

    @torch.inference_mode()
    def evaluated(self):
        context = self.size.context
        count = (len(self.val) - 1) // context
        x = self.moved(self.val[: count * context].view(count, context))
        y = self.moved(self.val[1 : count * context + 1].view(count, context))
        pieces = [self.loss(a, b, "sum") for a, b in zip(x.split(64), y.split(64))]
        return (sum(pieces) / y.numel()).item()


def main():
    path, steps, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    training = Training(path, steps, int(sys.argv[4]) if len(sys.argv) > 4 else 1, *sys.argv[5:])
    begin = time.perf_counter()
    for step in range(steps):
        training.step(step, *training.batch())
    loss = training.evaluated()
    print(json.dumps({"steps": steps, "seconds": time.perf_counter() - begin, "val_loss": loss}))


if __name__ == "__main__":
    main()
