"""Files beside a result (--html, --apply): what cannot be written is refused before the work, and takes no result along
at the end."""

import os
import unittest

from planning import table
from program import CliTest, fit, small_disk

FIT = fit(data="lab.data.digits():split { train = 0.2, val = 0.2, test = 0.6, seed = 7 }",
          model="nn.Sequential { nn.Flatten(), nn.Linear(4), nn.ReLU(), nn.Linear(10) }", epochs="2")
# The commands with --html, each with words that its text has and the kind of its object.
PAGES = (
    (("report", "a"), "f (fit): done", "fit"),
    (("plan", "--flops", "1e21"), "plan", "plan"),
    (("compare", "a", "b", "--target", "val.loss=1.9"), "time   to val.loss", "comparison"),
    (("compare", "r.lua", "--b", "rate=0.012", "--target", "val.loss=1.9", "--seeds", "3", "--threads", "1"),
     "time   to val.loss", "comparison"),
    (("plan", "data", "r.lua", "--threads", "1"), "by the number of training samples", "plan_data"),
    (("plan", "model", "r.lua", "--threads", "1"), "by the features of hidden layers", "plan_model"),
    (("plan", "fit", "runs.csv"), "from 16 runs", "plan_fit"),
    (("plan", "seeds", "a"), "on average over 3 seeds", "plan_seeds"),
    (("find", "lr", "r.lua", "--threads", "1"), "range test over 5 seeds", "finder"),
)


def limited(kilobytes):
    """Words before a command that let no file grow beyond this size, as on a full disk."""
    return ["bash", "-c", f'ulimit -f {kilobytes} && exec "$@"', "bash"]


# Words before a command that close its standard output.
CLOSED = ["bash", "-c", 'exec "$@" >&-', "bash"]


