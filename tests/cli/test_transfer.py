"""Trained weights as initial values: init.weights with and without patterns, beside `freeze`."""

import json
import re
import struct
import unittest

from program import CliTest, tensors

BODY = "nn.Flatten(), nn.Linear(16), nn.BatchNorm1d(), nn.ReLU()"

FIT = """local nn = lab.nn
%(before)s
return lab.fit {
  name = "f", data = lab.data.digits():split { train = 0.6, val = 0.2, test = 0.2, seed = 7 },
  model = nn.Sequential { %(layers)s },
  loss = "cross_entropy", metrics = { "accuracy" }, optim = lab.optim.AdamW { lr = 0.01 }, epochs = %(epochs)s,
  on = { start = function(run) run:save("begin") end },
%(more)s}
"""
DEFAULTS = {"before": "", "layers": BODY + ", nn.Linear(10)", "epochs": "2", "more": ""}


def fit(**options):
    return FIT % {**DEFAULTS, **options}


def renamed(path, name):
    """The bytes of a .safetensors file with the tensors of another; `name` gives the new name of each, or None."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header, content, entries = json.loads(data[8:8 + size]), b"", {}
    for old, entry in header.items():
        new = None if old == "__metadata__" else name(old)
        if new:
            first, last = entry["data_offsets"]
            entries[new] = {**entry, "data_offsets": [len(content), len(content) + last - first]}
            content += data[8 + size + first:8 + size + last]
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + content


def from_0(name):
    """The name that PyTorch gives to a tensor of this model."""
    return re.sub(r"\d+", lambda number: str(int(number[0]) - 1), name.removeprefix("model."))


class Transfer(CliTest):
    def setUp(self):
        super().setUp()
        self.write("pre.lua", fit(epochs="8"))
        self.train(recipe="pre.lua")
        self.file = next((self.folder / "runs/pre/001/checkpoints").glob("best-*.safetensors"))
        self.trained = tensors(self.file)
        self.body = [name for name in self.trained if not name.startswith("model.5.")]
        self.count = 0

    def begin(self, **options):
        """The weights before the first step of a fit."""
        self.count += 1
        self.write("r.lua", fit(**options))
        self.train("--out", str(self.count), "--quiet")
        return tensors(self.folder / str(self.count) / "checkpoints" / "begin.safetensors")

    def test_all_weights_of_a_run_or_a_file(self):
        self.assertIn("model.3.running_mean", self.trained)
        for path in ("runs/pre/001", str(self.file)):
            self.assertEqual(self.begin(epochs="1", more=f'  init = lab.init.weights "{path}",\n'), self.trained)

    def test_a_new_head_on_a_trained_body(self):
        init = '  init = lab.init.weights { "runs/pre/001", except = { "5.*", "6.*" } }, freeze = { "2.*" },\n'
        fresh, tuned = (self.begin(layers=BODY + ", nn.Linear(12), nn.Linear(10)", more=more) for more in ("", init))
        for name in self.body:
            self.assertEqual(tuned[name], self.trained[name], name)
            if not name.endswith("num_batches_tracked"):
                self.assertNotEqual(fresh[name], self.trained[name], name)
        for name in ("model.5.weight", "model.5.bias", "model.6.weight", "model.6.bias"):
            self.assertEqual(tuned[name], fresh[name], "what is excepted is drawn as without init")
        end = self.weights(self.folder / "2")["best"]
        self.write("end.safetensors", end)
        end = tensors(self.folder / "end.safetensors")
        for name, data in end.items():
            check = self.assertEqual if name.startswith("model.2.") else self.assertNotEqual
            check(data, tuned[name], name)

    def test_patterns_choose_what_is_taken(self):
        fresh = self.begin(epochs="1")
        mixed = self.begin(epochs="1", more="""  init = {
    ["*"] = lab.init.zeros(), ["2.*"] = lab.init.weights "runs/pre/001", ["2.bias"] = lab.init.ones(),
    ["3.running_*"] = lab.init.weights "runs/pre/001",
  },
