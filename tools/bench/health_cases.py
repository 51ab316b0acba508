"""The small fits of health.py, with a fault and without: options of recipes/health.lua.

There are three lists. Thresholds were chosen on chosen(), and reported() has other cases: other widths, depths,
functions, optimizers, data and strengths, most of them between those of the first list, and faults that it does not
have. larger() has networks with 0.2 to 3.2 million weights in four to six layers, 30 to 300 times as many as the usual
ones have.

A fault is findable where the figures of one run can show it. It is not in these cases:

- a rate within a factor of 4 of the best one, from which no figure of a run tells it;
- a model that is too small, or whose weights decay too much: the run shows that little is learnt, as it does for data
  that cannot be learnt, and a second training on a few samples would have to tell which of the two holds;
- statistics of a batch over the places of images, whose values are more than 16 although the samples are few.
"""

import math

FAMILIES = ("mlp", "cnn", "transformer", "recurrent")
# A rate that trains each family well.
GOOD = {
    "mlp": {"optim": "SGD", "lr": 0.05, "momentum": 0.9},
    "cnn": {"optim": "SGD", "lr": 0.05, "momentum": 0.9},
    "transformer": {"optim": "Adam", "lr": 0.002},
    "recurrent": {"optim": "Adam", "lr": 0.01},
}
# The best rate over this good one: of rates a factor of two apart the one with the least validation loss after the 8
# epochs, as a mean over two seeds.
BEST = {"mlp": 1, "cnn": 2, "transformer": 0.5, "recurrent": 2}


def case(fault, strength, family, findable=True, **options):
    return {"fault": fault, "strength": strength, "findable": findable,
            "options": {"family": family, **GOOD[family], **options}}


def healthy_case(family, name=None, **change):
    return case("none", name or ",".join(f"{k}={v}" for k, v in change.items()) or "plain", family, **change)


def rate_case(family, factor, **change):
    """A rate that is `factor` times the good one."""
    is_high = factor > 1
    return case("rate_too_high" if is_high else "rate_too_low", f"x {factor}" if is_high else f"/ {round(1 / factor)}",
                family, abs(math.log2(factor / BEST[family])) > 2,
                **{**change, "lr": {**GOOD[family], **change}["lr"] * factor})


def chosen_healthy():
    for family in FAMILIES:
        for change in ({}, {"lr": GOOD[family]["lr"] / 2}, {"batch": 100}, {"batch": 20, "epochs": 4},
                       {"width": 128}, {"decay": 1e-3}, {"epochs": 15}, {"schedule": "cosine"},
                       {"values": "normalised"},
                       {"optim": "RMSprop", "lr": 0.002, "momentum": 0}):
            yield healthy_case(family, **change)
        yield healthy_case(family, "noisy labels", labels="noisy", epochs=6)
        for schedule in ("none", "wsd", "multi_step"):
            yield healthy_case(family, f"60 epochs, {schedule}", epochs=60, schedule=schedule)
    for family in ("mlp", "cnn"):
        adam = {"optim": "Adam", "lr": 0.003, "momentum": 0}
        yield healthy_case(family, "Adam", **adam)
        yield healthy_case(family, "Adam, half the rate", **{**adam, "lr": 0.0015})
        yield healthy_case(family, "Adam, batch norm", norm="batch", **adam)
        yield healthy_case(family, "Adam, GELU, dropout", activation="GELU", dropout=0.2, **adam)
        yield healthy_case(family, "no momentum", lr=0.2, momentum=0)
        yield healthy_case(family, "tanh", activation="Tanh")
        yield healthy_case(family, "GELU", activation="GELU")
        yield healthy_case(family, "batch norm", norm="batch")
        yield healthy_case(family, "one layer", depth=1)
        yield healthy_case(family, "four layers", depth=4)
        yield healthy_case(family, "dropout", dropout=0.2)
    yield healthy_case("mlp", "blobs", source="blobs", values="normalised")
    yield healthy_case("mlp", "spirals", source="spirals", optim="Adam", lr=0.01, momentum=0, epochs=30)


