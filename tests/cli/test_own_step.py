"""Training steps and layers written in the recipe."""

import os
import random
import re
import signal
import struct
import unittest

from program import CliTest, tensors

HEAD = """local nn, ops, optim = lab.nn, lab.ops, lab.optim
local at = lab.param { "at", 0, doc = "step to announce" }
local own = lab.param { "own", true, doc = "with a step of its own" }
local net = nn.Sequential { nn.Flatten(), nn.Linear(16), nn.ReLU(), nn.Linear(10) }
"""

# The loss is the operator in both, because the entry "cross_entropy" has a kernel of its own, which rounds otherwise.
ONE = HEAD + """return lab.fit {
  name = "f", data = lab.data.digits():split { train = 0.5, val = 0.1, test = 0.4, seed = 7 },
  model = net, loss = function(out, batch) return ops.cross_entropy_loss(out, batch.y) end, metrics = { "accuracy" },
  optim = optim.AdamW { lr = 0.01 }, schedule = lab.sched.cosine { warmup = "10%" }, clip = 0.5, batch = 64, epochs = 4,
  step = own and function(run, batch)
    local loss = ops.cross_entropy_loss(run.model:forward(batch.x), batch.y)
    run.optim:zero_grad(); loss:backward(); run.optim:step()
    return { loss = loss }
  end or nil,
}
"""

TWO = HEAD + """return lab.fit {
  name = "f", data = lab.data.digits(), input = { g = { 4 } }, batch = 128, epochs = 3, checkpoint = "4 steps",
  model = { g = nn.Sequential { nn.Linear(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64) }, d = net },
  optim = { g = optim.Adam { lr = 1e-3 }, d = optim.SGD { lr = 0.1, momentum = 0.9 } },
  schedule = { d = lab.sched.cosine() }, clip = { g = 1, d = { value = 0.1 } }, monitor = "train.g", goal = "max",
  step = function(run, batch)
    if run.step == at then print("announced step " .. at) end
    local fake = run.model.g:forward(lab.tensor.randn { batch.size, 4 }):view(-1, 1, 8, 8)
    local d = ops.cross_entropy_loss(run.model.d:forward(batch.x), batch.y)
    run.optim.d:zero_grad(); d:backward(); run.optim.d:step()
    local g = run.model.d:forward(fake):pow(2):mean()
    run.optim.g:zero_grad(); g:backward(); run.optim.g:step()
    run.state.seen = (run.state.seen or 0) + batch.size
    run.state.last = g:detach()
    return { d = d, g = g, seen = run.state.seen, drawn = math.random() }
  end,
}
"""


# Gradients of four steps, and a rate that is set by hand.
ADDS_UP = HEAD + """return lab.fit {
  name = "f", data = lab.data.digits(), model = net, optim = optim.SGD { lr = 0.1, momentum = 0.9 },
  batch = 128, epochs = 2, checkpoint = "3 steps", monitor = "train.loss", goal = "min",
  step = function(run, batch)
    if run.step == at then print("announced step " .. at) end
    if run.step == 10 then run.optim.lr = 0.01 end
    if run.step % 4 == 0 then run.optim:zero_grad() end
    local loss = ops.cross_entropy_loss(run.model:forward(batch.x), batch.y)
    local part = loss / 4
    part:backward()
    if run.step % 4 == 3 then run.optim:step() end
    return { loss = loss }
  end,
}
"""


