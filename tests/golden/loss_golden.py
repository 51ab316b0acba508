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


SEQUENCE, TOKENS = randn(3, 5, 4), torch.tensor(
    [[0, 3, 1, 1, 2], [3, 3, 0, 0, 0], [2, 1, 0, 3, 3]]
)  # [B, T, C], [B, T]
IMAGE, PIXELS = randn(2, 4, 3, 5), torch.randint(4, (2, 3, 5), generator=generator)  # [B, C, H, W], [B, H, W]
MASK_LOGIT, MASK = randn(2, 1, 3, 5), torch.randint(2, (2, 3, 5), generator=generator)
SHARES = torch.softmax(randn(7, 4), 1)  # a distribution for each sample
RATES, COUNTS = randn(6, 3), torch.poisson(3 * torch.ones(6, 3, dtype=torch.float64), generator=generator)
BOTH = randn(6, 6)
EMBEDDING = randn(7, 3)
SPEECH, WORDS = randn(3, 6, 4), torch.tensor([[1, 2, 0], [3, 3, 1], [2, 0, 0]])


def smooth(labels, share, classes):
    return (1 - share) * nn.functional.one_hot(labels, classes).double() + share / classes


def nll_smoothed(out, target):
    # a plain sum over the classes of the smoothed target, weighted, over the weights of the labels that count
    weight, valid = tensor(WEIGHT), target != 1
    cost = -(smooth(target, 0.3, 4) * weight * out).sum(1)
    return (cost * valid).sum() / (weight[target] * valid).sum()


def focal(gamma, weight=None, share=0.0, ignored=None):
    def loss(out, target):
        logs = torch.log_softmax(out, 1)
        wanted = (
            target.movedim(-1, 1)
            if target.is_floating_point()
            else smooth(target.clamp_min(0), share, 4).movedim(-1, 1)
        )
        shape = [1, -1] + [1] * (out.dim() - 2)
        by_class = torch.ones(4).double() if weight is None else tensor(weight)
        cost = -(wanted * by_class.view(shape) * (1 - logs.exp()) ** gamma * logs).sum(1)
        if target.is_floating_point():
            return cost.mean()
        counts = by_class[target] * (target != ignored if ignored is not None else 1)
        return (cost * (target != ignored if ignored is not None else 1)).sum() / counts.sum()

    return loss


def focal_binary(out, target):  # alpha-free, as torchvision's sigmoid_focal_loss without alpha
    z, t = out[:, 0], target.double()
    p = torch.sigmoid(z)
    entropy = nn.functional.binary_cross_entropy_with_logits(z, t, reduction="none")
    return (entropy * (1 - (p * t + (1 - p) * (1 - t))) ** 2).mean()


def dice(smooth_by, ignored=None):
    def loss(out, target):
        p, t = torch.softmax(out, 1), nn.functional.one_hot(target, out.shape[1]).movedim(-1, 1).double()
        if ignored is not None:
            valid = (target != ignored)[:, None]
            p, t = p * valid, t * valid
        p, t = p.flatten(2), t.flatten(2)
        return 1 - ((2 * (p * t).sum(2) + smooth_by) / (p.sum(2) + t.sum(2) + smooth_by)).mean()

    return loss


def dice_binary(out, target):
    p, t = torch.sigmoid(out[:, 0]).flatten(1), target.double().flatten(1)
    return 1 - ((2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)).mean()


def hinge_binary(out, target):
    return (1 - (2 * target.double() - 1) * out[:, 0]).clamp_min(0).mean()


def hinge_shares(out, target):  # what MultiMarginLoss gives for each class as the label, in the target's shares
    each = [nn.MultiMarginLoss(reduction="none")(out, torch.full((len(out),), c)) for c in range(4)]
    return (torch.stack(each, 1) * target).sum(1).mean()


def triplet(margin):
    def loss(out, labels):
        total, anchors = 0, 0
        for a in range(len(out)):
            like = [
                torch.linalg.vector_norm(out[a] - out[j]) for j in range(len(out)) if j != a and labels[j] == labels[a]
            ]
            unlike = [torch.linalg.vector_norm(out[a] - out[j]) for j in range(len(out)) if labels[j] != labels[a]]
            if like and unlike:
                total, anchors = total + (max(like) - min(unlike) + margin).clamp_min(0), anchors + 1
        return total / anchors

    return loss


def ctc(out, target):
    lengths = torch.full((len(out),), out.shape[1])
    return nn.CTCLoss()(torch.log_softmax(out, -1).transpose(0, 1), target, lengths, (target != 0).sum(1))


def gaussian(**options):
    return lambda out, target: nn.GaussianNLLLoss(**options)(out[:, :3], target, out[:, 3:].exp())


