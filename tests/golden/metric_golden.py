"""Makes metric_golden.json: metrics on small fixed data, computed here from their definitions.

    python3 metric_golden.py > metric_golden.json        (numpy, scikit-learn, scipy)
    python3 metric_golden.py --check                     (also scikit-learn: compares with its own figures)
"""

import json
import sys

import numpy as np

random = np.random.default_rng(11)
N, C = 23, 5

# Class 3 is never a label, class 4 neither a label nor ever predicted: both ways of an empty quotient.
LABELS = random.choice(3, N)
SCORES = random.normal(size=(N, C)) + 1.2 * np.eye(C)[LABELS]
SCORES[:, 4] = -9.0
SCORES[0, 3] = SCORES[5, 3] = 8.0
BITS = (random.random(N) < 0.35).astype(int)
LOGITS = 1.5 * random.normal(size=(N, 1)) + BITS[:, None] - 0.5
TWO = random.normal(size=(N, 2)) + np.eye(2)[BITS]
TRUTH = random.normal(size=(N, 2)) * [1.0, 30.0] + [1e6, -3.0]
GUESS = TRUTH + random.normal(size=(N, 2)) * [0.5, 25.0]
FLAT_TRUTH = np.full(N, 0.1)
ONE_TRUTH, ONE_GUESS = TRUTH[:, 1], GUESS[:, 1:]


def share(part, whole):
    return part / whole if whole else 0.0


def predicted(out):
    return (out[:, 0] > 0).astype(int) if out.shape[1] == 1 else out.argmax(1)


def per_class(name, out, labels):
    guess = predicted(out)
    scores, support, seen = [], [], []
    for c in range(max(2, out.shape[1])):
        tp, fp, fn = (
            np.sum((guess == c) & (labels == c)),
            np.sum((guess == c) & (labels != c)),
            np.sum((guess != c) & (labels == c)),
        )
        scores.append(
            {"precision": share(tp, tp + fp), "recall": share(tp, tp + fn), "f1": share(2 * tp, 2 * tp + fp + fn)}[name]
        )
        support.append(tp + fn)
        seen.append(tp + fp + fn > 0)
    return np.array(scores), np.array(support), np.array(seen)


def prf(name, average):
    def value(out, labels):
        scores, support, seen = per_class(name, out, labels)
        if isinstance(average, int):
            return scores[average]
        if average == "macro":
            return scores[seen].mean()
        if average == "weighted":
            return np.sum(scores * support) / np.sum(support)
        return np.mean(predicted(out) == labels)  # micro, with one label per sample

    return value


def accuracy(out, labels):
    return np.mean(predicted(out) == labels)


def top(k):
    return lambda out, labels: np.mean(
        [label in np.argsort(-row, kind="stable")[:k] for row, label in zip(out, labels)]
    )


def r2(out, truth):
    truth = truth.reshape(out.shape)
    left, whole = np.sum((truth - out) ** 2, 0), np.sum((truth - truth.mean(0)) ** 2, 0)
    return np.mean(1 - left / whole)


def mae(out, truth):
    return np.mean(np.abs(out - truth.reshape(out.shape)))


def rmse(out, truth):
    return np.sqrt(np.mean((out - truth.reshape(out.shape)) ** 2))


# entry, name, output, target, definition, scikit-learn's call (or None where it has no equal one)
CASES = [
    ({"@": "metric.accuracy"}, "accuracy", SCORES, LABELS, accuracy, lambda m, o, y: m.accuracy_score(y, o.argmax(1))),
    ({"@": "metric.accuracy"}, "accuracy", LOGITS, BITS, accuracy, lambda m, o, y: m.accuracy_score(y, predicted(o))),
]
for k in (1, 2, 5):
    CASES.append(
        (
            {"@": "metric.top_k", "k": k},
            f"top_{k}",
            SCORES,
            LABELS,
            top(k),
            lambda m, o, y, k=k: m.top_k_accuracy_score(y, o, k=k, labels=range(C)),
        )
    )