""")
        self.assertEqual(mixed["model.2.weight"], self.trained["model.2.weight"])
        self.assertEqual(mixed["model.3.running_var"], self.trained["model.3.running_var"])
        self.assertEqual(mixed["model.2.bias"].bytes, struct.pack("<16f", *[1] * 16))
        self.assertEqual(set(mixed["model.5.weight"].bytes), {0})
        self.assertEqual(mixed.keys(), fresh.keys())

    def test_names_of_pytorch(self):
        self.write("torch.safetensors", renamed(self.file, from_0))
        init = 'lab.init.weights { "torch.safetensors", names = "pytorch" }'
        self.assertEqual(self.begin(epochs="1", more=f"  init = {init},\n"), self.trained)
        self.write("r.lua", fit(more='  init = lab.init.weights "torch.safetensors",\n'))
        self.assert_said(self.train(code=1), "of the model's tensors are missing or have another shape",
                         '`names = "pytorch"` is for files that count layers from 0', "The file has 1.bias [16]")
        self.write("r.lua", fit(layers=BODY + ", nn.Linear(12), nn.Linear(10)", more=f"  init = {init},\n"))
        self.assert_said(self.train(code=1), "The file has 2.bias (1.bias in the file) [16]")

    def test_names_by_patterns(self):
        def other(name):
            name = from_0(name)
            return name.replace("4.", "fc.") if name.startswith("4.") else "features.0." + name
        self.write("torch.safetensors", renamed(self.file, other))
        layers = "nn.Sequential { %s }, nn.Linear(10)" % BODY
        init = ('lab.init.weights { "torch.safetensors", names = "pytorch", '
                'rename = { ["features.*"] = "*", ["fc.*"] = "2.*" } }')
        begin = self.begin(epochs="1", layers=layers, more=f"  init = {init},\n")
        self.assertEqual(begin, {
            name.replace("model.5.", "model.2.") if name.startswith("model.5.") else name.replace("model.", "model.1."):
            data for name, data in self.trained.items()})
        for rename, texts in (
            ('["fc.*"] = "2.weight"', ('init.rename: expected "2.weight" with the wildcards of "fc.*"',)),
            ('["head.*"] = "2.*"', ('init.rename: nothing in the file matches "head.*"', "the file has fc.bias")),
            ('["fc.????"] = "1.????", ["features.0.1.????"] = "1.????"', ("init.rename: both ", " become 1.bias")),
            ('["fc.*"] = "2.*", ["*ias"] = "*ias"', ('init.rename: "*ias" and "fc.*" both match fc.bias',)),
        ):
            init = 'lab.init.weights { "torch.safetensors", rename = { %s } }' % rename
            self.write("r.lua", fit(more=f"  init = {init},\n"))
            self.assert_said(self.train(code=1), "r.lua:", *texts)

    def test_only_whole_parts_of_pytorchs_names_are_numbers(self):
        for name, rename in ((lambda name: "layer" + name.removeprefix("model."), '["layer*"] = "*"'),
                             (lambda name: name.replace("model.5", "lm_head") if name.startswith("model.5.") else
                              "model." + from_0(name), '["model.*"] = "*", ["lm_head.*"] = "5.*"')):
            with self.subTest(rename):
                self.write("torch.safetensors", renamed(self.file, name))
                init = 'lab.init.weights { "torch.safetensors", names = "pytorch", rename = { %s } }' % rename
                self.assertEqual(self.begin(epochs="1", more=f"  init = {init},\n"), self.trained)

    def test_a_part_of_the_weights(self):
        self.write("part.safetensors",
                   renamed(self.file, lambda name: None if name == "model.2.bias" else name.removeprefix("model.")))
        init = '  init = lab.init.weights { "part.safetensors", partial = true },\n'
        layers = BODY + ", nn.Linear(12), nn.Linear(10)"
        fresh, taken = (self.begin(layers=layers, more=more) for more in ("", init))
        kept = {"model.2.bias", "model.5.weight", "model.5.bias", "model.6.weight", "model.6.bias"}
        for name in taken:
            self.assertEqual(taken[name], (fresh if name in kept else self.trained)[name], name)
        self.write("r.lua", fit(layers=layers, more=init))
        self.assert_said(
            self.train(), "r.lua:", "init.path: 5 tensors are taken; 5 of the model's tensors are missing or have ",
            "2.bias [16]: found none of that name", "5.weight [12, 16]: found [10, 16]",
            "not used of the file: 5.bias [10], 5.weight [10, 16]")
        part = '  init = { ["2.*"] = lab.init.weights { "runs/pre/001", partial = true } },\n'
        self.write("r.lua", fit(more=part))
        self.assert_said(self.train(), 'init.2.*.path: 2 tensors are taken; not used of the file: 3.bias [16], ')
        self.write("r.lua", fit(layers="nn.Flatten(), nn.Linear(10)", more=init))
        self.assert_said(self.train(code=1), "init.path: none of the model's tensors are there",
                         "the file has 2.weight [16, 64]")

    def test_in_one_recipe(self):
        first = (
            fit(epochs="8")
            .split("\n", 1)[1]
            .replace("return lab.fit", "local first = lab.run(lab.fit")
            .replace('"f"', '"first"')
        )
        self.write(
            "r.lua", fit(before=first.rstrip() + ")", epochs="1", more="  init = lab.init.weights(first.out),\n")
        )
        self.train("--quiet")
        begin = tensors(self.run_folder() / "checkpoints" / "begin.safetensors")
        best = next((self.run_folder() / "stages/first/checkpoints").glob("best-*.safetensors"))
        self.assertEqual(begin, tensors(best))

    def test_one_of_several_models(self):
        self.write(
            "two.lua",
            """local nn, optim = lab.nn, lab.optim
