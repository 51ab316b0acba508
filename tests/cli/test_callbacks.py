"""Functions of a recipe: what they see of the run, how they are tried, and what an error in them leaves behind."""

import json
import os
import shutil
import signal
import tomllib
import unittest

from program import LINES, CliTest, fit, tensors

# A line for each call: which function, the sum of the first weights, the rate, whether there is a gradient.
SEES = """local function saw(name)
  return function(run)
    local t = run.model:tensors()["1.weight"]
    print(("saw %s %.6f %.6f %s"):format(name, t:abs():sum():item(), run.optim.lr, tostring(t.grad ~= nil)))
  end
end
"""
ALL = """  schedule = function(step, total) return 1 - step / total end,
  metrics = { { name = "seen", goal = "max", update = function(out, batch, run) saw("metric")(run) return run.step end
    } },
  stop = function(run) saw("stop")(run) end,
  on = { start = saw("start"), step = saw("step"), validate = saw("validate"), epoch = saw("epoch"),
    checkpoint = saw("checkpoint"), finish = saw("finish") },
"""


class Run(CliTest):
    """The object `run` in each function of a fit."""

    def said(self, result):
        return [line.split()[1:] for line in result.err.splitlines() if line.startswith("saw ")]

    def test_model_and_optimizer_in_each_function(self):
        loss = """function(out, batch, run)
    saw("loss")(run)
    return lab.ops.cross_entropy_loss(out, batch.y)
  end"""
        recipe = fit(epochs=2, more=ALL).replace('"cross_entropy"', loss)
        self.write("r.lua", SEES + recipe)
        calls = self.said(self.train())
        self.assertEqual({call[0] for call in calls}, {"loss", "metric", "stop", "start", "step", "validate", "epoch",
                                                       "checkpoint", "finish"})
        by = {name: [call for call in calls if call[0] == name] for name in {call[0] for call in calls}}
        self.assertEqual([len(by[name]) for name in ("start", "step", "validate", "epoch", "finish")], [1, 8, 2, 2, 1])
        # The gradient is there after the step, and not while the next one begins.
        self.assertEqual({call[3] for call in by["step"]}, {"true"})
        self.assertEqual({call[3] for call in by["start"] + by["finish"] + by["loss"][:1]}, {"false"})
        self.assertEqual(len({call[1] for call in by["step"]}), 8, "the weights change with each step")
        self.assertEqual([call[2] for call in by["step"]], [f"{0.01 * (1 - i / 8):.6f}" for i in range(8)])
        self.assertEqual(float(by["start"][0][2]), 0.01)

    def test_what_can_be_asked_of_the_optimizer(self):
        self.recipe(more="  on = { epoch = function(run) run.optim.lr = 0.5 end },\n")
        self.train("--quiet")
        self.assertEqual([row["lr"] for row in self.rows(self.run_folder())], [0.01, 0.5, 0.5])
        self.recipe(more="  on = { epoch = function(run)\n    run.optim:step()\n  end },\n")
        result = self.train(code=1)
        self.assert_message(result, f"r.lua:{LINES['more'] + 1}: this fit takes the steps of its optimizer itself; "
                                    "run.optim.lr can be read and set")
        self.assert_said(result, "hint: with the option step = function(run, batch) … end")

    def test_parameters_by_name(self):
        self.recipe(more="""  freeze = { "4.bias" }, on = { start = function(run)
    for name, p in run.model:named_parameters() do print(name, #p, tostring(p:requires_grad())) end
  end },
""")
        lines = [line for line in self.train().err.splitlines() if "\t" in line]
        self.assertEqual(lines, ["1.weight\t8\ttrue", "1.bias\t8\ttrue", "4.weight\t3\ttrue", "4.bias\t3\tfalse"])

    def test_a_penalty_on_the_weights(self):
        """A loss that is made of the model's weights trains them."""
        loss = """function(out, batch, run)
    local sum = lab.ops.cross_entropy_loss(out, batch.y)
    for name, p in run.model:named_parameters() do sum = sum + %s * p:pow(2):sum() end
    return sum
  end"""
        sizes = []
        for name, factor in (("without", 0), ("with", 10)):
            self.write("r.lua", fit(more="  on = { finish = function(run) run:log('size', "
                                         "run.model:tensors()['1.weight']:abs():sum()) end },\n"
                                    ).replace('"cross_entropy"', loss % factor))
            self.train("--quiet", "--out", name)
            sizes.append(self.summary(self.folder / name)["metrics"]["size"])
        self.assertLess(sizes[1], 0.9 * sizes[0])

    def test_an_own_mode_does_not_survive_the_step(self):
        """Evaluation in callbacks leaves the training as it is: statistics of the batches, dropout, the rows."""
        model = "nn.Sequential { nn.Linear(8), nn.BatchNorm1d(), nn.Dropout(0.5), nn.Linear(3) }"
        self.recipe(model=model)
        self.train("--quiet", "--out", "plain")
        self.recipe(model=model, more="""  on = { step = function(run)
    local x = lab.tensor.zeros { 4, 2 }
    local sure = run.model:forward(x):eq(run.model:forward(x)):all():item()
    if not sure then error("not in evaluation mode") end
  end },
""")
        self.train("--quiet", "--out", "asked")
        self.assert_same_end(self.folder / "plain", self.folder / "asked")

    def test_the_end_has_the_weights_that_are_kept(self):
        for name, more in (("best", 'keep = "best",'), ("average", "keep = 'last', ema = lab.ema { decay = 0.5 },")):
            for data in ("train = 0.5, val = 0.5", "train = 0.5, val = 0.25, test = 0.25"):
                with self.subTest(name, data=data):
                    self.recipe(data=f"lab.data.blobs {{ samples = 120 }}:split {{ {data} }}",
                                optim="lab.optim.SGD { lr = 0.5 }", epochs=6,
                                more=f"  {more} on = {{ finish = function(run) run:artifact('end.safetensors', "
                                     "run.model:tensors()) end },\n")
                    run = self.folder / f"{name}-{len(data)}"
                    self.train("--quiet", "--out", run)
                    kept = tensors(sorted((run / "checkpoints").glob(
                        ("best" if name == "best" else "last") + "-*.safetensors"))[-1])
                    ends = tensors(run / "artifacts" / "end.safetensors")
                    prefix = "model." if name == "best" else "ema."
                    for tensor in ("1.weight", "4.bias"):
                        self.assertEqual(ends[tensor], kept[prefix + tensor])

    def test_rows_have_what_was_logged_at_their_epoch(self):
        self.recipe(more="""  on = {
    validate = function(run) run:log("at_validate", run.epoch) end,
    epoch = function(run) run:log("at_epoch", run.epoch) end,
    finish = function(run) run:log("at_end", 7); run:log("at_epoch", 0.5) end,
  },
""")
        self.train("--quiet")
        run = self.run_folder()
        rows = self.rows(run)
        self.assertEqual([row["at_validate"] for row in rows], [1, 2, 3])
        self.assertEqual([row["at_epoch"] for row in rows], [1, 2, 0.5])
        self.assertEqual([row.get("at_end") for row in rows], [None, None, 7])
        self.assertEqual(self.summary(run)["metrics"]["at_end"], 7)
        # The longer last row is whole when the run goes on.
        self.run_program("extend", run, "--epochs", "5", "--quiet")
        self.assertEqual([row.get("at_end") for row in self.rows(run)], [None, None, 7, None, 7])

    def test_an_epoch_ends_after_its_validation_also_where_its_last_step_stops_the_run(self):
        self.recipe(more="""  on = {
    step = function(run) if run.step == 8 then run:stop("here") end end,
    epoch = function(run) run:log("seen", run.metrics["val.loss"]) end,
  },
""")
        self.train("--quiet")
        rows = self.rows(self.run_folder())
        self.assertEqual([row["seen"] for row in rows], [row["val.loss"] for row in rows])
        self.assertEqual([row["step"] for row in rows], [4, 8])

    def test_a_failed_fit_logs_nothing_into_the_row_of_an_earlier_step(self):
        loss = """function(out, batch, run)
    local loss = lab.ops.cross_entropy_loss(out, batch.y)
    if run.step == 6 then loss = loss * math.huge end
    return loss
  end"""
        recipe = fit(more="  on = { step = function(run) run:log('at', run.step) end },\n")
        self.write("r.lua", recipe.replace('"cross_entropy"', loss))
        self.train("--quiet", code=3)
        self.assertEqual([row["at"] for row in self.rows(self.run_folder())], [4])
        # An error after that does not hide why the fit has failed.
        self.write("r.lua", recipe.replace('"cross_entropy"', loss).replace(
            "end },\n", "end, finish = function() error('oh') end },\n"))
        self.assertRegex(self.train(code=3).out, r"failed: the training loss is not finite at step 7 .*; then r.lua:")

    def test_members_of_a_stack_see_their_own_models(self):
        self.write("r.lua", """local nn = lab.nn
return lab.sweep {
  name = "s", space = { lr = lab.space.log(1e-3, 1e-1) }, trials = 4, metric = "val.loss", stack = true,
  sampler = lab.sampler.random { seed = 1 },
  build = function(hp)
    return lab.fit {
      name = "m", data = lab.data.blobs { samples = 120 }:split { train = 0.5, val = 0.5 },
      model = nn.Sequential { nn.Linear(8), nn.ReLU(), nn.Linear(3) }, loss = "cross_entropy",
      optim = lab.optim.SGD { lr = hp.lr }, batch = 16, epochs = 3,
      on = {
        step = function(run)
          local t = run.model:tensors()["1.weight"]
          if t.shape[1] ~= 8 or t.shape[2] ~= 2 then error("not its own: " .. tostring(t)) end
          if t.grad.shape[2] ~= 2 then error("not its own gradient") end
          if math.abs(run.optim.lr / hp.lr - 1) > 1e-6 then error("not its own rate") end
        end,
        finish = function(run) run:artifact("end.safetensors", run.model:tensors()) end,
      },
    }
  end,
}
""")
        self.run_program("r.lua", "--quiet", "--out", "run")
        seen = set()
        for trial in range(4):
            folder = self.folder / f"run/trials/{trial:04d}/seed-1"
            kept = tensors(next((folder / "checkpoints").glob("best-*.safetensors")))
            ends = tensors(folder / "artifacts" / "end.safetensors")
            self.assertEqual(ends["1.weight"], kept["model.1.weight"])
            seen.add(ends["1.weight"].bytes)
        self.assertEqual(len(seen), 4)


