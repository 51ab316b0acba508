"""Forward and backward pass of nanoGPT's character model on its CPU setting in PyTorch eager: the peer of bench_gpt.

Usage: peer_gpt.py THREADS STEPS; prints the median step in milliseconds.
"""

import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 65, 64, 128, 4, 4, 12


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
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH, bias=False)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, x):
        y = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
        for block in self.blocks:
            y = block(y)
        return self.head(self.norm(y))


def main():
    torch.set_num_threads(int(sys.argv[1]))
    torch.manual_seed(1)
    model, times = Gpt(), []
    for _ in range(int(sys.argv[2])):
        x, y = (torch.randint(VOCABULARY, (BATCH, CONTEXT)) for _ in range(2))
        begin = time.perf_counter()
        loss = F.cross_entropy(model(x).view(-1, VOCABULARY), y.view(-1))
        loss.backward()
        times.append(time.perf_counter() - begin)
        model.zero_grad(set_to_none=True)
    print(f"{1e3 * statistics.median(times):.3f}")


if __name__ == "__main__":
    main()
