"""The command line itself: flags, help, lists and reports, what goes to standard output, where things are found."""

import csv
import io
import os
import shutil
import subprocess
import unittest

from program import SLOW, SOURCE, CliTest, fit


class Line(CliTest):
    def refused(self, arguments, message, hint=None):
        result = self.run_program(*arguments, code=2)
        self.assert_message(result, f"trainlab: {message}")
        if hint:
            self.assertIn(f"\n  hint: {hint}\n", result.err, result)

    def test_flags_stand_anywhere(self):
        self.recipe()
        first = self.run_program("--quiet", "--threads", "1", "--seed=4", "r.lua", "--json", "--set=epochs=2").json()
        second = self.run_program("run", "--json", "r.lua", "--set", "epochs=2", "--seed", "4", "--threads=1").json()
        self.assertEqual(first["metrics"], second["metrics"])
        self.assertEqual((first["steps"], first["out"], second["out"]),
                         (8, str(self.run_folder(1)), str(self.run_folder(2))))
        other = self.train("--seed", "5", "--set", "epochs=2", "--json").json()
        self.assertNotEqual(first["metrics"], other["metrics"])

    def test_a_command_takes_the_flags_that_mean_something_to_it(self):
        how = ["--threads", "1", "--device", "cpu", "--workers", "1", "--quiet", "--json"]
        self.assertEqual(self.run_program("--json", "list").json(), {"runs": []})
        for name in ("", "nn", "optim.AdamW", "ops", "ops.add", "report"):
            result = self.run_program("help", "--json", *name.split()).json()
            self.assertEqual((result["kind"], result["status"]), ("help", "done"))
            self.assertIn("add" if name == "ops" else name, result["text"])
        self.assertEqual(self.run_program("--version", "--json").json()["kind"], "version")
        self.recipe()
        self.assertEqual(self.run_program("r.lua", "--help", "--json").json()["kind"], "help")
        self.run_program("r.lua", *how)
        self.assertEqual(self.run_program("resume", "runs/r/001", *how).json()["status"], "done")
        for command in ("find lr", "check", "profile", "bench"):
            for flag in ("--out=x", "--within=1s"):
                self.refused([*command.split(), "r.lua", flag],
                             f"{flag.split('=')[0]} means nothing to `trainlab {command.split()[0]}`")
            self.assertNotIn("--out DIR", self.run_program(command.split()[0], "--help").out)
        for flag, value in zip(how[0:6:2], how[1:6:2]):
            self.refused(["report", "runs/r/001", flag, value],
                         f"{flag} means nothing to `trainlab report`")

    def test_parameters_in_both_forms(self):
        self.write("r.lua", 'print(lab.param { "lr", 0.5 }, lab.param { "name", "x" }, lab.param { "on", false })\n')
        for arguments in (["--lr", "0.01", "--name", "a b", "--on", "true"], ["--lr=0.01", "--name=a b", "--on=true"]):
            self.assertEqual(self.train(*arguments).err.splitlines()[0], "0.01\ta b\ttrue")
        needs = "a parameter of the recipe needs a value: {0} VALUE or {0}=VALUE"
        self.refused(["r.lua", "--lr"], "unknown flag --lr, or a parameter without its value", needs.format("--lr"))
        self.refused(["r.lua", "--jsn"], "unknown flag --jsn, or a parameter without its value",
                     "did you mean --json? " + needs.format("--jsn"))
        self.assert_said(self.run_program("r.lua", "--sed", "5", code=2), "--sed: the recipe has no parameter 'sed'",
                         "hint: did you mean --seed?")
        self.refused(["r.lua", "--lr", "1", "--lr", "2"], "--lr is given twice")

    def test_parameters_of_a_run_that_is_continued(self):
        for command in ("resume", "extend"):
            self.refused([command, "run", "--lr", "0.1"], "unknown flag --lr",
                         "a run that is continued keeps its parameters; a new run takes others: "
                         "trainlab RECIPE.lua --lr VALUE")

    def test_times_without_a_unit(self):
        self.recipe()
        for flag in ("--grace", "--within"):
            misfit = f'{flag}: expected a time with its unit, as "90 s", "90 min" or "3 h", found "%s"'
            self.refused(["r.lua", flag, "0"], misfit % "0")
            self.refused(["r.lua", flag, "10"], misfit % "10", 'a number has a unit: write "10 s", "10 min" or "10 h"')
        self.assert_said(self.run_program("r.lua", "--grace", "1h30m", code=2), 'hint: write "90 min"')

    def test_commands_of_other_programs_and_swapped_letters(self):
        for word, close in (("train", "run"), ("trian", "run"), ("fit", "run"), ("chekc", "check"),
                            ("reprot", "report"), ("status", "list"), ("evaluate", "predict"), ("resmue", "resume")):
            self.refused([word, "r.lua"], f"unknown command or recipe {word}", f"did you mean {close}?")

    def test_a_recipe_whose_name_begins_with_a_dash(self):
        self.write("-dash.lua", fit(epochs="1"))
        for line in (["--", "-dash.lua"], ["-dash.lua"], ["check", "--", "-dash.lua"]):
            self.refused(line, f"expected a flag, found {next(word for word in line if word.startswith('-'))}",
                         "a recipe whose name begins with a dash is named with its folder: trainlab ./-NAME.lua")
        self.run_program("./-dash.lua", "--quiet")

    def test_other_files_in_place_of_a_recipe(self):
        parameters = "values of a recipe's parameters: trainlab RECIPE.lua --params FILE.toml"
        for name, content, what, hint in (
                ("p.toml", "lr = 1\n", "TOML", parameters), ("p.json", "{}", "JSON", parameters),
                ("t.csv", "a,b\n", "a table",
                 'a recipe reads a table: lab.data.csv { path = "FILE.csv", target = "COLUMN" }'),
                ("m.py", "import torch\n", "a program in Python", "a recipe is written in Lua: docs/guide.md and "
                                                                  "docs/lua.md"),
                ("w.safetensors", b"\0\0", "tensors",
                 'a fit begins with stored weights by init = lab.init.weights "FILE.safetensors"'),
                ("w.bin", b"\x7fELF\0\1", "a binary file", None), ("r.lua", b"local a = 1\0", "a binary file", None)):
            self.write(name, content)
            for line in ([name], ["check", name]):
                self.refused(line, f"expected a recipe, a text in Lua, found {what}: {name}", hint)

    def test_a_run_in_place_of_a_recipe(self):
        self.recipe(epochs="1")
        self.run_program("r.lua", "--quiet")
        self.refused(["runs/r/001"], "expected a recipe, which is a regular file, found the folder runs/r/001",
                     "it is a run: trainlab report runs/r/001 shows it, trainlab resume runs/r/001 continues it")

    def test_parameters_from_what_is_no_file(self):
        self.recipe()
        os.mkfifo(self.folder / "pipe.toml")
        self.refused(["r.lua", "--params", "pipe.toml"],
                     "--params: expected a file in TOML, found a pipe, device or socket: pipe.toml")
        self.refused(["r.lua", "--params", "."], "--params: expected a file in TOML, found the folder .")

    def test_files_of_flags_that_cannot_be_read(self):
        self.recipe()
        for flag, line in (("--against", ["bench", "r.lua"]), ("--apply", ["r.lua"]),
                           ("--law", ["plan", "--flops=1e20"]),
                           ("--prices", ["plan", "--flops=1e20", "--rate=1e14"])):
            for name, reason in (("no.json", "No such file or directory"), (".", "Is a directory")):
                result = self.run_program(*line, flag, f"./{name}", code=2)
                self.assert_said(result, f"trainlab: {flag}: cannot read ", reason)

    def test_two_outputs_in_one_file(self):
        self.recipe()
        for one, other in (("html", "trace"), ("html", "apply"), ("trace", "apply")):
            self.refused(["profile", "r.lua", f"--{one}", "same", f"--{other}", "./same"],
                         f"--{one} and --{other} name one file, {self.folder / 'same'}, which cannot hold both")

    def test_workers_for_a_recipe_without_trials(self):
        self.recipe(epochs="1")
        result = self.run_program("r.lua", "--workers", "2", "--quiet")
        self.assertEqual(result.err, "warning: --workers 2 has changed nothing: only the trials of lab.sweep and the "
                                     "members of lab.ensemble train in several processes\n")
        self.assertEqual(self.run_program("r.lua", "--workers", "1", "--quiet").err, "")

    def test_parameter_with_the_name_of_a_flag(self):
        for name in ("seed", "step"):
            self.write("r.lua", f'local n = lab.param {{ "{name}", 3 }}\n' + fit())
            for line in (["r.lua"], ["check", "r.lua"], ["r.lua", "--help"]):
                self.assert_said(self.run_program(*line, code=1), f"--{name} has a meaning of its own in every recipe")
        self.refused(["r.lua", "--step", "5"], "--step stands after its command: trainlab check … --step")
        self.refused(["bench", "r.lua", "--apply", "f"], "--apply means nothing to `trainlab bench`",
                     "it goes with trainlab run … --apply")

    def test_what_is_not_known(self):
        self.refused(["--jsn"], "unknown flag --jsn", "did you mean --json?")
        self.refused(["lst"], "unknown command or recipe lst", "did you mean list?")
        self.refused(["nope.lua"], "there is no recipe nope.lua")
        os.mkfifo(self.folder / "pipe.lua")
        (self.folder / "dir.lua").mkdir()
        for name, what in (("pipe.lua", "a pipe, device or socket: "), ("dir.lua", "the folder ")):
            self.refused([name], f"expected a recipe, which is a regular file, found {what}{name}")
        os.mkfifo(self.folder / "pipe")
        (self.folder / "folder").mkdir()
        for name, what in (("pipe", "a pipe, device or socket: "), ("folder", "the folder "),
                           ("./folder", "the folder ")):
            self.refused([name], f"expected a recipe, which is a regular file, found {what}{name}")
        self.refused(["recipes/nope"], "there is no recipe recipes/nope")
        self.refused(["check"], "`trainlab check` needs one recipe")
        self.refused(["list", "--seed", "3"], "--seed means nothing to `trainlab list`")
        self.refused([], "expected a recipe or a command", "trainlab --help")
        self.recipe()
        self.refused(["r.lua", "--threads", "0"], '--threads: expected a whole number from 1 to 4096, found "0"')
        self.refused(["r.lua", "--device", "GPU"], '--device: expected auto, cpu, cuda or cuda:N, found "GPU"')
        self.assert_said(self.run_program("r.lua", "--device", "gpu", code=2), 'expected a device, found "gpu"',
                         "hint: the devices are auto, cpu, cuda and cuda:N")

    def test_flags_of_a_finished_run_are_looked_at(self):
        self.recipe()
        self.train("--out", "run", "--quiet")
        self.refused(["resume", "run", "--device", "foo"], 'expected a device, found "foo"')
        self.refused(["resume", "run", "--device", "foo:1"], 'expected a device, found "foo:1"')
        self.refused(["resume", "run", "--workers", "x"], "--workers: expected a whole number from 1 to 4096, found "
                                                          '"x"')
        for device in ("auto", "cpu"):
            self.run_program("resume", "run", "--device", device)

    def test_completion(self):
        for shell, last in (
            ("bash", "complete -o filenames -F _trainlab trainlab"),
            ("zsh", 'compdef _trainlab trainlab\n[ "${funcstack[1]}" != _trainlab ] || _trainlab "$@"'),
        ):
            self.assertTrue(self.run_program("completion", shell).out.endswith(f"\n{last}\n"))
        self.refused(["completion", "fish"], '`trainlab completion` knows bash and zsh, found "fish"')

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_completion_in_zsh(self):
        """The function of zsh, with stand-ins for what zsh's own completion brings."""
        self.write("completion.zsh", self.run_program("completion", "zsh").out)
        stand_ins = ('compdef() {}; compadd() { shift; print -rC1 -- "$@"; }; _files() { print -r files "$@"; };'
                     'source ./completion.zsh; words=(trainlab "$@"); CURRENT=$#words; _trainlab')

        def offered(*words):
            return subprocess.run(["zsh", "-f", "-c", stand_ins, "zsh", *words], cwd=self.folder, text=True, check=True,
                                  stdout=subprocess.PIPE).stdout.splitlines()

        listed = self.run_program("--help").out.partition("Commands:\n")[2].partition("\n\n")[0]
        commands = [line.split()[0] for line in listed.splitlines()]
        self.assertIn("check", commands)
        self.assertEqual(offered("re"), [*commands, "files"])
        self.assertEqual(offered("help", ""), commands)
        self.assertEqual(offered("x.lua", "--device", "c"), ["auto", "cpu", "cuda"])
        self.assertEqual(offered("completion", ""), ["bash", "zsh"])
        self.assertEqual(offered("run", ""), ["files"])
        self.assertEqual(offered("--threads", "2", "resume", ""), ["files -/"])
        self.assertIn("--step", offered("check", "x.lua", "--s"))
        self.assertIn("--seed", offered("x.lua", "--s"))
        self.assertNotIn("--step", offered("x.lua", "--s"))

    def test_option_that_is_set_twice(self):
        self.recipe()
        result = self.train("--set", "epochs=1", "--set", "batch=8", "--set=epochs=2", code=2)
        self.assert_message(result, "trainlab: --set epochs=2: expected one value for epochs, found a second")
        self.train("--set", "epochs=1", "--set", "batch=8", "--quiet")

    def test_parameter_in_quotes(self):
        self.write("r.lua",
                   'local n = lab.param { "n", 3 }\nlocal s = lab.param { "s", "x" }\nprint(n + 1, s .. "!")\n')
        self.write("p.toml", "s = '2'\nn = '3'\n")
        result = self.run_program("r.lua", "--params", "p.toml", code=2)
        self.assert_message(result, 'r.lua:1: p.toml:2: n: expected an integer, found the string "3"')
        self.assert_said(result, "hint: without the quotes: n = 3")
        self.write("p.toml", "s = '2'\nn = 3\n")
        self.assert_said(self.run_program("r.lua", "--params", "p.toml"), "4\t2!")

    def test_json_of_a_usage_error(self):
        result = self.run_program("nope.lua", "--json", code=2)
        self.assertEqual(result.json(), {"status": "failed", "error": {
            "file": "", "line": 0, "path": "", "message": "there is no recipe nope.lua", "hint": ""}})


