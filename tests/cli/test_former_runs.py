"""Runs that a former version began and left interrupted (tests/golden/former_runs.json) go on to the end that they
would have had. Numbers are compared, not bytes: the machine that wrote the checkpoints may have other vector
instructions."""

import base64
import json
import sqlite3
import unittest

from program import SOURCE, CliTest

RUNS = json.loads((SOURCE / "tests/golden/former_runs.json").read_text())


class FormerRuns(CliTest):
    def begun(self, name):
        """Writes the run as the former version left it, and trains its recipe anew beside it."""
        for path, content in RUNS[name].items():
            if isinstance(content, str):
                self.write(f"run/{path}", content.replace("@folder@", str(self.folder)))
            elif "base64" in content:
                self.write(f"run/{path}", base64.b64decode(content["base64"]))
            else:
                with sqlite3.connect(self.folder / "run" / path) as study:
                    study.executescript(content["sql"])
                study.close()
        self.write("r.lua", RUNS[name]["recipe/r.lua"].replace("for i = 1, 3e8 do end", ""))
        self.run_program("r.lua", "--threads", "1", "--out", "whole")
        return self.folder / "run", self.folder / "whole"

    def assert_close_rows(self, run, whole):
        rows, others = self.rows(run), self.rows(whole)
        self.assertEqual([row.keys() for row in rows], [row.keys() for row in others])
        for row, other in zip(rows, others):
            for key in row.keys() - {"seconds", "best"}:
                self.assertAlmostEqual(row[key], other[key], places=4, msg=f"{key} of {row} and {other}")

    def test_a_fit(self):
        run, whole = self.begun("fit")
        self.run_program("resume", "run")
        summary = self.summary(run)
        self.assertEqual((summary["status"], summary["resumed"], summary["steps"]), ("done", [7], 15))
        self.assertEqual(summary["best"]["step"], self.summary(whole)["best"]["step"])
        self.assert_close_rows(run, whole)

    def test_a_task(self):
        run, whole = self.begun("task")
        self.run_program("resume", "run")
        self.assertEqual(self.summary(run)["status"], "done")
        self.assert_close_rows(run, whole)
        self.assertEqual(self.rows(run)[-1]["seen"], 5 * 24)

    def test_a_sweep(self):
        run, whole = self.begun("sweep")
        self.run_program("resume", "run", "--workers", "1")
        self.assertEqual(self.summary(run)["status"], "done")
        self.assertEqual(self.summary(run / "trials/0001/seed-1")["resumed"], [5])
        for trial in range(3):
            folder = f"trials/{trial:04}/seed-1"
            self.assert_close_rows(run / folder, whole / folder)
        best = [self.summary(folder)["best"]["trial"] for folder in (run, whole)]
        self.assertEqual(*best)


if __name__ == "__main__":
    unittest.main()