TWO = """local nn, ops, optim = lab.nn, lab.ops, lab.optim
local at = lab.param { "at", 0, doc = "step to announce" }
return lab.fit {
  name = "f", data = lab.data.digits():split { train = 0.5, val = 0.1, test = 0.1, seed = 7 },
  input = { g = { 4 } }, batch = 128, epochs = 5, checkpoint = "3 steps",
  model = { g = nn.Sequential { nn.Linear(16), nn.ReLU(), nn.Linear(64) },
            d = nn.Sequential { nn.Flatten(), nn.Linear(16), nn.Dropout(0.3), nn.Linear(10) } },
  optim = { g = optim.Adam { lr = 1e-3 }, d = optim.SGD { lr = 0.1, momentum = 0.9 } },
  loss = function(out, batch, run)
    if out ~= nil or run.model.d:forward(batch.x):eq(run.model.d:forward(batch.x)):all():item() == false then
      error("expected no output, and models in evaluation mode")
    end
    return ops.cross_entropy_loss(run.model.d:forward(batch.x), batch.y)
  end,
  metrics = { { name = "right", goal = "max",
    update = function(_, batch, run) return run.model.d:forward(batch.x):argmax(1):eq(batch.y):to("float32"):mean() end
  } },
  monitor = "val.right", stop = lab.stop.patience { metric = "val.right", patience = 20 },
  step = function(run, batch)
    if run.step == at then print("announced step " .. at) end
    local fake = run.model.g:forward(lab.tensor.randn { batch.size, 4 }):view(-1, 1, 8, 8)
    local d = ops.cross_entropy_loss(run.model.d:forward(batch.x), batch.y)
    run.optim.d:zero_grad(); d:backward(); run.optim.d:step()
    local g = run.model.d:forward(fake):pow(2):mean()
    run.optim.g:zero_grad(); g:backward()
    local t = run.model.g:tensors()["1.weight"]
    if t.grad == nil then error("no gradient") end
    run.optim.g:step()
    return { d = d, g = g }
  end,
}
"""


