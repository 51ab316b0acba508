"""recipes/chargpt.lua in PyTorch eager, as nanoGPT trains its character model on a CPU: the same net, initial values,
optimizer, schedule and windows. Prints one JSON object: steps, the loss at the end on the whole validation part, in
consecutive windows, and the seconds from the first batch to that loss.

    gpt.py TEXT STEPS THREADS [SEED]
"""

import json
import math
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

CONTEXT, WIDTH, HEADS, LAYERS, BATCH, LR, WARMUP = 64, 128, 4, 4, 12, 1e-3, 100


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH, bias=False), nn.LayerNorm(WIDTH, bias=False)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        shape = x.shape
        parts = self.qkv(self.norm1(x)).split(WIDTH, dim=2)
        q, k, v = (part.view(*shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH, bias=False)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                residual = "out." in name or "down." in name
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * LAYERS) if residual else 0.02)

    def forward(self, x):
        y = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
        for block in self.blocks:
            y = block(y)
        return self.head(self.norm(y))


def rate(step, steps):
    if step < WARMUP:
        return LR * (step + 1) / (WARMUP + 1)
    return 0.1 * LR + 0.45 * LR * (1 + math.cos(math.pi * (step - WARMUP) / max(steps - WARMUP, 1)))


@torch.inference_mode()
def evaluated(model, part):
    count = (len(part) - 1) // CONTEXT
    x, y = part[: count * CONTEXT].view(count, CONTEXT), part[1 : count * CONTEXT + 1].view(count, CONTEXT)
    pieces = [
        F.cross_entropy(model(a).flatten(0, 1), b.flatten(), reduction="sum") for a, b in zip(x.split(64), y.split(64))
    ]
    return sum(pieces).item() / y.numel()


class Training:
    """The model with what trains it for a number of steps."""

    def __init__(self, path, steps, seed=1):
        torch.manual_seed(seed)
        self.steps = steps
        text = open(path, encoding="utf-8").read()
        codes = {c: i for i, c in enumerate(sorted(set(text)))}
        tokens = torch.tensor([codes[c] for c in text])
        self.train, self.val = tokens[: int(0.9 * len(tokens))], tokens[int(0.9 * len(tokens)) :]
        self.model = Gpt(len(codes))
        groups = [{"params": [p for p in self.model.parameters() if p.dim() > 1], "weight_decay": 0.1},
                  {"params": [p for p in self.model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=LR, betas=(0.9, 0.99))

    def batch(self):
        places = torch.randint(len(self.train) - CONTEXT, (BATCH,))
        x = torch.stack([self.train[i : i + CONTEXT] for i in places])
        return x, torch.stack([self.train[i + 1 : i + CONTEXT + 1] for i in places])

    def step(self, number, x, y):
        for group in self.optimizer.param_groups:
            group["lr"] = rate(number, self.steps)
        loss = F.cross_entropy(self.model(x).flatten(0, 1), y.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()


def main():
    path, steps, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    training = Training(path, steps, int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    begin = time.perf_counter()
    for step in range(steps):
        training.step(step, *training.batch())
    loss = evaluated(training.model, training.val)
    print(json.dumps({"steps": steps, "seconds": time.perf_counter() - begin, "val_loss": loss}))


if __name__ == "__main__":
    main()
