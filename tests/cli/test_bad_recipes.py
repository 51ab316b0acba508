"""Wrong recipes: exit code 1, one message with file and line that says what was expected and found, and a hint."""

import os
import unittest

from program import LINES, CliTest, fit


class Options(CliTest):
    def refused(self, line, message, hint=None):
        result = self.train(code=1)
        self.assert_message(result, f"r.lua:{line}: {message}")
        if hint:
            self.assertIn(f"\n  hint: {hint}\n", result.err, result)
        return result

    def test_unknown_option(self):
        self.recipe(optim="lab.optim.AdamW { lrr = 0.01 }")
        self.refused(LINES["optim"], "optim.AdamW: there is no option 'lrr'", "did you mean 'lr'?")
        self.recipe(more="  epoch = 3,\n")
        self.refused(LINES["fit"], "fit: there is no option 'epoch'", "did you mean 'epochs'?")

    def test_unknown_entry(self):
        self.recipe(model="nn.Sequential { nn.Linaer(3) }")
        self.refused(LINES["model"], "lab.nn has no 'Linaer'", "did you mean lab.nn.Linear?")
        self.recipe(loss="crossentropy")
        self.refused(LINES["fit"], 'fit.loss: expected a loss or function(out, batch) → scalar[, count], found '
                     '"crossentropy"', 'did you mean "cross_entropy"?')

    def test_wrong_type(self):
        self.recipe(optim='lab.optim.AdamW { lr = "fast" }')
        self.refused(LINES["optim"], 'optim.AdamW.lr: expected a number ≥ 0, found "fast"')
        self.recipe(batch="1.5")
        self.refused(LINES["fit"], "fit.batch: expected an integer ≥ 1, found 1.5")

    def test_out_of_range(self):
        self.recipe(optim="lab.optim.AdamW { lr = -1 }")
        self.refused(LINES["optim"], "optim.AdamW.lr: expected a number ≥ 0, found -1")
        self.recipe(model="nn.Sequential { nn.Dropout(1.5), nn.Linear(3) }")
        self.refused(LINES["model"], "nn.Dropout.p: expected a number in [0, 1), found 1.5")

    def test_missing_option(self):
        self.write("r.lua", fit().replace('  loss = "cross_entropy",\n', ""))
        self.refused(LINES["fit"], "loss: missing; expected a loss")

    def test_shape_mismatch(self):
        # The layer's path, both shapes, and the line of the layer itself.
        self.recipe(model="nn.Sequential {\n    nn.Linear(8),\n    nn.Conv2d(4, 3),\n    nn.Linear(3),\n  }")
        self.refused(LINES["model"] + 2, "model[2].Conv2d: expected an input of [channels, height, width], found an "
                                         "input of shape [8]")
        self.recipe(model="nn.Sequential { nn.Linear(8), nn.Residual { nn.Linear(5) }, nn.Linear(3) }")
        result = self.train(code=1)
        self.assert_said(result, f"r.lua:{LINES['model']}: model[2].Residual: ", "[5]", "[8]", "hint: ")

    def test_outputs_that_do_not_fit_the_data(self):
        self.recipe(model="nn.Sequential { nn.Linear(8), nn.Linear(2) }")
        result = self.train(code=1)
        self.assert_said(result, f"r.lua:{LINES['fit']}: loss: ", "[3]", "[2]", "hint: ", "nn.Linear(3)")

    def test_rule_that_needs_a_validation_part(self):
        self.recipe(data="lab.data.blobs { samples = 120 }",
                    more='  stop = lab.stop.patience { metric = "val.loss" },\n')
        self.refused(LINES["more"], 'stop[1].patience.metric: there is no metric "val.loss"', "this fit has train.loss")

    def test_syntax(self):
        self.write("r.lua", "local t = {\nreturn nil\n")
        self.refused(2, "unexpected symbol near 'return'")

    def test_check_says_the_same(self):
        self.recipe(optim="lab.optim.AdamW { lrr = 0.01 }")
        result = self.run_program("check", "r.lua", code=1)
        self.assert_message(result, f"r.lua:{LINES['optim']}: optim.AdamW: there is no option 'lrr'")
        self.recipe(model="nn.Sequential { nn.Linear(8), nn.Linear(2) }")
        result = self.run_program("check", "r.lua", code=1)
        self.assert_said(result, f"r.lua:{LINES['fit']}: loss: ")
        self.assertFalse((self.folder / "runs").exists())

    def test_json(self):
        self.recipe(optim="lab.optim.AdamW { lr = -1 }")
        result = self.train("--json", code=1)
        self.assertEqual(result.json(), {
            "status": "failed",
            "error": {"file": "r.lua", "line": LINES["optim"], "path": "optim.AdamW.lr",
                      "message": "expected a number ≥ 0, found -1"}})