def chosen_sick():
    for family in FAMILIES:
        rate = GOOD[family]["lr"]
        for factor in (32, 100, 1000, 1 / 32, 1 / 100, 1 / 1000):
            yield rate_case(family, factor)
        for name, change in (("x 255", {"scale": 255}), ("+ 10", {"shift": 10}), ("+ 100", {"shift": 100}),
                             ("x 0.001", {"scale": 0.001})):
            yield case("unnormalised_inputs", name, family, **change)
        yield case("not_finite", "logarithm of 0", family, values="logarithms")
        yield case("leakage", "all twice", family, values="copies", epochs=3)
        yield case("class_collapse", "one label", family, labels="one", epochs=3)
        yield case("class_collapse", "2 %", family, labels="rare", epochs=3)
        yield case("overfitting", "64 samples, 30 % wrong", family, samples=64, epochs=60, batch=16, labels="noisy")
        yield case("overfitting", "random labels", family, labels="random", samples=300, epochs=60, batch=20)
        yield case("below_floor", "scores as logarithms", family, loss="nll", epochs=3)
        yield case("noisy_gradients", "batch 1, 90 % wrong", family, labels="mostly_noisy", batch=1, epochs=1,
                   lr=rate / 10)
        # Few features cannot learn the wrong labels by heart, and a high rate keeps the loss from its least value. A
        # few units of nn.ReLU would die, which is another fault.
        yield case("plateau", "few features, rate x 2", family, epochs=60, lr=rate * 2, labels="noisy",
                   activation="GELU", width={"mlp": 8, "cnn": 16}.get(family, 4))
        yield case("underfitting", "weight decay", family, False, decay=30 if GOOD[family]["optim"] == "Adam" else 0.3)
    for family in ("mlp", "cnn"):
        yield case("dead_units", "bias -3", family, bias=-3)
        yield case("dead_units", "bias -10", family, bias=-10)
        yield case("saturated_units", "tanh, deviation 2", family, activation="Tanh", std=2)
        yield case("saturated_units", "tanh, deviation 20", family, activation="Tanh", std=20)
        yield case("exploding_gradients", "deviation 1", family, std=1)
        yield case("exploding_gradients", "deviation 5", family, std=5)
        yield case("vanishing_gradients", "deviation 0.01", family, depth=6, std=0.01)
        yield case("vanishing_gradients", "sigmoid, 6 layers", family, activation="Sigmoid", depth=6)
        yield case("small_batch_statistics", "batch 2", family, family == "mlp", norm="batch", batch=2, epochs=1,
                   lr=0.005)


def reported_healthy():
    for family in FAMILIES:
        rate = GOOD[family]["lr"]
        for change in ({"lr": rate * 0.7}, {"lr": rate * 1.5}, {"batch": 32}, {"batch": 75, "epochs": 12},
                       {"width": 48}, {"width": 96}, {"decay": 3e-4}, {"epochs": 20}, {"samples": 800, "epochs": 12},
                       {"schedule": "linear"}, {"schedule": "one_cycle"},
                       {"optim": "NAdam", "lr": 0.002, "momentum": 0}, {"optim": "Lion", "lr": 0.0005, "momentum": 0},
                       {"optim": "Adagrad", "lr": 0.02, "momentum": 0}):
            yield healthy_case(family, **change)
        yield healthy_case(family, "15 % wrong labels", wrong=0.15, epochs=6)
        yield healthy_case(family, "40 epochs, linear", epochs=40, schedule="linear")
    for family in ("mlp", "cnn"):
        for activation in ("SiLU", "LeakyReLU", "ELU"):
            yield healthy_case(family, activation, activation=activation)
        yield healthy_case(family, "Adam, tanh", optim="Adam", lr=0.003, momentum=0, activation="Tanh")
        yield healthy_case(family, "three layers", depth=3)
        yield healthy_case(family, "five layers, batch norm", depth=5, norm="batch")
        yield healthy_case(family, "dropout 0.1", dropout=0.1)
        yield healthy_case(family, "dropout 0.4", dropout=0.4, epochs=15)
    yield healthy_case("transformer", "ReLU", inner="ReLU")
    yield healthy_case("transformer", "one block", depth=1)
    yield healthy_case("transformer", "four blocks", depth=4)
    yield healthy_case("recurrent", "GRU", cell="GRU")
    yield healthy_case("recurrent", "RNN", cell="RNN", lr=0.003)
    yield healthy_case("recurrent", "two layers", depth=3)
    yield healthy_case("mlp", "blobs, Adam", source="blobs", optim="Adam", lr=0.003, momentum=0, values="normalised")
    yield healthy_case("mlp", "spirals, tanh", source="spirals", activation="Tanh", optim="Adam", lr=0.01, momentum=0,
                       epochs=25)


