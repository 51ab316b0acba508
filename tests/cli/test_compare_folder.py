"""The folder of a comparison: `trainlab report` shows it, and the same command finds it again."""

import json
import unittest

from browser import NODE, shown_by_scripts
from comparing import NEVER, RECIPE, TARGET, Compare
from program import fit

LINE = ("a.lua", *TARGET, *NEVER, "--seeds", "3")


class Folder(Compare):
    def setUp(self):
        super().setUp()
        self.write("a.lua", RECIPE)

    def report(self, *arguments, code=0):
        return self.run_program("report", *arguments, code=code)

    def test_report_shows_a_comparison(self):
        first = self.compare(*LINE)
        folder = "runs/compare/a/001"
        self.assertEqual(self.report(folder).out, first.out)
        self.assertEqual(self.report(folder + "/").out, first.out)
        value = self.compare(*LINE, "--out", folder, "--json").json()
        self.assertEqual(self.report(folder, "--json").json(), value)
        self.assertEqual((value["status"], value["seeds"]), ("done", 3))
        # A run of the comparison is a run.
        both = self.report(folder, f"{folder}/a-001").out
        self.assertTrue(both.startswith(first.out), both)
        self.assertIn("a-001: a.lua, begun ", both)
        self.assert_said(self.report(folder, "--csv", code=2), "--csv: a comparison is no table")
        if NODE:
            self.assertEqual(self.report(folder, "--html", "p.html").out, first.out)
            self.assertEqual(shown_by_scripts(self, self.folder / "p.html")["title"], first.out.splitlines()[0])

    def test_the_margin_and_the_looks_are_those_of_the_command(self):
        first = self.compare("a.lua", *TARGET, *NEVER, "--seeds", "4", "--not-worse", "0.002", "--json").json()
        value = self.report("runs/compare/a/001", "--json").json()
        self.assertEqual(value, first)
        self.assertEqual((value["quality"]["margin"], value["looks"], value["seeds"]), (0.002, 1, 4))

    def test_who_judges_all_pairs_on_the_same_samples_is_told(self):
        first = self.compare(*LINE)
        self.assertIn("\n  data   all pairs are judged on the same 360 samples\n", first.out)
        self.assertEqual(self.report("runs/compare/a/001", "--json").json()["shared_samples"], 360)
        self.write("a.lua", RECIPE.replace(", seed = 7", ""))
        self.assertNotIn("  data ", self.compare(*LINE).out)
        self.assertIsNone(self.report("runs/compare/a/002", "--json").json()["shared_samples"])

    def test_report_of_a_part_of_a_comparison(self):
        self.compare(*LINE)
        folder = "runs/compare/a/001"
        self.keep_pairs(1)
        text = self.report(folder).out
        self.assertTrue(text.startswith("cannot tell from one seed\n"), text)
        self.assertTrue(text.endswith("  state  unfinished: the command that made it, again, goes on\n"), text)
        self.assertEqual(self.report(folder, "--json").json()["status"], "unfinished")
        self.keep_pairs(0)
        nothing = "no pair has ended\n  state  unfinished: the command that made it, again, goes on\n"
        self.assertEqual(self.report(folder).out, nothing)
        result = self.report(folder, "--html", "p.html", code=3)
        self.assertEqual(result.out, nothing)
        self.assert_said(result, "not written, because no pair has ended")
        self.assertEqual(self.report(folder, "--html", "p.html", "--json", code=3).json()["seeds"], 0)
        self.assertFalse((self.folder / "p.html").exists())

    def test_report_of_a_comparison_under_way(self):
        running = self.start("compare", "a.lua", *TARGET, "--a", "pause=100000000", "--threads", "1")
        running.until_rows(self.folder / "runs/compare/a/001/a-001", 1)
        self.assertEqual(self.report("runs/compare/a/001").out,
                         "no pair has ended\n  state  running: these are the pairs so far\n")

    def test_the_same_command_after_the_end(self):
        self.assertNotIn("begins anew", self.compare(*LINE).err)
        again = self.compare(*LINE)
        self.assert_said(again, "this comparison has ended, in runs/compare/a/001, and begins anew; trainlab report "
                                "runs/compare/a/001 shows its result")
        self.assertIn("  in     runs/compare/a/002\n", again.out)
        # Another question is another comparison.
        self.assertNotIn("begins anew", self.compare("a.lua", *TARGET, *NEVER, "--seeds", "4").err)

    def test_the_same_command_after_another_question(self):
        """A comparison that has not ended goes on, though another one was begun since."""
        self.compare(*LINE)
        self.keep_pairs(1)
        other = ("a.lua", "--target", "val.loss=1.6", *NEVER, "--within", "0.001 s")
        self.compare(*other)
        goes_on = self.compare(*LINE)
        self.assert_said(goes_on, "continues the comparison in runs/compare/a/001, which has 1 pair")
        self.assertIn("  in     runs/compare/a/001\n", goes_on.out)
        self.compare(*other)
        self.assertEqual(sorted(path.name for path in (self.folder / "runs/compare/a").iterdir()), ["001", "002"])

    def test_the_same_command_with_other_data(self):
        """All pairs of a comparison are trained on the same data."""
        def write_data(slope):
            self.write("d.csv", "x,y\n" + "".join(f"{i},{slope * i}\n" for i in range(20)))

        self.write("a.lua", 'local rate = lab.param { "rate", 1e-4 }\n' + fit(
            data='lab.data.csv { "d.csv", target = "y" }:split { train = 0.5, val = 0.5, seed = 1 }',
            model="nn.Linear(1)", loss="mse", batch="5", optim="lab.optim.SGD { lr = rate }"))
        line = ("a.lua", "--target", "val.loss=1e-9", "--b", "rate=2e-4", "--within", "0.001 s")
        write_data(1)
        self.compare(*line)
        write_data(2)
        said = self.compare(*line).err
        self.assertIn("runs/compare/a/001 does not go on, because the part train of A's data has changed\n", said)
        self.assert_said(self.compare(*line, "--out", "runs/compare/a/001", code=2), "is another one: the part train "
                         "of A's data has changed")
        self.assertNotIn("does not go on", self.compare(*line).err)
        write_data(1)
        self.assertNotIn("does not go on", self.compare(*line).err)
        self.assertEqual(sorted(path.name for path in (self.folder / "runs/compare/a").iterdir()), ["001", "002"])
        # A record of an earlier version does not have the data.
        path = self.folder / "runs/compare/a/002/comparison.json"
        record = json.loads(path.read_text())
        del record["asked"]["data"]
        path.write_text(json.dumps(record))
        self.assertNotIn("does not go on", self.compare(*line).err)
        self.assertIn("data", json.loads(path.read_text())["asked"])

    def test_the_same_command_with_other_memory(self):
        """Steps that go in parts take longer."""
        line = (*LINE, "--within", "0.001 s")
        self.compare(*line)
        self.compare(*line, "--memory", "1 GB")
        self.compare(*line, "--memory", "1 GB")
        self.compare(*line)
        self.assertEqual(sorted(path.name for path in (self.folder / "runs/compare/a").iterdir()), ["001", "002"])
        self.assert_said(self.compare(*line, "--out", "runs/compare/a/002", code=2),
                         "is another one: memory was 1000000000, is not given")
        # A record of an earlier version does not have the memory.
        path = self.folder / "runs/compare/a/001/comparison.json"
        record = json.loads(path.read_text())
        del record["asked"]["memory"]
        path.write_text(json.dumps(record))
        self.compare(*line)
        self.assertEqual(sorted(path.name for path in (self.folder / "runs/compare/a").iterdir()), ["001", "002"])

    def test_what_the_record_knows_is_not_asked_again(self):
        """Whether the seeds share their samples: the recipe fails with the second seed that is asked for."""
        self.write("m.lua", "return 0")
        self.write("a.lua", 'local zero = require "m"\n' + RECIPE)
        first = self.compare(*LINE, "--out", "c")
        self.assertIn("all pairs are judged on the same 360 samples", first.out)
        self.write("m.lua", 'if lab.seed ~= 6700417641 then error("asked") end\nreturn 0')
        self.assertEqual(self.compare(*LINE, "--out", "c").out, first.out)

    def test_a_damaged_record_is_told(self):
        """Also where a new comparison could begin beside it: the result of hours may be in it."""
        for text, code, words in (("{", 3, "comparison.json is damaged"), ('{"format": "x"}', 3, "it is no comparison"),
                                  ('{"format": 2}', 2, "is of another version of trainlab")):
            self.write("runs/compare/a/001/comparison.json", text)
            self.assert_said(self.compare(*LINE, code=code), words)
            self.assert_said(self.report("runs/compare/a/001", code=code), words)
        self.assertEqual([path.name for path in (self.folder / "runs/compare/a").iterdir()], ["001"])

    def test_damaged_pairs_of_the_same_comparison(self):
        self.compare(*LINE)
        path = self.folder / "runs/compare/a/001/comparison.json"
        record = json.loads(path.read_text())
        path.write_text(json.dumps({**record, "pairs": [{"seed": "x"}], "has_ended": False}))
        self.assert_said(self.compare(*LINE, code=3), "comparison.json is damaged: it is no comparison")

    def test_a_record_of_an_earlier_version(self):
        """It has no direction of the metric, which the command knows."""
        self.compare(*LINE)
        folder = "runs/compare/a/001"
        path = self.folder / folder / "comparison.json"
        record = json.loads(path.read_text())
        del record["target"]
        path.write_text(json.dumps(record))
        self.assert_said(self.report(folder, code=2), "is of an earlier version of trainlab, which did not store "
                         "whether smaller is better",
                         "the command that made it shows it, with --out runs/compare/a/001")
        shown = self.compare(*LINE, "--out", folder)
        self.assertEqual(self.report(folder).out, shown.out)


if __name__ == "__main__":
    unittest.main()
