"""Writes optim_golden.json: PyTorch's optimizers and schedulers on small fixed problems, in float64, one thread.

tests/engine/optim computes the same; the problem is written in both places and has no random numbers:
value k (counted over all tensors) starts at sin(1 + 0.7 k) and has at step t the gradient
  (0.2 + 0.3 (k mod 7)) x + 0.3 cos(3 x) + 0.5 sin(0.3 t + k).
The rate at step t of 100 is lr (1 - t / 200). In the cases named "late" the last tensor has no gradient before step 3.
In those named "still" the gradient is that of step 0: a line search on a moving one amplifies rounding without bound.
In those named "scheduled" momentum (or beta1) and weight decay are multiplied by 1 - t / 400 and 1 - t / 300.
The loss, for optimizers that evaluate it again, is the sum whose gradient that is. Prodigy and Schedule-Free are those
of their authors' packages, prodigyopt 1.1.2 and schedulefree 1.4.1. The other optimizers that PyTorch lacks (Lion,
LAMB, SAM, Lookahead, SOAP) and lean states are written below from the papers.
"""

import fnmatch
import json
import math
import pathlib

import numpy as np
import prodigyopt
import schedulefree
import torch
from torch.optim import lr_scheduler

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

SHAPES = [(4, 5), (4,), (3, 4), (3,)]  # weights decay; biases (one axis) are the second group
SAVED = [1, 2, 10, 100]