def last(loss):
    return lambda out, target: loss(out.movedim(-1, 1), target)


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
    ("cross_entropy", {}, SEQUENCE, TOKENS, last(nn.CrossEntropyLoss())),
    ("cross_entropy", {"ignore_index": 3}, SEQUENCE, TOKENS, last(nn.CrossEntropyLoss(ignore_index=3))),
    (
        "cross_entropy",
        {"ignore_index": 3, "class_weights": WEIGHT, "label_smoothing": 0.2},
        IMAGE,
        PIXELS,
        nn.CrossEntropyLoss(ignore_index=3, weight=tensor(WEIGHT), label_smoothing=0.2),
    ),
    ("cross_entropy", {}, SCORES, SHARES, nn.CrossEntropyLoss()),
    (
        "cross_entropy",
        {"class_weights": WEIGHT, "label_smoothing": 0.2, "ignore_index": 1},
        SCORES,
        SHARES,
        nn.CrossEntropyLoss(weight=tensor(WEIGHT), label_smoothing=0.2),
    ),
    ("nll", {}, SCORES, LABELS, nn.NLLLoss()),
    (
        "nll",
        {"class_weights": WEIGHT, "ignore_index": 1},
        SCORES,
        LABELS,
        nn.NLLLoss(weight=tensor(WEIGHT), ignore_index=1),
    ),
    ("nll", {}, IMAGE, PIXELS, nn.NLLLoss()),
    ("nll", {"class_weights": WEIGHT, "ignore_index": 1, "label_smoothing": 0.3}, SCORES, LABELS, nll_smoothed),
    ("nll", {}, SCORES, SHARES, lambda out, target: -(out * target).sum(1).mean()),
    ("focal", {"gamma": 0}, SCORES, LABELS, nn.CrossEntropyLoss()),
    ("focal", {}, SCORES, LABELS, focal(2)),
    ("focal", {"gamma": 0.5, "class_weights": WEIGHT, "label_smoothing": 0.1}, SCORES, LABELS, focal(0.5, WEIGHT, 0.1)),
    ("focal", {"ignore_index": 2}, IMAGE, PIXELS, focal(2, ignored=2)),
    ("focal", {}, SCORES, SHARES, focal(2)),
    ("focal", {}, LOGITS, BITS, focal_binary),
    ("hinge", {}, SCORES, LABELS, nn.MultiMarginLoss()),
    ("hinge", {"margin": 0.5, "squared": True}, SCORES, LABELS, nn.MultiMarginLoss(p=2, margin=0.5)),
    ("hinge", {"class_weights": WEIGHT}, SCORES, LABELS, nn.MultiMarginLoss(weight=tensor(WEIGHT))),
    ("hinge", {}, SCORES, SHARES, hinge_shares),
    ("hinge", {}, LOGITS, BITS, hinge_binary),
    ("triplet", {}, EMBEDDING, LABELS, triplet(1.0)),
    ("triplet", {"margin": 0.2}, EMBEDDING, LABELS, triplet(0.2)),
    (
        "cosine",
        {},
        GUESS,
        TRUTH,
        lambda out, target: nn.CosineEmbeddingLoss()(out, target, torch.ones(len(out)).double()),
    ),
    ("dice", {}, IMAGE, PIXELS, dice(1.0)),
    ("dice", {"smooth": 0.1, "ignore_index": 2}, IMAGE, PIXELS, dice(0.1, 2)),
    ("dice", {}, MASK_LOGIT, MASK, dice_binary),
    ("dice", {}, SEQUENCE, TOKENS, last(dice(1.0))),
    ("kl_div", {}, randn(5, 4).log_softmax(1), torch.softmax(randn(5, 4), 1), nn.KLDivLoss(reduction="batchmean")),
    (
        "kl_div",
        {"log_target": True},
        randn(5, 2, 4).log_softmax(2),
        torch.log_softmax(randn(5, 2, 4), 2),
        nn.KLDivLoss(reduction="batchmean", log_target=True),
    ),
    ("ctc", {}, SPEECH, WORDS, ctc),
    ("l1", {}, GUESS, TRUTH, nn.L1Loss()),
    ("smooth_l1", {}, GUESS, TRUTH, nn.SmoothL1Loss()),
    ("smooth_l1", {"beta": 0.3}, GUESS, TRUTH, nn.SmoothL1Loss(beta=0.3)),
    ("poisson_nll", {}, RATES, COUNTS, nn.PoissonNLLLoss()),
    ("poisson_nll", {"full": True}, RATES, COUNTS, nn.PoissonNLLLoss(full=True)),
    ("poisson_nll", {"log_input": False}, RATES.exp(), COUNTS, nn.PoissonNLLLoss(log_input=False)),
    ("gaussian_nll", {}, BOTH, TRUTH, gaussian()),
    ("gaussian_nll", {"full": True}, BOTH, TRUTH, gaussian(full=True)),
    (
        "bce_with_logits",
        {"label_smoothing": 0.2},
        LOGITS,
        BITS,
        lambda out, target: nn.BCEWithLogitsLoss()(out[:, 0], 0.8 * target.double() + 0.1),
    ),
    ("bce_with_logits", {}, MASK_LOGIT, MASK, lambda out, target: nn.BCEWithLogitsLoss()(out[:, 0], target.double())),
]


def divisor(name, options, target):
    """What the mean is divided by, where that is not the number of samples."""
    if name == "triplet":
        alike = target[:, None] == target
        return float(((alike.sum(1) > 1) & (alike.sum(1) < len(target))).sum())
    if (
        name in ("hinge", "dice")
        or target.is_floating_point()
        or not ("class_weights" in options or "ignore_index" in options)
    ):
        return None
    weight = tensor(options.get("class_weights", [1.0] * 4))
    return float((weight[target] * (target != options.get("ignore_index", -1))).sum())


rows = []
for name, options, out, target, loss in CASES:
    out = out.clone().requires_grad_(True)
    value = loss(out, target)
    value.backward()
    labels = target.dtype == torch.int64
    classes = 4 if any(target is t for t in (LABELS, TOKENS, PIXELS, SHARES, WORDS)) else 2 if labels else 0
    rows.append(
        {
            "entry": {"@": "loss." + name, **options},
            "classes": classes,
            "integer_target": target.dtype == torch.int64,
            "out": out.detach().tolist(),
            "target": target.tolist(),
            "shares": target is SHARES,
            "value": value.item(),
            "weight": divisor(name, options, target),
            "gradient": out.grad.tolist(),
        }
    )
print("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]")
