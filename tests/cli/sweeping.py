"""Shared by the tests of sweeps: a recipe with one, and what its study and its trials hold."""

import json
import sqlite3
import struct

from program import CliTest, tensors

SWEEP = """local nn = lab.nn
local data = lab.data.blobs { samples = 120, seed = 3 }:split { train = 0.5, val = 0.25, test = 0.25 }
local function build(hp)
  %(before)s
  return lab.fit {
    name = "member", data = data, loss = "cross_entropy", metrics = { "accuracy" }, batch = 16, epochs = %(epochs)s,
    model = nn.Sequential { nn.Linear(8), nn.ReLU(), nn.Linear(3) }, optim = lab.optim.SGD { lr = hp.lr },
    %(fit)s
  }
end
%(run)s lab.sweep {
  name = "s", space = { lr = %(lr)s%(space)s }, metric = "%(metric)s", %(scheduler)s sampler = lab.sampler.%(sampler)s,
  %(trials)s build = build,
  %(more)s
}
"""
DEFAULTS = {"before": "", "epochs": "4", "fit": "", "run": "return", "lr": "lab.space.log(1e-3, 1)", "space": "",
            "metric": "val.loss", "sampler": "random()", "scheduler": "", "trials": "trials = 12,", "more": ""}
# Long enough to be caught in the middle.
SLOW = {"epochs": "40", "fit": "on = { validate = function() for i = 1, 300000 do end end },"}
HALVING = {"scheduler": "scheduler = lab.scheduler.halving { configurations = 9 },", "epochs": "9",
           "trials": "trials = 13,"}
OWN_MIN = {"scheduler": "scheduler = lab.scheduler.halving { configurations = 9, min = 1 },"}
ASHA = {"scheduler": "scheduler = lab.scheduler.asha { max = 9 },", "epochs": "9", "trials": "trials = 20,"}
PRUNED = {"sampler": "tpe { startup = 4 }", "trials": "trials = 14, seeds = 2, deterministic = true,",
          "more": "pruner = lab.pruner.asha { min = 1, reduction = 2 },"}


def sweep(**options):
    return SWEEP % {**DEFAULTS, **options}


def trials(stage):
    """What of each trial must not depend on how it ran."""
    with sqlite3.connect(stage / "study.db") as study:
        rows = study.execute("SELECT number, state, point, values_, info FROM trials ORDER BY number").fetchall()
    study.close()
    return [(number, state, point, values, info and json.loads(info)["seed_values"])
            for number, state, point, values, info in rows]


def reports(stage):
    """What each trial has reported in its last attempt, by trial, repeat and validation."""
    with sqlite3.connect(stage / "study.db") as study:
        rows = study.execute("SELECT trial, repeat, resource, value FROM reports ORDER BY id").fetchall()
    study.close()
    return {row[:3]: row[3] for row in rows}


def infos(stage):
    with sqlite3.connect(stage / "study.db") as study:
        rows = [json.loads(info) for info, in study.execute("SELECT info FROM trials ORDER BY number")]
    study.close()
    return rows


def last_tensors(fit):
    """The step of the last checkpoint of a fit, and its float64 tensors by name, as lists of numbers."""
    path = max((fit / "checkpoints").glob("last-*.safetensors"))
    return path.stem, {name: struct.unpack(f"<{len(tensor.bytes) // 8}d", tensor.bytes)
                       for name, tensor in tensors(path).items() if tensor.dtype == "F64"}


def until_rows(running, stage, trial, count, repeat=1):
    """Waits for `count` rows of a trial's repeat, whichever attempt trains it or whether it has ended."""
    folder = stage / f"trials/{trial:04}"

    def rows():
        for place in (folder, *folder.glob("attempt-*")):
            try:
                if (place / f"seed-{repeat}/metrics.jsonl").read_bytes().count(b"\n") >= count:
                    return True
            except OSError:
                pass  # not there yet, or moved meanwhile
        return False

    running.until(rows, f"row {count} of repeat {repeat} in {folder}")


def timeless(summary):
    """What of a stage's summary must not depend on its time."""
    # A resumed training lacks some figures of its health (docs/health.md), so that the step and the evidence of a
    # verdict may differ, and with them the remedy.
    faults = [(one["kind"], one["count"], one["trials"]) for one in summary.get("health", [])]
    return {**{key: value for key, value in summary.items()
               if key not in ("seconds", "resumed", "out", "speed", "health")}, "faults": faults}


class SweepTest(CliTest):
    def sweep(self, **options):
        self.write("r.lua", sweep(**options))

    def timeless(self, run):
        return timeless(self.summary(run))
