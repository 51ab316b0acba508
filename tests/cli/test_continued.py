"""Runs that are gone on with: by --out, resume and extend; what was changed is refused and named."""

import hashlib
import re
import signal
import unittest

from program import SLOW, CliTest, fit

PARAMETER = 'local rate = lab.param { "rate", 0.01 }\n'


class Changed(CliTest):
    """An unfinished run, continued by --out with something else: exit code 2, and the difference is told."""

    def setUp(self):
        super().setUp()
        # A callback that fails leaves an unfinished run, at once.
        self.text = PARAMETER + fit(optim="lab.optim.AdamW { lr = rate }",
                                    more="  on = { validate = function() error('stop here') end },\n")
        self.write("r.lua", self.text)
        self.train("--out", "run", code=1)

    def refused(self, line, *arguments, **options):
        result = self.train("--out", "run", *arguments, code=2, **options)
        self.assert_message(result, f"trainlab: the run in {self.folder}/run was begun with something else:")
        self.assertIn(f"\n  {line}\n", result.err, result)
        self.assert_said(result, "hint: choose another --out, or continue the run as it was begun: trainlab resume ")
        return result

    def test_source(self):
        self.write("r.lua", self.text.replace("stop here", "stop there"))
        self.refused("source r.lua has changed")

    def test_another_recipe(self):
        self.write("other.lua", self.text)
        self.refused("recipe: recorded r.lua, now other.lua", recipe="other.lua")

    def test_parameter(self):
        self.refused("--rate: recorded 0.01, now 0.02", "--rate", "0.02")

    def test_set(self):
        self.refused("--set: recorded none, now batch=8", "--set", "batch=8")

    def test_set_of_the_loader_that_changes_results(self):
        self.refused("--set: recorded none, now loader.drop_last=true", "--set", "loader.threads=4", "--set",
                     "loader.drop_last=true")

    def test_set_of_a_budget_of_memory(self):
        self.refused("--set: recorded none, now memory.budget=1 GB", "--set", "memory.budget=1 GB")

    def test_set_of_the_precision(self):
        self.refused("--set: recorded none, now precision=bfloat16", "--set", "precision=bfloat16")

    def test_seed(self):
        self.refused("--seed: recorded 1, now 2", "--seed", "2")

    def test_all_at_once(self):
        result = self.refused("--seed: recorded 1, now 2", "--seed", "2", "--rate", "0.02")
        self.assertIn("\n  --rate: recorded 0.01, now 0.02\n", result.err, result)

    def test_the_same_goes_on(self):
        for arguments in ([], ["--rate", "0.01"], ["--seed", "1", "--quiet"], ["--json", "--workers", "2"],
                          ["--set", "loader.threads=4"], ["--set", "loader.prefetch=8", "--set", "f:loader.threads=2"]):
            with self.subTest(arguments=arguments):
                self.assert_said(self.train("--out", "run", *arguments, code=1), "stop here")

    def test_other_threads_are_told(self):
        result = self.run_program("r.lua", "--out", "run", "--threads", "2", code=1)
        self.assert_said(result, "not byte-exact: threads: recorded 1, now 2")

    def test_another_limit_of_memory_is_told(self):
        """Its steps are whole under both limits, so that the bytes are the same."""
        result = self.run_program("resume", "run", "--memory", "1GB", code=1)
        self.assert_said(result, "memory: recorded no limit, now 1000000000 bytes: the bytes are the same unless a "
                                 "step or an evaluation goes in parts")
        self.assertNotIn("not byte-exact", result.err)
        manifest = (self.folder / "run/manifest.toml").read_text()
        self.assertIn("memory = 1000000000", manifest)
        self.assertIn("exact = true", manifest)

    def test_resume_ignores_edits(self):
        self.write("r.lua", self.text.replace("stop here", "stop there"))
        self.assert_said(self.run_program("resume", "run", code=1), "stop here")


