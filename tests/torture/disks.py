"""Disks that fill up: the run ends with one message, and with more space it goes on to the uninterrupted end."""

import os
import subprocess

from attacks import attack, check, compare, run
from wholes import prepare
from subjects import SUBJECTS


def one(draw, folder, wholes, number):
    kind = list(SUBJECTS)[number % len(SUBJECTS)]
    whole, _ = wholes[kind]
    disk, recipe = folder / "disk", folder.parent / f"{kind}.lua"
    disk.mkdir()
    used = sum(path.stat().st_size + 8192 for path in (folder.parent / f"whole-{kind}").rglob("*"))
    size = int(draw.uniform(16384, used))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], check=True)
    try:
        out = disk / "run"
        first = [recipe, "--threads", "1", "--out", out, "--quiet"]
        code, _, err = run(first, folder)
        check(code in (0, 2, 3), f"exit code {code}: {err}")
        full = code != 0
        if full:
            check("disk full" in err or "No space left" in err or "disk is full" in err, f"another reason: {err}")
        subprocess.run(["mount", "-o", "remount,size=256m", str(disk)], check=True)
        begun = (out / "manifest.toml").exists()
        code, _, err = run(["resume", out, "--quiet"] if begun else first, folder)
        check(code == 0, f"with space again the run does not go on: {err}")
        compare(out, whole)
        return "filled up" if full else "had room"
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


if os.geteuid() != 0:
    raise SystemExit("only root can mount small disks")
attack("disks", 100, one, prepare, "disks")
