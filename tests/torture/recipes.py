"""Recipes with random mistakes: each ends with a message that names file and line, or works."""

import os
import re

from attacks import SOURCE, attack, check, run
from subjects import SUBJECTS

TOKEN = re.compile(r'"[^"\n]*"|\d+\.?\d*(?:e-?\d+)?|[A-Za-z_]\w*|--[^\n]*|\s+|\.\.+|[=~<>]=|.')
VALUES = ("nil", "true", "-1", "0", "1e308", "2^53", "0/0", "1/0", '""', '"x"', "{}", "{ 1 }", "function() end", "lab",
          "lab.nn", "lab.nn.Linear(3)", "print", "math.huge", '("a"):rep(1000)', "coroutine.create(print)",
          "setmetatable({}, {})", "io", "lab.tensor { 1 }", "'\\0'", '"\\27[2J"', "(function() error({}) end)()")
LINE = re.compile(r"[\w./-]+\.lua:\d+")


def texts():
    found = list(SUBJECTS.values())
    for path in sorted((SOURCE / "recipes").glob("*.lua")):
        text = path.read_text()
        if "path" not in text and "images" not in text:
            found.append(text)
    return found


def spoiled(draw, text):
    tokens = TOKEN.findall(text)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        words = [i for i, token in enumerate(tokens) if not token.isspace() and not token.startswith("--")]
        at, other = draw.choice(words), draw.choice(words)
        kind = draw.randrange(6)
        if kind == 0:
            del tokens[at]
        elif kind == 1:
            tokens.insert(at, tokens[other])
        elif kind == 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 3:
            values = [i for i in words if re.fullmatch(r'"[^"]*"|\d.*|\w+', tokens[i])]
            tokens[draw.choice(values)] = draw.choice(VALUES)
        elif kind == 4:
            letters = list(tokens[at])
            letters[draw.randrange(len(letters))] = chr(draw.choice((0, 7, 34, 92, 123, 128, 255, 0x2028)))
            tokens[at] = "".join(letters)
        else:
            tokens[at:at] = tokens[other:other + draw.randint(2, 8)]
    return "".join(tokens)


def one(draw, folder, recipes, number):
    (folder / "r.lua").write_text(spoiled(draw, draw.choice(recipes)), errors="surrogateescape")
    # One in ten also trains, for at most 20 s: a mistake may make a training longer.
    trains = number % 10 == 0
    arguments = ["r.lua", "--threads", "1", "--out", "run", "--quiet"] if trains else ["check", "r.lua"]
    limits = {"preexec_fn": lambda: os.nice(5)}
    before = ["timeout", "--signal=INT", "--preserve-status", "20"] if trains else []
    code, _, err = run(arguments, folder, before=before, **limits)
    if code == 1:
        check(LINE.search(err), f"no line is named: {err}")
    return f"{'trained, ' if trains else ''}exit {code}"


attack("recipes", 10000, one, lambda place: texts(), "recipes", warm=True)
