"""Every thing that a recipe can name is there for Lua, in the help, in the reference and in the editor's file."""

import json
import os
import pathlib
import subprocess
import unittest

from program import CliTest

ENGINE = pathlib.Path(os.environ["TRAINLAB"]).parent.parent / "libexec" / "trainlab-engine"


class Entries(CliTest):
    def made(self, flag, name):
        path = self.folder / name
        subprocess.run([ENGINE, flag, path], check=True)
        return path.read_text()

    def test_none_is_missing_anywhere(self):
        entries = json.loads(self.made("--table", "table.json"))
        entries = {entry["name"]: entry for entry in entries}
        self.assertGreater(len(entries), 50)
        reference, meta = self.made("--reference", "reference.md"), self.made("--luacats", "lab.lua")
        lines = []
        for name, entry in entries.items():
            with self.subTest(entry=name):
                self.assertTrue(entry["doc"])
                shown = self.run_program("help", name).out
                self.assertIn(entry["doc"].split()[0], shown)
                self.assertIn(f'<a id="{name}"></a>', reference)
                last = name.replace(":", ".").rsplit(".", 1)[-1]
                self.assertIn(last, meta)
                for option in entry.get("options", []):
                    if option["name"] == "source" and ":" in name:
                        continue  # what stands before the colon
                    self.assertTrue(option["doc"], option)
                    self.assertIn(option["name"], shown)
                    self.assertIn(option["name"], meta)
            if entry["kind"] not in ("field", "method") and ":" not in name:
                # lab.tensor is called, and has functions too.
                lines.append(f'assert(type(lab.{name}) == "function" or tostring(lab.{name}) == "lab.{name}")')
        self.write("r.lua", "\n".join(lines) + "\n")
        self.run_program("r.lua")

    def test_float64_is_a_choice_wherever_float32_is(self):
        options = [line for line in self.made("--reference", "reference.md").splitlines()
                   if line.startswith("| `") and '"float32"' in line]
        self.assertGreater(len(options), 10)
        for option in options:
            self.assertIn('"float64"', option)


if __name__ == "__main__":
    unittest.main()
