"""Writes former_runs.json: runs that trainlab 0.1.0 began before schedulers and the schema 2 of studies, and left
interrupted. tests/cli/test_former_runs.py continues these runs with the present program.

    python3 former_runs.py PROGRAM    with PROGRAM that trainlab

A text file stands as it is, with @folder@ for the folder in which `trainlab` was called; other files in base64; a study
as the SQL that makes it.
"""

import base64
import json
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile

# A step takes long when it is announced, so that the interruption comes in this step.
ANNOUNCE = 'print("announced") for i = 1, 3e8 do end'
# No bias before BatchNorm: its gradient is rounding alone, which AdamW makes steps of the full rate.
FIT = """local nn = lab.nn
return lab.fit {
  name = "f", data = lab.data.blobs { samples = 48, seed = 3 }:split { train = 0.5, val = 0.25, test = 0.25 },
  model = nn.Sequential {
    nn.Linear(4, { bias = false }), nn.BatchNorm1d(), nn.ReLU(), nn.Dropout(0.2), nn.Linear(3),
  },
  loss = "cross_entropy", metrics = { "accuracy" }, optim = lab.optim.AdamW { lr = 0.01 },
  schedule = lab.sched.plateau { patience = 0 }, stop = lab.stop.patience { patience = 50 },
  batch = 8, epochs = 5, checkpoint = "100 steps",
  on = { step = function(run)
    run.state.sum = (run.state.sum or 0) + math.random()
    run:log("sum", run.state.sum)
    if run.step == 7 then %s end
  end },
}
""" % ANNOUNCE
TASK = """local nn = lab.nn
local data = lab.data.blobs { samples = 48, seed = 3 }:split { train = 0.5, val = 0.25, test = 0.25 }
return lab.task { name = "t", run = function(ctx)
  local model = lab.build(nn.Sequential { nn.Linear(4), nn.ReLU(), nn.Linear(3) }, { input = { 2 }, seed = ctx.seed })
  local opt = lab.optimizer(lab.optim.SGD { lr = 0.1, momentum = 0.9 }, model:parameters())
  ctx.state.seen = 0
  for batch in ctx:batches(data.train, { size = 8, epochs = 1, save = { model } }) do
    ctx.state.seen = ctx.state.seen + batch.size
  end
  for batch in ctx:batches(data.train, { size = 8, epochs = 4, save = { model, opt } }) do
    local loss = lab.ops.cross_entropy_loss(model:forward(batch.x), batch.y)
    opt:zero_grad() loss:backward() opt:step()
    ctx.state.seen = ctx.state.seen + batch.size
    ctx:log("train.loss", loss)
    ctx:log("seen", ctx.state.seen)
    if ctx.step == 6 then %s end
  end
  ctx:save("end", model)
end }
""" % ANNOUNCE
SWEEP = """local nn = lab.nn
return lab.sweep {
  name = "s", space = { lr = lab.space.log(1e-3, 1) }, metric = "val.loss", sampler = lab.sampler.random(), trials = 3,
  stack = false,
  build = function(hp) return lab.fit {
    name = "f", data = lab.data.blobs { samples = 48, seed = 3 }:split { train = 0.5, val = 0.25, test = 0.25 },
    model = nn.Sequential { nn.Linear(3) }, loss = "cross_entropy", optim = lab.optim.SGD { lr = hp.lr }, batch = 8,
    epochs = 4, on = { step = function(run) if hp.trial == 1 and run.step == 5 then %s end end },
  } end,
}
""" % ANNOUNCE


def interrupted(program, folder, recipe):
    (folder / "r.lua").write_text(recipe)
    with subprocess.Popen([program, "r.lua", "--threads", "1", "--out", "run"], cwd=folder,
                          stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.strip() == "announced":
                process.send_signal(signal.SIGINT)
    assert process.returncode == 130, process.returncode
    return folder / "run"


def stored(path, folder):
    if path.name == "study.db":
        with sqlite3.connect(path) as study:
            version = study.execute("PRAGMA user_version").fetchone()[0]
            sql = "\n".join(study.iterdump()) + f"\nPRAGMA user_version = {version};"
        study.close()
        return {"sql": re.sub(r"'[^',]*/\d+:\d+'", "'elsewhere/1:1'", re.sub(r"'[^',/]*:\d+'", "'elsewhere:1'", sql))}
    if path.suffix == ".safetensors":
        return {"base64": base64.b64encode(path.read_bytes()).decode()}
    return path.read_text().replace(str(folder), "@folder@")


def main():
    runs = {}
    for name, recipe in (("fit", FIT), ("task", TASK), ("sweep", SWEEP)):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            run = interrupted(str(pathlib.Path(sys.argv[1]).resolve()), folder, recipe)
            runs[name] = {str(path.relative_to(run)): stored(path, folder) for path in sorted(run.rglob("*"))
                          if path.is_file() and path.name not in ("lock", "log.txt") and "-wal" not in path.name
                          and "-shm" not in path.name and not path.name.startswith("events.")}
    file = pathlib.Path(__file__).with_suffix(".json")
    file.write_text(json.dumps(runs, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