CASES = {
    "sgd": ("SGD", {"lr": 0.05}),
    "sgd default rate": ("SGD", {}),
    "sgd momentum": ("SGD", {"lr": 0.05, "momentum": 0.9}),
    "sgd nesterov decay": ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    "sgd dampening late": ("SGD", {"lr": 0.05, "momentum": 0.8, "dampening": 0.3}),
    "sgd groups": ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.2, "decay_norms_and_biases": False}),
    "adam": ("Adam", {}),
    "adam l2 late": ("Adam", {"lr": 0.02, "weight_decay": 0.1, "betas": [0.8, 0.99], "eps": 1e-6}),
    "adam amsgrad": ("Adam", {"lr": 0.02, "amsgrad": True, "betas": [0.9, 0.9]}),
    "adamw": ("AdamW", {"lr": 0.02}),
    "adamw amsgrad late": ("AdamW", {"lr": 0.02, "amsgrad": True, "weight_decay": 0.3, "betas": [0.9, 0.95]}),
    "sgd scheduled": ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1}),
    "adamw scheduled": ("AdamW", {"lr": 0.02, "weight_decay": 0.3}),
    "sgd by pattern": ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1, "groups": [
        {"params": ["3.*"], "lr": 0.02, "momentum": 0.5}, {"params": ["2.p", "*.p"], "weight_decay": 0.4}]}),
    "adamw by pattern": ("AdamW", {"lr": 0.02, "groups": [
        {"params": ["?.p"], "betas": [0.8, 0.9]}, {"params": ["*"], "lr": 1.0}]}),
    "adam layers": ("Adam", {"lr": 0.02, "layer_decay": 0.7}),
    "adamax": ("Adamax", {}),
    "adamax l2 late": ("Adamax", {"lr": 0.02, "weight_decay": 0.1, "betas": [0.8, 0.99], "eps": 1e-6}),
    "nadam": ("NAdam", {}),
    "nadam l2 late": ("NAdam", {"lr": 0.02, "weight_decay": 0.1, "betas": [0.8, 0.99], "momentum_decay": 0.1}),
    "nadam decoupled": ("NAdam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "radam": ("RAdam", {"lr": 0.02}),
    "radam l2 late": ("RAdam", {"lr": 0.02, "weight_decay": 0.1, "betas": [0.8, 0.95]}),
    "radam decoupled": ("RAdam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "adagrad": ("Adagrad", {}),
    "adagrad all late": ("Adagrad", {"lr": 0.1, "lr_decay": 0.05, "weight_decay": 0.1, "initial_accumulator_value": 0.2,
                                     "eps": 1e-6}),
    "adadelta": ("Adadelta", {}),
    "adadelta l2 late": ("Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 1e-4, "weight_decay": 0.1}),
    "rmsprop": ("RMSprop", {}),
    "rmsprop momentum late": ("RMSprop", {"lr": 0.01, "momentum": 0.9, "alpha": 0.9, "weight_decay": 0.1}),
    "rmsprop centered": ("RMSprop", {"lr": 0.01, "centered": True, "alpha": 0.9, "eps": 1e-3}),
    "rmsprop centered momentum": ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.5, "eps": 1e-3}),
    "rprop": ("Rprop", {}),
    "rprop late": ("Rprop", {"lr": 0.05, "etas": [0.4, 1.3], "step_sizes": [1e-4, 0.2]}),
    "asgd": ("ASGD", {}),
    "asgd all late": ("ASGD", {"lr": 0.1, "lambd": 0.01, "alpha": 0.6, "t0": 20, "weight_decay": 0.1}),
    "muon": ("Muon", {"lr": 0.02}),
    "muon plain": ("Muon", {"lr": 0.02, "nesterov": False, "momentum": 0.8, "weight_decay": 0.3, "ns_steps": 3,
                            "adjust_lr_fn": "match_rms_adamw"}),
    "lbfgs": ("LBFGS", {"lr": 0.1, "max_iter": 3}),
    "lbfgs short history still": ("LBFGS", {"lr": 0.1, "history_size": 2, "max_iter": 3, "max_eval": 2}),
    "lbfgs search still": ("LBFGS", {"history_size": 5, "max_iter": 2, "line_search_fn": "strong_wolfe"}),
    "lbfgs search all still": ("LBFGS", {"lr": 0.7, "line_search_fn": "strong_wolfe"}),
    # The search ends where max_eval says: while it still widens its bracket, or closes in.
    "lbfgs search wide still": ("LBFGS", {"lr": 0.05, "max_eval": 2, "line_search_fn": "strong_wolfe"}),
    "lbfgs search cut still": ("LBFGS", {"lr": 10.0, "max_eval": 4, "line_search_fn": "strong_wolfe"}),
    "lion": ("Lion", {}),
    "lion decay late": ("Lion", {"lr": 0.01, "betas": [0.8, 0.95], "weight_decay": 0.3}),
    "lamb": ("LAMB", {}),
    "lamb decay late": ("LAMB", {"lr": 0.02, "betas": [0.8, 0.95], "weight_decay": 0.3, "eps": 1e-3}),
    "sam sgd": ("SAM", {"rho": 0.2, "base": {"@": "optim.SGD", "lr": 0.05, "momentum": 0.9}}),
    "sam adamw late": ("SAM", {"base": {"@": "optim.AdamW", "lr": 0.02}}),
    "lookahead sgd": ("Lookahead", {"base": {"@": "optim.SGD", "lr": 0.05, "momentum": 0.9}}),
    "lookahead adam": ("Lookahead", {"k": 3, "alpha": 0.8, "base": {"@": "optim.Adam", "lr": 0.02}}),
    "adafactor": ("Adafactor", {}),
    "adafactor all late": ("Adafactor", {"lr": 0.3, "beta2_decay": -0.5, "eps": [1e-3, 0.1], "d": 1.5,
                                         "weight_decay": 0.1}),
    "adafactor groups": ("Adafactor", {"lr": 0.05, "weight_decay": 0.3, "decay_norms_and_biases": False}),
    "sgd schedule-free": ("SGDScheduleFree", {"lr": 0.3}),
    "sgd schedule-free late": ("SGDScheduleFree", {"lr": 0.3, "momentum": 0.8, "weight_decay": 0.1}),
    "sgd schedule-free by pattern": ("SGDScheduleFree", {"lr": 0.3, "groups": [
        {"params": ["1.*"], "lr": 0.1, "momentum": 0.6}, {"params": ["2.*"], "lr": 0.0}]}),
    "adamw schedule-free": ("AdamWScheduleFree", {}),
    "adamw schedule-free late": ("AdamWScheduleFree", {"lr": 0.05, "betas": [0.8, 0.95], "weight_decay": 0.3,
                                                       "eps": 1e-3}),
    "adamw schedule-free groups": ("AdamWScheduleFree", {"lr": 0.05, "weight_decay": 0.3,
                                                         "decay_norms_and_biases": False}),
    "prodigy": ("Prodigy", {}),
    "prodigy large": ("Prodigy", {"d0": 1e-3, "d_coef": 0.5, "use_bias_correction": True, "weight_decay": 0.1}),
    "prodigy guarded": ("Prodigy", {"lr": 0.7, "d0": 1e-2, "safeguard_warmup": True, "betas": [0.8, 0.95],
                                    "weight_decay": 0.2, "decay_norms_and_biases": False}),
    "prodigy late": ("Prodigy", {"d0": 1e-3, "eps": 1e-4, "groups": [{"params": ["1.*"], "lr": 0.0}]}),
    "soap": ("SOAP", {}),
    "soap often late": ("SOAP", {"lr": 0.02, "betas": [0.8, 0.9], "precondition_frequency": 3, "weight_decay": 0.1}),
    "soap one side": ("SOAP", {"lr": 0.02, "max_precond_dim": 4, "eps": 1e-4, "decay_norms_and_biases": False}),
    "adamw groups": ("AdamW", {"lr": 0.02, "weight_decay": 0.3, "decay_norms_and_biases": False}),
}


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in (p for p in group["params"] if p.grad is not None):
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                update = torch.sign(beta1 * m + (1 - beta1) * p.grad)
                p.sub_(group["lr"] * (update + group["weight_decay"] * p))
                m.copy_(beta2 * m + (1 - beta2) * p.grad)