for name in ("precision", "recall", "f1"):
    score = name + "_score"
    for average in ("macro", "micro", "weighted"):
        CASES.append(
            (
                {"@": "metric." + name, "average": average},
                name,
                SCORES,
                LABELS,
                prf(name, average),
                lambda m, o, y, s=score, a=average: getattr(m, s)(y, o.argmax(1), average=a, zero_division=0),
            )
        )
        CASES.append(
            (
                {"@": "metric." + name, "average": average},
                name,
                LOGITS,
                BITS,
                prf(name, average),
                lambda m, o, y, s=score, a=average: getattr(m, s)(y, predicted(o), average=a, zero_division=0),
            )
        )
    CASES.append(
        (
            {"@": "metric." + name},
            name,
            SCORES,
            LABELS,
            prf(name, "macro"),
            lambda m, o, y, s=score: getattr(m, s)(y, o.argmax(1), average="macro", zero_division=0),
        )
    )
    CASES.append(
        (
            {"@": "metric." + name},
            name,
            LOGITS,
            BITS,
            prf(name, 1),
            lambda m, o, y, s=score: getattr(m, s)(y, predicted(o)),
        )
    )
    CASES.append(
        ({"@": "metric." + name}, name, TWO, BITS, prf(name, 1), lambda m, o, y, s=score: getattr(m, s)(y, o.argmax(1)))
    )
    for c in (2, 3, 4):
        CASES.append(
            (
                {"@": "metric." + name, "average": c},
                f"{name}_{c}",
                SCORES,
                LABELS,
                prf(name, c),
                lambda m, o, y, s=score, c=c: getattr(m, s)(
                    y, o.argmax(1), labels=range(C), average=None, zero_division=0
                )[c],
            )
        )
for out, truth in ((GUESS, TRUTH), (ONE_GUESS, ONE_TRUTH)):
    CASES += [
        ({"@": "metric.mae"}, "mae", out, truth, mae, lambda m, o, y: m.mean_absolute_error(y.reshape(o.shape), o)),
        (
            {"@": "metric.rmse"},
            "rmse",
            out,
            truth,
            rmse,
            lambda m, o, y: np.sqrt(m.mean_squared_error(y.reshape(o.shape), o)),
        ),
        ({"@": "metric.r2"}, "r2", out, truth, r2, lambda m, o, y: m.r2_score(y.reshape(o.shape), o)),
    ]
# All targets equal: scikit-learn's two special values.
CASES.append(({"@": "metric.r2"}, "r2", FLAT_TRUTH[:, None] + 0.25, FLAT_TRUTH, lambda o, y: 0.0, None))
CASES.append(({"@": "metric.r2"}, "r2", FLAT_TRUTH[:, None], FLAT_TRUTH, lambda o, y: 1.0, None))

# Ties, a part that is ordered, shares of probability: metrics of ranks, of probabilities, of agreement.
TIED = np.round(LOGITS)
TIED_GUESS, TIED_TRUTH = np.round(random.normal(size=(N, 1)) * 2), np.round(random.normal(size=N) * 2)
PIXELS = random.choice(4, (3, 4, 5))
IMAGES = random.normal(size=(3, 4, 4, 5)) + np.moveaxis(np.eye(4)[PIXELS], -1, 1)
TEXT, TOKENS = random.normal(size=(4, 6, 3)), random.choice(3, (4, 6))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def flat(out, labels, ignored=None):
    """Rows of probabilities and labels, whatever the layout."""
    if out.ndim == 4:
        out = np.moveaxis(out, 1, -1)
    if out.shape[-1] == 1:
        out = np.concatenate([np.zeros_like(out), out], -1)
    p, y = softmax(out).reshape(-1, out.shape[-1]), labels.reshape(-1)
    return (p, y) if ignored is None else (p[y != ignored], y[y != ignored])


def rank_area(positive, negative):
    return np.mean([(p > n) + (p == n) / 2 for p in positive for n in negative])


def steps_area(score, y):
    area, before = 0.0, 0.0
    for threshold in sorted(set(score), reverse=True):
        taken = score >= threshold
        recall, precision = np.sum(y & taken) / np.sum(y), np.sum(y & taken) / np.sum(taken)
        area, before = area + (recall - before) * precision, recall
    return area


