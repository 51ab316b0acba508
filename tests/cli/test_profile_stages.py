"""`--stage NAME` of `trainlab profile`, `bench` and `find`: the stages before the named one run whole, and leave
nothing."""

import os
import signal
import unittest
import unittest.mock

from program import CliTest, fit, small_disk

# Says something at each validation, which takes a moment, so that a stage can be caught while it trains.
SAYS = '  on = { validate = function() print("validated") for i = 1, 1000000 do end end },\n'
# Waits at each validation for go_on(), so that a search does not end before its second process is there.
WAITS = '  on = { validate = function() while not pcall(require, "go_on") do end end },\n'
FAILS = '  on = { validate = function(run) if run.epoch == 2 then error("stop here") end end },\n'


def stage(name, **options):
    """An expression in Lua for a fit of this name."""
    return "(function()\n" + fit(**options).replace('"f"', f'"{name}"') + "end)()"


def two_stages(**options):
    """A recipe whose second stage needs a result of the first, which has these options."""
    return (f'local first = lab.run({stage("f", **options)})\nprint("f had " .. first.steps .. " steps")\n'
            f'return {stage("g", batch="8", epochs="first.steps")}\n')


def search(name, kind, last, more=SAYS):
    """A sweep or an ensemble of fits by two processes."""
    own = 'seeds = 2' if kind == "ensemble" else 'trials = 6, space = { lr = lab.space.log(1e-3, 1e-1) }'
    return (f'lab.{kind} {{ name = "{name}", metric = "val.loss", {own}, workers = 2, stack = false,\n'
            f"  build = function(hp)\n{fit(more=more, epochs=last)}end }}")