class LAMB(torch.optim.Optimizer):
    """You et al. 2020, algorithm 2, with phi the identity."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in (p for p in group["params"] if p.grad is not None):
                state = self.state[p]
                if not state:
                    state.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["t"] += 1
                state["m"] = beta1 * state["m"] + (1 - beta1) * p.grad
                state["v"] = beta2 * state["v"] + (1 - beta2) * p.grad ** 2
                m, v = state["m"] / (1 - beta1 ** state["t"]), state["v"] / (1 - beta2 ** state["t"])
                r = m / (v.sqrt() + group["eps"])
                update = r + group["weight_decay"] * p
                p.sub_(group["lr"] * p.norm() / update.norm() * update)


class ScheduleFree(torch.optim.Optimizer):
    """Defazio et al. 2024 with the three sequences written out, as the reference classes of the authors' package do,
    which count the steps of a group: here every tensor counts its own. Without betas this is SGD."""

    def __init__(self, params, lr, momentum=0.9, betas=None, eps=1e-8, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "momentum": momentum, "betas": betas, "eps": eps,
                                  "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            rate = group["lr"]
            for p in (p for p in group["params"] if p.grad is not None):
                state = self.state[p]
                if not state:
                    state.update(t=0, largest=0.0, sum=0.0, x=p.clone(), z=p.clone(), v=torch.zeros_like(p))
                state["t"] += 1
                state["largest"] = max(state["largest"], rate)
                state["sum"] += state["largest"] ** 2
                share = state["largest"] ** 2 / state["sum"] if state["sum"] else 0.0
                direction, beta = p.grad, group["momentum"]
                if group["betas"]:
                    beta, beta2 = group["betas"]
                    state["v"] = beta2 * state["v"] + (1 - beta2) * p.grad ** 2
                    direction = p.grad / ((state["v"] / (1 - beta2 ** state["t"])).sqrt() + group["eps"])
                state["z"] = state["z"] - rate * direction - rate * group["weight_decay"] * p
                state["x"] = (1 - share) * state["x"] + share * state["z"]
                p.copy_(beta * state["x"] + (1 - beta) * state["z"])


class SOAP(torch.optim.Optimizer):
    """Vyas et al. 2024, algorithm 3, as the authors' soap.py, for vectors and matrices."""

    def __init__(self, params, lr=3e-3, betas=(0.95, 0.95), eps=1e-8, weight_decay=0.01, precondition_frequency=10,
                 max_precond_dim=10000):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "every": precondition_frequency, "largest": max_precond_dim})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in (p for p in group["params"] if p.grad is not None):
                state, g = self.state[p], p.grad
                axes = [a for a in range(g.dim()) if g.dim() > 1 and g.shape[a] <= group["largest"]]
                products = [g @ g.T if a == 0 else g.T @ g for a in axes]
                if not state:
                    state.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                    state["GG"] = [(1 - beta2) * one for one in products]
                    state["Q"] = [torch.linalg.eigh(one)[1].flip(1) for one in state["GG"]]
                    continue

                def turned(x, back=False):
                    for a, q in zip(axes, state["Q"]):
                        q = q.T if back else q
                        x = q.T @ x if a == 0 else x @ q
                    return x

                state["t"] += 1
                state["m"] = beta1 * state["m"] + (1 - beta1) * turned(g)
                state["v"] = beta2 * state["v"] + (1 - beta2) * turned(g) ** 2
                size = group["lr"] * math.sqrt(1 - beta2 ** state["t"]) / (1 - beta1 ** state["t"])
                p.sub_(size * turned(state["m"] / (state["v"].sqrt() + group["eps"]), back=True))
                p.sub_(group["lr"] * group["weight_decay"] * p)
                state["m"] = turned(state["m"], back=True)
                for k, (a, one) in enumerate(zip(axes, products)):
                    state["GG"][k] = beta2 * state["GG"][k] + (1 - beta2) * one
                    if state["t"] % group["every"] == 0:
                        q = state["Q"][k]
                        order = (q.T @ state["GG"][k] @ q).diag().argsort(descending=True)
                        state["v"] = state["v"].index_select(a, order)
                        state["Q"][k] = torch.linalg.qr(state["GG"][k] @ q[:, order])[0]
                state["m"] = turned(state["m"])


