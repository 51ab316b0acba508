"""Functions of a recipe: what they see of the run, and how they are tried."""

import json
import os
import signal
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
        for name in ("start", "step", "validate", "epoch", "checkpoint", "finish", "health"):
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

    def test_on_health_gets_a_verdict_once(self):
        more = ("  on = { health = function(run, verdict)\n"
                "    print('heard of ' .. verdict.kind .. ', ' .. verdict.remedy)\n  end },\n")
        self.recipe(epochs=1000, more=more)
        result = self.run_program("check", "r.lua", "--callbacks")
        self.assertEqual((result.out + result.err).count("heard of plateau, none"), 1, result)
        self.assertIn("on.health, and all functions that compute: called on 16", result.out)

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


if __name__ == "__main__":
    unittest.main()
