"""Wrong recipes: exit code 1, one message with file and line that says what was expected and found, and a hint."""

import os
import signal
import unittest

from program import LINES, SLOW, CliTest, fit


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

    def test_a_last_batch_of_one_sample_has_no_variance(self):
        norm = "nn.Sequential { nn.Linear(4), nn.BatchNorm1d(), nn.Linear(3) }"
        for batch, model, more, is_refused in (
            ("20", norm, "", True), ("20", norm, "  loader = { drop_last = true },\n", False), ("19", norm, "", False),
            ("20", norm, '  freeze = { "2.*" },\n', False), ("20", norm.replace("BatchNorm1d", "LayerNorm"), "", False),
        ):
            with self.subTest(batch=batch, model=model, more=more):
                self.recipe(data="lab.data.blobs { samples = 61 }", model=model, batch=batch, more=more)
                if is_refused:
                    said = ("batch: the last batch of an epoch has one sample (61 in batches of 20), of which "
                            "model[2].BatchNorm1d has no variance", "hint: loader = { drop_last = true }, or another")
                    self.assert_said(self.run_program("check", "r.lua", code=1), *said)
                    self.assert_said(self.train(code=1), *said)
                else:
                    self.train("--quiet")

    def test_unknown_entry(self):
        self.recipe(model="nn.Sequential { nn.Linaer(3) }")
        self.refused(LINES["model"], "lab.nn has no 'Linaer'", "did you mean lab.nn.Linear?")
        self.recipe(loss="crossentropy")
        self.refused(LINES["fit"], 'fit.loss: expected a loss or function(out, batch) → scalar[, count], found '
                     '"crossentropy"', 'did you mean "cross_entropy"?')

    def test_names_of_stages(self):
        """A check refuses the names that a run refuses."""
        for name in ("a/b", "", "..", "日本", "-a", "a" * 5000):
            with self.subTest(name[:9]):
                self.write("r.lua", fit().replace('name = "f"', f'name = "{name}"'))
                messages = [self.run_program(*command, code=1).err for command in (("check", "r.lua"), ("r.lua",))]
                self.assertIn("name: expected 1 to 100 letters, digits, '_', '-' and '.'", messages[0])
                self.assertIn("hint: a stage's name is also the name of its folder", messages[0])
                self.assertLess(len(messages[0]), 1000)
                self.assertEqual(messages[0], messages[1])

    def test_names_with_line_breaks(self):
        """A name cannot begin a line of its own in a message, a table or the help."""
        name = r"a\nb\27[31m"  # as Lua reads it: a line break, and an escape that sets a colour
        sweep = ('return lab.sweep { name = "s", metric = "val.loss", trials = 2,\n'
                 f'  space = {{ ["{name}"] = lab.space.log(1e-3, 1e-1) }}, build = function(hp) end }}')
        for text in (fit().replace('name = "f"', f'name = "{name}"'), f'lab.param {{ "{name}", 3 }}\n',
                     f'lab.nn["{name}"]()\n', f'local f = lab.fit {{ ["{name}"] = 3 }}\n',
                     f'local x = lab.tensor.zeros({{ 3 }})["{name}"]\n', f'local x = lab.tensor["{name}"]\n', sweep):
            with self.subTest(text):
                self.write("r.lua", text)
                result = self.run_program("check", "r.lua", code=1)
                self.assertIn(r"a\10b\27[31m", result.err, result)
                self.assertNotIn("a\nb", result.err, result)
        self.write("r.lua", f'lab.param {{ "name", "{name}", choices = {{ "x", "{name}" }} }}\n')
        result = self.run_program("r.lua", "--help")
        self.assertEqual(result.out.count("\n"), 4, result)

    def test_accuracy_of_numbers(self):
        self.write("houses.csv", "area,price\n" + "".join(f"{i},{1000 * i}\n" for i in range(1, 41)))
        self.recipe(data='lab.data.csv { "houses.csv", target = "price" }:split { train = 0.5, val = 0.5, seed = 1 }',
                    model="nn.Linear(1)", loss="mse", more='  metrics = { "accuracy" },\n')
        result = self.run_program("check", "r.lua", "--step", code=1)
        self.assertIn("r.lua:2: metrics[1].accuracy: expected targets from 0 to 1, found ", result.err)
        self.assertIn('hint: of numbers, metrics are "mae", "rmse" and "r2"', result.err)

    def test_init_of_a_parameter_that_is_not_there(self):
        for name, hint in (("wight", 'hint: did you mean "weight"?'), ("v", "")):
            with self.subTest(name):
                self.recipe(model="nn.Module { params = { weight = { 3, 2 }, b = { 3 } }, init = { b = "
                            f"lab.init.constant(1), {name} = lab.init.constant(1) }}, forward = function(self, x) "
                            "return x:matmul(self.weight:t()) + self.b end }")
                self.assert_said(self.run_program("check", "r.lua", code=1), f"r.lua:{LINES['model']}: model", "init: "
                                 f'there is no parameter "{name}"; the parameters are b, weight', hint)

    def test_embedding_with_too_few_rows(self):
        self.write("t.txt", "abcde" * 40)
        data = 'lab.data.text { "t.txt", context = 8 }:split { val = 0.2 }'
        message = "model[1].Embedding: expected num_embeddings of at least 5, found 4"
        self.recipe(data=data, model="nn.Sequential { nn.Embedding(4, 8), nn.Linear(5) }")
        self.assert_said(self.run_program("check", "r.lua", code=1), f"r.lua:{LINES['model']}: {message}",
                         "hint: the data has integers from 0 to 4")
        self.recipe(data=data, model='nn.Sequential { nn.Input "x", nn.Embedding(4, 8), nn.Linear(5) }')
        self.run_program("check", "r.lua", code=1)
        self.recipe(data=data, model="nn.Sequential { nn.Embedding(5, 8), nn.Linear(5) }")
        self.run_program("check", "r.lua")
        self.write("t.csv", "s,y\n" + "abc,1\nbde,2\n" * 20)
        model = "nn.Sequential { nn.Embedding(%d, 8), nn.Flatten(), nn.Linear(1) }"
        csv = 'lab.data.csv { "t.csv", target = "y", text = "s" }'
        self.recipe(data=csv, model=model % 5, loss="mse")  # 0 fills up
        self.assert_said(self.run_program("check", "r.lua", code=1), "expected num_embeddings of at least 6, found 5")
        self.recipe(data=csv, model=model % 6, loss="mse")
        self.train("--quiet")

    def test_integers_that_an_embedding_lacks(self):
        self.recipe(data='lab.data.tensors { load = function() return lab.tensor({ {0, 1}, {2, 7} }, { dtype = "int64" '
                         '}), lab.tensor { {1}, {2} } end, columns = { "x", "y" } }', loss="mse",
                    model="nn.Sequential { nn.Embedding(4, 8), nn.Flatten(), nn.Linear(1) }", batch="2")
        self.run_program("check", "r.lua")
        self.assert_said(self.train(code=1), "model[1].Embedding: expected integers from 0 to 3, found 7",
                         "hint: num_embeddings is 4; this integer needs 8 rows")

    def test_metric_of_booleans(self):
        metric = "  metrics = { function(out, batch) return out:argmax(1):eq(batch.y)%s end },\n"
        self.recipe(more=metric % "")
        self.assert_said(self.train(code=1), "metric", 'hint: add :to("float32"):mean()')
        self.recipe(more=metric % ':to("float32"):mean()')
        self.train("--quiet")

    def test_lists_as_in_python(self):
        for line, hint in (("list.append(3)", "a list grows by list[#list + 1] = x"),
                           ("list:append(3)", "a list grows by list[#list + 1] = x"),
                           ("list:pop()", "table.remove(list) takes the last element out"),
                           ("list = [1, 2]", "a list is { 1, 2 }"),
                           ("print([1, 2])", "a list is { 1, 2 }"),
                           ("for x in [1, 2] do end", "a list is { 1, 2 }")):
            with self.subTest(line):
                self.write("r.lua", f"local list = {{}}\n{line}\n")
                result = self.run_program("r.lua", code=1)
                self.assert_said(result, "r.lua:2: ", f"hint: {hint}")
        self.write("r.lua", "local t = {\n  [1] = 2, [2] = = 3 }\n")
        self.assertNotIn("a list is", self.run_program("r.lua", code=1).err)

    def test_options_without_their_names(self):
        for line, message, hint in (
                ("lab.data.digits():split(0.8)", "data:split: takes 1 by position (source), found 2",
                 "write data:split { train = … }"),
                ('lab.sweep { name = "s", space = { lab.space.log(1e-4, 1e-1) }, build = function() end }',
                 "sweep.space: expected an integer, number, boolean, string or a search range, or a table of them by "
                 "name, found a list of 1", "each search range has a name: { lr = lab.space.log(1e-4, 1e-1) }")):
            with self.subTest(line):
                self.write("r.lua", f"return {line}\n")
                result = self.run_program("r.lua", code=1)
                self.assert_said(result, f"r.lua:1: {message}\n  hint: {hint}\n")

    def test_a_text_in_quotes_is_a_value_of_set(self):
        self.recipe()
        self.run_program("check", "r.lua", "--set", 'loss="cross_entropy"')

    def test_input_sizes_as_in_pytorch(self):
        for layer, found, hint in (
            ("nn.Linear(64, 3)", "nn.Linear: takes 1 by position (out_features), found 2", "nn.Linear(3)"),
            (
                "nn.Conv2d(1, 8, 3)",
                "nn.Conv2d: takes 2 by position (out_channels and kernel_size), found 3",
                "nn.Conv2d(8, 3), or nn.Conv2d { 1, 8, stride = 3 }",
            ),
            (
                "nn.BatchNorm1d(64)",
                "nn.BatchNorm1d: takes only named options, found 1 without a name (64)",
                "nn.BatchNorm1d()",
            ),
            ("nn.LSTM(16, 32)", "nn.LSTM: takes 1 by position (hidden_size), found 2", "nn.LSTM(hidden_size)"),
        ):
            with self.subTest(layer):
                self.recipe(model=f"nn.Sequential {{ {layer} }}")
                self.refused(LINES["model"], found, f"input sizes are inferred: {hint}")

    def test_input_sizes_by_name(self):
        for layer, option in (("nn.Linear { in_features = 4, out_features = 2 }", "in_features"),
                              ("nn.Conv2d { in_channels = 1, out_channels = 8, kernel_size = 3 }", "in_channels"),
                              ("nn.LSTM { input_size = 16, hidden_size = 32 }", "input_size"),
                              ("nn.BatchNorm1d { num_features = 64 }", "num_features")):
            with self.subTest(layer):
                self.recipe(model=f"nn.Sequential {{ {layer} }}")
                self.refused(LINES["model"], f"{layer.split(' ', 1)[0]}: there is no option '{option}'",
                             "input sizes are never given, they are inferred: leave this option out")

    def test_a_softmax_that_the_loss_applies_too(self):
        said = (f"warning: r.lua:{LINES['model']}: model[3].%s: %s applies the %s itself: here it is applied twice\n")
        for last, loss, texts in (("nn.Softmax()", "cross_entropy", ("Softmax", "cross_entropy", "softmax")),
                                  ("nn.LogSoftmax()", "focal", ("LogSoftmax", "focal", "softmax")),
                                  ("nn.LogSoftmax()", "nll", None)):
            with self.subTest(last=last, loss=loss):
                self.recipe(model=f"nn.Sequential {{ nn.Linear(8), nn.Linear(3), {last} }}", loss=loss)
                checked, ran = self.run_program("check", "r.lua"), self.train()
                self.assertEqual(checked.out.count("warning: "), 1 if texts else 0, checked)
                self.assertEqual(ran.err.count("warning: "), 1 if texts else 0, ran)
                if texts:
                    self.assertIn(said % texts, checked.out, checked)
                    self.assertIn(said % texts, ran.err, ran)
        self.recipe(data="lab.data.blobs { samples = 120, classes = 2 }:split { val = 0.5 }",
                    model="nn.Sequential { nn.Linear(8), nn.Sequential { nn.Linear(1), nn.Sigmoid() } }",
                    loss="bce_with_logits")
        self.assert_said(
            self.train(), "warning: ", "model[2].Sequential[2].Sigmoid: bce_with_logits applies the sigmoid"
        )

    def test_a_method_that_is_not_there(self):
        self.recipe(data="lab.data.digits():split { val = 0.2 }:normalise()")
        self.refused(LINES["data"], "data:split has no 'normalise'", "did you mean 'normalize'?")
        for line, found, hint in (
            ("lab.ops.cross_entropy(1)", "lab.ops has no 'cross_entropy'", "did you mean lab.ops.cross_entropy_loss?"),
            ("lab.tensor { 1 }:long()", "a tensor has no 'long'", 't:to("int64")'),
            ("lab.tensor { 1 }:float()", "a tensor has no 'float'", 't:to("float32")'),
        ):
            with self.subTest(line):
                self.write("r.lua", "local _ = " + line + "\n")
                self.refused(1, found, hint)

    def test_weights_of_classes_as_in_pytorch(self):
        self.write("r.lua", fit().replace('"cross_entropy"', "lab.loss.cross_entropy { weight = { 1, 2, 3 } }"))
        self.refused(LINES["loss"], "loss.cross_entropy.weight: expected a number ≥ 0, found a list of 3",
                     "did you mean 'class_weights'?")
        for name in ("cross_entropy", "CrossEntropyLoss"):
            self.write("r.lua", fit().replace('"cross_entropy"', f"nn.{name} {{ weight = {{ 1, 2, 3 }} }}"))
            self.refused(LINES["loss"], f"lab.nn has no '{name}'", "did you mean lab.loss.cross_entropy?")

    def test_names_of_pytorch_and_lightning(self):
        for option, message, hint in (
                ("schedule = lab.sched.CosineAnnealingLR {}", "lab.sched has no 'CosineAnnealingLR'",
                 "did you mean lab.sched.cosine?"),
                ("stop = lab.stop.EarlyStopping {}", "lab.stop has no 'EarlyStopping'",
                 "did you mean lab.stop.patience?"),
                ("stop = lab.EarlyStopping {}", "lab has no 'EarlyStopping'",
                 "did you mean lab.pruner.patience or lab.stop.patience?"),
                ('compute = "bfloat16"', "fit: there is no option 'compute'", "did you mean 'precision'?"),
                ("on = lab.build(nn.Linear(3), { input = { 4 } })(1)", "model is not a function", "model:forward(x)"),
                ('on = lab.build(nn.Linear(3), { input = { 4 }, precision = "bfloat16" })',
                 "lab.build: build has no option 'precision'", "did you mean 'compute'?"),
                ("lr = 1e-3", "fit: there is no option 'lr'", "optim = lab.optim.AdamW { lr = 1e-3 }"),
                ("learning_rate = 1e-3", "fit: there is no option 'learning_rate'", "lab.optim.AdamW { lr = 1e-3 }"),
                ("val = 0.2", "fit: there is no option 'val'", "data:split { train = 0.8, val = 0.2 }"),
                ("on = lab.space.loguniform(1, 2)", "lab.space has no 'loguniform'", "did you mean lab.space.log?"),
                ("on = lab.space.categorical {}", "lab.space has no 'categorical'", "did you mean lab.space.choice?"),
                ("on = lab.space.randint(1, 2)", "lab.space has no 'randint'", "did you mean lab.space.int?"),
                ("on = lab.nn.Dense(3)", "lab.nn has no 'Dense'", "did you mean lab.nn.Linear?"),
                ("on = lab.nn.Softmax(1)", "nn.Softmax.dim: expected an integer ≤ -1, found 1", "-1 is the last"),
                ("on = lab.nn.functional.relu", "lab.nn has no 'functional'", "lab.ops.relu(x)"),
                ("on = lab.data.ImageFolder('x')", "lab.data has no 'ImageFolder'", "lab.data.images"),
                ("on = lab.nn.ModuleList {}", "lab.nn has no 'ModuleList'", "nn.Sequential { a, b }"),
                ("stop = lab.nn.fit {}", "lab.nn has no 'fit'", "did you mean lab.fit?"),
                ('device = "cuda"', "fit: there is no option 'device'", "the device is chosen when"),
                ('accelerator = "gpu"', "fit: there is no option 'accelerator'", "the device is chosen when")):
            with self.subTest(option):
                self.write("r.lua", fit(more=f"  {option},\n"))
                line = LINES["more"] if "lab" in option else LINES["fit"]
                self.assert_said(self.train(code=1), f"r.lua:{line}: {message}", hint)

    def test_a_monitor_that_is_never_a_number(self):
        data = ("lab.data.tensors(function() return lab.tensor.randn({ 40, 4 }, { seed = 1 }), "
                "lab.tensor.randn({ 40, 1 }, { seed = 2 }) end):split { train = 0.975, val = 0.025 }")
        self.recipe(data=data, model="nn.Linear(1)", loss="mse", more='  metrics = { "r2" }, monitor = "val.r2",\n')
        self.assert_said(self.train(), f"warning: r.lua:{LINES['fit']}: val.r2 was a number at no validation")

    def test_a_metric_that_is_not_a_number_is_told_once(self):
        metric = '{ name = "mine", goal = "max", update = function(out, batch, run) return VALUE end }'
        for value, more, said in (
                ("0 / 0", "", "val.mine is nan at epoch 1, step 4"),
                ("run.epoch == 2 and 1 / 0 or 1", "", "val.mine is inf at epoch 2, step 8"),
                ("0 / 0", '  monitor = "val.mine", stop = lab.stop.patience { patience = 9 },\n',
                 "val.mine is nan at epoch 1, step 4; no such validation is the best one; stop.patience counts it as "
                 "no improvement"),
                ("0 / 0", '  stop = { lab.stop.threshold { metric = "val.mine", above = 2 } },\n',
                 "val.mine is nan at epoch 1, step 4; to stop.threshold it is neither above nor below")):
            with self.subTest(value=value, more=more):
                self.recipe(more=f"  metrics = {{ {metric.replace('VALUE', value)} }},\n{more}",
                            data="lab.data.blobs { samples = 120 }:split { train = 0.5, val = 0.5 }")
                result = self.train("--json")
                self.assertEqual(result.err.count("val.mine is "), 1, result)
                self.assertIn(f"warning: r.lua:{LINES['fit']}: {said}\n", result.err, result)
                (told,) = [warning for warning in result.json()["warnings"] if "val.mine is" in warning]
                self.assertIn(said, told)

    def test_values_that_are_not_numbers_elsewhere(self):
        self.recipe(more='  metrics = { { name = "mine", update = function() return 0 / 0 end } },\n'
                         "  on = { epoch = function(run) run:log('share', 0 / 0) end },\n")
        self.assert_said(self.train(), "share is nan at epoch 1, step 4", "val.mine is nan at epoch 1",
                         "test.mine is nan at epoch 3, step 12")
        self.write("r.lua", "return lab.task { name = 't', run = function(ctx)\n"
                            "  local save = { lab.tensor { 1 } }\n"
                            "  for step in ctx:steps(3, { save = save }) do ctx:log('share', 0 / 0) end\nend }\n")
        result = self.train("--json")
        self.assertEqual(result.json()["warnings"], ["ctx:log: share is nan at epoch 0, step 1"])

    def test_a_metric_that_is_not_a_number_is_told_once_in_a_continued_run(self):
        self.recipe(**{**SLOW, "more": SLOW["more"] + "  metrics = { { name = 'mine', update = function()\n"
                                                      "    return 0 / 0\n  end } },\n"})
        running = self.start("r.lua", "--threads", "1")
        running.until_rows(self.run_folder(), 2)
        running.send(signal.SIGINT)
        self.assertIn("val.mine is nan at epoch 1, step 4", self.end(running, 130).err)
        result = self.run_program("resume", self.run_folder(), "--json")
        self.assertNotIn("val.mine is", result.err, result)
        self.assertEqual(sum("val.mine is nan at epoch 1" in one for one in result.json()["warnings"]), 1)

    def test_an_average_that_the_fit_is_too_short_for(self):
        average = '  ema = lab.swa { start = "3 epochs", every = "EVERY epochs" },\n  stop = function(run) STOP end,\n'
        for every, stop, message in (
                ("1", "return run.epoch >= 1 and 'enough' or nil",
                 "the average never began, because the fit ended before its first update"),
                ("9", "return nil", "the average is of one point of the fit, which ended before a second update")):
            with self.subTest(every):
                self.recipe(epochs=20, more=average.replace("EVERY", every).replace("STOP", stop))
                self.assert_said(self.train(), f"warning: r.lua:{LINES['more']}: ema: {message}",
                                 "an earlier start, or less time between two updates")
        self.recipe(epochs=6, more=average.replace("EVERY", "1").replace("STOP", "return nil"))
        self.assertNotIn("the average", self.train().err)

    def test_times_of_a_schedule_beyond_the_end(self):
        for schedule, message in (
                ('cosine { warmup = "5 epochs" }', "warmup: expected a warm-up that ends before the run does, found 5 "
                                                   "epochs"),
                ('step { every = "30 epochs", factor = 0.1 }', "every: expected a first reduction within the run, "
                                                               "found 30 epochs"),
                ('multi_step { at = { "1 epochs", "7 epochs" }, factor = 0.1 }', "at: expected times within the run, "
                                                                                 "found 7 epochs")):
            with self.subTest(schedule):
                self.recipe(epochs=5, more=f"  schedule = lab.sched.{schedule},\n")
                self.assert_said(self.train(), "warning: r.lua:", message, "in a run of")
        self.recipe(epochs=5, more='  schedule = lab.sched.cosine { warmup = "1 epochs" },\n')
        self.assertNotIn("warning", self.train().err)

    def test_a_mark_that_a_loss_does_not_know(self):
        data = ('lab.data.tensors(function() local y = lab.tensor.zeros({ 40 }):to("int64") y[0] = 2 y[1] = 255 '
                'return lab.tensor.randn({ 40, 4 }, { seed = 1 }), y end)')
        more = "  metrics = { lab.metric.accuracy { ignore_index = 255 } },\n"
        for loss in ("hinge", "triplet"):
            with self.subTest(loss):
                self.recipe(data=data + ":split { train = 0.5, val = 0.5 }", loss=loss, more=more)
                self.assert_said(self.train(code=1), "expected labels from 0 to 2, found 255 in the data",
                                 f"hint: loss.{loss} takes every label for a class; "
                                 "loss.cross_entropy { ignore_index = 255 } leaves this label out")
        self.recipe(data=data + ":split { train = 0.5, val = 0.5 }", loss="cross_entropy", more=more)
        self.assert_said(self.train(code=1), "expected labels from 0 to 2, found 255 in the data, which another loss "
                                             "or a metric leaves out", "ignore_index = 255 in this loss too")

    def test_an_entry_that_is_called_with_tensors(self):
        x = "lab.tensor { { 1, 2 } }"
        for call, found, hint in (
                (f"lab.loss.cross_entropy({x}, {x})", "loss.cross_entropy[1]: expected data, found a tensor",
                 "lab.loss.cross_entropy names a loss"),
                (f"lab.loss.cross_entropy()({x}, {x})", "expected a function, found loss.cross_entropy",
                 "lab.loss.cross_entropy names a loss"),
                (f"lab.nn.ReLU()({x})", "expected a function, found nn.ReLU", "lab.nn.ReLU describes a layer"),
                (f"lab.optim.Adam({{ {x} }}, {{ lr = 1e-3 }})", "optim.Adam[1][1]: expected data, found a tensor",
                 "lab.optimizer(lab.optim.Adam { lr = 1e-3 }, model:parameters())"),
                ("for batch in lab.data.digits() do end", "expected a function, found data.digits",
                 "data.train:batches(64)"),
                (f"lab.nn.ReLU({x})", "nn.ReLU[1]: expected data, found a tensor", "lab.nn.ReLU describes a layer")):
            with self.subTest(call):
                self.write("r.lua", f"{'' if call.startswith('for ') else 'local _ = '}{call}\n")
                self.assert_said(self.train(code=1), f"r.lua:1: {found}", hint)

    def test_a_loss_that_expects_the_target(self):
        for body, message in (("lab.ops.cross_entropy_loss(out, y)", "found an object of type batch"),
                              ("(out - y):pow(2):mean()", "found an object of type batch")):
            with self.subTest(body):
                self.write("r.lua", fit().replace('"cross_entropy"', f"function(out, y) return {body} end"))
                result = self.train(code=1)
                self.assert_said(result, f"r.lua:{LINES['loss']}: ", message,
                                 "hint: a batch holds tensors: batch.x, batch.y; a function for a loss")

    def test_members_of_objects_as_in_pytorch_and_lightning(self):
        """What is written otherwise there, or takes other arguments, has a hint in the words of recipes."""
        task = """return lab.task { name = "t", run = function(ctx)
  local data = lab.data.blobs { samples = 8 }:split { val = 0.5 }
  local model = lab.build(lab.nn.Linear(3), { input = { 4 }, seed = 1 })
  local optimizer = lab.optimizer(lab.optim.SGD { lr = 0.1 }, model:parameters())
  local schedule = lab.schedule { lab.sched.cosine(), steps = 10 }
  local loss = model:forward(lab.tensor.zeros({ 2, 4 })):sum()
  %s
end }
"""
        for line, message, hint in (
                ("model:cuda()", "model has no 'cuda'", "trainlab RECIPE --device cuda; lab.build takes device"),
                ("model:cpu()", "model has no 'cpu'", "trainlab RECIPE --device cuda"),
                ('model:to("cuda")', "model has no 'to'", "trainlab RECIPE --device cuda"),
                ('model.to("cuda")', "model has no 'to'", "trainlab RECIPE --device cuda"),
                ("model:half()", "model has no 'half'", 'compute = "bfloat16"'),
                ("model:state_dict()", "model has no 'state_dict'", "model:tensors()"),
                ("model:load_state_dict({})", "model has no 'load_state_dict'", "model:load(tensors)"),
                ("model:zero_grad()", "model has no 'zero_grad'", "optimizer:zero_grad()"),
                ("model:fit(data)", "model has no 'fit'", "return lab.fit { … }"),
                ("model.train()", "expected a model object, found nothing", "methods are called with a colon"),
                ("model:train(false)", "model:train: takes no arguments, found false", "model:eval()"),
                ("model:parameters(true)", "model:parameters: takes no arguments, found true", ""),
                ("optimizer:zero_grad { set_to_none = true }", "optimizer:zero_grad: takes no arguments, found a table",
                 "as set_to_none = True does"),
                ("optimizer.step()", "expected an optimizer object, found ", "optimizer:name(…)"),
                ("loss:backward(); loss:backward()", "a backward pass before has freed what they need",
                 "one pass for all losses: (a + b):backward()"),
                ("lab.data.concat { data, data }", "lab.data has no 'concat'", "data:append(other)"),
                ("optimizer:step(loss)", "optimizer:step: expected nothing, or a function that evaluates the loss",
                 "loss:backward(); return loss end)"),
                ("optimizer:step(function() end)", "expected the function to return the loss",
                 "loss:backward(); return loss end)"),
                ("optimizer:step(function() return loss end)", "has left no gradients",
                 "loss:backward(); return loss end)"),
                ("print(optimizer.param_groups)", "optimizer has no 'param_groups'", "the rate is optimizer.lr"),
                ("optimizer:state_dict()", "optimizer has no 'state_dict'", "save = { model, optimizer }"),
                ("schedule:step()", "schedule has no 'step'", "optimizer.lr = rate * schedule:factor(step)"),
                ("loss:backward(true)", "tensor:backward: expected a gradient and a table of options, found true",
                 "loss:backward({ retain_graph = true })"),
                ("loss:backward { inputs = 1 }", "tensor:backward: there is no argument 'inputs'",
                 "it takes retain_graph"),
                ('loss.to("cuda")', 'expected a tensor', "t:to("),
                ("print(#data.train)", "attempt to get length of field 'train'", "data.train.size"),
                ("optimizer:clip_grad_norm_(1)", "optimizer has no 'clip_grad_norm_'", "{ clip = 1 }"),
                ("lab.optim.Adam(model, { lr = 1e-3 })", "optim.Adam[1]: expected data, found an object of type model",
                 "lab.optimizer(lab.optim.Adam { lr = 1e-3 }, model:parameters())"),
                ("for batch in data.train do end", "attempt to call a userdata value", "data.train:batches(64)"),
                ("for i, batch in ipairs(data.train:batches(4)) do end", "table expected, got function",
                 "for batch in data.train:batches(64)"),
                ("print(data.train.x)", "data.train has no 'x'", "data.train:batches(64)"),
                ("for batch in data.train:batches(4) do batch:to('cuda') end", "this batch has no 'to'",
                 "batches are on the device of the run"),
                ("ctx:device()", "ctx has no 'device'", "--device cuda")):
            with self.subTest(line):
                self.write("r.lua", task % line)
                result = self.run_program("r.lua", code=1)
                self.assert_said(result, "r.lua:7: ", message, hint)

    def test_names_of_lightning_in_a_callback(self):
        for line, message, hint in (
                ("print(run.global_step)", "run has no 'global_step'", "did you mean run.step?"),
                ("print(run.current_epoch)", "run has no 'current_epoch'", "did you mean run.epoch?"),
                ("print(run.lr)", "run has no 'lr'", "run.optim.lr"),
                ("run:log_dict {}", "run has no 'log_dict'", "run:log(name, value)"),
                ("run.optim:step()", "this fit takes the steps of its optimizer itself",
                 "step = function(run, batch)")):
            with self.subTest(line):
                self.recipe(more=f"  on = {{ epoch = function(run)\n    {line}\n  end }},\n")
                self.assert_said(self.train(code=1), f"r.lua:{LINES['more'] + 1}: {message}", hint)

    def test_a_function_that_calls_itself_without_end(self):
        self.write("r.lua", """local function outer(n)
  local function again(k)
    return 1 + again(k + 1)
  end

  return again(n)
end
local _ = outer(1)
""")
        self.refused(3, "stack overflow", "a function calls itself without an end")
        self.recipe(more="""  on = { epoch = function(run)
    local t = {}
    function t.again(k)
      local x = t.again(k + 1)
      return x
    end
    t.again(1)
  end },
""")
        self.assert_said(self.train(code=1), f"r.lua:{LINES['more'] + 3}: stack overflow",
                         "a function calls itself without an end")

    def test_a_list_in_place_of_a_layer(self):
        for model in ("nn.Sequential { { nn.Linear(3), nn.ReLU() } }", "{ nn.Linear(3), nn.ReLU() }"):
            self.recipe(model=model)
            self.assert_said(self.train(code=1), "expected a layer", "found a list of 2",
                             "hint: layers in a row are nn.Sequential { a, b }, with one pair of braces")

    def test_noise_on_whole_numbers(self):
        ids = 'lab.data.tensors(function() return lab.tensor.zeros({ 40, 4 }):to("int64"), lab.tensor.zeros(40) end)'
        self.recipe(data=f"{ids}:split {{ val = 0.5 }}:augment {{ lab.augment.noise(0.1) }}", loss="mse")
        self.assert_said(self.train(code=1), "found int64 [4]",
                         "augment.noise alone takes numbers of any shape, in float32")

    def test_callbacks_as_elsewhere(self):
        self.recipe(more="  on = { on_train_end = function(run) end },\n")
        self.refused(LINES["fit"], "fit.on: there is no option 'on_train_end'", "did you mean 'finish'?")
        self.recipe(more="  on = { epoch = function(run)\n    print(run.val_loss)\n  end },\n")
        result = self.train(code=1)
        self.assert_said(result, f"r.lua:{LINES['more'] + 1}: run has no 'val_loss'",
                         'hint: metrics are read by their full names: run.metrics["val.loss"]')

    def test_a_parameter_that_the_space_lacks(self):
        self.write("r.lua", """return lab.sweep {
  name = "s", metric = "val.loss", trials = 2, space = { lr = lab.space.log(1e-3, 1) },
  build = function(hp)
    local epochs = hp.epochs or 15
  end,
}
""")
        self.refused(4, "the space has no parameter 'epochs'",
                     "it has lr, seed, trial; hp has what the space declares, so that `hp.name or value` is never "
                     "needed")

    def test_a_list_in_place_of_a_search_range(self):
        self.write("r.lua", """return lab.sweep {
  name = "s", metric = "val.loss", trials = 2, build = function(hp) end, space = { lr = { 0.1, 0.01 } },
}
""")
        self.refused(1, "sweep.space.lr: expected an integer, number, boolean, string or a search range, "
                        "found a list of 2",
                     "one of several values is lab.space.choice { …, … }")

    def test_wrong_type(self):
        self.recipe(optim='lab.optim.AdamW { lr = "fast" }')
        self.refused(LINES["optim"], 'optim.AdamW.lr: expected a number ≥ 0, found "fast"')
        self.recipe(batch="1.5")
        self.refused(LINES["fit"], 'fit.batch: expected an integer ≥ 1 or "auto", found 1.5')

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
        self.refused(LINES["more"],
                     'stop[1].patience.metric: "val.loss" needs a validation part, and the data has none')

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
                      "message": "expected a number ≥ 0, found -1", "hint": ""}})

    def test_json_has_the_hint_and_the_path(self):
        self.recipe(optim="lab.optim.AdamW { lrr = 1 }")
        self.assertEqual(self.train("--json", code=1).json()["error"]["hint"], "did you mean 'lr'?")
        self.write("p.lua", 'lab.param { "count", 40 }\n')
        error = self.train("--count", "0.5", "--json", recipe="p.lua", code=2).json()["error"]
        self.assertEqual((error["file"], error["line"], error["path"]), ("p.lua", 1, "--count"))
        self.assertIn("is a whole number", error["hint"])
        error = self.train("--grace", "0", "--json", code=2).json()["error"]
        self.assertEqual(error["path"], "--grace")


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
        result = self.train("--set", "optim.betas=[0.9", code=2)
        self.assert_said(result, "trainlab: --set optim.betas=[0.9: expected a list or a table as in TOML, found [0.9",
                         "hint: for example '[0.9, 0.95]'")

    def test_set_of_lists_and_of_nothing(self):
        self.recipe(more="  on = { start = function() print('started') end },\n")
        result = self.train(
            "--set", "optim.betas=[0.5, 0.6]", "--set", "epochs=nil", "--set", "steps=5", "--json"
        ).json()
        self.assertEqual(result["steps"], 5)
        plain = self.train("--set", "epochs=nil", "--set", "steps=5", "--json").json()
        self.assertNotEqual(result["metrics"], plain["metrics"])
        self.train("--set", "loader={ threads = 2 }", "--quiet")

    def test_set_that_contradicts_the_recipe(self):
        self.recipe()
        for command in ([], ["check"]):
            result = self.run_program(*command, "r.lua", "--set", "steps=5", code=1)
            self.assert_message(result, f"r.lua:{LINES['fit']}: steps: expected either epochs or steps, found both")
            self.assert_said(
                result, "hint: leave one of them out", "--set epochs=nil", "steps comes from --set steps=5"
            )

    def test_times(self):
        for option in ("time", "profile"):
            self.recipe(more=f'  {option} = "5",\n')
            result = self.run_program("check", "r.lua", code=1)
            self.assert_said(result, f'{option}: expected a duration, found "5"',
                             'hint: a time and its unit: "30 s", "90 min", "18 h" or "2 d"')

    def test_parameter(self):
        self.write("r.lua", 'lab.param { "rate", 0.1, min = 0 }\n')
        result = self.train("--rat", "1", code=2)
        self.assert_message(result, "trainlab: --rat: the recipe has no parameter 'rat'")
        self.assert_said(result, "hint: did you mean --rate?")
        self.assert_said(self.train("--epochs", "3", code=2), "the recipe has no parameter 'epochs'",
                         "hint: it has --rate; an option of the stage that it returns would be --set epochs=VALUE")
        result = self.train("--rate", "fast", code=2)
        self.assert_message(result, 'r.lua:1: --rate: expected a number ≥ 0, found "fast"')
        result = self.train("--rate", "-1", code=2)
        self.assert_message(result, 'r.lua:1: --rate: expected a number ≥ 0, found "-1"')
        self.assertNotIn("traceback", result.err)

    def test_fraction_for_a_whole_default(self):
        """Lua's 1.0 is 1, so the parameter is an integer: that must not be a riddle."""
        self.write("r.lua", 'lab.param { "rate", 1.0 }\n')
        result = self.train("--rate", "0.5", code=2)
        self.assert_message(result, 'r.lua:1: --rate: expected an integer, found "0.5"')
        self.assert_said(result, 'hint: its default, 1, is a whole number; type = "number" in the recipe')
        self.assertNotIn("hint", self.train("--rate", "x", code=2).err)

    def test_whole_numbers_that_are_not_exact_or_too_small(self):
        self.write("r.lua", 'lab.param { "count", 40, min = 1 }\n')
        for text in ("12345678901234567890", "9007199254740993", "1e300"):
            result = self.train("--count", text, code=2)
            self.assert_message(result, f'r.lua:1: --count: expected an integer ≥ 1, found "{text}"')
            self.assert_said(result, "hint: beyond 2^53 not every whole number is exact\n")
        for text in ("0", "-3"):
            self.assertNotIn("hint", self.train("--count", text, code=2).err)

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
        self.write("p.toml", "set = ['batch=32']\nstage = 'f'\n")  # what a search writes
        self.assert_said(self.train("--params", "p.toml", code=2), "p.toml:1: parameter set",
                         "hint: changes of options: trainlab run RECIPE.lua --apply p.toml")

    def test_device_that_is_not_there(self):
        self.recipe()
        none = self.folder / "none"
        none.mkdir()
        os.environ["TRAINLAB_DEVICES"] = str(none)
        self.addCleanup(os.environ.pop, "TRAINLAB_DEVICES")
        result = self.train("--device", "cuda", code=2)
        self.assert_message(result, f"trainlab: device cuda is not there: found no plugin {none / 'trainlab-cuda.so'}")
        self.assert_said(result, "hint: ")
        self.assertFalse((self.folder / "runs").exists())


