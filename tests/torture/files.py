"""Files with random damage: those of data are read or refused, those of run folders are read, repaired or refused."""

import math
import shutil
import subprocess
import time

from attacks import LIMIT, PROGRAM, attack, check, compare, result_of, run
from program import npy
from subjects import FIT, SWEEP

CSV = """local nn = lab.nn
return lab.fit {
  name = "f", data = lab.data.csv { path = "d.csv", target = "c" }:split { train = 0.5, val = 0.5 }:normalize(),
  model = nn.Sequential { nn.Flatten(), nn.Linear(1) }, loss = "mse", optim = lab.optim.SGD { lr = 1e-3 }, epochs = 1,
}
"""
TABLE = "a,b,c\n" + "".join(f"{i},{i * i},{i / 7}\n" for i in range(40))


def prepare(place):
    """Folders of a finished fit, of one that was killed between two checkpoints, and of a finished sweep, each with the
    command that predicts and with the predictions; the result of the fit."""
    (place / "d.csv").write_text(TABLE)
    for name, text in (("fit", FIT), ("sweep", SWEEP), ("table", CSV)):
        (place / f"{name}.lua").write_text(text)
        code, _, err = run([f"{name}.lua", "--out", name, "--threads", "1", "--quiet"], place)
        check(code == 0, err)
    killed = place / "killed"
    process = subprocess.Popen([PROGRAM, "fit.lua", "--out", killed, "--threads", "1", "--quiet"], cwd=place)
    deadline = time.monotonic() + LIMIT
    while len(list(killed.glob("checkpoints/last-*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    process.kill()
    process.wait()
    check(not (killed / "summary.json").exists(), "the fit has ended before it was killed")
    runs = {}
    for folder, shape in ((place / "fit", (2, 1, 8, 8)), (place / "sweep", (32, 2)), (killed, (2, 1, 8, 8))):
        inputs = folder.with_suffix(".npy")
        inputs.write_bytes(npy(shape, [i % 7 / 7 for i in range(math.prod(shape))]))
        predict = ["predict", "run", "--input", inputs]
        code, predictions, err = run(["predict", folder, "--input", inputs], place)
        check(code == 0, err)
        runs[folder] = (predict, predictions)
    return runs, result_of(place / "fit")


def damaged(draw, data):
    data = bytearray(data)
    kind = draw.randrange(6)
    if kind == 0:
        return bytes(data[:draw.randrange(len(data) + 1)])
    if kind == 1:
        return b""
    if kind == 2:
        at = draw.randrange(len(data) + 1)
        return bytes(data[:at]) + draw.randbytes(draw.randint(1, 64)) + bytes(data[at:])
    for _ in range(draw.choice((1, 1, 4, 64))):
        if not data:
            break
        if kind == 3:
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        elif kind == 4:
            data[draw.randrange(len(data))] = draw.choice((0, 10, 34, 45, 57, 91, 123, 255))
        else:
            at = draw.randrange(len(data))
            del data[at:at + draw.randint(1, 16)]
    return bytes(data)


def one(draw, folder, prepared, number):
    if number % 4 == 0:
        (folder / "d.csv").write_bytes(damaged(draw, TABLE.encode()))
        (folder / "r.lua").write_text(CSV)
        code, _, err = run(["r.lua", "--out", "run", "--threads", "1", "--quiet"], folder)
        check(code != 1 or "d.csv" in err or "r.lua" in err, f"no file is named: {err}")
        return f"data, exit {code}"
    runs, whole = prepared
    original = draw.choice(list(runs))
    predict, predictions = runs[original]
    copy = folder / "run"
    shutil.copytree(original, copy)
    victim = draw.choice([path for path in sorted(copy.rglob("*")) if path.is_file()])
    victim.write_bytes(damaged(draw, victim.read_bytes()))
    command = draw.choice((["report", "run"], ["report", "run", "--json"], ["report", "run", "--csv"], ["list", "run"],
                           ["resume", "run", "--quiet"], predict))
    code, out, err = run(command, folder)
    if code:
        check(len(err) < 20000, "the message is endless")
    if command[0] == "resume" and original.name == "killed" and victim.name.startswith("last-"):
        check(code == 0, f"the checkpoint before is not taken: {err}")
        compare(copy, whole)
    if command is predict and code == 0 and original.name != "killed" and victim.parent.name == "checkpoints":
        check(out == predictions, "damaged weights predict something else")
    return f"{command[0]}, exit {code}"


attack("files", 10000, one, prepare, "files", warm=True)