class SeveralModels(CliTest):
    def test_they_are_validated_and_monitored(self):
        self.write("r.lua", TWO)
        self.run_program("r.lua", "--threads", "1", "--out", "whole", "--quiet")
        whole = self.folder / "whole"
        rows = self.rows(whole)
        self.assertEqual(len(rows), 5)
        summary = self.summary(whole)
        self.assertEqual(summary["best"]["metric"], "val.right")
        self.assertEqual(summary["best"]["value"], max(row["val.right"] for row in rows))
        self.assertGreater(summary["metrics"]["val.right"], 0.6)
        self.assertLessEqual({"val.loss", "test.loss", "test.right", "train.d", "train.g"}, summary["metrics"].keys())
        for step in (9, 23):
            with self.subTest(step=step):
                running = self.start("r.lua", "--at", step, "--threads", "1", "--out", str(step))
                running.until_said(f"announced step {step}")
                os.kill(running.engine(), signal.SIGKILL)
                self.end(running, 3)
                self.run_program("resume", str(step), "--quiet")
                self.assert_same_end(self.folder / str(step), whole)

    def test_what_measures_one_model_is_refused(self):
        for name, was, now in (("loss", TWO[TWO.index("loss = function"):TWO.index("  metrics =")],
                                'loss = "cross_entropy",\n'),
                               ("metrics", "metrics = { ", 'metrics = { "accuracy", ')):
            with self.subTest(name):
                self.write("r.lua", TWO.replace(was, now, 1))
                result = self.run_program("check", "r.lua", code=1)
                self.assert_said(result, f"{name}: expected functions, because there are several models",
                                 "hint: function(out, batch, run) … end")