class StoredRecipe(CliTest):
    def test_an_edited_copy(self):
        """The hint leads on: to the copy that was changed, not to the command that has just been refused."""
        self.write("r.lua", fit(more="  on = { validate = function() error('stop here') end },\n"))
        self.train("--out", "run", code=1)
        copy = self.folder / "run/recipe/r.lua"
        copy.write_text(copy.read_text().replace("stop here", "stop there"))
        for command in (["resume", "run"], ["extend", "run", "--epochs", "9"]):
            result = self.run_program(*command, code=2)
            self.assert_said(result, "source r.lua has changed", f"hint: undo the change in {copy.parent}, or begin a "
                             f"new run with the changed recipe: trainlab {copy}")
            self.assertNotIn("--out", result.err)


class AnotherVersion(CliTest):
    """A run begun by a version of trainlab with other names cannot go on, and nobody can change its recipe."""

    def test_names_that_are_gone(self):
        self.write("r.lua", fit(more="  on = { validate = function() error('stop here') end },\n"))
        self.train("--out", "run", code=1)
        recipe, manifest = self.folder / "run/recipe/r.lua", self.folder / "run/manifest.toml"
        recipe.write_text("local sampler = lab.sampler.halving()\n" + recipe.read_text())
        manifest.write_text(manifest.read_text().replace("trainlab = '", "trainlab = '0.0."))
        version = manifest.read_text().split("trainlab = '")[1].split("'")[0]
        for command in (("resume", "run"), ("extend", "run", "--epochs", "9")):
            result = self.run_program(*command, code=1)
            self.assert_said(result, "lab.sampler has no 'halving'", "finish the run with the trainlab that began it "
                             f"(version {version}), or begin a new run")
            self.assertNotIn("did you mean", result.err)

    def begin(self, parameters=""):
        """Begins a run whose callback has a typo."""
        self.write("r.lua", parameters + fit(more="  on = { validate = function() return lab.nn.Liner end },\n"))
        result = self.train("--out", "run", code=1)
        self.assert_said(result, "did you mean lab.nn.Linear?")
        return self.folder / "run/manifest.toml"

    def test_the_same_version_says_the_same(self):
        self.begin()
        for command in (["resume", "run"], ["r.lua", "--threads", "1", "--out", "run"]):
            result = self.run_program(*command, code=1)
            self.assert_said(result, "did you mean lab.nn.Linear?")
            self.assertNotIn("finish the run with", result.err)

    def test_each_continuation_names_the_version_that_began_the_run(self):
        manifest = self.begin()
        manifest.write_text(re.sub("trainlab = '.*'", "trainlab = '0.0.9'", manifest.read_text()))
        for _ in range(2):
            self.assert_said(self.run_program("resume", "run", code=1), "not byte-exact: trainlab: recorded 0.0.9",
                             "finish the run with the trainlab that began it (version 0.0.9)")
            self.assertIn("trainlab = '0.0.9'", manifest.read_text())

    def test_parameters_whose_names_are_flags_by_now(self):
        """A continued run keeps all its parameters, also one of a name that is refused in a new recipe."""
        manifest = self.begin('lab.param { "steep", 3 }\nlab.param { "jason", type = "path", optional = true }\n')
        recipe = self.folder / "run/recipe/r.lua"
        before = recipe.read_bytes()
        after = before.replace(b"steep", b"step").replace(b"jason", b"json")
        recipe.write_bytes(after)
        text = manifest.read_text().replace("steep", "step")
        manifest.write_text(text.replace(*(hashlib.blake2b(source, digest_size=32).hexdigest()
                                           for source in (before, after))))
        self.assert_said(self.run_program("resume", "run", code=1), "did you mean lab.nn.Linear?")
        self.assert_said(self.run_program("run/recipe/r.lua", "--out", "new", code=1),
                         '"step": --step has a meaning of its own in every recipe', "hint: choose another name")


