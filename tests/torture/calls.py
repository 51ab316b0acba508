"""One system call of an engine fails, at random: the run ends with one message, or goes on, and is resumed."""

import shutil

from attacks import attack, check, compare, run
from wholes import prepare
from subjects import SUBJECTS

FAULTS = {"fsync": ("EIO", "ENOSPC"), "rename": ("EIO", "ENOSPC", "EACCES"), "write": ("ENOSPC", "EIO"),
          "openat": ("EMFILE", "EIO"), "mkdir": ("ENOSPC", "EROFS"), "pwrite64": ("ENOSPC", "EIO"),
          "ftruncate": ("EIO",), "fcntl": ("ENOLCK",), "mmap": ("ENOMEM",), "clone3": ("EAGAIN",)}


def one(draw, folder, wholes, number):
    kind = list(SUBJECTS)[number % len(SUBJECTS)]
    whole, _ = wholes[kind]
    out, recipe = folder / "run", folder.parent / f"{kind}.lua"
    call = draw.choice(list(FAULTS))
    error = draw.choice(FAULTS[call])
    # The first calls load the programs and their libraries, which without them cannot begin at all.
    when = int(draw.choice((1, 10, 100)) * draw.uniform(1, 10)) + (600 if call in ("mmap", "openat") else 0)
    first = [recipe, "--threads", "1", "--out", out, "--quiet"]
    strace = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}",
              "-e", f"inject={call}:error={error}:when={when}"]
    code, _, _ = run(first, folder, before=strace, may_be_silent=call == "write")
    begun = (out / "manifest.toml").exists()
    again, _, err = run(["resume", out, "--quiet"] if begun else first, folder)
    check(again == 0, f"{call} number {when} failed with {error} (exit {code}); afterwards: {err}")
    compare(out, whole)
    return f"ended with {code}"


if not shutil.which("strace"):
    raise SystemExit("needs Debian's strace")
attack("calls", 200, one, prepare, "failing calls")