class Help(CliTest):
    def test_of_the_program(self):
        text = self.run_program("--help").out
        for command in ("run", "check", "resume", "extend", "list", "report", "help"):
            self.assertIn(f"\n  {command} ", text)
            self.assertIn(f"trainlab {command}" if command != "run" else "trainlab [run]",
                          self.run_program(command, "--help").out)
        self.assertEqual(self.run_program("-h").out, text)
        # No word that only a new run takes them: a prompt of `predict` has a --seed of its own.
        self.assertIn("\nFlags, anywhere on the line; a run that is continued keeps its --out, --seed, --set, --read, "
                      "--params, --within:\n", text)
        self.assertRegex(self.run_program("--version").out, r"^trainlab \d+\.\d+\.\d+\n$")

    def test_of_entries(self):
        result = self.run_program("help", "optim.AdamW")
        self.assertTrue(result.out.startswith("lab.optim.AdamW { … }"), result)
        self.assertIn("weight_decay", result.out, result)
        self.assertIn("optim.AdamW", self.run_program("help").out)
        for name in ("nn.Linear", "optim.AdamW"):
            self.assertEqual(self.run_program("help", f"torch.{name}").out, self.run_program("help", name).out)
        result = self.run_program("help", "optim.AdamX", code=2)
        self.assert_message(result, 'trainlab: there is no entry or command "optim.AdamX"')
        self.assert_said(result, "hint: did you mean optim.Adam")

    def test_of_a_word(self):
        """What is no name is searched for: in entries, options, commands and the documentation."""
        for word, first, found in (("nesterov", "  optim.", "docs/optimizers.md: "),
                                   ("asha", "  pruner.asha ", "scheduler.asha"),
                                   ("grace", "  trainlab run ", "docs/guide.md: "),
                                   ("matmul", "  ops.matmul ", "ops.matmul("),
                                   ("no_golden", "  ", "docs/adding-a-layer.md: How to add a layer"),
                                   ("sqlite", "  ", "docs/search.md: Ask and tell")):
            result = self.run_program("help", word)
            lines = result.out.splitlines()
            self.assertTrue(lines[1].startswith(first), result)
            self.assertIn(found, result.out, result)
        self.assertEqual(self.run_program("help", "sqlite", "--json").json()["text"], result.out)

    def test_of_a_page_of_the_documentation(self):
        text = self.run_program("help", "memory").out
        self.assertTrue(text.startswith("# It does not fit\n"), text)
        self.assertIn("| optimizer | AdamW keeps two numbers for each weight | `memory = { offload = ", text)
        self.assertIn("  fit                   option memory: how a training takes less memory\n", text)
        self.assertNotIn("## ", text)
        self.assertIn("data.digits", self.run_program("help", "data").out)  # a group of entries comes first

    def test_of_several_words(self):
        result = self.run_program("help", "gradient", "clipping").out
        self.assertIn("docs/optimizers.md: Large batches in small memory, and gradient clipping",
                      result.splitlines()[1])
        self.assertEqual(self.run_program("help", "gradient clipping").out, result)
        self.assertEqual(self.run_program("help", "\n", "gradient", " ", "clipping\n").out, result)
        self.assertIn("sched.cosine", self.run_program("help", "linear", "warmup").out)
        result = self.run_program("help", "gradient", "xyzzy", code=2)
        self.assert_message(result, 'trainlab: there is no entry or command "gradient xyzzy"')
        self.assert_said(result, "hint: a page or an entry has all of the words: fewer words find more")

    def test_what_a_word_finds_is_a_list_that_fits_the_terminal(self):
        result = self.run_program("help", "warmup").out
        lines = result.splitlines()
        self.assertLessEqual(max(map(len, lines)), 100, result)
        self.assertIn("  sched.cosine          option warmup: length of a linear rise at the start (default: none)",
                      lines)
        page = lines.index("  docs/loops.md: A loop: `lab.task`")
        self.assertTrue(lines[page + 1].startswith(" " * 24), result)
        self.assertTrue(lines[page + 2].endswith(" …"), result)
        self.assertTrue(lines[page + 3].startswith("  docs/"), result)

    def test_of_a_group(self):
        for name, entries in (("nn", ("nn.Linear", "nn.Conv2d")), ("lab.loss", ("loss.cross_entropy",)),
                              ("data", ("data.digits", "data:split")), ("sched", ("sched.cosine",))):
            result = self.run_program("help", name)
            shown = [line.split()[0] for line in result.out.splitlines() if line.startswith("  ")]
            self.assertLessEqual(set(entries), set(shown), result)
            prefix = name.removeprefix("lab.")
            self.assertEqual([one for one in shown if not one.startswith((prefix + ".", prefix + ":"))], [], result)
        self.assertIn(" matmul", self.run_program("help", "ops").out)

    def test_of_every_entry(self):
        """Each name that the list shows has help of its own."""
        names = [line.split()[0] for line in self.run_program("help").out.splitlines() if line.startswith("  ")]
        self.assertGreater(len(names), 50)
        for name in names:
            self.run_program("help", name)

    def test_a_study_in_a_file_gives_no_trials_to_help_and_check(self):
        self.write("r.lua", 'lab.param { "n", 3 }\n'
                   'local study = lab.study { space = { x = lab.space.uniform(0, 1) }, file = "s.db" }\n'
                   "for _ = 1, 3 do study:tell(study:ask(), 1) end\n" + fit())
        self.assertIn("--n", self.run_program("r.lua", "--help").out)
        self.assertIn("checked up to a lab.study with a file", self.run_program("check", "r.lua").out)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["r.lua"])

    def test_of_a_recipe(self):
        self.write("r.lua", '-- What it does.\nlocal w = lab.param { "width", 8, doc = "hidden units", min = 1 }\n'
                   + fit(model="nn.Sequential { nn.Linear(w), nn.Linear(3) }"))
        result = self.run_program("r.lua", "--help")
        for text in ("What it does.", "--width", "hidden units", "8"):
            self.assertIn(text, result.out, result)
        self.assertFalse((self.folder / "runs").exists())


