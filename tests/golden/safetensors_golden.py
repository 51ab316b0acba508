"""Writes python.safetensors as the `safetensors` package would: needs PyTorch only, the format is short.

With the package installed the result is compared with its own bytes, and the file given as an argument (written by
trainlab) is read with it.
"""
import json
import pathlib
import struct
import sys

import torch

tensors = {
    "model.1.weight": torch.arange(6, dtype=torch.float32).view(2, 3) / 4,
    "steps": torch.arange(3),
    "mask": torch.arange(3) == 1,
    "half": (torch.arange(5, dtype=torch.float32) / 8).half(),
}
NAMES = {torch.float32: "F32", torch.int64: "I64", torch.bool: "BOOL", torch.float16: "F16"}
# The package's order: by dtype in the order of its own list, the last first, then by name.
ORDER = ["BOOL", "F16", "F32", "I64"]

header, data = {"__metadata__": {"format": "pt"}}, b""
for name, tensor in sorted(tensors.items(), key=lambda item: (-ORDER.index(NAMES[item[1].dtype]), item[0])):
    raw = tensor.numpy().tobytes()
    header[name] = {
        "dtype": NAMES[tensor.dtype],
        "shape": list(tensor.shape),
        "data_offsets": [len(data), len(data) + len(raw)],
    }
    data += raw
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)  # the data are aligned
content = struct.pack("<Q", len(text)) + text + data
pathlib.Path(__file__).with_name("python.safetensors").write_bytes(content)

try:
    import safetensors.torch
except ImportError:
    sys.exit(0)
assert safetensors.torch.save(tensors, {"format": "pt"}) == content
for path in sys.argv[1:]:
    for name, tensor in safetensors.torch.load_file(path).items():
        print(name, tensor.dtype, tuple(tensor.shape))
