"""Files with random damage: those of data are read or refused, those of run folders are read, repaired or refused."""

import shutil

from attacks import attack, check, run
from subjects import FIT, SWEEP

CSV = """local nn = lab.nn
return lab.fit {
  name = "f", data = lab.data.csv { path = "d.csv", target = "c" }:split { train = 0.5, val = 0.5 },
  model = nn.Sequential { nn.Flatten(), nn.Linear(3) }, loss = "mse", optim = lab.optim.SGD { lr = 1e-3 }, epochs = 1,
}
"""
TABLE = "a,b,c\n" + "".join(f"{i},{i * i},{i / 7}\n" for i in range(40))


def prepare(place):
    """A finished fit, one that was killed, and a finished sweep."""
    for name, text in (("fit", FIT), ("sweep", SWEEP)):
        (place / f"{name}.lua").write_text(text)
        code, _, err = run([f"{name}.lua", "--out", name, "--threads", "1", "--quiet"], place)
        check(code == 0, err)
    shutil.copytree(place / "fit", place / "unfinished")
    (place / "unfinished" / "summary.json").unlink()
    return [place / "fit", place / "sweep", place / "unfinished"]


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


def one(draw, folder, runs, number):
    if number % 4 == 0:
        (folder / "d.csv").write_bytes(damaged(draw, TABLE.encode()))
        (folder / "r.lua").write_text(CSV)
        code, _, _ = run(["r.lua", "--out", "run", "--threads", "1", "--quiet"], folder)
        return f"data, exit {code}"
    original = draw.choice(runs)
    copy = folder / "run"
    shutil.copytree(original, copy)
    victim = draw.choice([path for path in sorted(copy.rglob("*")) if path.is_file()])
    victim.write_bytes(damaged(draw, victim.read_bytes()))
    command = draw.choice((["report", "run"], ["report", "run", "--json"], ["report", "run", "--csv"], ["list", "run"],
                           ["resume", "run", "--quiet"], ["predict", "run"]))
    code, _, err = run(command, folder)
    if code:
        check(len(err) < 20000, "the message is endless")
    return f"{command[0]}, exit {code}"


attack("files", 10000, one, prepare, "files")
