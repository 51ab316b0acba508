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


def one_round(place, wholes):
    for kind in SUBJECTS:
        code, _, err = run([f"{kind}.lua", "--threads", "1", "--out", "again", "--quiet"], place)
        check(code == 0, err)
        compare(place / "again", wholes[kind][0])
        shutil.rmtree(place / "again")


def main():
    parser = argparse.ArgumentParser(prog="tests/torture/run soak")
    parser.add_argument("--count", type=float, default=6, help="hours")
    options = parser.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix="trainlab-soak-"))
    wholes = prepare(place)
    begin, rounds, told = time.monotonic(), 0, 0
    others = set(os.listdir(tempfile.gettempdir()))
    hours = 0
    try:
        while hours < options.count:
            one_round(place, wholes)
            rounds += 1
            hours = (time.monotonic() - begin) / 3600
            if hours > told + 0.5:
                told = hours
                print(f"soak: {rounds} rounds in {hours:.1f} h", flush=True)
    except KeyboardInterrupt:
        hours = (time.monotonic() - begin) / 3600
    new = {name for name in set(os.listdir(tempfile.gettempdir())) - others if "trainlab" in name}
    check(not new, f"left in the folder for temporary files: {new}")
    print(f"soak: {rounds} rounds of {len(SUBJECTS)} runs in {hours:.1f} h, each with the same end")
    shutil.rmtree(place)


main()