def one_against_rest(area):
    def value(out, labels):
        p, y = flat(out, labels)
        if p.shape[1] == 2:
            return area(out[:, -1] - (out[:, 0] if out.shape[1] == 2 else 0), y == 1)
        return np.mean([area(p[:, c], y == c) for c in range(p.shape[1]) if 0 < np.sum(y == c) < len(y)])

    return value


auc = one_against_rest(lambda score, y: rank_area(score[y], score[~y]))
precision_area = one_against_rest(steps_area)


def occurring(labels):
    return [c for c in range(C) if np.any(labels == c)]


def log_loss(ignored=None, finish=lambda x: x):
    def value(out, labels):
        p, y = flat(out, labels, ignored)
        return finish(-np.mean(np.log(p[np.arange(len(y)), y])))

    return value


def ece(bins):
    def value(out, labels):
        p, y = flat(out, labels)
        confidence, right, total = p.max(1), p.argmax(1) == y, 0.0
        for b in range(bins):
            inside = (confidence > b / bins) & (confidence <= (b + 1) / bins)
            if inside.any():
                total += abs(right[inside].mean() - confidence[inside].mean()) * inside.sum()
        return total / len(y)

    return value


def label_noise(ignored=None):
    """Confident learning as in cleanlab: thresholds, the counted joint, rows scaled to the counts of the labels."""

    def value(out, labels):
        p, y = flat(out, labels, ignored)
        classes = p.shape[1]
        thresholds = np.array([p[y == c, c].mean() if np.any(y == c) else np.inf for c in range(classes)])
        above = p >= thresholds - 1e-6
        joint = np.zeros((classes, classes))
        for i in np.flatnonzero(above.any(1)):
            joint[y[i], np.where(above[i], p[i], -1).argmax()] += 1
        there = np.array([np.any(y == c) for c in range(classes)])
        joint[there, there] = np.maximum(joint[there, there], 1)
        counts = np.bincount(y, minlength=classes)
        joint[there] *= (counts[there] / joint[there].sum(1))[:, None]
        return 1 - np.trace(joint) / joint.sum()

    return value


def of_labels(name, call, ignored=None):
    def value(out, labels):
        import sklearn.metrics

        p, y = flat(out, labels, ignored)
        return call(sklearn.metrics, y, p.argmax(1))

    return value


def correlation(out, truth, rank=False):
    from scipy import stats

    truth = truth.reshape(out.shape)
    call = stats.spearmanr if rank else stats.pearsonr
    return np.mean([call(out[:, k], truth[:, k])[0] for k in range(out.shape[1])])


def entry(name, **options):
    return {"@": "metric." + name, **options}


for out, labels in ((LOGITS, BITS), (TIED, BITS), (TWO, BITS)):
    score = lambda o: o[:, -1] - (o[:, 0] if o.shape[1] == 2 else 0)
    CASES.append((entry("auc"), "auc", out, labels, auc, lambda m, o, y, s=score: m.roc_auc_score(y, s(o))))
    CASES.append(
        (
            entry("average_precision"),
            "average_precision",
            out,
            labels,
            precision_area,
            lambda m, o, y, s=score: m.average_precision_score(y, s(o)),
        )
    )