class Problem:
    def __init__(self):
        first, self.values, self.offsets = 0, [], []
        for shape in SHAPES:
            k = torch.arange(first, first + math.prod(shape)).double()
            self.values.append(torch.sin(1 + 0.7 * k).view(shape).requires_grad_())
            self.offsets.append(k.view(shape))
            first += math.prod(shape)

    def evaluate(self, t, late=False):
        """Sets the gradients and returns the loss."""
        total = 0.0
        for value, k in zip(self.values, self.offsets):
            x, curve, shift = value.detach(), 0.2 + 0.3 * (k % 7), 0.5 * torch.sin(0.3 * t + k)
            total = total + (curve * x * x / 2 + 0.1 * torch.sin(3 * x) + shift * x).sum()
            value.grad = curve * x + 0.3 * torch.cos(3 * x) + shift
        if late and t < 3:
            self.values[-1].grad = None
        return total


def groups_of(values, options):
    """Parameter groups, as PyTorch takes them, of this project's options; names of the tensors are 1.p, 2.p, …"""
    decay_all = options.pop("decay_norms_and_biases", True)
    given, layer_decay = options.pop("groups", []), options.pop("layer_decay", 1.0)
    groups = []
    for i, value in enumerate(values):
        group = {"params": [value], "share": layer_decay ** (len(values) - 1 - i)}
        for one in given:
            if any(fnmatch.fnmatchcase(f"{i + 1}.p", pattern) for pattern in one["params"]):
                group.update({key: option for key, option in one.items() if key != "params"})
                break
        if not decay_all and value.dim() == 1:
            group["weight_decay"] = 0.0
        groups.append(group)
    return groups


