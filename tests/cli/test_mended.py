"""Errors in functions of a recipe: what they leave, and how a mended recipe goes on."""

import json
import os
import shutil
import signal
import tomllib
import unittest

from program import LINES, CliTest, fit


class Mended(CliTest):
    """What comes after the training went wrong: nothing is trained again."""

    FINISH = "  on = { finish = function(run) run:log('at_end', %s) end },\n"

    def failed(self, recipe, message):
        self.write("r.lua", recipe)
        result = self.train(code=1)
        self.assert_said(result, message, "to repeat only what failed: trainlab resume ", "runs/r/001 --recipe ")
        return self.run_folder()

    def test_error_at_the_end_of_a_fit(self):
        run = self.failed(fit(more=self.FINISH % "nil + 1"), f"r.lua:{LINES['more']}: ")
        summary = self.summary(run)
        self.assertEqual((summary["status"], summary["steps"]), ("failed", 12))
        self.assertLessEqual({"val.loss", "train.loss", "test.loss"}, summary["metrics"].keys())
        self.assertEqual(summary["best"]["metric"], "val.loss")
        weights = self.weights(run)
        self.run_program("resume", run, code=1)  # the same again
        self.assertEqual(self.weights(run)["best"], weights["best"])

        self.write("mended.lua", fit(more=self.FINISH % "7"))
        result = self.run_program("resume", run, "--recipe", "mended.lua", "--json")
        self.assertEqual(result.json()["status"], "done")
        self.assertEqual(result.json()["metrics"], {**summary["metrics"], "at_end": 7})
        self.assertEqual(self.rows(run)[-1]["at_end"], 7)
        self.assertEqual(self.weights(run)["best"], weights["best"])
        self.assertEqual((run / "recipe" / "r.lua").read_text(), fit(more=self.FINISH % "7"))
        self.assertEqual((run / "recipe-before-1" / "r.lua").read_text(), fit(more=self.FINISH % "nil + 1"))
        manifest = tomllib.loads((run / "manifest.toml").read_text())
        self.assertEqual(len(manifest["mended"]), 1)
        self.assertIn(f"replaced by {manifest['recipe_hash']} from {self.folder}/mended.lua", manifest["mended"][0])
        self.assertEqual(self.run_program("resume", run, "--json").json(), result.json())
        self.run_program("resume", run, "--recipe", "mended.lua", code=2)  # nothing is left to repeat
        self.run_program("report", run)

    def test_error_after_the_last_stage(self):
        recipe = fit(more="  on = { step = function() print('a step') end },\n").replace(
            "return lab.fit", "local r = lab.run(lab.fit")
        run = self.failed(recipe + ")\nlocal x = r.metrics.nothing.x\n", "r.lua:13: result.metrics has no 'nothing'")
        self.assertEqual(self.summary(run)["status"], "failed")
        self.assertEqual(self.summary(run / "stages" / "f")["status"], "done")
        self.assertIn("val.loss", self.summary(run)["metrics"])
        self.write("mended.lua", recipe + ")\nprint('after ' .. r.steps)\n")
        result = self.run_program("resume", run, "--recipe", "mended.lua")
        self.assert_said(result, "after 12")
        self.assertNotIn("a step", result.err, result)
        self.assertEqual(self.summary(run)["status"], "done")

    def test_other_changes_are_refused(self):
        loss = {"loss": "X"}
        head = "local k, switch = 2, { [true] = 1, [false] = 0 }\n"
        text = head + fit(**loss, more=self.FINISH % "nil + 1").replace('"X"', """function(out, batch, run)
    return lab.ops.cross_entropy_loss(out, batch.y) * k * switch[run.step >= 0]
  end""")
        run = self.failed(text, "r.lua:13: ")
        good = text.replace("nil + 1", "1")
        for name, was, now, message in (
            ("model", "nn.Linear(8)", "nn.Linear(9)", "model.layers[1].out_features: was 8, is 9"),
            ("data", "samples = 120", "samples = 121", "samples: was 120, is 121"),
            ("optimizer", "lr = 0.01", "lr = 0.02", "optim.lr: was 0.01, is 0.02"),
            ("kind", "AdamW", "Adam", "optim: was "),
            ("length", "epochs = 3", "epochs = 4", "epochs: was 3, is 4"),
            ("seed", 'name = "f",', 'name = "f", seed = 3,', "seed: was not given, is 3"),
            ("loss", "batch.y) * k", "batch.y) + k", "loss: its function, or a value that the function uses"),
            ("value", "switch = 2,", "switch = 3,", "loss: its function, or a value that the function uses"),
            ("key", "[true] = 1", "[true] = 2", "loss: its function, or a value that the function uses"),
            ("other key", "[false] = 0", "[false] = 1", "loss: its function, or a value that the function uses"),
            ("name", 'name = "f"', 'name = "g"', "name: was \"f\", is \"g\""),
        ):
            with self.subTest(name):
                self.assertIn(was, good)
                self.write("mended.lua", good.replace(was, now))
                result = self.run_program("resume", run, "--recipe", "mended.lua", code=2)
                self.assert_said(result, "stage 1 of the mended recipe is another than the run's:\n", message,
                                 "hint: a mended recipe may change callbacks, metrics and stop rules")
                self.assertFalse((run / "recipe-before-1").exists())
        # What may change does: other lines, a metric, a rule.
        self.write("mended.lua", "\n\n" + good.replace(
            "  on = {", '  metrics = { "accuracy" }, stop = lab.stop.patience { patience = 3 },\n  on = {'))
        self.run_program("resume", run, "--recipe", "mended.lua", "--quiet")
        self.assertEqual(self.summary(run)["status"], "done")

    def test_data_and_layers_that_a_build_takes_from_around_it_stay(self):
        text = ("local data = lab.data.blobs { samples = 120 }:split { train = 0.5, val = 0.5 }\n"
                "local body = { lab.nn.Linear(8), lab.nn.ReLU() }\nlocal function build(hp)\n"
                + fit(data="data", model="nn.Sequential { body[1], body[2], nn.Linear(3) }",
                      optim="lab.optim.SGD { lr = hp.lr }")
                + 'end\nlocal r = lab.run(lab.sweep { name = "s", metric = "val.loss", trials = 2, build = build,\n'
                "  space = { lr = lab.space.log(1e-3, 1e-1) } })\nprint(r.nothing.x)\n")
        self.write("r.lua", text)
        self.train(code=1)
        good = text.replace("r.nothing.x", "'after ' .. r.trials.complete")
        for was, now in (("samples = 120", "samples = 121"), ("train = 0.5", "train = 0.4"), ("Linear(8)", "Linear(9)"),
                         ("ReLU", "GELU")):
            with self.subTest(now):
                self.write("mended.lua", good.replace(was, now))
                result = self.run_program("resume", self.run_folder(), "--recipe", "mended.lua", code=2)
                self.assert_said(result, "build: its function, or a value that the function uses, has changed",
                                 "hint: the build of a sweep or an ensemble that has begun may not change")
                self.assertNotIn("may change callbacks", result.err)
        self.write("mended.lua", good)
        self.assert_said(self.run_program("resume", self.run_folder(), "--recipe", "mended.lua"), "after 2")

    def test_an_error_in_a_callback_loses_no_step(self):
        """The run is saved where the callback was called, and goes on there: as if there had been no error."""
        for name, step, more in (("step", 5, ""), ("validate", 8, ""), ("epoch", 8, ""),
                                 ("epoch", 4, '  validate = "2 epochs",\n'),
                                 ("checkpoint", 6, '  checkpoint = "3 steps",\n'), ("checkpoint", 12, "")):
            with self.subTest(f"{name} at step {step}{more}"):
                call = ("function(run) %srun.state.calls = (run.state.calls or 0) + 1; "
                        "run:log('calls', run.state.calls) end")
                wrong = call % f"if run.step == {step} then error('oh') end; "
                run = self.folder / f"{name}-{step}"
                self.write("r.lua", fit(more=more + f"  on = {{ {name} = {wrong} }},\n"))
                line = LINES["more"] + (1 if more else 0)
                saved = (f"hint: the run is saved up to step {step}, where it calls this function again; to go on with "
                         f"a mended recipe: trainlab resume {run} --recipe MENDED.lua")
                result = self.train("--out", run, code=1)
                self.assert_message(result, f"r.lua:{line}: oh")
                self.assert_said(result, saved)
                self.assertNotIn("everything saved", result.err)
                self.assertEqual(self.summary(run)["status"], "failed")
                # The recipe as it is fails in the same way.
                self.assert_said(self.run_program("resume", run, code=1), f"r.lua:{line}: oh", saved)
                self.write("mended.lua", fit(more=more + f"  on = {{ {name} = {call % ''} }},\n"))
                summary = self.run_program("resume", run, "--recipe", "mended.lua", "--json").json()
                self.assertEqual(set(summary["resumed"]), {step})
                whole = self.folder / f"whole-{name}-{step}"
                self.train("--out", whole, "--quiet", recipe="mended.lua")
                self.assert_same_end(run, whole)

    LOSS = """function(out, batch, run)
    %s
    return lab.ops.cross_entropy_loss(out, batch.y)
  end"""
    STEP = """  step = function(run, batch)
    local loss = lab.ops.cross_entropy_loss(run.model:forward(batch.x), batch.y)
    run.optim:zero_grad(); loss:backward()
    %s
    run.optim:step()
    return { loss = loss }
  end,
"""

    def test_an_error_in_a_function_of_the_training_loses_no_step(self):
        """The steps until then are saved, though no checkpoint was due, and a mended function goes on after them."""
        fails = "if run.step == 6 then error('oh') end"
        ends = "if run.epoch == 2 then error('oh') end"
        data = "lab.data.blobs { samples = 120 }:split { train = 0.5, val = 0.5 }"
        calls = "local calls = 0\n"
        statistics = "nn.Sequential { nn.Linear(8), nn.BatchNorm1d(), nn.Linear(3) }"
        for name, step, wrong, options in (
            ("step", 6, fails, {"more": self.STEP}),
            ("step with statistics", 6, fails, {"more": self.STEP, "model": statistics}),
            ("loss", 6, fails, {"loss": self.LOSS}),
            ("measured loss", 8, ends, {"loss": self.LOSS}),
            ("metric", 8, ends, {"more": "  metrics = { function(out, batch, run) %s return batch.size end },\n"}),
            ("stop", 8, ends, {"more": "  stop = { lab.stop.patience { patience = 2 }, function(run) %s end },\n"}),
            ("transform", 6, "calls = calls + 1 if calls == 7 then error('oh') end",
             {"data": data + ":transform(function(batch) %s return batch end)"}),
        ):
            with self.subTest(name):
                def recipe(text):
                    made = {key: value % text if "%s" in value else value for key, value in options.items()}
                    return calls + fit(**made).replace(f'"{made.get("loss")}"', made.get("loss", "nil"))
                run, whole = self.folder / f"run {name}", self.folder / f"whole {name}"
                self.write("r.lua", recipe(wrong))
                result = self.train("--out", run, code=1)
                self.assert_said(result, "oh\n", f"the run is saved up to step {step}, where it calls this function "
                                                 "again; to go on with a mended recipe: trainlab resume ")
                self.write("mended.lua", recipe(""))
                summary = self.run_program("resume", run, "--recipe", "mended.lua", "--json").json()
                self.assertEqual(set(summary["resumed"]), {step})
                self.train("--out", whole, "--quiet", recipe="mended.lua")
                self.assert_same_end(run, whole)

    def test_a_step_that_has_changed_the_model_cannot_be_taken_back(self):
        late = self.STEP.replace("run.optim:step()", "run.optim:step()\n    if run.step == 6 then error('oh') end")
        adds_up = self.STEP.replace("run.optim:zero_grad()", "if run.step % 4 == 0 then run.optim:zero_grad() end")
        for name, text, more, where in (
            ("begins anew", late, "", "the first step"),
            ("goes back", late, '  checkpoint = "5 steps",\n', "its checkpoint of step 5"),
            ("sums", adds_up, '  checkpoint = "3 steps",\n', "its checkpoint of step 6"),
        ):
            with self.subTest(name):
                run, whole = self.folder / f"run {name}", self.folder / f"whole {name}"
                wrong = "" if text == late else "if run.step == 6 then error('oh') end"
                self.write("r.lua", fit(more=more + text.replace("%s", wrong)))
                said = ("the step after step 6 had changed the model before its error, so the run goes on from "
                        f"{where}; to go on with a mended recipe: trainlab resume ")
                self.assert_said(self.train("--out", run, code=1), said)
                self.write("mended.lua", (self.folder / "r.lua").read_text().replace("error('oh')", "run.state.a = 1"))
                self.run_program("resume", run, "--recipe", "mended.lua", "--quiet")
                self.train("--out", whole, "--quiet", recipe="mended.lua")
                self.assert_same_end(run, whole)

    def mended_end(self, wrong, good, *said):
        """The run of a wrong recipe says this, and ends with a mended recipe as a run of the mended recipe alone."""
        self.write("r.lua", wrong)
        self.assert_said(self.train("--out", "run", code=1), *said)
        self.write("mended.lua", good)
        self.run_program("resume", "run", "--recipe", "mended.lua", "--quiet")
        self.train("--out", "whole", "--quiet", recipe="mended.lua")
        self.assert_same_end(self.folder / "run", self.folder / "whole")

    def test_a_step_with_a_wrong_result_is_taken_back(self):
        """Statistics and averages too, which the step had changed by then."""
        step = """  step = function(run, batch)
    local loss = lab.ops.cross_entropy_loss(run.model:forward(batch.x), batch.y)
    loss:backward()
    if run.step % 2 == 1 then run.optim:step() run.optim:zero_grad() end
    return { first = loss, loss = RESULT }
  end,
"""
        recipe = fit(more=step, model="nn.Sequential { nn.Linear(8), nn.BatchNorm1d(), nn.Linear(3) }")
        self.mended_end(recipe.replace("RESULT", "run.step == 6 and 'x' or loss"), recipe.replace("RESULT", "loss"),
                        'r.lua:', 'expected a number or a tensor of one element as loss, found "x"',
                        "the run is saved up to step 6, where it calls this function again")

    def test_a_write_to_frozen_weights_is_not_done_twice(self):
        step = self.STEP.replace("run.optim:zero_grad()", "lab.no_grad(function() run.model:tensors()['1.weight']"
                                 ":mul_(0.99) end) run.optim:zero_grad()")
        recipe = fit(more=step + '  freeze = { "1.*" },\n  checkpoint = "4 steps",\n',
                     model="nn.Sequential { nn.Linear(8), nn.Linear(3) }")
        self.mended_end(recipe % "if run.step == 6 then error('oh') end", recipe % "",
                        "the step after step 6 had changed the model before its error, so the run goes on from its "
                        "checkpoint of step 4")

    def test_an_error_in_a_schedule_loses_no_step(self):
        """The factors of 1,000 steps are asked for together."""
        for name, step in (("declared", ""), ("own", self.STEP % "")):
            with self.subTest(name):
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                shutil.rmtree(self.folder / "whole", ignore_errors=True)
                recipe = fit(more=step + "  schedule = function(step) %s return 0.1 end,\n"
                             '  checkpoint = "300 steps",\n').replace("epochs = 3", "epochs = 300")
                saved = "the run is saved up to step 1000, where it calls this function again"
                wrong = recipe % "if step == 1000 then error('oh') end"
                self.write("r.lua", wrong)
                self.train("--out", "again", code=1)
                self.assert_said(self.run_program("resume", "again", code=1), saved)  # in its first step
                self.mended_end(wrong, recipe % "", saved)
                shutil.rmtree(self.folder / "again")

    def test_an_error_of_an_operator_in_a_function_is_one_of_the_function(self):
        wrong = "if run.step == 6 then local x = batch.x:reshape({ 7, 7 }) end"
        layer = """nn.Sequential { nn.Linear(8), nn.Module {
    forward = function(self, x)
      calls = calls + 1
      %s
      return x
    end }, nn.Linear(3) }"""
        for name, options, bad in (("step", {"more": self.STEP}, wrong), ("loss", {"loss": self.LOSS}, wrong),
                                   ("layer", {"model": layer}, "if calls == 11 then x:reshape({ 7, 7 }) end")):
            with self.subTest(name):
                def recipe(text):
                    made = {key: value % text if "%s" in value else value for key, value in options.items()}
                    return "local calls = 0\n" + fit(**made).replace(f'"{made.get("loss")}"', made.get("loss", "nil"))
                for folder in ("run", "whole"):
                    shutil.rmtree(self.folder / folder, ignore_errors=True)
                self.mended_end(recipe(bad), recipe(""), "where it calls this function again; to go on with a mended "
                                "recipe: trainlab resume ", " --recipe MENDED.lua")

    def test_an_error_before_the_first_step_is_mended_without_a_new_run(self):
        recipe = fit(more="  schedule = function(step) %s return 0.1 end,\n")
        self.write("r.lua", recipe % "if step == 5 then error('oh') end")
        result = self.train("--out", "run", code=1)
        self.assertNotIn("--recipe", result.err)  # nothing is there that a new run would lose
        self.write("mended.lua", recipe % "")
        self.run_program("resume", "run", "--recipe", "mended.lua", "--quiet")
        self.train("--out", "whole", "--quiet", recipe="mended.lua")
        self.assert_same_end(self.folder / "run", self.folder / "whole")

    def test_an_error_in_a_task(self):
        """Loops that save begin where they were, and the others anew."""
        task = """local data = lab.data.digits():split { train = 0.8, val = 0.2 }
return lab.task { name = "t", run = function(ctx)
  local model = lab.build(lab.nn.Sequential { lab.nn.Flatten(), lab.nn.Linear(10) }, { input = { 1, 8, 8 } })
  local opt = lab.optimizer(lab.optim.SGD { lr = 0.1 }, model:parameters())
  for batch in ctx:batches(data.train, { size = 64, epochs = 2, save = { model, opt }, checkpoint = "4 steps" }) do
    if ctx.step == 30 then WRONG end
    opt:zero_grad(); lab.ops.cross_entropy_loss(model:forward(batch.x), batch.y):backward(); opt:step()
  end
  return { sum = model:tensors()["2.weight"]:sum():item() }
end }
"""
        self.write("r.lua", task.replace("WRONG", "local x = batch.siz + 1"))
        said = self.train("--out", "run", code=1)
        self.assert_said(said, "r.lua:6: ", "the loops are saved; to go on with a mended recipe: trainlab resume ")
        self.write("mended.lua", task.replace("WRONG", "local x = batch.size + 1"))
        mended = self.run_program("resume", "run", "--recipe", "mended.lua", "--json").json()
        whole = self.train("--out", "whole", "--json", recipe="mended.lua").json()
        self.assertEqual(mended["metrics"], whole["metrics"])

    def test_a_resume_that_does_not_begin_may_still_be_mended(self):
        good = fit(more=self.STEP % "local x = 1")
        self.write("r.lua", good.replace("local x = 1", "if run.step == 6 then error('oh') end"))
        self.train("--out", "run", code=1)
        self.write("mended.lua", good)
        for name, number, code in (("engine", signal.SIGKILL, 3), ("program", signal.SIGTERM, 143)):
            with self.subTest(name):
                running = self.start("resume", "run")
                engine = running.engine()
                os.kill(engine if name == "engine" else running.process.pid, number)
                self.end(running, code)
                self.assertEqual(self.summary(self.folder / "run")["function_failed_after"], 6)
        self.run_program("resume", "run", "--recipe", "mended.lua", "--quiet")

    def test_a_rule_that_fails_takes_back_what_other_rules_have_said(self):
        stop = ("  stop = {{ function(run) if run.epoch == 2 then return {first} end end, "
                "function(run) if run.epoch == 2 then {second} end end }},\n")
        self.mended_end(fit(more=stop.format(first="'enough'", second="error('oh')")),
                        fit(more=stop.format(first="nil", second="")), "the run is saved up to step 8")
        self.assertEqual(self.summary(self.folder / "run")["status"], "done")

    def test_what_a_mended_recipe_may_change_after_an_error_in_the_training(self):
        good = fit(more=self.STEP % "local x = 1")
        self.write("r.lua", good.replace("local x = 1", "if run.step == 6 then error('oh') end"))
        self.train("--out", "run", code=1)
        self.write("mended.lua", good.replace("epochs = 3", "epochs = 4"))
        self.assert_said(self.run_program("resume", "run", "--recipe", "mended.lua", code=2), "epochs: was 3, is 4")
        self.write("mended.lua", good)
        self.run_program("resume", "run", "--recipe", "mended.lua", "--quiet")
        self.assertNotIn("function_failed_after", self.summary(self.folder / "run"))

    def test_an_error_in_the_last_validation_of_a_stopped_fit(self):
        """The validation of a fit that was stopped between two validations is not lost with the error."""
        run = self.folder / "run"
        stop = "step = function(run) if run.step == 6 then run:stop('enough') end end"
        self.write("r.lua", fit(more=f"  on = {{ {stop}, validate = function(run) if run.step == 6 then error('oh') "
                                     "end end },\n"))
        self.assert_said(self.train("--out", run, code=1), "the run is saved up to step 6")
        self.write("mended.lua", fit(more=f"  on = {{ {stop}, validate = function(run) run:log('seen', 1) end }},\n"))
        self.run_program("resume", run, "--recipe", "mended.lua")
        whole = self.folder / "whole"
        self.train("--out", whole, "--quiet", recipe="mended.lua")
        rows = [[json.loads(row)["step"] for row in (of / "metrics.jsonl").read_text().splitlines()]
                for of in (run, whole)]
        self.assertEqual(rows[0], rows[1])
        self.assertEqual(rows[0][-1], 6)

    def test_a_stage_that_has_not_begun_may_differ(self):
        first = fit().replace("return ", "lab.run(").rstrip() + ")\n"
        for bad in (fit(data='lab.data.csv { "none.csv", target = "y" }'), fit(model="nn.Sequential { nn.Linear(2) }")):
            with self.subTest(bad):
                bad = bad.replace('"f"', '"g"')
                self.write("r.lua", first + bad)
                result = self.train(code=1)
                run = self.run_folder()
                before = self.summary(run / "stages/f")
                self.assert_said(result, "to repeat only what failed: trainlab resume")
                self.assertEqual(self.summary(run)["status"], "failed")
                self.write("mended.lua", first + fit(batch=8, epochs=1).replace('"f"', '"h"'))
                after = self.run_program("resume", run, "--recipe", "mended.lua", "--json").json()
                self.assertEqual((after["name"], after["status"]), ("h", "done"))
                self.assertEqual(self.summary(run / "stages/f"), before)
                shutil.rmtree(self.folder / "runs")

    def test_a_run_that_was_cut_short_goes_on_mended(self):
        more = ('  checkpoint = "1 steps", stop = lab.stop.patience { patience = 50 },\n'
                "  on = { epoch = function(run) if run.epoch == 2 then error('oh') end end },\n")
        self.write("r.lua", fit(more=more))
        self.train(code=1)
        run = self.run_folder()
        self.write("mended.lua", fit(more=more.replace("if run.epoch == 2 then error('oh') end", "")))
        self.run_program("resume", run, "--recipe", "mended.lua", "--quiet")
        self.train("--out", "whole", "--quiet", recipe="mended.lua")
        self.assert_same_end(run, self.folder / "whole")

    def test_usage(self):
        self.write("r.lua", fit(more=self.FINISH % "nil + 1"))
        self.train(code=1)
        result = self.run_program("resume", self.run_folder(), "--recipe", "nothing.lua", code=2)
        self.assert_said(result, "there is no recipe")
        self.write("none.lua", "print('hello')\n")
        result = self.run_program("resume", self.run_folder(), "--recipe", "none.lua", code=2)
        self.assert_said(result, "the mended recipe has fewer stages than the run, which has 1")


if __name__ == "__main__":
    unittest.main()