class Output(CliTest):
    def test_one_object_on_standard_output(self):
        self.recipe(more="  on = { validate = function(run) print('said by Lua', run.epoch) end },\n")
        result = self.train("--json")
        summary = result.json()
        self.assertEqual(result.out, (self.run_folder() / "summary.json").read_text())
        self.assertEqual(
            {key: summary[key] for key in ("kind", "name", "status", "reason", "out", "steps", "samples", "resumed")},
            {"kind": "fit", "name": "f", "status": "done", "reason": "reached its length",
             "out": str(self.run_folder()), "steps": 12, "samples": 180, "resumed": []})
        self.assertEqual(set(summary["metrics"]), {"train.loss", "val.loss", "test.loss"})
        self.assertEqual(set(summary["best"]), {"metric", "value", "epoch", "step"})
        self.assert_said(result, "said by Lua\t1", "said by Lua\t2", "said by Lua\t3")
        self.assertIn("said by Lua\t3", (self.run_folder() / "log.txt").read_text())

    def test_quiet(self):
        self.recipe()
        loud = self.train()
        self.assertEqual(loud.err.count("\n"), 3, loud)
        quiet = self.train("--quiet")
        self.assertEqual(quiet.err, "", quiet)
        self.assertIn("f (fit): done", quiet.out)
        # Whatever the recipe's words mean, they are no report of lost work.
        self.write("r.lua", 'print("damage: 3 points")\n' + fit())
        self.assertEqual(self.train("--quiet").err, "")

    def test_check(self):
        self.recipe()
        for arguments in ([], ["--step"]):
            with self.subTest(arguments=arguments):
                result = self.run_program("check", "r.lua", "--threads", "1", *arguments)
                for text in ("Linear", "ReLU", "51", "FLOPs"):
                    self.assertIn(text, result.out, result)
        checked = self.run_program("check", "r.lua", "--json", "--step").json()
        self.assertEqual((checked["kind"], checked["status"]), ("check", "done"))
        stage = checked["stages"][0]
        self.assertEqual((stage["name"], stage["kind"], stage["where"]), ("f", "fit", "r.lua:2"))
        self.assertEqual((stage["parameters"], stage["data"]["train"], stage["length"]["steps"]), (51, 60, 12))
        self.assertEqual([layer["path"] for layer in stage["models"][0]["layers"]],
                         ["model"] + [f"model[{i}].{name}" for i, name in
                                      enumerate(("Linear", "ReLU", "Dropout", "Linear"), 1)])
        self.assertEqual(stage["models"][0]["layers"][-1]["output"], [3])
        self.assertGreater(stage["memory"]["peak"], 0)
        self.assertIn("train.loss", stage["step"]["training"]["metrics"])
        self.assertFalse((self.folder / "runs").exists())

    def test_check_as_data_has_the_warnings_and_names_the_stage_up_to_which_it_came(self):
        self.recipe(model="nn.Sequential { nn.Linear(3), nn.Softmax() }")
        text = self.run_program("check", "r.lua").out
        checked = self.run_program("check", "r.lua", "--json").json()
        self.assertEqual(checked["text"], text)
        self.assertEqual(len(checked["stages"][0]["warnings"]), 1)
        self.assertIn("warning: " + checked["stages"][0]["warnings"][0], text)
        self.write("r.lua", """local found = lab.run(lab.sweep {
  name = "s", space = { lr = lab.space.log(1e-3, 1e-1) }, metric = "val.loss", trials = 3,
  build = function(hp)
    return lab.fit { name = "m", data = lab.data.blobs { samples = 60 }:split { val = 0.5 },
      model = lab.nn.Linear(3), loss = "cross_entropy", optim = lab.optim.SGD { lr = hp.lr }, epochs = 2 }
  end })
return lab.task { name = "t", run = function() end }
""")
        checked = self.run_program("check", "r.lua", "--json").json()
        self.assertEqual(checked["up_to"], "s")
        self.assertEqual((checked["stages"][0]["trials"], checked["stages"][0]["trial"]["parameters"]), (3, 9))
        self.assertEqual(checked["stages"][0]["objectives"], [{"metric": "val.loss", "goal": "min"}])
        self.write("r.lua", "return lab.fit { name = 3 }")
        self.assertEqual(self.run_program("check", "r.lua", "--json", code=1).json()["error"]["line"], 1)

    def test_stopped_by_a_rule(self):
        self.recipe(more="  stop = function(run) if run.epoch == 2 then return 'enough' end end,\n")
        result = self.train("--json").json()
        self.assertEqual((result["status"], result["reason"], result["steps"]), ("stopped", "enough", 8))

    def test_reader_that_goes_away(self):
        """`trainlab … 2>&1 | head -1` trains to the end all the same."""
        self.recipe(epochs="200")
        running = self.start("r.lua", "--threads", "1", "--out", "run")
        running.until_rows(self.folder / "run", 1)
        running.selector.unregister(running.process.stderr)
        running.process.stderr.close()
        running.end()
        self.assert_status(self.folder / "run", "done")


