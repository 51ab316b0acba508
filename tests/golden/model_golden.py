"""Writes model_golden.safetensors: outputs and gradients of layers, by PyTorch 2.11 in float64.

Run from any folder: python3 tests/golden/model_golden.py

For each case (tests/engine/model/cases.cpp holds the same ones as recipes would write them):
  CASE/x, CASE/g        input and gradient of the output
  CASE/p/NAME           parameters; names as in trainlab, positions from 1
  CASE/y, CASE/dx, CASE/d/NAME   output in training mode, and gradients of sum(y * g)
and with running statistics:
  CASE/b0/NAME, CASE/b/NAME      before and after that forward pass
  CASE/eval/y, CASE/eval/dx, CASE/eval/d/NAME   with the statistics of CASE/b
Inputs and parameters are exact in float32, so that float32 results can be held against the same numbers.
"""

import json
import pathlib
import struct

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, *body, shortcut=None):
        super().__init__()
        self.body = nn.Sequential(*body)
        if shortcut is not None:
            self.shortcut = shortcut

    def forward(self, x):
        return self.body(x) + (self.shortcut(x) if hasattr(self, "shortcut") else x)


CASES = {
    "linear": (nn.Linear(5, 4), [3, 5]),
    "linear_no_bias": (nn.Linear(5, 4, bias=False), [3, 2, 5]),
    "linear_more_axes": (nn.Linear(4, 3), [2, 2, 3, 4]),
    "conv2d": (nn.Conv2d(2, 4, 3), [2, 2, 6, 5]),
    "conv2d_options": (
        nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2, bias=False),
        [2, 4, 7, 8],
    ),
    "max_pool2d": (nn.MaxPool2d(2), [2, 3, 6, 5]),
    "max_pool2d_options": (
        nn.MaxPool2d((3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), ceil_mode=True),
        [2, 2, 6, 7],
    ),
    "avg_pool2d": (nn.AvgPool2d(2), [2, 3, 6, 5]),
    "avg_pool2d_options": (nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False), [2, 2, 6, 7]),
    "adaptive_avg_pool2d": (nn.AdaptiveAvgPool2d((2, 3)), [2, 3, 5, 7]),
    "batch_norm1d": (nn.BatchNorm1d(4), [6, 4]),
    "batch_norm1d_length": (nn.BatchNorm1d(3), [4, 3, 5]),
    "batch_norm1d_untracked": (nn.BatchNorm1d(4, track_running_stats=False), [6, 4]),
    "batch_norm2d": (nn.BatchNorm2d(3), [4, 3, 3, 2]),
    "batch_norm2d_options": (nn.BatchNorm2d(3, eps=1e-2, momentum=0.3, affine=False), [4, 3, 3, 2]),
    "layer_norm": (nn.LayerNorm(5), [3, 5]),
    "layer_norm_axes": (nn.LayerNorm([3, 4], eps=1e-2, bias=False), [2, 2, 3, 4]),
    "layer_norm_plain": (nn.LayerNorm(5, elementwise_affine=False), [3, 2, 5]),
    "layer_norm_more_axes": (nn.LayerNorm(4), [2, 2, 3, 4]),
    "relu": (nn.ReLU(), [4, 6]),
    "leaky_relu": (nn.LeakyReLU(0.2), [4, 6]),
    "elu": (nn.ELU(1.3), [4, 6]),
    "gelu": (nn.GELU(), [4, 6]),
    "gelu_tanh": (nn.GELU(approximate="tanh"), [4, 6]),
    "silu": (nn.SiLU(), [4, 6]),
    "sigmoid": (nn.Sigmoid(), [4, 6]),
    "tanh": (nn.Tanh(), [4, 6]),
    "softplus": (nn.Softplus(), [4, 6]),
    "softplus_options": (nn.Softplus(2, 1.5), [4, 6]),
    "softmax": (nn.Softmax(dim=-1), [3, 5]),
    "softmax_channels": (nn.Softmax(dim=-3), [2, 3, 2, 2]),
    "log_softmax": (nn.LogSoftmax(dim=-1), [3, 5]),
    "flatten": (nn.Flatten(), [2, 3, 2, 2]),
    "identity": (nn.Identity(), [2, 3]),
    "sequential": (
        nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.ReLU(), nn.LayerNorm(6), nn.Linear(6, 3)),
        [4, 3, 2, 2],
    ),
    "sequential_cnn": (
        nn.Sequential(
            nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 4)
        ),
        [5, 1, 4, 4],
    ),
    "residual": (Residual(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 5)), [3, 5]),
    "residual_shortcut": (
        Residual(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), shortcut=nn.Conv2d(2, 4, 1)),
        [2, 2, 4, 3],
    ),
    "residual_in_sequential": (
        nn.Sequential(nn.Linear(4, 5), Residual(nn.Linear(5, 5), nn.SiLU()), nn.Linear(5, 2)),
        [3, 4],
    ),
}