class Outputs(CliTest):
    def setUp(self):
        super().setUp()
        self.write("r.lua", 'local rate = lab.param { "rate", 0.01 }\n' + FIT.replace("lr = 0.01", "lr = rate"))
        self.write("runs.csv", table())

    def train_both(self):
        """Runs of three seeds in the folders a and b."""
        for side, rate in (("a", "0.01"), ("b", "0.012")):
            for seed in ("1", "2", "3"):
                self.train("--quiet", "--rate", rate, "--seed", seed, "--out", f"{side}/{seed}")

    def pages(self):
        """PAGES, with the runs that they read."""
        self.train_both()
        for command, text, kind in PAGES:
            yield ("report", "a/1") if command[0] == "report" else command, text, kind

    def test_a_page_comes_beside_the_text_and_beside_the_object(self):
        for command, text, kind in self.pages():
            with self.subTest(command):
                page = self.folder / "p.html"
                self.assertIn(text, self.run_program(*command, "--html", "p.html").out)
                page.unlink()
                self.assertEqual(self.run_program(*command, "--html", "p.html", "--json").json()["kind"], kind)
                self.assertIn("<title>trainlab</title>", page.read_text())

    def test_an_impossible_file_is_refused_before_the_work(self):
        os.mkfifo(self.folder / "pipe")
        self.write("mine", "precious")
        self.write("folder/x", "")
        commands = [(*command, "--html") for command, _, _ in self.pages()]
        commands += [("profile", "r.lua", "--html"), ("find", "lr", "r.lua", "--apply"),
                     ("profile", "r.lua", "--trace"), ("profile", "r.lua", "--apply")]
        before = sorted(self.folder.rglob("*"))
        for command in commands:
            for file, said in (("no/p", "cannot create "), ("folder", "expected a file, found the folder "),
                               ("pipe", "expected a regular file or nothing, found a pipe"),
                               ("/dev/full", "expected a regular file or nothing, found a device"),
                               ("x" * 250, "File name too long"), ("mine", "is there already, and is no ")):
                with self.subTest(command, file=file):
                    result = self.run_program(*command, file, code=2)
                    self.assert_said(result, f"{command[-1]}: ", said)
                    self.assertEqual(result.err.count("trainlab: "), 1, result)
                    if file == "no/p":
                        self.assertEqual(self.run_program(*command, file, "--json", code=2).json()["status"], "failed")
                    self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_a_closed_standard_output_is_an_error_as_a_full_disk_is(self):
        full = ["bash", "-c", 'exec "$@" > /dev/full', "bash"]
        for command in (("--version",), ("help",), ("check", "r.lua"), ("list",), ("r.lua", "--quiet"),
                        ("bench", "r.lua", "--seconds", "0.2"), ("profile", "r.lua", "--seconds", "0.2")):
            for before in (CLOSED, full):
                with self.subTest(command, before=before):
                    result = self.run_program(*command, code=3, before=before)
                    self.assert_said(result, "trainlab: cannot write to standard output\n")

    def test_a_file_is_whole_where_standard_output_is_closed(self):
        self.train("--quiet", "--out", "a")
        self.run_program("report", "a", "--html", "open.html")
        self.run_program("report", "a", "--html", "closed.html", code=3, before=CLOSED)
        self.assertEqual((self.folder / "closed.html").read_text(), (self.folder / "open.html").read_text())

    def test_a_full_disk_takes_no_result_along(self):
        for command, text, kind in self.pages():
            with self.subTest(command):
                full = self.run_program(*command, "--html", "p.html", code=3, before=limited(100))
                self.assertIn(text, full.out)
                self.assertEqual(full.err.count("--html: disk full or failing: cannot write "), 1, full)
                full = self.run_program(*command, "--html", "p.html", "--json", code=3, before=limited(100))
                self.assertEqual(full.json()["kind"], kind)
                self.assertEqual(full.err.count("--html: disk full or failing: cannot write "), 1, full)
                self.assertFalse((self.folder / "p.html").exists())

    def test_changes_that_cannot_be_written(self):
        disk = small_disk(self, 1)
        with self.assertRaises(OSError), open(disk / "all", "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        full = self.run_program("find", "lr", "r.lua", "--threads", "1", "--apply", disk / "c.toml", "--json", code=3)
        self.assertEqual(full.json()["kind"], "finder")
        self.assertEqual(full.err.count("--apply: disk full or failing: cannot write "), 1, full)
        self.assertEqual(os.listdir(disk), ["all"])


class Applied(CliTest):
    """Files for `trainlab run --apply` that are none."""

    def test_what_is_no_file_of_changes(self):
        self.recipe()
        for text, said in (("a = \n", "expected a file of changes, found what is not TOML: "),
                           ("\0\1\2", "expected a file of changes, found what is not TOML: "),
                           ("[tool.black]\nline-length = 88\n",
                            "expected a file of changes, found TOML that has neither recipe nor stage nor set"),
                           ("lr = 0.01\n",
                            "expected a file of changes, found TOML that has neither recipe nor stage nor set")):
            with self.subTest(text):
                self.write("c.toml", text)
                result = self.run_program("run", "r.lua", "--apply", "c.toml", code=2)
                self.assert_said(result, "--apply ", "c.toml: " + said, "hint: `trainlab profile RECIPE.lua --apply ")
                self.assertFalse((self.folder / "runs").exists())

    def test_changes_without_a_recipe(self):
        result = self.run_program("run", "--apply", "c.toml", code=2)
        self.assert_said(result, "trainlab: `trainlab run` needs one recipe", "hint: trainlab [run] RECIPE.lua")


class Nested(CliTest):
    """No run begins within another one, whatever names its folder."""

    def test_folders_within_a_run(self):
        self.recipe()
        self.train("--quiet")
        run = self.run_folder()
        (self.folder / "link").symlink_to(run / "checkpoints")
        self.write("p.lua", 'local lr = lab.param { "lr", 0.01 }\n' + fit(optim="lab.optim.AdamW { lr = lr }"))
        before = sorted(self.folder.rglob("*"))
        compare = ("compare", "p.lua", "--target", "val.loss=0.5", "--b", "lr=0.02", "--threads", "1")
        for folder, said in (("runs/r/001/sub", f"which lies in the run {run}"),
                             ("runs/r/001/checkpoints", f"which lies in the run {run}"),
                             ("link", f"which lies in the run {run}"),
                             ("link/sub", f"which lies in the run {run}"),
                             ("runs/r/latest/sub", f"which stands for {run}/sub"),
                             ("runs/r/latest", f"which stands for {run}")):
            for command in (("r.lua", "--threads", "1"), compare):
                with self.subTest(command, out=folder):
                    result = self.run_program(*command, "--out", folder, code=2)
                    self.assert_said(result, "trainlab: no run can begin in ", said, "hint: choose another --out")
                    self.assertEqual(sorted(self.folder.rglob("*")), before)
        for command in (("../../../r.lua", "--threads", "1"), ("compare", "../../../p.lua", *compare[2:]),
                        ("plan", "seeds", "../../../r.lua", "--threads", "1")):
            with self.subTest(command, cwd=run):
                result = self.run_program(*command, code=2, cwd=run)
                self.assert_said(result, "trainlab: no run can begin in ", f"which lies in the run {run}")
                self.assertEqual(sorted(self.folder.rglob("*")), before)
        # The run itself, and another one beside it, are as free as before.
        self.assert_said(self.train("--out", run, code=2), "finished")
        self.train("--quiet")
        self.assertTrue(self.run_folder(2).exists())


if __name__ == "__main__":
    unittest.main()