local function net() return nn.Sequential { %s, nn.Linear(10) } end
return lab.fit {
  name = "f", data = lab.data.digits(), model = { a = net(), b = net() }, \
optim = { a = optim.SGD { lr = 0.1 }, b = optim.SGD { lr = 0.1 } },
  steps = 3, step = function() return { loss = 1 } end,
}
""" % BODY,
        )
        self.train(recipe="two.lua")
        weights = tensors(next((self.folder / "runs/two/001/checkpoints").glob("last-*.safetensors")))
        begin = self.begin(epochs="1", more='  init = lab.init.weights { "runs/two/001", model = "b" },\n')
        self.assertEqual(
            begin,
            {
                name.replace("b.", "", 1): data
                for name, data in weights.items()
                if name.startswith("model.b.") and "@" not in name
            },
        )  # what follows @ is the loop's own
        self.write("r.lua", fit(more='  init = lab.init.weights "runs/two/001",\n'))
        self.assert_said(
            self.train(code=1),
            "r.lua:",
            "init.path: the fit in",
            "has several models, and none was named",
            "it has a, b",
        )

    def test_what_does_not_fit_is_refused(self):
        self.write("cut.safetensors", self.file.read_bytes()[:-3])
        self.write("task.lua", 'return lab.task { name = "t", run = function() end }')
        self.run_program("task.lua")
        run = 'lab.init.weights "runs/pre/001"'
        for init, layers, texts in (
            ('lab.init.weights "runs/none/001"', None, ("init.path", "runs/none/001")),
            ('lab.init.weights "none.safetensors"', None, ("none.safetensors",)),
            ('lab.init.weights "runs"', None, ("init.path: ", "is not a run folder")),
            ('lab.init.weights "runs/task/001"', None, ("init.path: a task keeps no model",)),
            ('lab.init.weights "cut.safetensors"', None, ("cut.safetensors",)),
            ('lab.init.weights { "%s", model = "a" }' % self.file, None, ("init.model: names a model of a run",)),
            ('lab.init.weights()', None, ("init.weights", "path", "missing")),
            (
                run,
                BODY + ", nn.Linear(12)",
                (
                    (
                        "init.path: 2 of the model's tensors are missing or have another shape: 5.weight [12, 16]:"
                        " found [10, 16]; 5.bias [12]: found [10]"
                    ),
                    "`except` and",
                    "The file has 2.bias [16], 2.weight [16, 64]",
                ),
            ),
            (
                run,
                BODY + ", nn.Linear(9), nn.ReLU(), nn.Linear(10)",
                ("5.weight [9, 16]: found [10, 16]", "7.weight [10, 9]: found none of that name"),
            ),
            ('{ ["6.*"] = %s }' % run, None, ('init: no parameter matches "6.*"', "this model has 2.weight")),
            (
                'lab.init.weights { "runs/pre/001", except = { "6.*" } }',
                None,
                ('init.except: no parameter matches "6.*"',),
            ),
            (
                '"zeros"',
                'nn.Flatten(), nn.Linear { 10, init = %s }' % run,
                ("init.weights goes by the names of a whole model's parameters", "lab.fit"),
            ),
        ):
            with self.subTest(init=init, layers=layers):
                self.write("r.lua", fit(more=f"  init = {init},\n", **({"layers": layers} if layers else {})))
                self.assert_said(self.train("--out", "bad", code=1), "r.lua:", *texts)
                self.assertFalse((self.folder / "bad").exists())


if __name__ == "__main__":
    unittest.main()