class Running(CliTest):
    def test_error_in_a_callback(self):
        self.recipe(more='  on = {\n    validate = function(run)\n      if run.epoch == 2 then error("no luck") end\n'
                         "    end,\n  },\n")
        line = LINES["more"] + 2
        result = self.train(code=1)
        self.assert_message(result, f"r.lua:{line}: no luck")
        self.assert_said(result, "the run is saved up to step 8, where it calls this function again")
        self.assert_status(self.run_folder(), "failed")
        self.assertEqual(self.summary(self.run_folder())["reason"], f"r.lua:{line}: no luck")
        result = self.train("--json", code=1)
        error = result.json()["error"]
        self.assertIn("the run is saved up to step 8, where it calls this function again", error.pop("hint"))
        self.assertEqual(error, {"file": "r.lua", "line": line, "path": "", "message": "no luck"})

    def test_an_error_in_a_task_says_where_its_checkpoint_is(self):
        self.write("r.lua", '''return lab.task { name = "t", run = function(ctx)
  local model = lab.build(lab.nn.Linear(1), { input = { 2 } })
  for step in ctx:steps(4, { save = { model }, checkpoint = "1 steps" }) do
    ctx:log("a", step)
    if step == 3 then error("no luck") end
  end
end }
''')
        result = self.train(code=1)
        self.assert_message(result, "r.lua:5: no luck")
        self.assert_said(result, "hint: the loops are saved; to go on with a mended recipe: trainlab resume ",
                         "runs/r/001 --recipe MENDED.lua\n")

    def test_error_in_a_stop_rule_and_a_schedule(self):
        self.recipe(more="  stop = function(run)\n    return run.metrics['val.los'] > 1\n  end,\n")
        result = self.train(code=1)
        self.assert_said(result, f"r.lua:{LINES['more'] + 1}: ", "val.los")
        self.recipe(more="  stop = function(run)\n    return 5\n  end,\n")
        result = self.train(code=1)
        self.assert_message(result, f"r.lua:{LINES['more']}: stop(run) returns a reason (a string) or nil, found 5")
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
        self.assert_said(result, "r.lua:", message, "hint: there may be a loop that does not end")
        self.recipe(more="  on = { validate = function(run)\n    while true do end\n  end },\n")
        result = self.train(code=1)
        self.assert_message(result, f"r.lua:{LINES['more'] + 1}: {message} in this callback")
        self.assert_status(self.run_folder(), "failed")

    def test_pattern_that_explodes(self):
        self.write("r.lua", 'print("begins")\nlocal _ = ("a"):rep(40):match((".-"):rep(30) .. "b")\n')
        result = self.train("--silence", "0.2 s", "--grace", "0.1 s", code=1)
        self.assert_said(result, "begins", "r.lua:2: no answer for 0.2 s (--silence), nor in the 0.1 s of --grace",
                         "hint: string patterns with many")

    def test_loop_of_caught_errors(self):
        self.recipe(more="  on = { validate = function(run)\n    while true do pcall(error) end\n  end },\n")
        result = self.train("--silence", "0.2 s", code=1)
        self.assert_message(result, f"r.lua:{LINES['more'] + 1}: stopped after 0.2 s without a call that did work in "
                                    "this callback")
        self.assert_status(self.run_folder(), "failed")

    def test_second_stage_that_is_returned(self):
        self.write("r.lua", fit().replace("return lab.fit", "local a = lab.fit") + "return a, a\n")
        result = self.train(code=1)
        self.assert_message(result, f"r.lua:{LINES['more'] + 1}: expected one stage that the recipe returns, "
                                    "found 2 values")
        self.assert_said(result, "hint: lab.run(stage) runs the stages before the last")
        self.write("r.lua", "return nil, nil\n")
        self.train(code=1)

    def test_nothing_to_run(self):
        self.write("r.lua", 'print("hello")\n')
        result = self.train()
        note = "r.lua: no stage was run (a recipe returns one: `return lab.fit { … }`)\n"
        self.assertEqual((result.out, result.err), ("", "hello\n" + note), result)
        result = self.train("--json")
        self.assertEqual((result.out, result.err), ('{"kind":"none","status":"done"}\n', "hello\n" + note), result)
        self.assertEqual(self.train("--quiet").err, "")
        # A fit that is made and not returned is the usual cause.
        for made in ("local _ = lab.fit", "lab.fit"):
            self.write("r.lua", fit().replace("return lab.fit", made))
            self.assertEqual(self.train().err, f"r.lua:{LINES['fit']}: the lab.fit made here was not run, because the "
                             "recipe does not return it: write `return lab.fit { … }`\n")
            self.assert_said(self.train("--quiet"), f"r.lua:{LINES['fit']}: the lab.fit made here was not run")
            said = "because the recipe does not return it: write `return lab.fit { … }`\n"
            self.assertEqual(self.run_program("check", "r.lua").out,
                             f"r.lua:{LINES['fit']}: the lab.fit made here was not checked, {said}")
            for command in ("profile", "bench", "find lr"):
                self.assertIn(f"r.lua:{LINES['fit']}: the lab.fit made here was not measured, {said}",
                              self.run_program(*command.split(), "r.lua", code=2).err)
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    unittest.main()