class Check(CliTest):
    """check --callbacks"""

    def test_a_wrong_field_in_each_function(self):
        wrong = "function(run)\n    return run.lossss.x\n  end"
        for name in ("start", "step", "validate", "epoch", "checkpoint", "finish"):
            with self.subTest(name):
                self.recipe(epochs=1000, more=f"  on = {{ {name} = {wrong} }},\n")
                self.refused(f"r.lua:{LINES['more'] + 1}: run has no 'lossss'")
        for name, more in (("stop", f"  stop = {wrong},\n"),
                           ("schedule", "  schedule = function(step)\n    return step.x\n  end,\n"),
                           ("metric", "  metrics = { function(out, batch)\n    return batch.z.x\n  end },\n")):
            with self.subTest(name):
                self.recipe(epochs=1000, more=more)
                self.refused(f"r.lua:{LINES['more'] + 1}: ")
        self.recipe(loss="X", epochs=1000)
        text = (self.folder / "r.lua").read_text().replace('"X"', "function(out, batch)\n return out.mean.x\nend")
        self.write("r.lua", text)
        self.refused("r.lua:7: ")

    def refused(self, message):
        result = self.run_program("check", "r.lua", "--callbacks", code=1)
        self.assert_said(result, message)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["r.lua"], "check left something behind")

    def test_what_is_right_is_said_to_be(self):
        self.write("r.lua", SEES + fit(epochs=1000, more=ALL.replace(
            'saw("finish")', "function(run) run:save('a'); run:artifact('b', 'c'); run:log('d', 1) end")))
        result = self.run_program("check", "r.lua", "--callbacks")
        self.assertRegex(result.out, r"functions +on\.start, on\.step, on\.validate, on\.epoch, on\.checkpoint, "
                                     r"on\.finish, and all functions that compute: called on 16 training samples")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["r.lua"], "check left something behind")

    def test_a_fit_without_callbacks(self):
        self.recipe()
        result = self.run_program("check", "r.lua", "--callbacks")
        self.assertRegex(result.out, r"functions +all functions that compute: called on 16")

    def test_a_task_and_a_sweep(self):
        self.write("r.lua", """local data = lab.data.digits():split { train = 0.8, val = 0.2 }
return lab.task { name = "t", run = function(ctx)
  local model = lab.build(lab.nn.Sequential { lab.nn.Flatten(), lab.nn.Linear(10) }, { input = { 1, 8, 8 } })
  local opt = lab.optimizer(lab.optim.SGD { lr = 0.1 }, model:parameters())
  for batch in ctx:batches(data.train, { size = 16, epochs = 100000, save = { model, opt } }) do
    local loss = lab.ops.cross_entropy_loss(model:forward(batch.x), batch.y)
    opt:zero_grad(); loss:backward(); opt:step()
    ctx:log("train.loss", loss)
  end
  ctx:artifact("a.txt", "text")
  ctx:save("end", model)
end }
""")
        result = self.run_program("check", "r.lua", "--callbacks")
        self.assertIn("each of its loops took at most two steps", result.out)
        text = (self.folder / "r.lua").read_text()
        self.write("r.lua", text.replace('  ctx:save("end", model)\n', '  ctx:save("end", modell)\n'))
        self.refused("r.lua:11: 'modell' is not defined")

        body = fit(more="  on = { finish = function(run)\n    return run.lossss\n  end },\n")
        self.write("r.lua", body.replace("return lab.fit {", "return lab.sweep { name = 's', metric = 'val.loss', "
                                         "trials = 2, space = { lr = lab.space.log(1e-3, 1) }, build = function(hp) "
                                         "return lab.fit {") + "end }\n")
        self.refused(f"r.lua:{LINES['more'] + 1}: run has no 'lossss'")