class Stages(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.keep_machine()

    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        temporaries = unittest.mock.patch.dict(os.environ, TMPDIR=str(self.temporary))
        temporaries.start()
        self.addCleanup(temporaries.stop)

    def assert_nothing_left(self):
        self.assertEqual(list(self.temporary.iterdir()), [])
        self.assertFalse((self.folder / "runs").exists())

    def go_on(self):
        """Lets what waits go on. The module is there as a whole at once."""
        self.write("written.lua", "return true\n").rename(self.folder / "go_on.lua")

    def measure(self, name, *arguments, recipe="r.lua", code=0, seconds="0.5"):
        result = self.run_program("profile", recipe, "--stage", name, "--seconds", seconds, "--threads", "1", "--json",
                                  *arguments, code=code)
        self.assert_nothing_left()
        return result

    def test_each_of_two_stages(self):
        self.write("r.lua", two_stages())
        second = self.measure("g", "--set", "f:epochs=1")
        self.assertEqual(second.json()["stage"], "g")
        self.assert_said(second, "stage f runs first and whole, because stage g may need its result", "--attach RUN",
                         "f had 4 steps", "measuring fit g")
        first = self.measure("f")
        self.assertEqual(first.json()["stage"], "f")
        self.assertNotIn("runs first", first.err)
        self.assertEqual(self.run_program("profile", "r.lua", "--seconds", "0.5", "--json").json()["stage"], "f")

    def test_a_name_that_no_stage_has(self):
        self.write("r.lua", two_stages())
        result = self.measure("ff", code=2)
        self.assert_said(result, '--stage ff: r.lua has no such stage, only "f", "g"', "did you mean f?")
        self.assertNotIn("measuring", result.err)

    def test_stages_of_a_loop(self):
        self.write("r.lua", "for i = 1, 4 do lab.run(" + stage("fold", epochs="1").replace('"fold"', '"fold_" .. i')
                   + ") end\nreturn nil\n")
        result = self.measure("fold_3")
        self.assertEqual(result.json()["stage"], "fold_3")
        self.assert_said(result, "stage fold_1 runs first", "stage fold_2 runs next", "measuring fit fold_3")
        self.assert_said(self.measure("fold_5", code=2), 'only "fold_1", "fold_2", "fold_3", "fold_4"')

    def test_a_first_stage_that_fails(self):
        def error_of(result):
            return [line for line in result.err.splitlines() if "stop here" in line]

        self.write("r.lua", two_stages(more=FAILS))
        told = self.measure("g", code=1)
        self.assertTrue(error_of(told), told)
        self.assertNotIn("resume", told.err)
        self.assertEqual(told.json()["status"], "failed")
        self.assertIn("stop here", told.json()["error"]["message"])
        as_run = self.run_program("r.lua", "--threads", "1", "--out", "elsewhere", code=1)
        self.assertEqual(error_of(told), error_of(as_run))
        # A recipe does not go on after its stage has failed.
        self.write("r.lua", f"pcall(lab.run, {stage('f', more=FAILS)})\nreturn {stage('g')}\n")
        self.assertEqual(error_of(self.measure("g", code=1)), error_of(told))
        # A training that diverges tells its end in its summary, which is not kept.
        self.write("r.lua", two_stages(optim="lab.optim.SGD { lr = 1e30 }"))
        told = self.measure("g", code=3)
        self.assert_said(told, "trainlab: stage f failed: ")
        self.assertEqual(told.json()["status"], "failed")

    def check_interrupted(self, is_killed):
        self.write("r.lua", two_stages(epochs="2000", more=SAYS))
        running = self.start("profile", "r.lua", "--stage", "g", *(("--grace", "0.1 s") if is_killed else ()))
        running.until_said("validated")
        self.assertEqual(len(list(self.temporary.iterdir())), 1)
        if is_killed:
            os.kill(running.engine(), signal.SIGSTOP)
        running.send(signal.SIGINT)
        result = self.end(running, 130)
        self.assertNotIn("resume", result.err)
        self.assertEqual(result.out, "")
        self.assert_nothing_left()

    def test_an_interrupted_first_stage(self):
        self.check_interrupted(is_killed=False)

    def test_a_first_stage_that_is_killed(self):
        self.check_interrupted(is_killed=True)

    def test_a_full_disk(self):
        """The first stage says which disk is full, and how to take another one."""
        self.write("r.lua", two_stages(model="nn.Sequential { nn.Linear(100000), nn.Linear(3) }"))
        disk = small_disk(self, 1)
        for rest in (0, 1 << 20):
            (disk / "rest").write_bytes(b"x" * rest)
            told = self.run_program("profile", "r.lua", "--stage", "g", "--threads", "1", code=3,
                                    before=["env", f"TMPDIR={disk}"])
            self.assert_said(told, f"cannot write {disk}/", "No space left on device",
                             "hint: the environment variable TMPDIR names another folder")
            self.assertEqual(os.listdir(disk), ["rest"])

    def test_a_search_by_several_processes(self):
        """The helpers of the first stage end before the second is measured, and a database keeps nothing of it."""
        self.write("r.lua",
                   f'lab.run({search("s", "sweep", "2", WAITS)})\nreturn {search("e", "ensemble", "2")}\n')
        nowhere = unittest.mock.patch.dict(os.environ, TRAINLAB_STORAGE="postgresql://nobody@localhost:1/none")
        with nowhere:
            running = self.start("profile", "r.lua", "--stage", "e", "--seconds", "60")
        running.until(lambda: len(running.engines()) == 2, "a second process helped with the search")
        self.go_on()
        running.until_said("measuring trial 0 of ensemble e")
        running.until(lambda: len(running.engines()) == 1, "the second process had ended")
        running.send(signal.SIGINT)
        self.end(running, 130)
        self.assert_nothing_left()

    def test_two_recipes(self):
        """The second recipe has stages of its own before."""
        self.write("a.lua", two_stages())
        self.write("b.lua", f'lab.run({search("s", "sweep", "1", WAITS)})\nreturn {stage("g", batch="4")}\n')
        running = self.start("profile", "a.lua", "b.lua", "--stage", "g", "--seconds", "1", "--json")
        running.until_said("stage s runs first")
        running.until(lambda: len(running.engines()) == 2, "a second process helped with the search of b.lua")
        self.go_on()
        result = self.end(running, 0)
        self.assertEqual([result.json()[side]["samples"] for side in "ab"], [7.5, 4])  # 60 samples in steps of 8
        self.assert_said(result, "stage f runs first", "f had 12 steps", "stage s runs first", "measuring both")
        self.assert_nothing_left()

    def test_a_task(self):
        self.write("r.lua", "local found = lab.run(lab.task { name = 'counts', run = function(ctx)\n"
                   f"  ctx:log('n', 2) end }})\nreturn {stage('g', epochs='found.metrics.n')}\n")
        self.assertEqual(self.measure("g").json()["stage"], "g")

    def test_bench(self):
        self.write("r.lua", two_stages())
        speed = self.run_program("bench", "r.lua", "--stage", "g", "--seconds", "0.3", "--json").json()
        self.assertEqual(speed["stage"], "g")
        self.assert_nothing_left()

    def test_what_is_found_is_applied_to_the_stage(self):
        """The file knows the text of a module that the recipe loads after its first stage."""
        self.write("r.lua", f'lab.run({stage("f")})\nlocal epochs = require "later"\n'
                            f'lab.run({stage("g", epochs="epochs")})\nreturn {stage("h")}\n')
        self.write("later.lua", "return 2\n")
        self.run_program("find", "loader", "r.lua", "--stage", "g", "--apply", "c.toml")
        self.assert_nothing_left()
        applied = (self.folder / "c.toml").read_text()
        self.assertIn("stage = 'g'", applied)
        self.assertIn("later.lua", applied)
        self.run_program("run", "r.lua", "--apply", "c.toml")
        settings = (self.run_folder() / "manifest.toml").read_text()
        self.assertIn("'g:loader.threads=", settings)
        self.write("later.lua", "return 3\n")
        refused = self.run_program("run", "r.lua", "--apply", "c.toml", code=2)
        self.assert_said(refused, "another text of later.lua, which the recipe loads")


if __name__ == "__main__":
    unittest.main()