def reported_sick():
    for family in FAMILIES:
        rate = GOOD[family]["lr"]
        for factor in (8, 16, 64, 300, 1 / 8, 1 / 16, 1 / 64, 1 / 300):
            yield rate_case(family, factor)
        for name, change in (("x 30", {"scale": 30}), ("x 100", {"scale": 100}), ("+ 2", {"shift": 2}),
                             ("- 30", {"shift": -30}), ("x 0.01", {"scale": 0.01})):
            yield case("unnormalised_inputs", name, family, **change)
        yield case("not_finite", "1 % missing", family, values="missing")
        for copied in (0.1, 0.4):
            yield case("leakage", f"{100 * copied:.0f} % twice", family, values="copies", copied=copied, epochs=3)
        for rare in (0.05, 0.1):
            yield case("class_collapse", f"{100 * rare:.0f} %", family, labels="rare", rare=rare, epochs=4)
        yield case("overfitting", "100 samples, 20 % wrong", family, samples=100, epochs=80, batch=20, wrong=0.2)
        yield case("overfitting", "random labels, 500 samples", family, labels="random", samples=500, epochs=60,
                   batch=25)
        yield case("below_floor", "scores as logarithms, width 24", family, loss="nll", epochs=4, width=24)
        yield case("noisy_gradients", "batch 2, 95 % wrong", family, wrong=0.95, batch=2, epochs=2, lr=rate / 10)
        yield case("plateau", "few features, 20 % wrong", family, epochs=80, lr=rate * 1.5, wrong=0.2,
                   activation="SiLU", width={"mlp": 6, "cnn": 12}.get(family, 4))
        yield case("underfitting", "weight decay", family, False, decay=20 if GOOD[family]["optim"] == "Adam" else 0.2)
    yield case("underfitting", "width 2", "mlp", False, width=2)
    yield case("underfitting", "width 2", "recurrent", False, width=2)
    for family in ("mlp", "cnn"):
        yield case("not_finite", "filled with 1e20", family, values="filled")
        for bias in (-2, -5):
            yield case("dead_units", f"bias {bias}", family, bias=bias)
        for std in (1.5, 6):
            yield case("saturated_units", f"tanh, deviation {std}", family, activation="Tanh", std=std)
        yield case("saturated_units", "sigmoid, deviation 10", family, activation="Sigmoid", std=10)
        for std in (0.7, 2):
            yield case("exploding_gradients", f"deviation {std}", family, depth=3, std=std)
        yield case("vanishing_gradients", "deviation 0.02", family, depth=5, std=0.02)
        yield case("vanishing_gradients", "tanh, deviation 0.01", family, activation="Tanh", depth=5, std=0.01)
        yield case("vanishing_gradients", "sigmoid, 5 layers", family, activation="Sigmoid", depth=5)
        yield case("vanishing_gradients", "all weights 0", family, std=0)
        yield case("small_batch_statistics", "batch 4", family, family == "mlp", norm="batch", batch=4, epochs=1,
                   lr=0.005)
    # Gradients do not vanish in the other families: a transformer's sums and norms pass on what small weights would
    # lose, and the recurrent nets learn with Adam from weights that are small or 0.
    yield case("dead_units", "bias -4", "transformer", inner="ReLU", bias=-4)
    yield case("saturated_units", "tanh, deviation 4", "transformer", inner="Tanh", std=4)
    yield case("saturated_units", "RNN, deviation 4", "recurrent", cell="RNN", std=4)
    for family in ("transformer", "recurrent"):
        yield case("exploding_gradients", "deviation 2", family, std=2)