def make_schedule_free(entry, values, options, late):
    is_sgd = entry == "SGDScheduleFree"
    defaults = {"lr": 1.0} if is_sgd else {"lr": 2.5e-3, "betas": (0.9, 0.999)}
    kind = schedulefree.SGDScheduleFreeReference if is_sgd else schedulefree.AdamWScheduleFreeReference
    optimizer = (ScheduleFree if late else kind)(groups_of(values, options), **{**defaults, **options})
    if not late:
        optimizer.train()
    return optimizer


def make(entry, values, options, late):
    if entry in ("SGDScheduleFree", "AdamWScheduleFree"):
        return make_schedule_free(entry, values, options, late)
    own = {"Lion": Lion, "LAMB": LAMB, "Prodigy": prodigyopt.Prodigy, "SOAP": SOAP}
    if entry in own:
        return own[entry](groups_of(values, options), **options)
    if entry == "Muon":
        return torch.optim.Muon(values, **options)
    if entry == "LBFGS":
        return torch.optim.LBFGS(values, **options)
    # Muon and Rprop and a few others have no foreach here; it would round otherwise.
    return getattr(torch.optim, entry)(groups_of(values, options), **options, foreach=False)


def run_optimizer(name, entry, options):
    options = json.loads(json.dumps(options))
    problem, late = Problem(), "late" in name
    if entry == "Muon":  # all four tensors have to be matrices
        for i, value in enumerate(problem.values):
            problem.values[i] = value.detach().view(-1, 1 if value.dim() == 1 else value.shape[1]).requires_grad_()
            problem.offsets[i] = problem.offsets[i].view(problem.values[i].shape)
    values = problem.values
    wrapper = entry if entry in ("SAM", "Lookahead") else None
    given = options.pop("base") if wrapper else options
    optimizer = make(given.pop("@").split(".")[1] if wrapper else entry, values, given, late)
    first = [(g["lr"] * g.get("share", 1.0), g.get("momentum"), g.get("betas"), g.get("weight_decay"))
             for g in optimizer.param_groups]
    rate = optimizer.defaults["lr"]
    slow = [v.detach().clone() for v in values]
    saved, averages = [], []
    for t in range(100):
        for group, (lr, momentum, betas, decay) in zip(optimizer.param_groups, first):
            group["lr"] = lr * (1 - t / 200)
            if "scheduled" in name:
                if momentum is not None:
                    group["momentum"] = momentum * (1 - t / 400)
                if betas is not None:
                    group["betas"] = (betas[0] * (1 - t / 400), betas[1])
                group["weight_decay"] = decay * (1 - t / 300)
        now = 0 if "still" in name else t
        problem.evaluate(now, late)
        if wrapper == "SAM":
            with torch.no_grad():
                gradients = [v.grad for v in values if v.grad is not None]
                size = options.get("rho", 0.05) / torch.cat([g.flatten() for g in gradients]).norm()
                before = [v.detach().clone() for v in values]
                for v in values:
                    if v.grad is not None:
                        v.add_(size * v.grad)
                problem.evaluate(t, late)
                for v, old in zip(values, before):
                    v.copy_(old)
        if entry == "LBFGS":
            optimizer.step(lambda: problem.evaluate(now, late))
        else:
            optimizer.step()
        if wrapper == "Lookahead" and (t + 1) % options.get("k", 5) == 0:
            with torch.no_grad():
                for v, s in zip(values, slow):
                    s.add_(options.get("alpha", 0.5) * (v - s))
                    v.copy_(s)
        if t + 1 in SAVED:
            saved.append(torch.cat([v.detach().flatten() for v in values]).tolist())
            if "ScheduleFree" in entry:
                averages.append(torch.cat([optimizer.state[v].get("x", v).detach().flatten() for v in values]).tolist())
    result = {"name": name, "entry": "optim." + entry, "rate": rate, "options": CASES[name][1], "values": saved}
    return {**result, "averages": averages} if averages else result


