"""The uninterrupted runs with which interrupted ones are compared."""

import time

from attacks import check, result_of, run
from subjects import SUBJECTS


def prepare(place):
    """Writes the recipes into `place`; gives for each kind the result of a whole run and its seconds."""
    wholes = {}
    for kind, text in SUBJECTS.items():
        (place / f"{kind}.lua").write_text(text)
        begin = time.monotonic()
        code, _, err = run([f"{kind}.lua", "--threads", "1", "--out", f"whole-{kind}", "--quiet"], place)
        check(code == 0, err)
        wholes[kind] = (result_of(place / f"whole-{kind}"), time.monotonic() - begin)
    return wholes
