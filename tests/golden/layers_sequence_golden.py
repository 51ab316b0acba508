"""Writes layers_sequence_golden.safetensors: embeddings, recurrent layers, attention and transformers, by PyTorch 2.11
in float64.

Run from any folder: python3 tests/golden/layers_sequence_golden.py. The form is that of model_golden.py.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from model_golden import Residual, write_cases


def causal_mask(length):
    return torch.ones(length, length, dtype=torch.bool).triu(1)


class Attention(nn.Module):
    """torch.nn.MultiheadAttention to the input itself."""

    def __init__(self, width, heads, causal=False, bias=True):
        super().__init__()
        self.body, self.causal = nn.MultiheadAttention(width, heads, bias=bias, batch_first=True), causal

    def forward(self, x):
        mask = causal_mask(x.shape[1]) if self.causal else None
        return self.body(x, x, x, attn_mask=mask, need_weights=False)[0]


class GroupedRotary(nn.Module):
    """Grouped queries and rotary positions, position by position and head by head."""

    def __init__(self, width, heads, groups, base):
        super().__init__()
        self.heads, self.groups, self.base, self.size = heads, groups, base, width // heads
        self.in_proj_weight = nn.Parameter(torch.empty(width + 2 * groups * self.size, width))
        self.in_proj_bias = nn.Parameter(torch.empty(len(self.in_proj_weight)))
        self.out_proj = nn.Linear(width, width)

    def turned(self, x, position):
        half = self.size // 2
        parts = [None] * self.size
        for i in range(half):
            angle = position * self.base ** (-2 * i / self.size)
            parts[i] = x[:, i] * math.cos(angle) - x[:, i + half] * math.sin(angle)
            parts[i + half] = x[:, i + half] * math.cos(angle) + x[:, i] * math.sin(angle)
        return torch.stack(parts, 1)

    def forward(self, x):
        width, size, per_group = x.shape[2], self.size, self.heads // self.groups
        joined = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        outputs = []
        for t in range(x.shape[1]):
            heads = []
            for h in range(self.heads):
                g = h // per_group
                q = self.turned(joined[:, t, h * size : (h + 1) * size], t)
                first_k = width + g * size
                first_v = width + (self.groups + g) * size
                scores = [
                    (q * self.turned(joined[:, s, first_k : first_k + size], s)).sum(1) / math.sqrt(size)
                    for s in range(t + 1)
                ]
                weights = torch.stack(scores, 1).softmax(1)
                heads.append((weights[:, :, None] * joined[:, : t + 1, first_v : first_v + size]).sum(1))
            outputs.append(torch.cat(heads, 1))
        return self.out_proj(torch.stack(outputs, 1))


class Positions(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(length, width))

    def forward(self, x):
        return x + self.weight


class Decoder(nn.Module):
    """A decoder layer whose memory is made of the input in a branch: means of two positions, and a linear layer."""

    def __init__(self, width, layer):
        super().__init__()
        self.body = nn.ModuleList([nn.ModuleList([nn.Identity()] * 3 + [nn.Linear(width, width)]), layer])

    def forward(self, x):
        memory = self.body[0][3](F.avg_pool1d(x.transpose(1, 2), 2).transpose(1, 2))
        return self.body[1](x, memory, tgt_mask=causal_mask(x.shape[1]), tgt_is_causal=True)


class Gpt(nn.Module):
    """Token and position vectors, pre-norm causal blocks, a head tied to the token vectors."""

    def __init__(self, vocabulary, length, width, heads, layers):
        super().__init__()
        self.shared = nn.ModuleDict({"tokens": nn.Embedding(vocabulary, width)})
        blocks = [encoder(width, heads, bias=False) for _ in range(layers)]
        self.body = nn.ModuleList(
            [nn.Identity(), Positions(length, width), nn.ModuleList(blocks), nn.LayerNorm(width, bias=False)]
        )

    def forward(self, x):
        y = self.body[1](self.shared["tokens"](x))
        for block in self.body[2]:
            y = block(y, src_mask=causal_mask(x.shape[1]), is_causal=True)
        return F.linear(self.body[3](y), self.shared["tokens"].weight)


class Recurrent(nn.Module):
    def __init__(self, module, last=False):
        super().__init__()
        self.body, self.last = module, last

    def forward(self, x):
        sequence, state = self.body(x)
        if not self.last:
            return sequence
        state = state[0] if isinstance(state, tuple) else state
        return torch.cat([state[-2], state[-1]], 1) if self.body.bidirectional else state[-1]


class Concat(nn.Module):
    def __init__(self, *branches, dim=-1):
        super().__init__()
        self.body, self.dim = nn.ModuleList(branches), dim

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.body], self.dim)


class Sum(nn.Module):
    def __init__(self, *branches):
        super().__init__()
        self.body = nn.ModuleList(branches)

    def forward(self, x):
        return sum(branch(x) for branch in self.body)


class SharedTwice(nn.Module):
    """linear(tanh(linear(x))) with one set of weights."""

    def __init__(self, width):
        super().__init__()
        self.shared = nn.ModuleDict({"w": nn.Linear(width, width)})

    def forward(self, x):
        return self.shared["w"](torch.tanh(self.shared["w"](x)))


class Permuted(nn.Module):
    def __init__(self, *order):
        super().__init__()
        self.order = order

    def forward(self, x):
        return x.permute(self.order)


def encoder(width, heads, bias=True, norm_first=True, wide=None, activation=F.gelu):
    return nn.TransformerEncoderLayer(
        width, heads, wide or 4 * width, 0.0, activation, batch_first=True, norm_first=norm_first, bias=bias
    )


def decoder(width, heads, norm_first=True):
    return nn.TransformerDecoderLayer(width, heads, 4 * width, 0.0, F.gelu, batch_first=True, norm_first=norm_first)


CASES = {
    "embedding": (nn.Embedding(7, 3), [4, 5], 7),
    "embedding_padding": (nn.Embedding(5, 3, padding_idx=2), [4, 3, 2], 5),
    "positional_embedding": (Positions(4, 3), [2, 4, 3]),
    "lstm": (Recurrent(nn.LSTM(3, 4, batch_first=True)), [2, 5, 3]),
    "lstm_options": (
        Recurrent(nn.LSTM(3, 4, num_layers=2, bidirectional=True, bias=False, batch_first=True)),
        [2, 5, 3],
    ),
    "lstm_last": (Recurrent(nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True), last=True), [2, 5, 3]),
    "gru": (Recurrent(nn.GRU(3, 4, batch_first=True)), [2, 5, 3]),
    "gru_last": (Recurrent(nn.GRU(3, 4, num_layers=2, batch_first=True), last=True), [2, 5, 3]),
    "attention": (Attention(6, 2), [2, 5, 6]),
    "attention_causal": (Attention(6, 3, causal=True, bias=False), [2, 5, 6]),
    "attention_grouped_rotary": (GroupedRotary(8, 2, 1, 100.0), [2, 4, 8]),
    "encoder": (encoder(6, 2), [2, 4, 6]),
    "encoder_post": (encoder(6, 3, norm_first=False, wide=5, activation=F.relu), [2, 4, 6]),
    "decoder": (Decoder(6, decoder(6, 2)), [2, 4, 6]),
    "decoder_post": (Decoder(6, decoder(6, 2, norm_first=False)), [2, 4, 6]),
    "gpt": (Gpt(7, 5, 8, 2, 2), [3, 5], 7),
    "rms_norm": (nn.RMSNorm(5, eps=1e-3), [3, 2, 5]),
    "rms_norm_plain": (nn.RMSNorm(5, eps=1e-5, elementwise_affine=False), [3, 5]),
    "concat": (Concat(nn.Linear(4, 3), nn.Identity(), nn.Sequential(nn.Linear(4, 2), nn.Tanh())), [3, 4]),
    "concat_channels": (Concat(nn.Conv2d(2, 3, 1), nn.Identity(), dim=-3), [2, 2, 3, 4]),
    "sum": (Sum(nn.Linear(4, 3), nn.Sequential(nn.Linear(4, 3), nn.ReLU())), [3, 4]),
    "repeat": (nn.Sequential(Residual(nn.Linear(3, 3), nn.Tanh()), Residual(nn.Linear(3, 3), nn.Tanh())), [4, 3]),
    "shared": (SharedTwice(3), [4, 3]),
    "celu": (nn.CELU(1.5), [4, 6]),
    "glu": (nn.GLU(), [4, 6]),
    "glu_channels": (nn.GLU(dim=-2), [2, 4, 3]),
    "hardsigmoid": (nn.Hardsigmoid(), [4, 6]),
    "hardswish": (nn.Hardswish(), [4, 6]),
    "log_sigmoid": (nn.LogSigmoid(), [4, 6]),
    "mish": (nn.Mish(), [4, 6]),
    "prelu": (nn.PReLU(), [4, 6]),
    "prelu_channels": (nn.PReLU(3), [4, 3, 2]),
    "relu6": (nn.ReLU6(), [4, 6]),
    "selu": (nn.SELU(), [4, 6]),
    "flatten_some": (nn.Flatten(2, 3), [2, 3, 2, 2, 2]),
    "reshape": (nn.Unflatten(1, (3, 4)), [2, 12]),
    "permute": (Permuted(0, 2, 3, 1), [2, 3, 4, 2]),
    "transpose": (Permuted(0, 2, 1), [2, 3, 4]),
}

if __name__ == "__main__":
    write_cases(__file__, CASES)