def factors(make, steps, events=None):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scheduler = make(optimizer)
    result = []
    for i in range(steps):
        result.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step(*([] if events is None else [events[i]]))
    return result + [optimizer.param_groups[0]["lr"]]


def warm_cosine(total, warmup, floor):
    def make(optimizer):
        cosine = lr_scheduler.CosineAnnealingLR(optimizer, T_max=total - warmup, eta_min=floor)
        if warmup == 0:
            return cosine
        rise = lr_scheduler.LinearLR(optimizer, start_factor=1 / (warmup + 1), total_iters=warmup)
        return lr_scheduler.SequentialLR(optimizer, [rise, cosine], milestones=[warmup])

    return factors(make, total)


def plateau_cases():
    falling = [1.0 / (1 + 0.2 * i) for i in range(12)]
    sequences = {
        "never better": [1.0] * 20,
        "always better": [30.0 - i for i in range(20)],
        "stalls": [10.0 - i for i in range(8)] + [3.2] * 12,
        "rises": [float(i) for i in range(20)],
        "slow": [1.0 - 0.00005 * i for i in range(30)],
        "steps": falling + falling[::-1] + falling,
        "accuracies": [0.50, 0.60, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61],
        "wave": [1.5 + math.sin(0.7 * i) for i in range(40)],
        "nan": [1.0, 0.5, math.nan, math.nan, math.nan, 0.4, math.nan, 0.39, 0.39],
    }
    options = [
        {},
        {"factor": 0.1, "patience": 5, "mode": "abs", "threshold": 0.01, "cooldown": 1},
        {"factor": 0.1, "patience": 4, "mode": "abs", "threshold": 0.0, "cooldown": 4},
        {"factor": 0.5, "patience": 0, "threshold": 0.0},
        {"factor": 0.5, "patience": 2, "threshold": 0.1, "mode": "rel"},
        {"factor": 0.1, "patience": 3, "threshold": 1e-3, "mode": "abs"},
        {"factor": 0.3, "patience": 1, "threshold": 0.01, "floor": 0.05, "cooldown": 2},
        {"factor": 0.2, "patience": 1, "eps": 0.01},
    ]
    cases = []
    for name, sequence in sequences.items():
        for option in options:
            for direction in ["min", "max"]:
                names = {"mode": "threshold_mode", "floor": "min_lr"}
                arguments = {names.get(key, key): value for key, value in option.items()}
                lrs = factors(
                    lambda o: lr_scheduler.ReduceLROnPlateau(o, direction, **arguments), len(sequence), sequence
                )
                changes = [[i, lr] for i, lr in enumerate(lrs) if i and lr != lrs[i - 1]]
                cases.append({"sequence": name, "options": option, "minimize": direction == "min", "changes": changes})
    return {"sequences": {k: [None if math.isnan(x) else x for x in v] for k, v in sequences.items()}, "cases": cases}