# What weight_norm and spectral_norm call the tensors of a module's weight.
PARAMETRIZED = {
    "layer.parametrizations.weight.original0": "weight_g",
    "layer.parametrizations.weight.original1": "layer.weight",
    "layer.parametrizations.weight.original": "layer.weight",
    "layer.parametrizations.weight.0._u": "weight_u",
    "layer.parametrizations.weight.0._v": "weight_v",
}


def our_name(name):
    if name in PARAMETRIZED:
        return PARAMETRIZED[name]
    parts = [str(int(p) + 1) if p.isdigit() else p for p in name.split(".") if p != "body"]
    return ".".join(parts)


def run(case, module, shape, generator, out, below=0):
    """Adds a case; `below`: the input are integers from 0 up to, without, this one."""

    def draw(size):
        return torch.randn(size, generator=generator, dtype=torch.float32).double()

    module.double()
    tensors = {}
    x = torch.randint(below, shape, generator=generator) if below else draw(shape).requires_grad_()
    for name, parameter in module.named_parameters():
        parameter.data = draw(parameter.shape) * 0.5
        tensors[f"p/{our_name(name)}"] = parameter.detach().clone()
    buffers = {n: b for n, b in module.named_buffers() if b.is_floating_point()}
    for name, buffer in buffers.items():
        value = draw(buffer.shape)
        buffer.copy_(value if name.endswith("mean") else (value.abs() + 0.5).float().double())
        tensors[f"b0/{our_name(name)}"] = buffer.clone()

    def passed(prefix):
        module.zero_grad()
        x.grad = None
        y = module(x)
        g = tensors.setdefault("g", draw(y.shape))
        y.backward(g)
        tensors[prefix + "y"] = y.detach().clone()
        if not below:
            tensors[prefix + "dx"] = x.grad.clone()
        for name, parameter in module.named_parameters():
            tensors[f"{prefix}d/{our_name(name)}"] = parameter.grad.clone()

    module.train()
    passed("")
    if buffers:
        for name, buffer in buffers.items():
            tensors[f"b/{our_name(name)}"] = buffer.clone()
        module.eval()
        passed("eval/")
    tensors["x"] = x.detach()
    out.update({f"{case}/{name}": tensor for name, tensor in tensors.items()})


def write(path, tensors):
    header, offset, data = {"__metadata__": {"torch": torch.__version__.split("+")[0]}}, 0, b""
    for name in sorted(tensors):
        raw = tensors[name].contiguous().numpy().tobytes()
        kind = "I64" if tensors[name].dtype == torch.int64 else "F64"
        header[name] = {"dtype": kind, "shape": list(tensors[name].shape), "data_offsets": [offset, offset + len(raw)]}
        offset += len(raw)
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_cases(script, cases):
    """Runs cases (module, shape of a batch[, below]) and writes them beside the script."""
    torch.set_num_threads(1)
    tensors, generator = {}, torch.Generator().manual_seed(1)
    for case, (module, shape, *below) in cases.items():
        run(case, module, shape, generator, tensors, *below)
    write(pathlib.Path(script).with_suffix(".safetensors"), tensors)


if __name__ == "__main__":
    write_cases(__file__, CASES)