# The larger networks, with a rate that trains each well. A deep convolutional net without a normalisation does not
# train well from the usual initial weights.
LARGER = {
    "mlp": {"width": 1024, "depth": 4},
    "cnn": {"width": 256, "depth": 6, "norm": "batch"},
    "transformer": {"width": 128, "depth": 6, "lr": 0.0005},
    "recurrent": {"width": 256, "depth": 3, "lr": 0.005},
}


def larger_healthy():
    for family, large in LARGER.items():
        rate = {**GOOD[family], **large}["lr"]
        for change in ({}, {"lr": rate * 0.7}, {"lr": rate * 1.5}, {"batch": 32}, {"epochs": 15}, {"decay": 1e-3},
                       {"schedule": "cosine"}, {"values": "normalised"}):
            yield healthy_case(family, **{**large, **change})
        yield healthy_case(family, "15 % wrong labels", **large, wrong=0.15, epochs=6)
    adam = {"optim": "Adam", "lr": 0.001, "momentum": 0}
    for family in ("mlp", "cnn"):
        yield healthy_case(family, "Adam", **LARGER[family], **adam)
        yield healthy_case(family, "dropout", **LARGER[family], dropout=0.2)


def larger_sick():
    for family, large in LARGER.items():
        for factor in (32, 100, 1 / 32, 1 / 100):
            yield rate_case(family, factor, **large)
        for name, change in (("x 255", {"scale": 255}), ("+ 10", {"shift": 10})):
            yield case("unnormalised_inputs", name, family, **large, **change)
        yield case("not_finite", "1 % missing", family, **large, values="missing")
        yield case("leakage", "all twice", family, **large, values="copies", epochs=3)
        yield case("class_collapse", "10 %", family, **large, labels="rare", rare=0.1, epochs=4)
        yield case("overfitting", "64 samples, 30 % wrong", family, **large, samples=64, epochs=60, batch=16,
                   labels="noisy")
        yield case("overfitting", "random labels", family, **large, labels="random", samples=300, epochs=60, batch=20)
        yield case("below_floor", "scores as logarithms", family, **large, loss="nll", epochs=3)
    for family in ("mlp", "cnn"):
        bare = {**LARGER[family], "norm": "none"}
        yield case("dead_units", "bias -10", family, **bare, bias=-10)
        yield case("saturated_units", "tanh, deviation 2", family, **bare, activation="Tanh", std=2)
        yield case("exploding_gradients", "deviation 1", family, **bare, std=1)
        yield case("vanishing_gradients", "deviation 0.005", family, **bare, std=0.005)
        yield case("vanishing_gradients", "sigmoid", family, **bare, activation="Sigmoid")
        yield case("small_batch_statistics", "batch 2", family, family == "mlp", **{**bare, "norm": "batch"}, batch=2,
                   epochs=1, lr=0.005)


# Faults with a remedy that health.action = "fix" applies. Gradients are noise in cases where nearly all labels are
# wrong, which no fit learns from.
HEALABLE = {"rate_too_high", "rate_too_low", "unnormalised_inputs", "exploding_gradients", "vanishing_gradients",
            "saturated_units", "dead_units", "small_batch_statistics", "not_finite", "overfitting"}


def is_healable(one):
    """Whether a fit with the remedy can learn, which is not so where values are missing."""
    return one["fault"] in HEALABLE and one["options"].get("values") not in ("logarithms", "missing")


def chosen():
    return [*chosen_healthy(), *chosen_sick()]


def reported():
    return [*reported_healthy(), *reported_sick()]


def larger():
    return [*larger_healthy(), *larger_sick()]
