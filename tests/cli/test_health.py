"""Faults of a training are named by the real program, and healthy trainings are left in peace."""

import math
import os
import random
import sys
import unittest

from program import LINES, SOURCE, CliTest, fit

sys.path.insert(0, os.path.join(SOURCE, "tools", "bench"))
import health_rules  # noqa: E402

DIGITS = "lab.data.digits():split { train = 0.6, val = 0.2, seed = 1 }"
MLP = "nn.Sequential { nn.Flatten(), nn.Linear(64), nn.ReLU(), nn.Linear(10) }"
SGD = "lab.optim.SGD { lr = 0.05, momentum = 0.9 }"
# Option of program.fit() → another value, for each kind of fault.
FAULTS = {
    "rate_too_high": {"optim": "lab.optim.SGD { lr = 5, momentum = 0.9 }"},
    "rate_too_low": {"optim": "lab.optim.SGD { lr = 0.00005, momentum = 0.9 }"},
    "unnormalised_inputs": {
        "data": 'lab.data.digits():map("x", function(x) return x * 255 end):split { train = 0.6, val = 0.2 }'},
    "dead_units": {"more": '  init = { ["2.bias"] = lab.init.constant(-10) },\n'},
    "saturated_units": {"model": "nn.Sequential { nn.Flatten(), nn.Linear(64, { init = lab.init.normal(20) }), "
                                 "nn.Sigmoid(), nn.Linear(10) }"},
    "small_batch_statistics": {"batch": "2", "epochs": "1", "optim": "lab.optim.SGD { lr = 0.005 }",
                               "model": "nn.Sequential { nn.Flatten(), nn.Linear(32), nn.BatchNorm1d(), nn.ReLU(), "
                                        "nn.Linear(10) }"},
    "overfitting": {"data": 'lab.data.digits():map("y", function(rows)\n'
                            "    local y = {}\n"
                            "    for i = 1, rows.shape[1] do y[i] = math.random(0, 9) end\n"
                            '    return lab.tensor(y, { dtype = "int64" })\n'
                            "  end):split { train = 0.036, val = 0.2, seed = 1 }",
                    "epochs": "40", "batch": "16"},
    "class_collapse": {"data": 'lab.data.digits():map("y", function(y) return y:floor_divide(9) end)'
                               ":split { train = 0.6, val = 0.2 }",
                       "model": "nn.Sequential { nn.Flatten(), nn.Linear(32), nn.ReLU(), nn.Linear(2) }"},
    # A straight line through a sine of many periods is no better than the mean.
    "underfitting": {"data": "lab.data.sine { samples = 1000, frequency = 5 }:split { train = 0.6, val = 0.2 }",
                     "loss": "mse", "model": "nn.Linear(1)", "epochs": "20"},
    "below_floor": {"loss": "nll"},  # of scores, where the loss takes logarithms of probabilities
    "leakage": {"data": "lab.data.tensors(function()\n"
                        "    local x = lab.tensor.randn({ 600, 64 }, { seed = 3 })\n"
                        "    local y = x:narrow(1, 0, 10):argmax(1)\n"
                        "    return lab.ops.cat({ x, x }), lab.ops.cat({ y, y })\n"
                        "  end):split { train = 0.7, val = 0.3, seed = 1 }"},
}


