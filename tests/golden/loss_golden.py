"""Makes loss_golden.json: values and gradients of PyTorch's losses on small fixed data, in float64.

    python3 loss_golden.py > loss_golden.json        (PyTorch 2.11)
"""

import json

import torch
from torch import nn

generator = torch.Generator().manual_seed(3)


def randn(*shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


LABELS = torch.tensor([0, 3, 1, 1, 2, 3, 3])
SCORES = 2 * randn(7, 4)
WEIGHT = [0.5, 2.0, 0.0, 1.25]
LOGITS = 3 * randn(6, 1)
LOGITS[0, 0], LOGITS[1, 0] = 40.0, -40.0  # where a sigmoid followed by a logarithm would break
BITS = torch.tensor([0, 0, 1, 1, 0, 1])
MANY, MANY_BITS = randn(5, 3), (randn(5, 3) > 0).double()
GUESS, TRUTH = randn(6, 3), 2 * randn(6, 3)
ONE_GUESS, ONE_TRUTH = randn(6, 1), randn(6)


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


# name of the entry, its options, output, target as a recipe's data gives it, PyTorch's loss of both
CASES = [
    ("cross_entropy", {}, SCORES, LABELS, nn.CrossEntropyLoss()),
    ("cross_entropy", {"label_smoothing": 0.1}, SCORES, LABELS, nn.CrossEntropyLoss(label_smoothing=0.1)),
    ("cross_entropy", {"class_weights": WEIGHT}, SCORES, LABELS, nn.CrossEntropyLoss(weight=tensor(WEIGHT))),
    (
        "cross_entropy",
        {"class_weights": WEIGHT, "label_smoothing": 0.3},
        SCORES,
        LABELS,
        nn.CrossEntropyLoss(weight=tensor(WEIGHT), label_smoothing=0.3),
    ),
    ("mse", {}, GUESS, TRUTH, nn.MSELoss()),
    ("mse", {}, ONE_GUESS, ONE_TRUTH, lambda out, target: nn.MSELoss()(out[:, 0], target)),
    ("huber", {}, GUESS, TRUTH, nn.HuberLoss()),
    ("huber", {"delta": 0.4}, GUESS, TRUTH, nn.HuberLoss(delta=0.4)),
    ("bce_with_logits", {}, LOGITS, BITS, lambda out, target: nn.BCEWithLogitsLoss()(out[:, 0], target.double())),
    (
        "bce_with_logits",
        {"pos_weight": 2.5},
        LOGITS,
        BITS[:, None],
        lambda out, target: nn.BCEWithLogitsLoss(pos_weight=tensor([2.5]))(out, target.double()),
    ),
    (
        "bce_with_logits",
        {"pos_weight": [1.0, 0.5, 4.0]},
        MANY,
        MANY_BITS,
        nn.BCEWithLogitsLoss(pos_weight=tensor([1.0, 0.5, 4.0])),
    ),
]

rows = []
for name, options, out, target, loss in CASES:
    out = out.clone().requires_grad_(True)
    value = loss(out, target)
    value.backward()
    classes = 4 if target is LABELS else 2 if target.dtype == torch.int64 else 0
    weight = float(tensor(options["class_weights"])[target].sum()) if "class_weights" in options else None
    rows.append(
        {
            "entry": {"@": "loss." + name, **options},
            "classes": classes,
            "integer_target": target.dtype == torch.int64,
            "out": out.detach().tolist(),
            "target": target.tolist(),
            "value": value.item(),
            "weight": weight,
            "gradient": out.grad.tolist(),
        }
    )
print("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]")
