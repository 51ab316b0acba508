"""Real comparisons by `trainlab compare`: recipes against themselves, and against themselves with twice the rate.

    python3 tools/bench/pairs.py [--count 25] [--folder FOLDER]

Compares --count perceptrons on the digits (of several widths and rates) with themselves, where every verdict but
`unclear` and `equal` is false, and with the same ones at twice the rate, which reach the target in fewer steps, where
`slower` is false. The target is a loss that the recipe has reached after half of its training. Prints the verdicts, and
ends with 1 when more than 5 % are false.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

from programs import TRAINLAB, run

RECIPE = """local nn = lab.nn
local lr, width = lab.param { "lr", 0.002 }, lab.param { "width", 16 }
return lab.fit {
  name = "digits", data = lab.data.digits():split { train = 0.7, val = 0.3, seed = 7 },
  model = nn.Sequential { nn.Flatten(), nn.Linear(width), nn.ReLU(), nn.Linear(10) },
  loss = "cross_entropy", optim = lab.optim.AdamW { lr = lr }, batch = 32, epochs = 10,
}
"""
WIDTHS = (8, 16, 32, 64, 128)
RATES = (0.001, 0.0014, 0.002, 0.0028, 0.004)


def compared(folder, width, lr, factor):
    """The verdict on the recipe at `factor` times its rate against the recipe."""
    common = ["--threads", "1", "--quiet", "--json"]
    size = ["--width", str(width)]
    out = str(folder / f"pilot-{width}-{lr}")
    if not os.path.exists(out):
        run([TRAINLAB, "recipe.lua", *size, "--lr", str(lr), "--seed", "1000", "--out", out, *common], cwd=folder)
    rows = [json.loads(line) for line in pathlib.Path(out, "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    target = f"val.loss={rows[len(rows) // 2]['val.loss']:.4g}"
    sides = [f"--a=lr={lr}", f"--a=width={width}", f"--b=lr={lr * factor}", f"--b=width={width}"]
    words = ["compare", "recipe.lua", "--target", target, *sides, *common]
    return json.loads(run([TRAINLAB, *words, "--out", str(folder / f"{width}-{lr}-{factor}")], cwd=folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=25, help="comparisons of each kind")
    parser.add_argument("--folder", help="where the runs are kept")
    options = parser.parse_args()
    points = [(width, lr) for lr in RATES for width in WIDTHS][:options.count]
    false, all_of_them = 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.folder or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "recipe.lua").write_text(RECIPE, encoding="utf-8")
        print("| B | comparisons | faster | slower | equal | unclear | pairs | ratio |", flush=True)
        print("| --- " * 8 + "|", flush=True)
        for name, factor, wrong in (("A itself", 1, ("faster", "slower")), ("A at twice its rate", 2, ("slower",))):
            found = [compared(folder, width, lr, factor) for width, lr in points]
            verdicts = [one["verdict"] for one in found]
            counts = " | ".join(str(verdicts.count(word)) for word in ("faster", "slower", "equal", "unclear"))
            seeds = sum(one["seeds"] for one in found) / len(found)
            ratios = sorted(one["speed"]["ratio"] for one in found)
            print(f"| {name} | {len(found)} | {counts} | {seeds:.1f} | {ratios[len(ratios) // 2]:.2f} |", flush=True)
            false += sum(verdict in wrong for verdict in verdicts)
            all_of_them += len(found)
    print(f"\n{false} of {all_of_them} verdicts are false")
    sys.exit(0 if false <= 0.05 * all_of_them else 1)


if __name__ == "__main__":
    main()
