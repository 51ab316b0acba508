"""The same runs over and over for hours: each ends in the same bytes, and nothing is left behind."""

import argparse
import os
import pathlib
import shutil
import tempfile
import time

from attacks import check, compare, run
from subjects import SUBJECTS
from wholes import prepare


def main():
    parser = argparse.ArgumentParser(prog="tests/torture/run soak")
    parser.add_argument("--count", type=float, default=6, help="hours")
    options = parser.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix="trainlab-soak-"))
    wholes = prepare(place)
    end, rounds = time.monotonic() + 3600 * options.count, 0
    others = set(os.listdir(tempfile.gettempdir()))
    while time.monotonic() < end:
        for kind in SUBJECTS:
            code, _, err = run([f"{kind}.lua", "--threads", "1", "--out", "again", "--quiet"], place)
            check(code == 0, err)
            compare(place / "again", wholes[kind][0])
            shutil.rmtree(place / "again")
        rounds += 1
    new = {name for name in set(os.listdir(tempfile.gettempdir())) - others if "trainlab" in name}
    check(not new, f"left in the folder for temporary files: {new}")
    print(f"soak: {rounds} rounds of {len(SUBJECTS)} runs in {options.count} h, each with the same end")
    shutil.rmtree(place)


main()