class Health(CliTest):
    def run_fit(self, name, code=0, **options):
        self.recipe(f"{name}.lua", **{"data": DIGITS, "model": MLP, "optim": SGD, "batch": "50", "epochs": "8",
                                      **options})
        return self.train(recipe=f"{name}.lua", code=code)

    def kinds(self, name):
        return [verdict["kind"] for verdict in self.summary(self.run_folder(name=name))["health"]]

    def test_faults_are_named_alone(self):
        for kind, options in FAULTS.items():
            with self.subTest(kind):
                result = self.run_fit(kind, **options)
                self.assertEqual(self.kinds(kind), [kind], result)
                self.assertEqual(result.err.count(f"health: {kind} "), 1, result)
                report = self.run_program("report", self.run_folder(name=kind)).out
                self.assertIn(f"health {kind} (", report)
                self.assertIn("remedy: ", report)

    def test_labels_of_equal_samples_show_the_floor(self):
        """A fifth of the labels of 100 points, each of which is there 12 times, is wrong."""
        draw = random.Random(1)
        points = [(a, b, (a + b) % 3) for a in range(10) for b in range(10)] * 12
        rows = [f"{a},{b},c{y if draw.random() > 0.2 else (y + draw.choice((1, 2))) % 3}" for a, b, y in points]
        draw.shuffle(rows)
        self.write("points.csv", "a,b,y\n" + "\n".join(rows) + "\n")
        table = {"data": 'lab.data.csv { "points.csv", target = "y" }:split { train = 0.6, val = 0.2, seed = 1 }'
                         ":normalize()",
                 "model": "nn.Sequential { nn.Linear(16), nn.ReLU(), nn.Linear(3) }"}
        self.run_fit("noisy", **table)
        floor = self.summary(self.run_folder(name="noisy"))["floor"]
        self.assertEqual(floor["groups"], 100)
        self.assertAlmostEqual(floor["wrong_labels"], 0.2, delta=0.05)
        self.assertAlmostEqual(floor["loss"], -0.8 * math.log(0.8) - 0.2 * math.log(0.1), delta=0.1)
        self.assertLess(floor["low"], floor["loss"])
        self.assertLess(floor["loss"], floor["high"])
        summary = self.summary(self.run_folder(name="noisy"))
        self.assertAlmostEqual(summary["constant_loss"], math.log(3), delta=0.01)
        self.assertRegex(self.run_program("report", self.run_folder(name="noisy")).out,
                         r" % of the labels are wrong, as those of 100 groups of equal samples show; a constant "
                         r"prediction has 1\.09\d*\n")
        self.run_fit("clean")
        self.assertNotIn("floor", self.summary(self.run_folder(name="clean")))

    def test_the_report_says_what_the_run_cannot_tell(self):
        self.run_fit("clean")
        report = self.run_program("report", self.run_folder(name="clean")).out
        self.assertIn("  rate   one run cannot tell whether another rate within a factor 4 is better; to ask: trainlab "
                      "find lr RECIPE\n", report)
        self.assertRegex(report, r"\n  floor  unknown: .*; a constant prediction has 2\.30\d*\n")
        self.run_fit("low", optim="lab.optim.SGD { lr = 1e-6 }")
        self.assertEqual(self.kinds("low"), ["rate_too_low"])
        self.assertNotIn("within a factor 4", self.run_program("report", self.run_folder(name="low")).out)

    def test_a_batch_that_is_not_finite_is_found(self):
        result = self.run_fit("nan", code=3, data='lab.data.digits():map("x", function(x) return x:log() end)'
                                                  ":split { train = 0.6, val = 0.2 }")
        self.assertEqual(self.kinds("nan"), ["not_finite"], result)
        (verdict,) = self.summary(self.run_folder(name="nan"))["health"]
        self.assertRegex(verdict["evidence"], r"^step 1: \d+ of \d+ values of the batch are not finite; ")
        self.assertEqual(verdict["step"], 0)
        self.assertIn("(high confidence, after 0 steps): ", result.out)
        self.assertIn("the training loss is not finite at step 1 ", result.out)

    def test_numbers_that_stand_for_missing_values_are_found(self):
        result = self.run_fit("filled", code=3, data='lab.data.digits():map("x", function(x)\n'
                                                     "    local added = {}\n"
                                                     "    for i = 1, x.shape[1] do\n"
                                                     "      added[i] = math.random() < 0.003 and 1e20 or 0\n"
                                                     "    end\n"
                                                     "    return x + lab.tensor(added):reshape { -1, 1, 1, 1 }\n"
                                                     "  end):split { train = 0.6, val = 0.2 }")
        self.assertEqual(self.kinds("filled"), ["not_finite"], result)
        (verdict,) = self.summary(self.run_folder(name="filled"))["health"]
        self.assertRegex(verdict["evidence"], r"^step \d+: values of the batch go up to 1e\+20, where \S+ is usual; ")

    def test_the_layer_that_is_not_finite_is_named(self):
        model = ("nn.Sequential { nn.Flatten(), nn.Linear(16), "
                 "nn.Module { forward = function(self, x) return x:log() end }, nn.Linear(10) }")
        result = self.run_fit("layer", code=3, model=model)
        (verdict,) = self.summary(self.run_folder(name="layer"))["health"]
        self.assertEqual(verdict["kind"], "not_finite", result)
        self.assertIn("model[3].Module", verdict["evidence"])

    def test_the_remedy_names_the_place_that_sets_the_rate(self):
        for name, setting in (("set_lr", "run:set_lr(5)"), ("optim", "run.optim.lr = 5")):
            with self.subTest(setting):
                more = f"  on = {{\n    start = function(run) {setting} end,\n  }},\n"
                self.run_fit(name, more=more)
                (verdict,) = self.summary(self.run_folder(name=name))["health"]
                self.assertEqual(verdict["kind"], "rate_too_high")
                self.assertRegex(verdict["remedy"],
                                 rf"^a rate of \S+ in place of 5, which {name}.lua:{LINES['more'] + 1} sets$")

    def test_the_place_that_sets_the_rate_outlives_an_interruption(self):
        self.recipe("r.lua", data=DIGITS, model=MLP, optim="lab.optim.SGD { lr = 0.05 }", batch="50", epochs="8",
                    more="  on = { start = function(run) run:set_lr(0.00005) end, epoch = function(run)\n"
                         "    if run.epoch == 1 then error('on purpose') end\n  end },\n")
        self.train(code=1)
        mended = (self.folder / "r.lua").read_text().replace("error('on purpose')", "run:log('mended', 1)")
        self.write("r.lua", mended)
        self.run_program("resume", self.run_folder(), "--recipe", "r.lua")
        (verdict,) = self.summary(self.run_folder())["health"]
        self.assertIn(f"in place of 5e-05, which r.lua:{LINES['more']} sets", verdict["remedy"])

    def test_healthy_trainings_are_silent(self):
        for name, options in {
            "plain": {},
            "adam": {"optim": "lab.optim.AdamW { lr = 0.003 }"},
            "tanh": {"model": "nn.Sequential { nn.Flatten(), nn.Linear(64), nn.Tanh(), nn.Linear(10) }"},
            "norm": {"model": "nn.Sequential { nn.Flatten(), nn.Linear(64), nn.BatchNorm1d(), nn.ReLU(), "
                              "nn.Linear(10) }"},
            "cosine": {"more": '  schedule = lab.sched.cosine { warmup = "10%" },\n', "epochs": "12"},
        }.items():
            with self.subTest(name):
                result = self.run_fit(name, **options)
                self.assertEqual(self.kinds(name), [], result)
                self.assertNotIn("health", result.err)

    def test_a_function_of_the_recipe_gets_the_verdict_and_stop_ends_the_fit(self):
        more = ('  health = { action = "stop" },\n'
                "  on = { health = function(run, verdict) print(run.step, verdict.kind, verdict.remedy) end },\n")
        result = self.run_fit("stop", more=more, **FAULTS["rate_too_low"])
        summary = self.summary(self.run_folder(name="stop"))
        self.assertEqual(summary["status"], "stopped")
        self.assertTrue(summary["reason"].startswith("health: rate_too_low: "), summary["reason"])
        self.assertEqual(result.err.count("\trate_too_low\t"), 1, result)

    def test_a_run_that_a_verdict_has_stopped_goes_on_when_it_is_extended(self):
        self.run_fit("stop", more='  health = { action = "stop" },\n', **FAULTS["unnormalised_inputs"])
        run = self.run_folder(name="stop")
        stopped = self.summary(run)
        self.assertEqual(stopped["status"], "stopped")
        self.run_program("extend", run, "--epochs", "12")
        summary = self.summary(run)
        self.assertEqual(summary["status"], "done", summary)
        self.assertGreater(summary["steps"], 8 * stopped["steps"])
        self.assertEqual(self.kinds("stop"), ["unnormalised_inputs"])

    def test_a_loss_that_weighs_rare_classes_has_the_remedy_already(self):
        options = {"optim": SGD, "batch": "50", "epochs": "8", **FAULTS["class_collapse"]}
        self.write("balanced.lua", fit(**options).replace(
            '"cross_entropy"', 'lab.loss.cross_entropy { class_weights = "balanced" }'))
        self.train(recipe="balanced.lua")
        self.assertEqual(self.kinds("balanced"), [])

    def fixes(self, name):
        return [fix["option"] for fix in self.summary(self.run_folder(name=name)).get("fixes", [])]

    def test_faults_are_fixed(self):
        # The only checkpoint is that of the end, so that each training begins anew on every machine.
        fix = '  health = { action = "fix" }, checkpoint = "1000 epochs",\n'
        for kind, option in {"rate_too_high": "lr", "rate_too_low": "lr", "unnormalised_inputs": "data:normalize",
                             "dead_units": "init", "small_batch_statistics": "batch"}.items():
            with self.subTest(kind):
                options = {**FAULTS[kind], "epochs": "12"}
                if kind == "small_batch_statistics":
                    options["optim"] = "lab.optim.SGD { lr = 0.05 }"
                more = options.pop("more", "") + fix + '  metrics = { "accuracy" },\n'
                result = self.run_fit(kind, more=more, **options)
                summary = self.summary(self.run_folder(name=kind))
                self.assertEqual(set(self.fixes(kind)), {option}, result)
                self.assertEqual(summary["fixes"][0]["kind"], kind)
                # With low confidence a verdict names a probe; what it suspects is not fixed.
                self.assertEqual({verdict["confidence"] for verdict in summary["health"]} - {"low"}, set(), result)
                self.assertGreater(summary["metrics"]["val.accuracy"], 0.85)
                self.assertEqual(result.err.count("; the training begins anew"), len(summary["fixes"]), result)
                report = self.run_program("report", self.run_folder(name=kind)).out
                self.assertIn(f"fixed  {option}", report)
                self.assertIn(f" because of {kind} at step ", report)

    def test_what_no_fix_heals_is_told(self):
        result = self.run_fit("leakage", more='  health = { action = "fix" },\n', **FAULTS["leakage"])
        self.assertEqual(self.kinds("leakage"), ["leakage"], result)
        self.assertEqual(self.fixes("leakage"), [])

    def test_overfitting_is_fixed_by_the_end(self):
        result = self.run_fit("over", more='  health = { action = "fix" },\n', **FAULTS["overfitting"])
        summary = self.summary(self.run_folder(name="over"))
        self.assertEqual(summary["status"], "stopped", result)
        self.assertTrue(summary["reason"].startswith("health: overfitting: "), summary["reason"])

    def test_a_fixed_training_goes_back_to_its_last_checkpoint(self):
        more = '  health = { action = "fix" },\n  checkpoint = "1 epochs",\n'
        result = self.run_fit("back", more=more, **{**FAULTS["rate_too_low"], "epochs": "16"})
        summary = self.summary(self.run_folder(name="back"))
        self.assertEqual(self.fixes("back"), ["lr"], result)
        fix = summary["fixes"][0]
        self.assertEqual(fix["from"] % 22, 0)
        self.assertTrue(0 < fix["from"] <= fix["step"], fix)
        self.assertEqual(summary["resumed"], [fix["from"]])
        steps = [row["step"] for row in self.rows(self.run_folder(name="back"))]
        self.assertEqual(steps, sorted(set(steps)))
        self.assertIn("exact = false", (self.run_folder(name="back") / "manifest.toml").read_text())
        # A run that has ended goes on with its fixes.
        self.run_program("extend", self.run_folder(name="back"), "--epochs", "18")
        self.assertEqual(self.fixes("back"), ["lr"])

    def test_a_killed_run_goes_on_with_its_fixes(self):
        more = '  health = { action = "fix" },\n  checkpoint = "1 epochs",\n'
        self.recipe("r.lua", data=DIGITS, model=MLP, batch="50", epochs="30", more=more,
                    **FAULTS["rate_too_high"])
        self.run_program("r.lua", "--threads", "1", "--out", "whole")
        running = self.start("r.lua", "--threads", "1", "--out", "killed")
        running.until_said("the training begins anew")
        running.kill()
        result = self.run_program("resume", "killed")
        self.assertIn("health: goes on with lr = ", result.err)
        self.assert_same_end(self.folder / "killed", self.folder / "whole")
        fixes = [{**fix, "seconds": 0} for fix in self.summary(self.folder / "killed")["fixes"]]
        self.assertEqual(fixes, [{**fix, "seconds": 0} for fix in self.summary(self.folder / "whole")["fixes"]])

    def test_a_fix_needs_gradients(self):
        more = '  health = { action = "fix" },\n  memory = { fuse_step = true },\n'
        result = self.run_fit("fused", code=1, more=more)
        self.assert_said(result, 'action: "fix" needs the gradients of each step, found the option memory.fuse_step',
                         "hint: ")

    def test_the_bench_reads_the_losses_for_the_rules_of_other_tools(self):
        self.run_program(SOURCE / "tools" / "bench" / "recipes" / "health.lua", "--peers", "true", "--lr", "0.0005",
                         "--epochs", "3", "--threads", "1", "--out", self.folder / "r")
        facts = health_rules.read_facts(self.folder / "r", {"epochs": 3, "lr": 0.0005}, self.summary(self.folder / "r"))
        self.assertEqual(len(facts.losses), 72)
        self.assertAlmostEqual(facts.losses[0], math.log(10), delta=0.5)
        self.assertIn("loss stagnates", health_rules.alarms(facts)["TheDeepChecker"])

    def test_overfitting_is_taken_back_in_a_fit_with_a_step_of_its_own(self):
        """The validation loss falls to 1 in 8 epochs, rises to 2 in 8, and falls to 0.2 in 14."""
        self.write("own.lua", f"""local nn, ops = lab.nn, lab.ops
            local function turning(epoch)
              return epoch < 8 and 2 - epoch / 8 or epoch < 16 and epoch / 8 or 2 - 1.8 * (epoch - 16) / 14
            end
            return lab.fit {{
              name = "own", data = {DIGITS}, model = {MLP}, optim = {SGD}, batch = 50, epochs = 30,
              loss = function(out, batch, run) return out:sum() * 0 + turning(run.step / 22) end,
              step = function(run, batch)
                local loss = ops.cross_entropy_loss(run.model:forward(batch.x), batch.y)
                run.optim:zero_grad(); loss:backward(); run.optim:step()
                return {{ loss = loss }}
              end,
              on = {{ health = function(run, verdict) print("heard of " .. verdict.kind) end }},
            }}""")
        result = self.train(recipe="own.lua")
        self.assertRegex(result.err, r"health: overfitting \(.* confidence, after (3|4)\d\d steps\)")
        self.assertEqual(result.err.count("heard of overfitting"), 1, result)
        self.assertRegex(result.err, r"health: overfitting is taken back after [56]\d\d steps: the validation loss has "
                                     r"fallen to \S+, below its best until step (3|4)\d\d, \S+\n")
        self.assertEqual(self.kinds("own"), [])
        report = self.run_program("report", self.run_folder(name="own")).out
        self.assertNotIn("overfitting", report)
        self.assertNotIn("trainlab find", report)  # which refuses a fit with a step of its own

    def test_the_rows_of_a_task_are_watched(self):
        """A validation loss that falls for 8 epochs of 10 steps and then rises; in a trial, the log says nothing."""
        loop = """function(ctx)
  local x = lab.tensor { 0 }
  for step in ctx:steps(320, { save = { x } }) do
    ctx:log("train.loss", %s)
    if step %% 10 == 9 then
      local epoch = (step + 1) / 10
      ctx:log("val.loss", epoch < 8 and 2 - epoch / 8 or %s)
    end
  end
end"""
        falling = "2 / (1 + step / 40)"
        for name, kinds, losses in (("well", [], (falling, "1")), ("over", ["overfitting"], (falling, "epoch / 8")),
                                    ("lost", ["not_finite"], ("step < 100 and 2 or 0 / 0", "1"))):
            with self.subTest(name):
                self.write(f"{name}.lua", f'return lab.task {{ name = "t", run = {loop % losses} }}\n')
                result = self.train(recipe=f"{name}.lua")
                self.assertEqual(self.kinds(name), kinds, result)
                self.assertEqual(result.err.count("health: "), len(kinds), result)
                self.assertNotIn("ctx:log: ", result.err)  # one line for one fault
                report = self.run_program("report", self.run_folder(name=name)).out
                self.assertEqual(report.count("  health "), len(kinds), report)
                self.assertNotIn("trainlab find", report)
        self.write("trials.lua", f"""return lab.sweep {{ name = "s", space = {{ x = lab.space.uniform(0, 1) }},
  metric = "val.loss", trials = 2, build = function(hp)
    return lab.task {{ name = "t", run = {loop % (falling, "epoch / 8")} }}
  end }}
""")
        result = self.train(recipe="trials.lua")
        summary = self.summary(self.run_folder(name="trials"))
        self.assertEqual([(one["kind"], one["count"]) for one in summary["health"]], [("overfitting", 2)])
        self.assertNotIn("health: ", result.err)

    def test_a_verdict_outlives_an_interruption(self):
        self.recipe("r.lua", data=DIGITS, model=MLP, optim="lab.optim.SGD { lr = 0.00005 }", batch="50", epochs="400",
                    more='  checkpoint = "1 epochs",\n')
        running = self.start("r.lua", "--threads", "1")
        running.until_said("health: rate_too_low")
        running.send(2)
        self.end(running, 130)
        result = self.run_program("resume", self.run_folder())
        self.assertEqual(self.kinds("r"), ["rate_too_low"])
        self.assertNotIn("health: ", result.err)

    def test_the_function_hears_of_a_verdict_that_was_found_just_before_an_interruption(self):
        self.recipe("r.lua", data=DIGITS, model=MLP, optim="lab.optim.SGD { lr = 0.00005 }", batch="50", epochs="400",
                    more='  validate = "400 epochs",\n  on = { health = function(run, verdict) '
                         'print("heard of " .. verdict.kind) end },\n')
        running = self.start("r.lua", "--threads", "1")
        running.until_said("health: rate_too_low")
        running.send(2)
        self.assertNotIn("heard of", self.end(running, 130).err)
        result = self.run_program("resume", self.run_folder())
        self.assertEqual(result.err.count("heard of rate_too_low"), 1)

    def test_an_error_in_the_function_loses_neither_its_call_nor_a_question_to_the_stop_rules(self):
        """Of two faults the second has the error: the function is not called again for the first."""
        data = FAULTS["leakage"]["data"].replace("lab.ops.cat({ x, x })", "lab.ops.cat({ x, x }) * 255")
        stop = ("  stop = function(run)\n    run.state.asked = (run.state.asked or 0) + 1\n"
                "    if run.state.asked == 2 then return 'asked twice' end\n  end,\n")

        def recipe(first):
            health = (f"{first} local n, kind = run.state, verdict.kind\n"
                      "    n[kind] = (n[kind] or 0) + 1\n    run:log(kind, n[kind])\n  end")
            return fit(data=data, model=MLP, optim="lab.optim.SGD { lr = 1e-6 }", batch="50", epochs="8",
                       more=f"  on = {{ health = function(run, verdict) {health} }},\n" + stop)

        self.write("r.lua", recipe("if verdict.kind == 'unnormalised_inputs' then error('oh') end"))
        line = LINES["more"] + data.count("\n")
        said = "the run is saved up to step 17, where it calls this function again"
        self.assert_said(self.train("--out", "run", code=1), f"r.lua:{line}: oh", said)
        self.assert_said(self.run_program("resume", "run", code=1), "oh", said)
        self.write("mended.lua", recipe(""))
        self.run_program("resume", "run", "--recipe", "mended.lua", "--quiet")
        self.train("--out", "whole", "--quiet", recipe="mended.lua")
        self.assert_same_end(self.folder / "run", self.folder / "whole")
        self.assertEqual([(row["step"], row.get("leakage"), row.get("unnormalised_inputs"))
                          for row in self.rows(self.folder / "run")], [(17, None, None), (34, 1, 1)])
        self.assertEqual(self.summary(self.folder / "run")["reason"], "asked twice")

    def test_an_error_in_the_function_under_fix_loses_no_call(self):
        """A fault that the validation of step 10 shows, and that no fix may end: it is told at the next one."""
        for name, body in (("r", "error('oh')"), ("mended", "print('heard of ' .. verdict.kind)")):
            self.recipe(f"{name}.lua", data=DIGITS, **FAULTS["small_batch_statistics"],
                        more='  health = { action = "fix" }, memory = { budget = "1 GB" }, validate = "10 steps",\n'
                             f"  on = {{ health = function(run, verdict) {body} end }},\n")
        self.assert_said(self.train("--out", "run", code=1), "oh",
                         "the run is saved up to step 20, where it calls this function again")
        result = self.run_program("resume", "run", "--recipe", "mended.lua")
        self.assertEqual(result.err.count("heard of small_batch_statistics"), 1, result)
        summary = self.summary(self.folder / "run")
        self.assertEqual([verdict["kind"] for verdict in summary["health"]], ["small_batch_statistics"])

    def test_what_the_function_saves_at_the_end_is_written(self):
        self.run_fit("nan", code=3, data='lab.data.digits():map("x", function(x) return x:log() end)'
                                         ":split { train = 0.6, val = 0.2 }",
                     more="  on = { health = function(run) run:save('sick') end },\n")
        self.assertEqual(self.kinds("nan"), ["not_finite"])
        self.assertTrue((self.run_folder(name="nan") / "checkpoints" / "sick.safetensors").exists())


if __name__ == "__main__":
    unittest.main()