CASES += [
    (
        entry("auc"),
        "auc",
        SCORES,
        LABELS,
        auc,
        lambda m, o, y: np.mean([m.roc_auc_score(y == c, softmax(o)[:, c]) for c in occurring(y)]),
    ),
    (
        entry("average_precision"),
        "average_precision",
        SCORES,
        LABELS,
        precision_area,
        lambda m, o, y: np.mean([m.average_precision_score(y == c, softmax(o)[:, c]) for c in occurring(y)]),
    ),
    (
        entry("log_loss"),
        "log_loss",
        SCORES,
        LABELS,
        log_loss(),
        lambda m, o, y: m.log_loss(y, softmax(o), labels=range(C)),
    ),
    (
        entry("log_loss"),
        "log_loss",
        LOGITS,
        BITS,
        log_loss(),
        lambda m, o, y: m.log_loss(y, 1 / (1 + np.exp(-o[:, 0]))),
    ),
    (entry("perplexity"), "perplexity", TEXT, TOKENS, log_loss(finish=np.exp), None),
    (entry("perplexity", ignore_index=1), "perplexity", TEXT, TOKENS, log_loss(1, np.exp), None),
    (entry("bits_per_character"), "bits_per_character", TEXT, TOKENS, log_loss(finish=lambda x: x / np.log(2)), None),
    (entry("ece"), "ece", SCORES, LABELS, ece(15), None),
    (entry("ece", bins=4), "ece", LOGITS, BITS, ece(4), None),
    (entry("label_noise"), "label_noise", SCORES, LABELS, label_noise(), None),
    (entry("label_noise"), "label_noise", LOGITS, BITS, label_noise(), None),
    (entry("label_noise", ignore_index=1), "label_noise", TEXT, TOKENS, label_noise(1), None),
    (
        entry("accuracy", ignore_index=2),
        "accuracy",
        TEXT,
        TOKENS,
        of_labels("accuracy", lambda m, y, g: m.accuracy_score(y, g), 2),
        None,
    ),
    (
        entry("accuracy"),
        "accuracy",
        IMAGES,
        PIXELS,
        of_labels("accuracy", lambda m, y, g: m.accuracy_score(y, g)),
        None,
    ),
    (
        entry("iou"),
        "iou",
        IMAGES,
        PIXELS,
        of_labels("iou", lambda m, y, g: m.jaccard_score(y, g, average="macro")),
        None,
    ),
    (
        entry("iou", average=2),
        "iou_2",
        IMAGES,
        PIXELS,
        of_labels("iou", lambda m, y, g: m.jaccard_score(y, g, average=None)[2]),
        None,
    ),
    (entry("iou"), "iou", LOGITS, BITS, of_labels("iou", lambda m, y, g: m.jaccard_score(y, g)), None),
    (
        entry("f1", ignore_index=0),
        "f1",
        IMAGES,
        PIXELS,
        of_labels("f1", lambda m, y, g: m.f1_score(y, g, average="macro"), 0),
        None,
    ),
    (entry("mcc"), "mcc", SCORES, LABELS, of_labels("mcc", lambda m, y, g: m.matthews_corrcoef(y, g)), None),
    (entry("mcc"), "mcc", LOGITS, BITS, of_labels("mcc", lambda m, y, g: m.matthews_corrcoef(y, g)), None),
    (
        entry("balanced_accuracy"),
        "balanced_accuracy",
        SCORES,
        LABELS,
        of_labels("balanced_accuracy", lambda m, y, g: m.recall_score(y, g, labels=occurring(y), average="macro")),
        None,
    ),
]
for out, truth in ((GUESS, TRUTH), (ONE_GUESS, ONE_TRUTH), (TIED_GUESS, TIED_TRUTH)):
    CASES.append((entry("pearson"), "pearson", out, truth, correlation, None))
    CASES.append((entry("spearman"), "spearman", out, truth, lambda o, y: correlation(o, y, rank=True), None))

DATA = {}
rows = []
for entry, name, out, target, definition, peer in CASES:
    value = float(definition(out, target))
    if "--check" in sys.argv and peer:
        import sklearn.metrics

        other = float(peer(sklearn.metrics, out, target))
        assert abs(value - other) <= 1e-12 * max(1, abs(other)), (entry, value, other)
    data = next((key for key, (o, t) in DATA.items() if o is out and t is target), f"data{len(DATA)}")
    DATA[data] = (out, target)
    rows.append({"entry": entry, "name": name, "data": data, "value": value})

data = {
    key: {
        "classes": (
            C if target is LABELS else 2 if target is BITS else 4 if target is PIXELS else 3 if target is TOKENS else 0
        ),
        "integer_target": target.dtype.kind == "i",
        "out": out.tolist(),
        "target": target.tolist(),
    }
    for key, (out, target) in DATA.items()
}
print('{"data": {')
print(",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in data.items()))
print('},\n"cases": [')
print(",\n".join(json.dumps(row) for row in rows) + "\n]}")