def schedule_cases():
    """Name, options of this project's entry, length of the run, and what PyTorch makes of it."""
    S = lr_scheduler
    steps = lambda n: f"{n} steps"
    cases = []

    def add(name, options, total, scheduler, count=60):
        cases.append(
            {"name": "sched." + name, "options": options, "total": total, "factors": factors(scheduler, count)}
        )

    add("linear", {"start": 0.25, "finish": 1.0, "over": steps(20)}, 60, lambda o: S.LinearLR(o, 0.25, 1.0, 20))
    add("linear", {"finish": 0.1}, 60, lambda o: S.LinearLR(o, 1.0, 0.1, 60))
    add("polynomial", {"power": 2.5, "over": steps(40)}, 60, lambda o: S.PolynomialLR(o, 40, 2.5))
    add("polynomial", {}, 60, lambda o: S.PolynomialLR(o, 60))
    add("exponential", {"factor": 0.9, "every": steps(1)}, 60, lambda o: S.ExponentialLR(o, 0.9))
    add("multi_step", {"at": [steps(5), steps(17), steps(30)], "factor": 0.3}, 60,
        lambda o: S.MultiStepLR(o, [5, 17, 30], 0.3))
    for linear in [False, True]:
        for three in [False, True]:
            for total in [61, 100]:
                add("one_cycle", {"shape": "linear" if linear else "cosine", "three_phases": three}, total,
                    lambda o: S.OneCycleLR(o, 1.0, total_steps=total, anneal_strategy="linear" if linear else "cos",
                                           three_phase=three, cycle_momentum=False), total - 1)
    add("one_cycle", {"start": 0.1, "finish": 0.001, "rise": 0.45}, 80,
        lambda o: S.OneCycleLR(o, 1.0, total_steps=80, pct_start=0.45, div_factor=10, final_div_factor=100,
                               cycle_momentum=False), 79)
    for mode in ["triangular", "triangular2", "exp_range"]:
        add("cyclic", {"floor": 0.2, "up": steps(7), "down": steps(4), "mode": mode, "gamma": 0.98}, 60,
            lambda o: S.CyclicLR(o, 0.2, 1.0, 7, 4, mode, 0.98, cycle_momentum=False))
    add("cyclic", {"floor": 0.1, "up": steps(5)}, 60, lambda o: S.CyclicLR(o, 0.1, 1.0, 5, cycle_momentum=False))
    add("cosine_restarts", {"every": steps(9)}, 60, lambda o: S.CosineAnnealingWarmRestarts(o, 9))
    add("cosine_restarts", {"every": steps(6), "longer": 2, "floor": 0.05}, 60,
        lambda o: S.CosineAnnealingWarmRestarts(o, 6, 2, 0.05))
    linear, cosine = {"@": "sched.linear", "start": 0.2, "finish": 1.0, "over": steps(10)}, {"@": "sched.cosine"}
    add("sequence", {"parts": [linear, {"@": "sched.exponential", "factor": 0.95, "every": steps(1)}, cosine],
                     "at": [steps(10), steps(30)]}, 60,
        lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.2, 1.0, 10), S.ExponentialLR(o, 0.95),
                                     S.CosineAnnealingLR(o, 30)], [10, 30]))
    add("product", {"parts": [{"@": "sched.exponential", "factor": 0.95, "every": steps(1)}, linear]}, 60,
        lambda o: S.ChainedScheduler([S.ExponentialLR(o, 0.95), S.LinearLR(o, 0.2, 1.0, 10)]))
    return cases