class Settings(CliTest):
    """What is wrong on the command line is wrong usage: exit code 2."""

    def test_set(self):
        self.recipe()
        result = self.train("--set", "optim.lrr=3", code=2)
        self.assert_message(result, "trainlab: --set optim.lrr=3: fit.optim: optim.AdamW has no option 'lrr'")
        self.assert_said(result, "hint: did you mean 'lr'?")
        result = self.train("--set", "optim.lr=fast", code=2)
        self.assert_message(result,
                            'trainlab: --set optim.lr=fast: fit.optim.lr: expected a number ≥ 0, found "fast"')
        result = self.train("--set", "nope:optim.lr=1", code=2)
        self.assert_message(result, 'trainlab: --set nope:optim.lr=1: the recipe has no stage "nope"')

    def test_parameter(self):
        self.write("r.lua", 'lab.param { "rate", 0.1, min = 0 }\n')
        result = self.train("--rat", "1", code=2)
        self.assert_message(result, "trainlab: --rat: the recipe has no parameter 'rat'")
        self.assert_said(result, "hint: did you mean --rate?")
        result = self.train("--rate", "fast", code=2)
        self.assert_message(result, 'r.lua:1: --rate: expected a number ≥ 0, found "fast"')
        result = self.train("--rate", "-1", code=2)
        self.assert_message(result, 'r.lua:1: --rate: expected a number ≥ 0, found "-1"')

    def test_fraction_for_a_whole_default(self):
        """Lua's 1.0 is 1, so the parameter is an integer: that must not be a riddle."""
        self.write("r.lua", 'lab.param { "rate", 1.0 }\n')
        result = self.train("--rate", "0.5", code=2)
        self.assert_message(result, 'r.lua:1: --rate: expected an integer, found "0.5"')
        self.assert_said(result, 'hint: its default, 1, is a whole number; type = "number" in the recipe')
        self.assertNotIn("hint", self.train("--rate", "x", code=2).err)

    def test_parameters_file(self):
        self.write("r.lua", 'local rate = lab.param { "rate", 0.1 }\nprint("rate " .. rate)\n')
        self.write("p.toml", "rate = 0.25\n")
        self.assert_said(self.train("--params", "p.toml"), "rate 0.25")
        self.assert_said(self.train("--params", "p.toml", "--rate", "0.5"), "rate 0.5")
        self.write("p.toml", "rate = 0.25\nwidht = 3\n")
        result = self.train("--params", "p.toml", code=2)
        self.assert_said(result, "p.toml", "'widht'")
        self.write("p.toml", "rate = \n")
        self.assert_said(self.train("--params", "p.toml", code=2), "p.toml:1")
        self.assert_said(self.train("--params", "nope.toml", code=2), "nope.toml")

    def test_device_that_is_not_there(self):
        self.recipe()
        if os.path.exists("/dev/nvidia0"):
            self.skipTest("this machine has a GPU")
        result = self.train("--device", "cuda", code=2)
        self.assert_message(result, "trainlab: device cuda is not there: found no usable GPU")
        self.assert_said(result, "hint: ")
        self.assertFalse((self.folder / "runs").exists())


class Running(CliTest):
    def test_error_in_a_callback(self):
        self.recipe(more='  on = {\n    validate = function(run)\n      if run.epoch == 2 then error("no luck") end\n'
                         "    end,\n  },\n")
        line = LINES["more"] + 2
        result = self.train(code=1)
        self.assert_message(result, f"r.lua:{line}: no luck")
        self.assert_said(result, "what was saved until then is in runs/r/001")
        self.assert_status(self.run_folder(), "failed")
        self.assertEqual(self.summary(self.run_folder())["reason"], f"r.lua:{line}: no luck")
        result = self.train("--json", code=1)
        self.assertEqual(result.json()["error"], {"file": "r.lua", "line": line, "path": "", "message": "no luck"})

    def test_error_in_a_stop_rule_and_a_schedule(self):
        self.recipe(more="  stop = function(run)\n    return run.metrics['val.los'] > 1\n  end,\n")
        result = self.train(code=1)
        self.assert_said(result, f"r.lua:{LINES['more'] + 1}: ", "val.los")
        self.recipe(more="  schedule = function(step, total)\n    return nil\n  end,\n")
        result = self.train(code=1)
        self.assert_said(result, f"r.lua:{LINES['more']}: ", "schedule")

    def test_recipe_that_eats_memory(self):
        self.write("r.lua", 'local t = {}\nwhile true do\n  t[#t + 1] = ("x"):rep(10000000) .. #t\nend\n')
        result = self.train(code=1)
        self.assert_message(result, "r.lua:3: the memory limit of recipes is reached: 1 GiB of Lua values")
        self.assertFalse((self.folder / "runs").exists())

    def test_recipe_that_loops_for_ever(self):
        self.write("r.lua", "local i = 0\nwhile true do\n  i = i + 1\nend\n")
        result = self.train(code=1)
        message = "stopped after 2,000,000,000 instructions without a call that did work"
        self.assert_said(result, "r.lua:", message, "hint: a loop that does not end?")
        self.recipe(more="  on = { validate = function(run)\n    while true do end\n  end },\n")
        result = self.train(code=1)
        self.assert_message(result, f"r.lua:{LINES['more'] + 1}: {message} in this callback")
        self.assert_status(self.run_folder(), "failed")

    @unittest.skipUnless("TRAINLAB_LONG_TESTS" in os.environ, "takes over a minute; set TRAINLAB_LONG_TESTS=1")
    def test_pattern_that_explodes(self):
        self.write("r.lua", 'print("begins")\nlocal _ = ("a"):rep(40):match((".-"):rep(30) .. "b")\n')
        result = self.train(code=1)
        self.assert_said(result, "begins", "r.lua:2: no answer for 60 s", "hint: a string pattern that explodes?")

    def test_nothing_to_run(self):
        self.write("r.lua", 'print("hello")\n')
        result = self.train()
        self.assertEqual((result.out, result.err), ("", "hello\n"), result)
        result = self.train("--json")
        self.assertEqual(result.out, '{"kind":"none","status":"done"}\n', result)
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    unittest.main()