class OwnStep(CliTest):
    def test_a_step_of_its_own_is_the_declared_one(self):
        self.write("r.lua", ONE)
        for own in ("true", "false"):
            self.run_program("r.lua", "--own", own, "--threads", "1", "--out", own, "--quiet")
        def files(kind):
            return {
                own: next((self.folder / own / "checkpoints").glob(kind + "-*.safetensors"))
                for own in ("true", "false")
            }
        last = {own: tensors(path) for own, path in files("last").items()}
        # A fit with a step of its own also keeps the rate, the mode and the gradients.
        more = last["true"].keys() - last["false"].keys()
        self.assertTrue(all("@" in name or name == "optim.lr" for name in more), more)
        self.assertEqual({name: last["true"][name] for name in last["false"]}, last["false"])
        self.assertEqual(*(path.read_bytes() for path in files("best").values()))
        ours, declared = (self.summary(self.folder / own) for own in ("true", "false"))
        self.assertEqual(ours["metrics"], declared["metrics"])
        self.assertIsNone(ours["flops"])

    def test_two_models_killed_at_random_steps(self):
        self.write("r.lua", TWO)
        self.run_program("r.lua", "--threads", "1", "--out", "whole", "--quiet")
        whole = self.folder / "whole"
        metrics = self.summary(whole)["metrics"]
        self.assertEqual(sorted(metrics), ["train.d", "train.drawn", "train.g", "train.seen"])
        for step in random.Random(2).sample(range(1, 45), 5):
            with self.subTest(step=step):
                out = self.folder / f"killed-{step}"
                running = self.start("r.lua", "--at", step, "--threads", "1", "--out", out)
                running.until_said(f"announced step {step}")
                os.kill(running.engine(), signal.SIGKILL)
                self.end(running, 3)
                self.run_program("resume", out, "--quiet")
                self.assert_same_end(out, whole)
                self.assertEqual(self.summary(out)["metrics"], metrics)

    def test_initial_and_frozen_weights_by_model(self):
        more = (
            'init = { g = "zeros", d = "ones" }, freeze = { d = { "2.*" } }, on = { start = function(run)'
            ' run:save("begin") end },'
        )
        self.write("r.lua", TWO.replace("epochs = 3,", "epochs = 3, " + more))
        self.run_program("r.lua", "--threads", "1", "--out", "run", "--quiet")
        begin, end = (tensors(next((self.folder / "run/checkpoints").glob(name + "*.safetensors")))
                      for name in ("begin", "last"))
        ones, zeros = struct.pack("<f", 1), bytes(4)
        for model, first in (("d", ones), ("g", zeros)):
            weight = rf"model\.{model}\.\d\.weight"
            self.assertEqual({tensor.bytes[:4] for name, tensor in begin.items() if re.match(weight, name)}, {first})
        changed = {name for name, tensor in begin.items() if end[name] != tensor}
        self.assertEqual({name for name in begin if name.startswith("model.d.")} - changed,
                         {"model.d.2.weight", "model.d.2.bias"})

    def test_check_tries_the_step(self):
        self.write("r.lua", ONE)
        text = self.run_program("check", "r.lua", "--step", "--threads", "1").out
        # The same batch and initial weights as in a run: its first step measures the same.
        declared = self.run_program("check", "r.lua", "--step", "--own", "false", "--threads", "1").out
        lines = [
            [line.rsplit(",", 1)[0] for line in t.splitlines() if line.startswith(("one training", "one validation"))]
            for t in (text, declared)
        ]
        self.assertEqual(len(lines[0]), 2, text)
        self.assertRegex(lines[0][0], r"train\.loss 2\.\d+$")
        self.assertRegex(lines[0][1], r"val\.accuracy \S+, val\.loss 2\.\d+$")
        self.assertEqual(*lines)

        self.write("r.lua", TWO)
        text = self.run_program("check", "r.lua", "--step", "--threads", "1").out
        self.assertRegex(text, r"one training step +train\.d \S+, train\.drawn 0\.\d+, train\.g \S+, train\.seen 128, ")
        self.assertNotIn("one validation", text)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["r.lua"], "check left something behind")

    def test_check_finds_what_is_wrong_in_the_step(self):
        start = "on = { start = function(run) run.state.factor = 2 end },"
        for name, body, more, code, message in (
            ("raises", "error('oh')", "", 1, "r.lua:8: oh"),
            ("shape", "run.model:forward(batch.y)", "", 1, "r.lua:8:"),
            ("returns", "return 5", "", 1, "expected step(run, batch) to return a table"),
            ("metric", "return { loss = run.metrics['val.acuracy'] }", "", 1, "did you mean \"val.accuracy\"?"),
            ("save", "run:save('a/b')", "", 1, "run:save: expected a plain file name, found \"a/b\""),
            ("artifact", "run:artifact('.a', 'text')", "", 1, "run:artifact: expected a plain file name"),
            ("log", "run:log('val.loss', 1)", "", 1, "which the fit measures itself"),
            ("rate", "run:set_lr(1)", "", 1, "run:set_lr: a fit with `step` sets the rates of its optimizers itself"),
            ("allowed", "run:save('a') run:artifact('b', 'c') run:log('d', batch.x:sum()) run:stop('e')", "", 0, ""),
            ("state", "return { loss = run.state.factor }", start, 0, ""),
        ):
            with self.subTest(name):
                self.write("r.lua", HEAD + """return lab.fit { name = "f", data = lab.data.digits():split { val = 0.2 },
  model = net, loss = "cross_entropy", metrics = { "accuracy" }, optim = optim.SGD { lr = 1 }, epochs = 1, %s
  step = function(run, batch)
    %s
  end }
""" % (more, body))
                result = self.run_program("check", "r.lua", "--step", "--threads", "1", code=code)
                self.assert_said(result, message)
                self.assertEqual(list(self.folder.iterdir()), [self.folder / "r.lua"], "check left something behind")

    def test_a_name_that_the_step_never_returns(self):
        for more, code, place in (('monitor = "train.los", goal = "min",', 1, "monitor: "),
                                  ('stop = lab.stop.patience { metric = "train.los", patience = 1 },', 1, "")):
            with self.subTest(more):
                self.write("r.lua", ONE.replace("epochs = 4", more + " epochs = 4"))
                said = (place + 'no step has returned "train.los" until the first validation, whose names are ',
                        "train.loss")
                self.assert_said(self.run_program("r.lua", "--quiet", code=code), *said)
                self.assert_said(self.run_program("check", "r.lua", "--step", "--quiet", code=code), *said)

    def test_a_step_that_forgets_its_optimizer(self):
        self.write("r.lua", ONE.replace("run.optim:step()", ""))
        result = self.run_program("r.lua", "--quiet")
        self.assertEqual(result.err.count("step: after 15 steps no weight has changed"), 1, result)
        self.assert_said(result, "hint: the function takes the optimizer's steps itself")
        self.write("r.lua", ADDS_UP)
        self.assertNotIn("no weight", self.run_program("r.lua").err)
        self.write("r.lua", ONE.replace("run.optim:step()", "").replace("epochs = 4", "steps = 3"))
        self.assert_said(self.run_program("r.lua", "--quiet"), "step: after 3 steps no weight has changed")

    def test_check_tells_that_a_step_forgets_its_optimizer(self):
        self.write("r.lua", ONE.replace("run.optim:step()", ""))
        for flag, steps in (("--step", "1 step"), ("--callbacks", "2 steps")):
            with self.subTest(flag):
                result = self.run_program("check", "r.lua", flag, "--threads", "1")
                self.assertEqual(result.out.count(f"step: after {steps} no weight has changed"), 1, result)
                facts = self.run_program("check", "r.lua", flag, "--threads", "1", "--json").json()
                self.assertIn("no weight has changed", facts["stages"][0][flag[2:]]["warnings"][0], facts)
        self.write("r.lua", ONE)
        self.assertNotIn("no weight", self.run_program("check", "r.lua", "--step", "--callbacks").out)

    def test_a_step_that_forgets_to_delete_gradients(self):
        forgotten = "step: the optimizer steps with gradients to which those of its step before still belong"
        self.write("r.lua", ONE.replace("run.optim:zero_grad(); ", ""))
        result = self.run_program("r.lua", "--quiet")
        self.assertEqual(result.err.count(forgotten), 1, result)
        self.assert_said(result, "hint: the function takes the optimizer's steps itself: run.optim:zero_grad(); ")
        self.assertIn(forgotten, self.run_program("check", "r.lua", "--callbacks").out)
        self.write("r.lua", TWO.replace("run.optim.g:zero_grad(); ", ""))
        self.assert_said(self.run_program("r.lua", "--quiet"), forgotten)
        for right in (ONE, ADDS_UP, TWO, ONE.replace("run.optim:zero_grad(); loss:backward(); run.optim:step()",
                                                     "loss:backward(); run.optim:step(); run.optim:zero_grad()")):
            self.write("r.lua", right)
            self.assertNotIn(forgotten, self.run_program("r.lua").err)

    def test_gradients_that_add_up_over_steps_survive(self):
        self.write("r.lua", ADDS_UP)
        self.run_program("r.lua", "--threads", "1", "--out", "whole", "--quiet")
        for step in (4, 14):  # goes on from 3, with three steps' gradients; from 12, after the change of the rate
            with self.subTest(step=step):
                out = self.folder / f"killed-{step}"
                running = self.start("r.lua", "--at", step, "--threads", "1", "--out", out)
                running.until_said(f"announced step {step}")
                os.kill(running.engine(), signal.SIGKILL)
                self.end(running, 3)
                self.assertNotIn("no weight", self.run_program("resume", out, "--quiet").err)
                self.assert_same_end(out, self.folder / "whole")

    def test_bad_input(self):
        good = {
            "model": "net",
            "optim": 'optim.SGD { lr = 1 }',
            "step": "function(run, batch) return { loss = 1 } end",
            "more": "",
        }
        for name, changes, message in (
            ("none", {"step": "nil"}, "loss: missing; expected a loss"),
            ("keyed", {"step": "nil", "model": "{ a = net }"}, "model: several models by name"),
            (
                "optim",
                {"model": "{ a = net, b = net }", "optim": "{ a = optim.SGD { lr = 1 } }"},
                'there is no optimizer for the model "b"',
            ),
            (
                "name",
                {"model": "{ a = net }", "optim": "{ a = optim.SGD { lr = 1 }, c = optim.SGD { lr = 1 } }"},
                'there is no model named "c"',
            ),
            (
                "dot",
                {"model": "{ ['a.b'] = net }", "optim": "{ ['a.b'] = optim.SGD { lr = 1 } }"},
                'expected a name without a dot, found "a.b"',
            ),
            (
                "input",
                {"model": "{ a = net }", "optim": "{ a = optim.SGD { lr = 1 } }", "more": "input = { 4 }"},
                "input: expected sizes by the name of a model",
            ),
            (
                "init",
                {"model": "{ a = net }", "optim": "{ a = optim.SGD { lr = 1 } }", "more": 'init = "zeros"'},
                "init: expected a table by the name of a model\n  hint: init = { a = … }",
            ),
            (
                "freeze",
                {"model": "{ a = net }", "optim": "{ a = optim.SGD { lr = 1 } }", "more": 'freeze = { b = { "1.*" } }'},
                'freeze: there is no model named "b"',
            ),
            ("single", {"more": 'freeze = { a = { "1.*" } }'}, "freeze: expected patterns, found a table by name"),
            ("returns", {"step": "function(run, batch) return 5 end"}, "expected step(run, batch) to return a table"),
            (
                "scalar",
                {"step": "function(run, batch) return { loss = batch.x } end"},
                "expected a number or a tensor of one element as loss, found a tensor of shape [64, 1, 8, 8]",
            ),
            ("raises", {"step": "function(run, batch)\n error('oh') end"}, "r.lua:6: oh"),
            ("nan", {"step": "function(run, batch) return { loss = 0/0 } end"}, "not finite"),
            ("goal", {"more": 'monitor = "train.x"'}, "goal: missing: train.x is a metric of the recipe's own"),
        ):
            with self.subTest(name):
                self.write(
                    "r.lua",
                    HEAD
                    + 'return lab.fit { name = "f", data = lab.data.digits(), epochs = 1, model = %(model)s, optim ='
                    ' %(optim)s, step = %(step)s, %(more)s }'
                    % {**good, **changes},
                )
                result = self.run_program("r.lua", "--out", name, code=3 if name == "nan" else 1)
                self.assertIn(message, result.out + result.err, result)

    def test_a_layer_of_the_recipe_is_a_layer(self):
        self.write("r.lua", HEAD + """
local mine = nn.Module {
  params = { weight = { 16, 64 }, bias = { 16 } },
  forward = function(self, x) return x:matmul(self.weight:t()) + self.bias end,
}
return lab.fit {
  name = "f", data = lab.data.digits():split { train = 0.8, val = 0.2, seed = 7 },
  model = nn.Sequential { nn.Flatten(), own and mine or nn.Linear(16), nn.ReLU(), nn.Linear(10) },
  loss = "cross_entropy", metrics = { "accuracy" }, optim = optim.AdamW { lr = 0.01 }, epochs = 5,
}
""")
        self.run_program("r.lua", "--threads", "1", "--out", "own", "--quiet")
        self.assertGreater(self.summary(self.folder / "own")["metrics"]["val.accuracy"], 0.9)
        check = self.run_program("check", "r.lua")
        self.assertIn("unknown forward", check.out)

    def test_a_layer_of_the_recipe_says_where_it_went_wrong(self):
        for name, body, message in (
            ("raises", "error('oh')", "r.lua:7: model[2].Module: oh"),
            ("shape", "return x:matmul(self.w)", "model[2].Module"),
            ("nothing", "return 5", "expected forward(self, x) to return a tensor"),
            ("batch", "return x:sum()", "expected forward(self, x) to keep the batch axis"),
            (
                "changes",
                "if self.training then return x:narrow(1, 0, 3) end return x",
                "as it did when the model was built",
            ),
        ):
            with self.subTest(name):
                self.write("r.lua", HEAD + """local mine = nn.Module {
  params = { w = { 3, 3 } }, forward = function(self, x)
    %s
  end }
return lab.fit { name = "f", data = lab.data.digits(), model = nn.Sequential { nn.Flatten(), mine, nn.Linear(10) },
  loss = "cross_entropy", optim = optim.SGD { lr = 1 }, epochs = 1 }""" % body)
                self.assert_said(self.run_program("r.lua", "--out", name, code=1), message)


if __name__ == "__main__":
    unittest.main()