class Alike(CliTest):
    """Every process executes the recipe alike, also after a stage that called its functions."""

    def test_random_numbers_and_the_time(self):
        # So much work before the stage that the run's folder is made in a later second than the recipe is told.
        self.write(
            "r.lua",
            "local told = { os.time(), os.date('!%X'), math.random(1e9) }\n"
            "repeat until os.clock() > 1.5\n"
            + fit(more="  on = { step = function() math.random() end },\n")
            .replace("return lab.fit", "lab.run(lab.fit")
            .rstrip()
            + ")\ntold[4] = math.random(1e9)\nprint('told ' .. table.concat(told, ' '))\nerror('the end')\n",
        )
        lines = [[line for line in result.err.splitlines() if line.startswith("told ")]
                 for result in (self.train("--out", "run", code=1), self.run_program("resume", "run", code=1),
                                self.train("--out", "run", code=1))]
        self.assertEqual(len(lines[0]), 1)
        self.assertEqual(lines[1], lines[0])
        self.assertEqual(lines[2], lines[0])


class Finished(CliTest):
    def setUp(self):
        super().setUp()
        self.recipe()
        self.first = self.train("--out", "run")
        self.run = self.folder / "run"

    def content(self):
        return {path: path.read_bytes() for path in self.run.rglob("*") if path.is_file()}

    def test_out_is_refused(self):
        before = self.content()
        result = self.train("--out", "run", code=2)
        self.assert_message(result, f"trainlab: the run in {self.run} is finished")
        self.assert_said(result, "hint: ", f"trainlab extend {self.run} --epochs N (of a sweep --trials N)")
        self.assertEqual(self.content(), before)

    def test_out_of_another_recipe_is_refused(self):
        before = self.content()
        self.recipe(name="other.lua")
        result = self.train("--out", "run", recipe="other.lua", code=2)
        self.assert_message(result, f"trainlab: --out: {self.run} holds a finished run of another recipe, r.lua")
        self.assert_said(result, "hint: choose another --out")
        self.recipe(epochs="4")
        result = self.train("--out", "run", code=2)
        self.assert_message(result, f"trainlab: --out: {self.run} holds a finished run of an earlier text of r.lua")
        self.assertEqual(self.content(), before)

    def test_resume_prints_the_summary(self):
        before = self.content()
        result = self.run_program("resume", "run")
        self.assertEqual(result.out, self.first.out)
        self.assertEqual(self.run_program("resume", "run", "--json").json(), self.summary(self.run))
        self.assertEqual(self.content(), before)

    def test_extend(self):
        """Extended to five epochs it ends where a run of five epochs ends: nothing here depends on the total."""
        result = self.run_program("extend", "run", "--epochs", "5", "--json").json()
        self.assertEqual((result["status"], result["steps"], result["resumed"]), ("done", 20, [12]))
        self.recipe("five.lua", epochs="5")
        self.train("--out", "five", recipe="five.lua")
        self.assert_same_end(self.run, self.folder / "five")

    def test_extend_by_steps(self):
        self.recipe("steps.lua", epochs="nil, steps = 10")
        self.train("--out", "cut", recipe="steps.lua")
        self.assertEqual(self.run_program("extend", "cut", "--steps", "14", "--json").json()["steps"], 14)
        self.assertIn("stage f extended to 14 steps", self.run_program("report", "cut").out)
        # Also of a run whose recipe counts epochs, of four steps each.
        result = self.run_program("extend", "run", "--steps", "14", "--json").json()
        self.assertEqual((result["steps"], result["resumed"]), (14, [12]))
        result = self.run_program("extend", "run", "--epochs", "3", code=2)
        self.assert_message(result, "trainlab: expected a total of more than the 3.5 epochs of the run, found 3 epochs")

    def test_extend_a_budget_of_time(self):
        self.recipe("timed.lua", epochs='nil, time = "1 s"')
        self.train("--out", "timed", recipe="timed.lua")
        before = self.summary(self.folder / "timed")
        self.assertEqual((before["status"], before["reason"]), ("stopped", "its own time is used"))
        for time, message in (("1 s", "expected a total of more than the 1 s of the run, found 1 s"),
                              ("3", '--time: expected a time with its unit, as "90 s", "90 min" or "3 h", found "3"')):
            self.assert_message(self.run_program("extend", "timed", "--time", time, code=2), f"trainlab: {message}")
        self.assert_message(self.run_program("extend", "run", "--time", "1 h", code=2),
                            "trainlab: expected a fit with a budget of time, found one without")
        self.assert_said(self.run_program("extend", "timed", "--epochs", "1000", code=2),
                         "hint: trainlab extend RUN --time TIME")
        self.assertEqual(self.summary(self.folder / "timed"), before)
        result = self.run_program("extend", "timed", "--time", "2 s", "--json").json()
        self.assertEqual((result["status"], result["resumed"]), ("stopped", [before["steps"]]))
        self.assertGreater(result["steps"], before["steps"])
        self.assertGreater(result["seconds"], 1.5)
        self.assertIn("stage f extended to 2 s", self.run_program("report", "timed").out)
        # More than the recipe's budget is not enough any more.
        before = self.summary(self.folder / "timed")
        self.assert_message(self.run_program("extend", "timed", "--time", "2 s", code=2),
                            "trainlab: expected a total of more than the 2 s of the run, found 2 s")
        self.assertEqual(self.summary(self.folder / "timed"), before)
        self.run_program("extend", "timed", "--time", "2.2 s", "--quiet")
        self.assertIn("stage f extended to 2.2 s", self.run_program("report", "timed").out)
        self.assert_message(self.run_program("extend", "timed", "--time", "0.2 s", code=2),
                            "trainlab: expected a total of more than the 2.2 s of the run, found 0.2 s")
        self.assert_said(self.run_program("extend", "run", "--steps", "1", code=2), "of the run, found 1 step")

    def test_extend_to_no_more(self):
        before, manifest = self.summary(self.run), (self.run / "manifest.toml").read_text()
        for length, total in ((["--epochs", "2"], "3 epochs of the run, found 2 epochs"),
                              (["--epochs", "3"], "3 epochs of the run, found 3 epochs"),
                              (["--steps", "12"], "12 steps of the run, found 12 steps")):
            with self.subTest(length=length):
                result = self.run_program("extend", "run", *length, code=2)
                self.assert_message(result, "trainlab: expected a total of more than the " + total)
                self.assert_said(result, "hint: extend takes the new total")
                self.assertEqual(self.summary(self.run), before)
                self.run_program("extend", "run", *length, "--within", "1 h", code=2)
                self.assertEqual((self.run / "manifest.toml").read_text(), manifest)
                self.assertEqual(self.run_program("resume", "run").out, self.first.out)

    def test_resume_of_a_finished_run_that_was_moved(self):
        summary = self.summary(self.run)
        self.run.rename(self.folder / "moved")
        summary["out"] = str(self.folder / "moved")
        self.assertEqual(self.run_program("resume", "moved", "--json").json(), summary)
        self.assertIn("  in     moved\n", self.run_program("resume", "moved").out)
        self.assertIn("  in     moved\n", self.run_program("report", "moved").out)
        # Also of stages that do not lie at the top.
        self.write("two.lua", fit().replace("return lab.fit", "return lab.run(lab.fit") + ") and nil")
        self.train("--out", "two", recipe="two.lua")
        (self.folder / "two").rename(self.folder / "three")
        self.assertEqual(self.run_program("resume", "three", "--json").json()["out"],
                         str(self.folder / "three/stages/f"))

    def test_extend_of_a_task(self):
        self.write("task.lua", 'return lab.task { name = "t", run = function() end }')
        self.run_program("task.lua", "--out", "task")
        for length in ("--epochs", "--steps", "--trials"):
            self.assert_message(self.run_program("extend", "task", length, "5", code=2),
                                'trainlab: the last stage, "t", is of kind task: only its recipe knows its length')

    def test_extend_wants_a_number(self):
        self.assert_said(self.run_program("extend", "run", code=2), "--epochs N, --steps N or --time TIME of a fit",
                         "--trials N or --time TIME of a sweep")
        result = self.run_program("extend", "run", "--epochs", "x", code=2)
        self.assert_said(result, "--epochs: expected a whole number")
        self.assert_said(self.run_program("extend", "run", "--trials", "9", code=2), "--trials", "a fit")
        self.assert_said(self.run_program("resume", "run", "--seed", "2", code=2), "--seed means nothing to")


