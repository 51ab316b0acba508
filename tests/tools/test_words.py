"""Sources and pages are easy to read: lines of at most 120 columns, comments that begin with their subject, and
numbers by their names."""

import os
import pathlib
import re
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["SOURCE_DIR"])

MOST_COLUMNS = 120
FOLDERS = (".ci", "bindings", "docs", "engine", "recipes", "stdlib", "tests", "tools")
ENDINGS = (".cpp", ".cu", ".h", ".lua", ".md", ".py", ".sh", ".cmake", "CMakeLists.txt")
GENERATED = "docs/reference.md"

SO_MANY = re.compile(r"\b[Ss]o\smany\b")  # the reader does not learn how many
NAMELESS = 'the number has a name: write that instead of "so" and "many"'
OF = re.compile(r"^\s*(//|--|#) Of ")  # "Of a part": the reader does not learn what the code below is


def sources(root):
    """Sources, scripts and pages that people write: no data, and nothing that stands below a hidden folder."""
    yield from root.glob("CMakeLists.txt")
    yield from root.glob("*.md")
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            hidden = any(part.startswith((".", "__")) for part in path.relative_to(root / folder).parts)
            if hidden or not path.is_file() or path == root / GENERATED:
                continue
            if path.name.endswith(ENDINGS) or not path.suffix and path.read_bytes().startswith(b"#!"):
                yield path


def prose_of(page):
    """The page's lines, with nothing in place of tables and code, whose lines may be long."""
    is_code = False
    for line in page:
        fence = line.lstrip().startswith("```")
        is_code ^= fence
        yield "" if fence or is_code or line.startswith("|") else line


def follows_comment(lines, index):
    return index > 0 and re.match(r"\s*(//|--|#)", lines[index - 1])


def faults_of(path, text):
    lines = text.splitlines()
    if str(path).endswith(".md"):
        lines = list(prose_of(lines))
    faults = []
    for index, line in enumerate(lines):
        if len(line) > MOST_COLUMNS:
            faults.append(f"{path}:{index + 1}: {len(line)} columns, at most {MOST_COLUMNS} are allowed")
        if SO_MANY.search(line):
            faults.append(f"{path}:{index + 1}: {NAMELESS}")
        if OF.match(line) and not follows_comment(lines, index):
            faults.append(f'{path}:{index + 1}: the comment begins with "Of": begin with what the code is')
    return faults


class Words(unittest.TestCase):
    def test_sources(self):
        faults = []
        for path in sources(SOURCE):
            faults += faults_of(path.relative_to(SOURCE), path.read_text(encoding="utf-8"))
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_faults_are_found(self):
        self.assertEqual(faults_of("a.cpp", "// Samples of a part.\nint n;\n// Rows\n// Of course.\n" + "x" * 120), [])
        self.assertEqual(faults_of("a.cpp", "int n;\n  // Of a part.\n"),
                         ['a.cpp:2: the comment begins with "Of": begin with what the code is'])
        self.assertEqual(faults_of("a.h", "// Keeps so" + " many rows.\n"), ["a.h:1: " + NAMELESS])
        self.assertEqual(faults_of("a.lua", "é" * 121), ["a.lua:1: 121 columns, at most 120 are allowed"])
        long = "x" * 121
        self.assertEqual(faults_of("a.md", f"```lua\n{long}\n```\n| {long} |\n{long}\n"),
                         ["a.md:5: 121 columns, at most 120 are allowed"])

    def test_data_and_hidden_folders_are_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("engine/core/a.cpp", "engine/core/a.json", "tools/.venv/b.py", "docs/c.md", GENERATED,
                         ".ci/run", "tests/data/x"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("#!/bin/bash\n" if name == ".ci/run" else "\n")
            self.assertEqual([str(path.relative_to(root)) for path in sources(root)],
                             [".ci/run", "docs/c.md", "engine/core/a.cpp"])


if __name__ == "__main__":
    unittest.main()
