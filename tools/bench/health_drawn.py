"""Cases of health.py that are drawn at random, another set for each seed: drawn(seed).

Network, optimizer, rate, batch, schedule, regularisation, number of samples and length are drawn for each case within
ranges that users choose from, and the strength of a fault within the range that its row is named by. No case is taken
out of the list because of its result.

The best rate of a training that is drawn is not known. Rates that are 10 to 30 times too high or too low may be within
a factor of 4 of it, from which no figure of a run tells them: they do not count as findable.
"""

import math
import random

from health_cases import FAMILIES, GOOD, case, healthy_case

# Usual rates of optimizers, where they differ by family those of the perceptron and the convolutional net, the
# transformer, and the recurrent nets. SGD trains only the first two well.
RATES = {"SGD": 0.05, "Adam": (0.003, 0.002, 0.01), "RMSprop": 0.001, "NAdam": 0.002, "Lion": 0.0005, "Adagrad": 0.02}
IMAGES = ("mlp", "cnn")


def between(draw, low, high):
    """A number of the range, evenly drawn in its logarithm."""
    return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.4g}")


def sometimes(draw, share, name, value):
    return {name: value()} if draw.random() < share else {}


def draw_network(draw, family):
    network = {"width": 4 * draw.randint(8, 40)}
    if family in IMAGES:
        return {**network, "depth": draw.randint(1, 4),
                "activation": draw.choice(("ReLU", "Tanh", "GELU", "SiLU", "LeakyReLU", "ELU"))}
    if family == "transformer":
        return {**network, "depth": draw.randint(1, 4), "inner": draw.choice(("GELU", "ReLU"))}
    return {**network, "depth": draw.randint(2, 3), "cell": draw.choice(("LSTM", "GRU"))}


def draw_optimizer(draw, family):
    name = draw.choice([name for name in RATES if name != "SGD" or family in IMAGES])
    rate = RATES[name]
    if isinstance(rate, tuple):
        rate = rate[max(FAMILIES.index(family) - 1, 0)]
    return {"optim": name, "lr": between(draw, rate * 0.6, rate * 1.6), "momentum": 0.9 if name == "SGD" else 0}


def draw_training(draw, family):
    options = {**draw_optimizer(draw, family), "batch": round(between(draw, 20, 100)), "epochs": draw.randint(6, 25),
               "samples": draw.randint(600, 1400),
               "schedule": draw.choice(("none", "cosine", "wsd", "multi_step", "linear", "one_cycle")),
               **sometimes(draw, 0.3, "decay", lambda: between(draw, 1e-5, 1e-3))}
    options["samples"] += options["samples"] % options["batch"] == 1  # one sample has no statistics of a batch
    if family in IMAGES:
        options |= {**sometimes(draw, 0.3, "norm", lambda: "batch"),
                    **sometimes(draw, 0.3, "dropout", lambda: between(draw, 0.05, 0.4))}
    return options


def draw_healthy(draw, family):
    return {**draw_network(draw, family), **draw_training(draw, family),
            **sometimes(draw, 0.3, "values", lambda: "normalised"),
            **sometimes(draw, 0.2, "wrong", lambda: between(draw, 0.02, 0.15))}


def with_rate(draw, family, low, high):
    """A training whose rate is multiplied by a factor of the range."""
    options = with_fault(draw, family)
    return {**options, "lr": options["lr"] * between(draw, low, high)}


def with_fault(draw, family, **fault):
    return {**draw_network(draw, family), **draw_training(draw, family), **fault}


def with_bare_layers(draw, family, **fault):
    """Layers without a batch normalisation, which would undo initial weights and biases."""
    return {**with_fault(draw, family), "norm": "none", **fault}


def with_usual_training(draw, family, **fault):
    """A network that is drawn, with the optimizer of the other lists: the fault follows from data and length."""
    return {**draw_network(draw, family), **fault}