class LeanMean:
    """A running mean kept in bfloat16 with random rounding, or in 8 bits: bitsandbytes' dynamic maps and blocks of 256
    (Dettmers et al. 2022), but that a square with the code 0 is read as half of the smallest number."""

    def __init__(self, how, place, is_square, n):
        self.how, self.place, self.n = how, place, n
        numbers = [0.0, 1.0]
        for decade in range(7):
            parts = 2 ** (decade + 1) if is_square else 2 ** decade
            middles = [(0.1 + 0.9 * (k + 0.5) / parts) * 10.0 ** (decade - 6) for k in range(parts)]
            numbers += middles if is_square else middles + [-x for x in middles]
        self.numbers = np.sort(np.array(numbers)).astype(np.float32).astype(np.float64)
        self.middles = (self.numbers[:-1] + self.numbers[1:]) / 2
        self.read_as = self.numbers.copy()
        if is_square:
            self.read_as[0] = self.numbers[1] / 2
        self.values = np.zeros(n)

    def write(self, values, step):
        if self.how == "8bit":
            blocks = np.zeros(-(-self.n // 256) * 256)
            blocks[:self.n] = values
            blocks = blocks.reshape(-1, 256)
            largest = np.abs(blocks).max(1).astype(np.float32).astype(np.float64)[:, None]
            normal = (blocks / np.where(largest == 0, 1, largest)).astype(np.float32).astype(np.float64)
            codes = np.searchsorted(self.middles, normal)
            self.values = (self.read_as[codes] * largest).reshape(-1)[:self.n]
            return
        key = hashed(hashed(hashed(1) ^ self.place) ^ step)
        index = np.arange(self.n, dtype=np.uint64)
        noise = np.array(hashed((index * 0x9E3779B9 + key) % 2 ** 32)) % 2 ** 16
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        self.values = ((bits + noise) // 2 ** 16 * 2 ** 16).astype(np.uint32).view(np.float32).astype(np.float64)


def hashed(x):
    """lowbias32 of Chris Wellons' "hash prospector"."""
    x = np.uint64(x) if np.isscalar(x) else x
    x = x ^ (x >> np.uint64(16))
    x = x * np.uint64(0x7FEB352D) % np.uint64(2 ** 32)
    x = x ^ (x >> np.uint64(15))
    x = x * np.uint64(0x846CA68B) % np.uint64(2 ** 32)
    return x ^ (x >> np.uint64(16))


def run_lean(entry, how, decay):
    """One tensor of 5000 values; the gradient of value k is that of the problem above times 10^-(k mod 5), so that the
    blocks have gradients of very different sizes. Every 83rd value is stored."""
    n, rate = 5000, 0.01
    k = np.arange(n, dtype=np.float64)
    x = np.sin(1 + 0.7 * k)
    m, v = LeanMean(how, 0, False, n), LeanMean(how, 1, True, n)
    saved = []
    for t in range(100):
        g = ((0.2 + 0.3 * (k % 7)) * x + 0.3 * np.cos(3 * x) + 0.5 * np.sin(0.3 * t + k)) * 10.0 ** -(k % 5)
        if entry == "Lion":
            x = x * (1 - rate * decay) - rate * np.sign(0.9 * m.values + 0.1 * g)
            m.write(0.99 * m.values + 0.01 * g, t + 1)
        else:
            before = x * (1 - rate * decay if entry == "AdamW" else 1)
            if entry == "Adam":
                g = g + decay * x
            mean, square = 0.9 * m.values + 0.1 * g, 0.999 * v.values + 0.001 * g * g
            x = before - rate / (1 - 0.9 ** (t + 1)) * mean / (np.sqrt(square / (1 - 0.999 ** (t + 1))) + 1e-8)
            m.write(mean, t + 1)
            v.write(square, t + 1)
        if t + 1 in SAVED:
            saved.append(x[::83].tolist())
    return {"entry": "optim." + entry, "rate": rate, "options": {"state": how, "lr": rate, "weight_decay": decay},
            "values": saved}


golden = {
    "torch": torch.__version__.split("+")[0],
    "steps": SAVED,
    "optimizers": [run_optimizer(name, *case) for name, case in CASES.items()],
    "lean": [run_lean(entry, how, decay) for entry, decay in [("Adam", 0.0), ("AdamW", 0.1), ("Lion", 0.3)]
             for how in ["8bit", "bfloat16"]],
    "schedules": schedule_cases(),
    "step": [{"every": every, "factor": factor,
              "factors": factors(lambda o: lr_scheduler.StepLR(o, every, factor), 30)}
             for every, factor in [(1, 0.9), (7, 0.1), (10, 0.5)]],
    "cosine": [{"total": total, "warmup": warmup, "floor": floor, "factors": warm_cosine(total, warmup, floor)}
               for total, warmup, floor in [(40, 0, 0.0), (40, 0, 0.1), (40, 5, 0.0), (50, 1, 0.25)]],
    "plateau": plateau_cases(),
}
pathlib.Path(__file__).with_name("optim_golden.json").write_text(
    json.dumps(golden, separators=(",", ":")).replace("},{", "},\n{") + "\n"
)