class State(CliTest):
    """run.state with something in it that no checkpoint can hold."""

    HOLDS = ("; run.state is saved with each checkpoint, and holds numbers, booleans, texts, tensors, and lists and "
             "tables by name of these")
    BAD = "function(run)\n    run.state.seen = 1\n    run.state.bad = { {}, { fn = print, x = 2 } }\n  end"

    def test_found_when_the_function_ends(self):
        """Not at the next checkpoint; and the steps until then are saved."""
        call = "function(run)\n    run.state.calls = (run.state.calls or 0) + 1%s\n  end"
        wrong = call % "\n    if run.step == 6 then run.state.history = { {}, {}, { fn = print } } end"
        self.recipe(more=f"  on = {{ step = {wrong} }},\n")
        run = self.folder / "run"
        result = self.train("--out", run, code=1)
        self.assert_message(result, f"r.lua:{LINES['more']}: run.state.history[3].fn: expected data or a tensor, found "
                                    "a function" + self.HOLDS)
        self.assert_said(result, "hint: the run is saved up to step 6 without run.state.history[3].fn, where it calls "
                                 f"this function again; to go on with a mended recipe: trainlab resume {run} --recipe")
        self.assertEqual(self.summary(run)["status"], "failed")
        self.assert_said(self.run_program("resume", run, code=1), "run.state.history[3].fn: ", "saved up to step 6")
        self.recipe("mended.lua", more=f"  on = {{ step = {call % ''} }},\n")
        summary = self.run_program("resume", run, "--recipe", "mended.lua", "--json").json()
        self.assertEqual(set(summary["resumed"]), {6})
        self.train("--out", "whole", "--quiet", recipe="mended.lua")
        self.assertEqual(self.rows(run)[-1]["val.loss"], self.rows(self.folder / "whole")[-1]["val.loss"])
        for name, tensor in tensors(max((run / "checkpoints").glob("last-*.safetensors"))).items():
            self.assertEqual(tensor, tensors(max((self.folder / "whole/checkpoints").glob("last-*.safetensors")))[name])

    def test_found_when_a_checkpoint_is_due(self):
        """No function of the run is called between the change and the checkpoint."""
        data = ("lab.data.blobs { samples = 120 }:split { train = 0.5, val = 0.25, test = 0.25 }:transform(function(b) "
                "calls = calls + 1; if calls == 6 then state.fn = print end; return b end)")
        text = "local state, calls = nil, 0\n" + fit(data=data, more='  checkpoint = "3 steps", on = { start = '
                                                     "function(run) state = run.state; state.kept = 5 end },\n")
        self.write("r.lua", text)
        run = self.folder / "run"
        result = self.train("--out", run, code=1)
        self.assert_said(result, f"r.lua:{LINES['more'] + 1}: run.state.fn: expected data or a tensor, found a function"
                                 "; ", "the run is saved up to step 6 without run.state.fn")
        saved = json.loads((run / "checkpoints/last-000000006.json").read_text())
        self.assertEqual(saved["state"], {"kept": 5})

    def test_check_finds_it_in_each_function(self):
        where = f"r.lua:{LINES['more']}: run.state.bad[2].fn: "
        for name in ("start", "step", "validate", "epoch", "checkpoint"):
            with self.subTest(name):
                self.recipe(epochs=1000, more=f"  on = {{ {name} = {self.BAD} }},\n")
                self.assert_said(self.run_program("check", "r.lua", "--callbacks", code=1), where)
        measures = self.BAD.replace("(run)", "(out, batch, run)").replace(
            "\n  end", "\n    return lab.ops.cross_entropy_loss(out, batch.y)\n  end")
        for name, more in (("stop", f"  stop = {self.BAD},\n"), ("metric", f"  metrics = {{ {measures} }},\n"),
                           ("loss", f"  loss = {measures},\n"), ("own step", f"  step = {self.BAD},\n")):
            with self.subTest(name):
                text = fit(epochs=1000, more=more)
                if name in ("loss", "own step"):
                    text = text.replace('  loss = "cross_entropy",\n', "")
                self.write("r.lua", text)
                line = LINES["more"] - (name in ("loss", "own step"))
                self.assert_said(self.run_program("check", "r.lua", "--callbacks", code=1),
                                 f"r.lua:{line}: run.state.bad[2].fn: ")

    def test_what_is_left_in_the_state_at_the_end_is_never_saved(self):
        self.recipe(more=f"  on = {{ finish = {self.BAD} }},\n")
        self.train()

    def test_one_of_a_stack_fails_and_the_others_go_on(self):
        self.write("r.lua", """return lab.sweep { name = "s", metric = "val.loss", trials = 4, stack = true,
  space = { lr = lab.space.log(1e-3, 1e-1) }, sampler = lab.sampler.random { seed = 1 },
  build = function(hp) return lab.fit { name = "m", data = lab.data.blobs { samples = 60 }:split { val = 0.5 },
    model = lab.nn.Linear(3), loss = "cross_entropy", optim = lab.optim.SGD { lr = hp.lr }, epochs = 3,
    on = { step = function(run) if hp.lr > 0.01 then run.state.f = print end end } } end }
""")
        self.run_program("r.lua", "--quiet", "--out", "run")
        said = self.run_program("report", "run").out
        self.assertIn("trials 4: 3 complete, 1 failed", said)
        self.assertEqual(said.count("  r.lua:5: run.state.f: expected data or a tensor, found a function"), 1, said)

    def test_in_a_task(self):
        task = """local data = lab.data.digits():split { train = 0.8, val = 0.2 }
return lab.task { name = "t", run = function(ctx)
  local model = lab.build(lab.nn.Sequential { lab.nn.Flatten(), lab.nn.Linear(10) }, { input = { 1, 8, 8 } })
  local opt = lab.optimizer(lab.optim.SGD { lr = 0.1 }, model:parameters())
  for batch in ctx:batches(data.train, { size = 64, epochs = 2, save = { model, opt } }) do
    ctx.state.seen = (ctx.state.seen or 0) + batch.size
    opt:zero_grad(); lab.ops.cross_entropy_loss(model:forward(batch.x), batch.y):backward(); opt:step()
    if ctx.step == %d then ctx.state.fn = print %s end
  end
end }
"""
        where = "ctx.state.fn: expected data or a tensor, found a function; ctx.state is saved with each checkpoint"
        self.write("r.lua", task % (0, ""))
        self.assert_said(self.run_program("check", "r.lua", "--callbacks", code=1), f"r.lua:5: {where}")
        for name, at, more, line in (("step", 7, "", 5), ("break", 7, "break", 2)):
            with self.subTest(name):
                self.write("r.lua", task % (at, more))
                run = self.folder / name
                self.assert_said(self.train("--out", run, code=1), f"r.lua:{line}: {where}")
                saved = max((run / "checkpoints").glob("last-*.json"))
                self.assertEqual(saved.stem, "last-000000008")
                self.assertEqual(json.loads(saved.read_text())["loops"][0]["state"], {"seen": 512})
        for given, found in (("{ 1, print }", "state[2]: expected data, found a function"),
                             ("{ layer = lab.nn.ReLU() }", "state.layer: expected data, found nn.ReLU { … }")):
            self.write("r.lua", (task % (9999, "")).replace('name = "t",', f'name = "t", state = {given},'))
            for command in (("check",), ()):
                self.assert_said(self.run_program(*command, "r.lua", code=1), f"r.lua:2: {found}")
        self.write("r.lua", (task % (0, "")).replace("save = { model, opt }", "save = { lab.tensor({ 1 }, "
                                                     "{ dtype = 'complex64' }) }"))
        self.assert_said(self.train(code=1), "r.lua:5: ", "expected a tensor that a file can hold, found a tensor of "
                                             "dtype complex64")


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