class Lists(CliTest):
    def setUp(self):
        super().setUp()
        self.recipe()
        self.train()
        self.recipe(more="  on = { validate = function() error('no luck') end },\n")
        self.train(code=1)

    def test_list(self):
        result = self.run_program("list")
        lines = result.out.splitlines()
        self.assertEqual([line.split()[:2] for line in lines[1:]],
                         [["runs/r/001", "done"], ["runs/r/002", "failed"]], result)
        runs = self.run_program("list", "--json").json()["runs"]
        self.assertEqual([(run["run"], run["status"]) for run in runs],
                         [(str(self.run_folder(1)), "done"), (str(self.run_folder(2)), "failed")])
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertIn("no runs", self.run_program("list", cwd=empty).out)

    def test_list_of_other_folders(self):
        self.recipe()
        self.train("--out", "mine")
        self.assertNotIn("mine", self.run_program("list").out)
        lines = self.run_program("list", ".").out.splitlines()
        self.assertEqual(sorted(line.split()[0] for line in lines[1:]), ["mine", "runs/r/001", "runs/r/002"])
        self.assertEqual([run["run"] for run in self.run_program("list", "mine", "--json").json()["runs"]],
                         [str(self.folder / "mine")])
        self.assert_message(self.run_program("list", "nope", code=2), "trainlab: there is no folder nope")

    def test_list_with_a_damaged_run(self):
        (self.run_folder(2) / "manifest.toml").write_text("= [")
        (self.run_folder(1) / "summary.json").write_text("{")
        lines = self.run_program("list").out.splitlines()
        self.assertEqual(sorted(line.split()[:2] for line in lines[1:]),
                         [["runs/r/001", "damaged"], ["runs/r/002", "damaged"]])
        for number, file, why in ((1, "summary.json", "it is not valid JSON"),
                                  (2, "manifest.toml", "line 1 is not valid TOML")):
            for command in ("report", "resume"):
                result = self.run_program(command, self.run_folder(number), code=3)
                self.assert_message(result, f"trainlab: {self.run_folder(number)}/{file} is damaged: {why}")

    def test_damaged_files_of_a_run(self):
        """One message that names the file, and the same exit code, whatever the file and the command."""
        run = self.run_folder()
        for file, text, why, commands in (
            ("manifest.toml", "", "it is empty", ("report", "extend", "predict")),
            ("manifest.toml", "format = 1\n", "trainlab is missing", ("report", "extend")),
            ("stages.json", "", "it is empty", ("report", "extend", "predict")),
            ("stages.json", "[1]", "a stage lacks its name, kind or folder", ("report", "extend")),
            ("summary.json", "[", "it is not valid JSON", ("report", "resume")),
            ("metrics.jsonl", "{}\nnonsense\n", "line 2 is not an object in JSON", ("report",)),
        ):
            whole = (run / file).read_text()
            (run / file).write_text(text)
            for command in commands:
                more = {"extend": ["--epochs", "9"], "predict": ["--input", "x.csv"]}.get(command, [])
                with self.subTest(file=file, command=command):
                    result = self.run_program(command, run, *more, code=3)
                    self.assert_message(result, f"trainlab: {run}/{file} is damaged: {why}")
            (run / file).write_text(whole)

    def test_report(self):
        result = self.run_program("report", "runs/r/001")
        for text in ("f (fit): done", "val.loss", "12 steps", "seed 1, cpu, 1 thread, "):
            self.assertIn(text, result.out, result)
        both = self.run_program("report", "runs/r/001", "runs/r/002")
        self.assertIn("failed: r.lua:10: no luck", both.out, both)
        self.assertIn("To continue: trainlab resume runs/r/002", both.out, both)
        self.assertEqual(self.run_program("report", "runs/r/001", "--json").json(), self.summary(self.run_folder()))

    def test_report_says_what_the_table_leaves_out(self):
        self.assertNotIn("rows", self.run_program("report", "runs/r/001").out)
        self.recipe(epochs=30)
        self.train("--out", "long")
        self.assertRegex(self.run_program("report", "long").out,
                         r"\n  \(2[01] of 30 rows; all of them: trainlab report RUN --csv\)\n")

    def test_report_of_a_run_that_goes_on(self):
        self.write("s.lua", fit(**SLOW))
        running = self.start("s.lua", "--threads", "1", "--out", "run")
        running.until_rows(self.folder / "run", 2)
        now = self.run_program("report", "run", "--json").json()
        self.assertEqual((now["name"], now["kind"], now["status"], now["out"]),
                         ("f", "fit", "running", str(self.folder / "run")))
        self.assertGreaterEqual(now["steps"], 8)
        self.assertIn("val.loss", now["metrics"])
        # The one process that trains needs no help, and says so at once.
        result = self.run_program("worker", "run", code=2)
        self.assert_message(result, 'trainlab: the run works on the fit "f", which one process trains: there is '
                            "nothing to help with")

    def test_json_of_an_error_names_the_folder(self):
        self.recipe(more="  on = { validate = function() error('no luck') end },\n")
        self.assertEqual(self.train("--json", "--out", "run", code=1).json()["out"], str(self.folder / "run"))

    def test_report_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.run_program("report", "runs/r/001", "--csv").out)))
        self.assertEqual([(row["epoch"], row["step"], row["samples"]) for row in rows],
                         [("1", "4", "60"), ("2", "8", "120"), ("3", "12", "180")])
        self.assertEqual([float(row["val.loss"]) for row in rows],
                         [row["val.loss"] for row in self.rows(self.run_folder())])


