"""Real comparisons by `trainlab compare`: recipes against themselves, and against themselves with twice the rate.

    python3 tools/bench/pairs.py [--count 25] [--folder FOLDER]

Compares --count perceptrons on the digits (of several widths and rates) with themselves, where every verdict but
`unclear` and `equal` is false, and with the same ones at twice the rate, which reach the target in fewer steps, where
`slower` is false. In every second comparison of a recipe with itself the layers of B stand one place further back,
behind a nn.Flatten that does nothing and stands last in A: initial weights are drawn by the place of a layer, so that
both sides draw others, and the words on the quality are put to the test, too. Otherwise both trainings of a pair are
equal but for their times. The target is a loss that the recipe has reached after half of its training. Prints the
verdicts, and ends with 1 when more than 5 % of those on the speed are false, or more of those on the quality, at the
end or in equal time, than words that are false in 5 % of comparisons reach by chance.
"""

import argparse
import json
import math
import os
import pathlib
import sys
import tempfile

from programs import TRAINLAB, run

RECIPE = """local nn = lab.nn
local lr, width = lab.param { "lr", 0.002 }, lab.param { "width", 16 }
local draw = lab.param { "draw", 1 }
local function net()
  local flat, wide, relu, last = nn.Flatten(), nn.Linear(width), nn.ReLU(), nn.Linear(10)
  if draw == 1 then return nn.Sequential { flat, wide, relu, last, flat } end
  return nn.Sequential { flat, flat, wide, relu, last }
end
return lab.fit {
  name = "digits", data = lab.data.digits():split { train = 0.7, val = 0.3, seed = 7 },
  model = net(), loss = "cross_entropy", optim = lab.optim.AdamW { lr = lr }, batch = 32, epochs = 10,
}
"""
CHANCE = 0.05  # of a false word
WIDTHS = (8, 16, 32, 64, 128)
RATES = (0.001, 0.0014, 0.002, 0.0028, 0.004)


def compared(folder, width, lr, factor, draw):
    """The verdict on the recipe at `factor` times its rate, with the draws of this number, against the recipe."""
    common = ["--threads", "1", "--quiet", "--json"]
    size = ["--width", str(width)]
    out = str(folder / f"pilot-{width}-{lr}")
    if not os.path.exists(out):
        run([TRAINLAB, "recipe.lua", *size, "--lr", str(lr), "--seed", "1000", "--out", out, *common], cwd=folder)
    rows = [json.loads(line) for line in pathlib.Path(out, "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    target = f"val.loss={rows[len(rows) // 2]['val.loss']:.4g}"
    sides = [f"--a=lr={lr}", f"--a=width={width}", f"--b=lr={lr * factor}", f"--b=width={width}",
             f"--b=draw={draw}"]
    words = ["compare", "recipe.lua", "--target", target, *sides, *common]
    return json.loads(run([TRAINLAB, *words, "--out", str(folder / f"{width}-{lr}-{factor}-{draw}")], cwd=folder))


def is_word(quality):
    return quality["verdict"] in ("better", "worse")


def most_false(count):
    """The number of false words that words of which 5 % are false exceed in less than 5 % of such benchmarks."""
    def share_above(most):
        return 1 - sum(math.comb(count, k) * CHANCE**k * (1 - CHANCE) ** (count - k) for k in range(most + 1))
    return next(most for most in range(count + 1) if share_above(most) < CHANCE)


def row_of(name, found):
    """The row of the table for the verdicts on one kind of B."""
    verdicts = [one["verdict"] for one in found]
    ratios = sorted(one["speed"]["ratio"] for one in found)
    cells = [name, len(found), *(verdicts.count(word) for word in ("faster", "slower", "equal", "unclear")),
             sum(is_word(one["quality"]) for one in found),
             sum(is_word(one["quality"]["at_equal_time"]) for one in found),
             f"{sum(one['seeds'] for one in found) / len(found):.1f}",
             f"{ratios[len(ratios) // 2]:.2f}", f"{ratios[0]:.2f} to {ratios[-1]:.2f}"]
    return f"| {' | '.join(map(str, cells))} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=25, help="comparisons of each kind")
    parser.add_argument("--folder", help="where the runs are kept")
    options = parser.parse_args()
    points = [(width, lr) for lr in RATES for width in WIDTHS][:options.count]
    if len(points) < 2:
        parser.error("--count: expected at least 2")
    same, of_other_draws, faster_by_rate = [], [], []
    kinds = (("A itself", points[::2], 1, 1, same), ("A with other draws", points[1::2], 1, 2, of_other_draws),
             ("A at twice its rate", points, 2, 1, faster_by_rate))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.folder or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "recipe.lua").write_text(RECIPE, encoding="utf-8")
        print("| B | comparisons | faster | slower | equal | unclear | better or worse | in equal time | pairs | ratio "
              "| lowest to highest |", flush=True)
        print("| --- " * 11 + "|", flush=True)
        for name, of_kind, factor, draw, all_found in kinds:
            found = [compared(folder, width, lr, factor, draw) for width, lr in of_kind]
            print(row_of(name, found), flush=True)
            all_found += found
    of_itself = same + of_other_draws
    speeds = (sum(one["verdict"] in ("faster", "slower") for one in of_itself)
              + sum(one["verdict"] == "slower" for one in faster_by_rate))
    # Trainings of A itself end with the same values, of which no word can be false.
    ends = sum(is_word(one["quality"]) for one in of_other_draws)
    at_equal_time = sum(is_word(one["quality"]["at_equal_time"]) for one in of_itself)
    count = len(of_itself) + len(faster_by_rate)
    print(f"\n{speeds} of {count} verdicts on the speed are false; {ends} of {len(of_other_draws)} comparisons of a "
          f"recipe with itself under other draws have a word on the quality at the end, {at_equal_time} of "
          f"{len(of_itself)} of a recipe with itself in equal time")
    is_right = (speeds <= 0.05 * count and ends <= most_false(len(of_other_draws))
                and at_equal_time <= most_false(len(of_itself)))
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
