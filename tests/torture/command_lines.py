"""Command lines with random mistakes: each ends with a documented exit code and, unless with 0, with a message."""

from attacks import attack, check, run
from program import npy

LINES = (
    "r.lua --threads 1 --out run --quiet", "run r.lua --seed 3 --set optim.lr=0.1 --json --out run", "check r.lua",
    "check r.lua --step", "check r.lua --callbacks", "list", "list done", "report done", "report done --csv",
    "report done --json", "report done --html page.html", "help", "help nn.Linear", "help --json", "resume done",
    "extend done --epochs 4", "predict done --input x.npy", "predict done --input x.npy --format json --batch 1",
    "worker done", "completion bash", "--version", "r.lua --help", "--help",
)
WORDS = (
    "", "-", "--", "---", "--out", "--out=", "--threads", "0", "-1", "999999999999999999999", "1e999", "nan", "é",
    "\x1b[2J", "a" * 5000, "../..", "/dev/zero", "/dev/null", "/proc/self/mem", "/", ".", "r.lua", "done", "--set",
    "missing.lua", "a.b.c=1", "=", "--set=", "optim.lr=", "--json", "--json=1", "--device", "cuda:99", "cpu:1", "\n",
    "*", "--params", "done/manifest.toml", "done/summary.json", "--grace", "--seed", "-5", "--workers", "help", "run",
)

RECIPE = """local nn = lab.nn
local width = lab.param { "width", 8, doc = "units", min = 1 }
return lab.fit {
  name = "f", data = lab.data.blobs { samples = 60 }:split { train = 0.5, val = 0.5 },
  model = nn.Sequential { nn.Linear(width), nn.ReLU(), nn.Linear(3) },
  loss = "cross_entropy", optim = lab.optim.AdamW(), batch = 16, epochs = 2,
}
"""


def one(draw, folder, recipe, _):
    (folder / "r.lua").write_text(RECIPE)
    (folder / "x.npy").write_bytes(npy((2, 2), (0, 1, 2, 3)))
    run(["r.lua", "--out", "done", "--quiet", "--threads", "1"], folder)
    words = draw.choice(LINES).split()
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(words) + 1)
        kind = draw.randrange(4)
        if kind == 0 and at < len(words):
            del words[at]
        elif kind == 1:
            words.insert(at, draw.choice(words or [""]))
        elif kind == 2 and at < len(words):
            letters = list(words[at]) or ["-"]
            letters[draw.randrange(len(letters))] = draw.choice("-=/x0\x07é")
            words[at] = "".join(letters)
        else:
            words.insert(at, draw.choice(WORDS))
    code, out, err = run([word for word in words if "\0" not in word], folder)
    check("\x1b[2J" not in out + err, "an escape sequence reached the terminal")
    return f"exit {code}"


attack("command-lines", 500, one, unit="command lines", warm=True)
