"""A model that takes twice the memory that its training may take, with the optimizer's state in a file.

    python3 tools/bench/offload.py [--width 1024] [--layers 8] [--steps 30] [--threads 1]

The limit (--memory) is half of the bytes that a plain step takes. Trains without a limit; under the limit, which is
refused; under the limit with memory = { offload = "optimizer", fuse_step = true }; and so once more, killed after its
first checkpoint and resumed. Prints a table, and ends with 1 when a peak passes the limit or a run ends in other bytes.
`training` is the time of a step without checkpoints and the rest.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from programs import HERE, TRAINLAB, run

RECIPE = os.path.join(HERE, "recipes", "offload.lua")
OPTIONS = ["--set", "memory.offload=optimizer", "--set", "memory.fuse_step=true"]


def end_of(folder):
    """The summary of a run, and the hash of its last checkpoint."""
    last = max(pathlib.Path(folder, "checkpoints").glob("last-*.safetensors"))
    return json.loads(pathlib.Path(folder, "summary.json").read_text()), hashlib.sha256(last.read_bytes()).hexdigest()


def train_and_kill(command, folder):
    """Kills the training once it has a checkpoint, and resumes it."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not list(pathlib.Path(folder, "checkpoints").glob("last-*.json")):
        time.sleep(0.01)
    if process.poll() is not None:
        sys.exit("the run ended before its first checkpoint: more --steps are needed")
    process.kill()
    process.wait()
    run([TRAINLAB, "resume", folder, "--json", "--quiet"])


def measure(row, width=1024, layers=8, steps=30, threads=1):
    """Calls row(cells, is_right) for each way to train."""
    model = ["--width", str(width), "--layers", str(layers), "--steps", str(steps)]
    checked = json.loads(run([TRAINLAB, "check", RECIPE, *model, "--json"]))
    plain = checked["stages"][0]["memory"]["step"]
    limit = plain // 2
    limited = ["--memory", f"{limit}B"]
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        def command(name, more):
            return [TRAINLAB, RECIPE, *model, "--threads", str(threads), "--json", "--quiet", "--out",
                    os.path.join(folder, name), *more]

        def tell(name, text, most):
            summary, end = end_of(os.path.join(folder, name))
            memory = summary["memory"]
            training = summary["seconds"] * summary["speed"]["shares"]["training"] / steps
            is_right = summary["status"] == "done" and memory["peak"] <= most and end == first[0]
            row((text, f"{memory['peak'] / 1e6:.1f} MB", f"{memory['offloaded'] / 1e6:.1f} MB",
                 f"{1e3 * training:.1f} ms", "yes" if end == first[0] else "**no**"), is_right)

        run(command("plain", []))
        first = [end_of(os.path.join(folder, "plain"))[1]]
        tell("plain", "plain, without a limit", plain * 2)
        refused = subprocess.run(command("refused", limited), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 text=True, check=False)
        row((f"plain, limit {limit / 1e6:.1f} MB", "refused", "", "", ""),
            refused.returncode == 1 and "out of memory" in refused.stderr)
        run(command("file", limited + OPTIONS))
        tell("file", f"state in a file, limit {limit / 1e6:.1f} MB", limit)
        train_and_kill(command("killed", limited + OPTIONS), os.path.join(folder, "killed"))
        tell("killed", "the same, killed and resumed", limit)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    wrong = []

    def row(cells, is_right):
        wrong.extend([] if is_right else [cells])
        print("| " + " | ".join(cells) + " |", flush=True)

    row(("training", "peak of tensors", "in the file", "a step", "same bytes"), True)
    row(("---",) * 5, True)
    measure(row, **vars(options))
    print(f"\n{len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
