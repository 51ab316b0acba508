"""Makes metric_golden.json: metrics on small fixed data, computed here from their definitions.

    python3 metric_golden.py > metric_golden.json        (numpy)
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
        tp, fp, fn = np.sum((guess == c) & (labels == c)), np.sum((guess == c) & (labels != c)), np.sum((guess != c) & (labels == c))
        scores.append({"precision": share(tp, tp + fp), "recall": share(tp, tp + fn), "f1": share(2 * tp, 2 * tp + fp + fn)}[name])
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
    return lambda out, labels: np.mean([label in np.argsort(-row, kind="stable")[:k] for row, label in zip(out, labels)])


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
        ({"@": "metric.top_k", "k": k}, f"top_{k}", SCORES, LABELS, top(k), lambda m, o, y, k=k: m.top_k_accuracy_score(y, o, k=k, labels=range(C)))
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
        ({"@": "metric." + name}, name, SCORES, LABELS, prf(name, "macro"), lambda m, o, y, s=score: getattr(m, s)(y, o.argmax(1), average="macro", zero_division=0))
    )
    CASES.append(({"@": "metric." + name}, name, LOGITS, BITS, prf(name, 1), lambda m, o, y, s=score: getattr(m, s)(y, predicted(o))))
    CASES.append(({"@": "metric." + name}, name, TWO, BITS, prf(name, 1), lambda m, o, y, s=score: getattr(m, s)(y, o.argmax(1))))
    for c in (2, 3, 4):
        CASES.append(
            (
                {"@": "metric." + name, "average": c},
                f"{name}_{c}",
                SCORES,
                LABELS,
                prf(name, c),
                lambda m, o, y, s=score, c=c: getattr(m, s)(y, o.argmax(1), labels=range(C), average=None, zero_division=0)[c],
            )
        )
for out, truth in ((GUESS, TRUTH), (ONE_GUESS, ONE_TRUTH)):
    CASES += [
        ({"@": "metric.mae"}, "mae", out, truth, mae, lambda m, o, y: m.mean_absolute_error(y.reshape(o.shape), o)),
        ({"@": "metric.rmse"}, "rmse", out, truth, rmse, lambda m, o, y: np.sqrt(m.mean_squared_error(y.reshape(o.shape), o))),
        ({"@": "metric.r2"}, "r2", out, truth, r2, lambda m, o, y: m.r2_score(y.reshape(o.shape), o)),
    ]
# All targets equal: scikit-learn's two special values.
CASES.append(({"@": "metric.r2"}, "r2", FLAT_TRUTH[:, None] + 0.25, FLAT_TRUTH, lambda o, y: 0.0, None))
CASES.append(({"@": "metric.r2"}, "r2", FLAT_TRUTH[:, None], FLAT_TRUTH, lambda o, y: 1.0, None))

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
        "classes": C if target is LABELS else 2 if target is BITS else 0,
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