class Places(CliTest):
    def test_from_another_folder(self):
        """The recipe's own paths are relative to it, those of path parameters to the working directory; runs too."""
        self.write("lib/data/t.csv", "a,y\n" + "".join(f"{i},{2 * i}\n" for i in range(50)))
        self.write("lib/r.lua", 'local path = lab.param { "data", "data/t.csv" }\n' + fit(
            data='lab.data.csv { "data/t.csv", target = "y" }:split { val = 0.2 }:normalize()',
            model="nn.Linear(1)", loss="mse"))
        work = self.folder / "work"
        work.mkdir()
        self.train(recipe="../lib/r.lua", cwd=work)
        self.assertTrue((work / "runs/r/001/summary.json").exists())
        self.assertFalse((self.folder / "lib/runs").exists())
        # And it is gone on with from anywhere, although it is no longer where it was.
        self.run_program("extend", work / "runs/r/001", "--epochs", "4", cwd="/")

    def test_path_parameter(self):
        self.write("lib/r.lua", 'local path = lab.param { "data", type = "path" }\n' + fit(
            data='lab.data.csv { path, target = "y" }', model="nn.Linear(1)", loss="mse"))
        self.write("work/t.csv", "a,y\n" + "".join(f"{i},{2 * i}\n" for i in range(50)))
        self.train("--data", "t.csv", recipe="../lib/r.lua", cwd=self.folder / "work")

    def test_recipes_of_the_project(self):
        """They are what people try first: each shows its parameters and passes its own check."""
        recipes = sorted((SOURCE / "recipes").glob("*.lua"))
        self.assertGreaterEqual(len(recipes), 3)
        for recipe in recipes:
            with self.subTest(recipe=recipe.name):
                self.assertIn("--", self.run_program(recipe, "--help").out)
        for name in ("digits", "tabular"):
            self.run_program("check", SOURCE / "recipes" / f"{name}.lua", "--step", "--threads", "1")

    def test_digits(self):
        result = self.train("--json", "--quiet", recipe=SOURCE / "recipes/digits.lua").json()
        self.assertIn(result["status"], ("done", "stopped"))
        self.assertGreaterEqual(result["metrics"]["test.accuracy"], 0.96)


if __name__ == "__main__":
    unittest.main()