# The rows: fault, strength, families, and a function that draws the options of a case.
RATES_NEAR_THE_BEST = ("× 10 to 30", "/ 10 to 30")
ROWS = (
    *(("rate_too_high", f"× {low} to {high}", FAMILIES,
       lambda draw, family, low=low, high=high: with_rate(draw, family, low, high))
      for low, high in ((10, 30), (30, 100), (100, 1000))),
    *(("rate_too_low", f"/ {low} to {high}", FAMILIES,
       lambda draw, family, low=low, high=high: with_rate(draw, family, 1 / high, 1 / low))
      for low, high in ((10, 30), (30, 100), (100, 1000))),
    ("unnormalised_inputs", "× 20 to 300", FAMILIES,
     lambda draw, family: with_fault(draw, family, scale=between(draw, 20, 300))),
    ("unnormalised_inputs", "+ 2 to 100", FAMILIES,
     lambda draw, family: with_fault(draw, family, shift=between(draw, 2, 100) * draw.choice((-1, 1)))),
    ("unnormalised_inputs", "× 0.0005 to 0.01", FAMILIES,
     lambda draw, family: with_fault(draw, family, scale=between(draw, 0.0005, 0.01))),
    ("not_finite", "1 % missing", FAMILIES, lambda draw, family: with_fault(draw, family, values="missing")),
    ("leakage", "5 to 100 % twice", FAMILIES,
     lambda draw, family: with_fault(draw, family, values="copies", copied=between(draw, 0.05, 1), epochs=3)),
    ("class_collapse", "1 to 10 %", FAMILIES,
     lambda draw, family: with_fault(draw, family, labels="rare", rare=between(draw, 0.01, 0.1), epochs=4)),
    ("overfitting", "48 to 150 samples, 15 to 40 % wrong", FAMILIES,
     lambda draw, family: with_usual_training(draw, family, samples=draw.randint(48, 150),
                                              wrong=between(draw, 0.15, 0.4), batch=16, epochs=80)),
    ("overfitting", "200 to 600 random labels", FAMILIES,
     lambda draw, family: with_usual_training(draw, family, labels="random", samples=draw.randint(200, 600), batch=25,
                                              epochs=60)),
    ("below_floor", "scores as logarithms", FAMILIES, lambda draw, family: with_fault(draw, family, loss="nll")),
    ("noisy_gradients", "batch 1 or 2, 88 to 97 % wrong", FAMILIES,
     lambda draw, family: with_usual_training(draw, family, wrong=between(draw, 0.88, 0.97), batch=draw.randint(1, 2),
                                              epochs=2, lr=GOOD[family]["lr"] / 10)),
    ("dead_units", "bias −2 to −10", IMAGES,
     lambda draw, family: with_bare_layers(draw, family, activation="ReLU", bias=-between(draw, 2, 10))),
    ("saturated_units", "tanh, deviation 1.5 to 20", IMAGES,
     lambda draw, family: with_bare_layers(draw, family, activation="Tanh", std=between(draw, 1.5, 20))),
    ("exploding_gradients", "deviation 0.7 to 5", IMAGES,
     lambda draw, family: with_bare_layers(draw, family, activation="ReLU", depth=3, std=between(draw, 0.7, 5))),
    ("vanishing_gradients", "5 or 6 layers, deviation 0.005 to 0.02", IMAGES,
     lambda draw, family: with_bare_layers(draw, family, activation=draw.choice(("ReLU", "Tanh")),
                                           depth=draw.randint(5, 6), std=between(draw, 0.005, 0.02))),
    ("vanishing_gradients", "5 or 6 layers of sigmoids", IMAGES,
     lambda draw, family: with_bare_layers(draw, family, activation="Sigmoid", depth=draw.randint(5, 6))),
    ("small_batch_statistics", "batch 2 to 5", ("mlp",),
     lambda draw, family: with_fault(draw, family, norm="batch", batch=draw.randint(2, 5), epochs=1, samples=1200)),
)


def drawn(seed):
    """One case of each row and family, and as many healthy ones."""
    draw = random.Random(seed)
    ill = [case(fault, strength, family, strength not in RATES_NEAR_THE_BEST, **options(draw, family))
           for fault, strength, families, options in ROWS for family in families]
    well = [healthy_case(FAMILIES[i % len(FAMILIES)], "drawn", **draw_healthy(draw, FAMILIES[i % len(FAMILIES)]))
            for i in range(len(ill))]
    return [*well, *ill]