class NotARun(CliTest):
    def test_folder_that_is_no_run(self):
        self.recipe()
        self.write("run/mine.txt", "precious")
        result = self.train("--out", "run", code=2)
        self.assert_message(
            result, f"trainlab: the folder {self.folder}/run is not empty and not a run folder: it holds " "mine.txt"
        )
        for command in ("resume", "report"):
            with self.subTest(command=command):
                self.assert_said(self.run_program(command, "run", code=2), str(self.folder / "run"))
                self.assert_said(self.run_program(command, "nope", code=2), f"there is no folder {self.folder}/nope")
        self.assertEqual([path.name for path in (self.folder / "run").iterdir()], ["mine.txt"])


class ChangedData(CliTest):
    """Data files that were rewritten between a run's two halves: said loudly, and only then."""

    def rows_and_recipe(self, **options):
        rows = [f"{i * 7919 % 1000 / 1000},{i * 31 % 3}" for i in range(300)]
        self.write("t.csv", "\n".join(["a,y", *rows]) + "\n")
        self.write("r.lua", fit(data='lab.data.csv { "t.csv", target = "y" }:split { val = 0.2 }', loss="mse",
                                model="nn.Sequential { nn.Linear(4), nn.Linear(1) }", **options))
        return rows

    def interrupted(self):
        rows = self.rows_and_recipe(**SLOW)
        running = self.start("r.lua", "--threads", "1", "--out", "run", "--quiet")
        running.until_rows(self.folder / "run", 2)
        running.send(signal.SIGTERM)
        self.end(running, 143)
        return rows

    def change_labels(self, rows):
        self.write("t.csv", "\n".join(["a,y", *[row[:-1] + str(2 - int(row[-1])) for row in rows]]) + "\n")

    def test_labels(self):
        self.change_labels(self.interrupted())
        result = self.run_program("resume", "run", "--quiet")
        self.assert_said(result, "not byte-exact: stage f: the data has changed since the last checkpoint (train.y)")
        self.assertIn("the data has changed", (self.folder / "run/log.txt").read_text())
        self.assertIn("exact = false", (self.folder / "run/manifest.toml").read_text())

    def test_statistics(self):
        rows = self.rows_and_recipe(**SLOW)
        self.write("r.lua", (self.folder / "r.lua").read_text().replace("val = 0.2 }", "val = 0.2 }:normalize()"))
        running = self.start("r.lua", "--threads", "1", "--out", "run", "--quiet")
        running.until_rows(self.folder / "run", 2)
        running.send(signal.SIGTERM)
        self.end(running, 143)
        self.write("t.csv", "\n".join(["a,y", *["1" + row for row in rows]]) + "\n")
        result = self.run_program("resume", "run", code=2)
        self.assert_said(result, "the data differs from the data of the run so far: found another ",
                         "; what has changed: train.x", "hint: put the files back as they were")

    def test_labels_before_the_first_checkpoint(self):
        rows = self.rows_and_recipe(more="  on = { start = function() error('no luck') end },\n")
        self.train("--out", "run", code=1)
        self.assertNotIn("not byte-exact", self.run_program("resume", "run", code=1).err)
        self.change_labels(rows)
        result = self.run_program("resume", "run", code=1)
        self.assert_said(result, "not byte-exact: stage f: the data has changed since this fit began (train.y); "
                                 "it begins again, with the data as it is now")

    def test_the_same_bytes_again(self):
        self.interrupted()
        self.write("t.csv", (self.folder / "t.csv").read_bytes())
        result = self.run_program("resume", "run")
        self.assertNotIn("not byte-exact", result.err, result)


if __name__ == "__main__":
    unittest.main()
