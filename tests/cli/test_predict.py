"""`trainlab predict`, and trained models in recipes: lab.run(…):model(), :predict, :generate and lab.load_run."""

import csv
import io
import json
import random
import re
import shutil
import unittest

from program import CliTest, fit, npy

TABLE = {
    "data": 'lab.data.csv { "houses.csv", target = "price" }:split { train = 0.7, val = 0.3 }:normalize()',
    "model": "nn.Sequential { nn.Linear(8), nn.ReLU(), nn.Linear(1) }",
    "loss": "mse",
}
DIGITS = {
    "data": "lab.data.digits():split { train = 0.8, val = 0.2 }:normalize()",
    "model": "nn.Sequential { nn.Flatten(), nn.Linear(16), nn.ReLU(), nn.Linear(10) }",
    "batch": "64",
}
TEXT = {
    "data": 'lab.data.text { "abc.txt", context = 8 }:split { val = 0.2 }',
    "model": "nn.Sequential { nn.Embedding(5, 8), nn.Linear(5) }",
    "optim": "lab.optim.AdamW { lr = 0.05 }",
}


def houses(rows, missing=11):
    draw = random.Random(1)
    lines = ["size,colour,price"]
    for i in range(rows):
        size, colour = draw.random(), draw.choice(["red", "blue", "green"])
        lines.append(f"{'' if i % missing == 0 else round(size, 4)},{colour},{2 * size + (colour == 'red'):.4f}")
    return "\n".join(lines) + "\n"


class PredictTest(CliTest):
    def files(self):
        """Content by path, and the times of change: what may not become another by a prediction."""
        runs = self.folder / "runs"
        return {str(path): (path.read_bytes() if path.is_file() else None, path.stat().st_mtime_ns)
                for path in sorted(runs.rglob("*"))}

    def predict(self, *arguments, code=0):
        before = self.files()
        result = self.run_program("predict", *arguments, code=code)
        self.assertEqual(self.files(), before, "predict changed the run's folder")
        return result

    def refused(self, code, *texts, arguments):
        result = self.predict(*arguments, code=code)
        self.assert_said(result, *texts)

    def rows_of(self, result):
        return list(csv.DictReader(io.StringIO(result.out)))

    def train_table(self):
        self.write("houses.csv", houses(120))
        self.recipe(**TABLE)
        self.train()

    def train_text(self):
        self.write("abc.txt", "abcd " * 200)
        self.recipe(**TEXT)
        self.train()


class Predict(PredictTest):
    def test_inputs_too_large_once_they_are_normalised(self):
        self.train_table()
        self.write("new.csv", "size,colour\n0.5,red\n3e38,red\n0.5,blue\n-3e38,red\n")
        result = self.predict("runs/r/001", "--input", "new.csv")
        self.assert_said(result, "new.csv: the outputs of 2 of 4 rows are not finite (NaN or infinity), first those of "
                         "index 1; there normalisation makes 1 of 4 values of x too large for float32\n")
        self.write("new.csv", "size,colour\n0.5,red\n")
        self.assertEqual(self.predict("runs/r/001", "--input", "new.csv").err, "")

    def test_a_table_gives_a_value_for_each_row(self):
        self.train_table()
        self.write("new.csv", "extra,colour,size\nx,red,0.5\ny,blue,\nz,purple,0.5\n,NA,0.5\n")
        result = self.predict("runs/r/001", "--input", "new.csv")
        self.assertIn("new.csv:4: column \"colour\": training had no category \"purple\", (missing), only \"blue\", "
                      "\"green\", \"red\"; all features of the column are 0 in 2 of 4 rows\n", result.err)
        self.assertIn("new.csv", self.predict("runs/r/001", "--input", "new.csv", "--quiet").err)
        rows = self.rows_of(result)
        self.assertEqual([row["index"] for row in rows], ["0", "1", "2", "3"])
        self.assertEqual(list(rows[0]), ["index", "price"])
        # A category that is not known, and one that is missing though none was in training, are none of the known.
        self.assertEqual(rows[2]["price"], rows[3]["price"])
        self.assertNotEqual(rows[0]["price"], rows[2]["price"])
        as_json = json.loads(self.predict("runs/r/001", "--input", "new.csv", "--format", "json").out)
        self.assertEqual([str(row["values"]["price"]) for row in as_json], [row["price"] for row in rows])
        whole = self.predict("runs/r/001", "--input", "new.csv", "--json").json()
        self.assertEqual(whole, {"kind": "predict", "status": "done", "predictions": as_json})
        whole = self.predict("runs/r/001", "--input", "new.csv", "--json", "--output", "out.csv").json()
        self.assertEqual(whole, {"kind": "predict", "status": "done", "output": str(self.folder / "out.csv")})
        # The ending of the file says the format, unless --format does.
        self.predict("runs/r/001", "--input", "new.csv", "--output", "out.json")
        self.assertEqual(json.loads((self.folder / "out.json").read_text()), as_json)
        self.predict("runs/r/001", "--input", "new.csv", "--output", "out.json", "--format", "csv")
        self.assertEqual((self.folder / "out.json").read_text().splitlines()[0], "index,price")
        # The same from a file, and in small batches.
        done = self.predict("runs/r/001/", "--input", "new.csv", "--output", "out.csv", "--threads", "1")
        self.assertEqual(done.out, "")
        self.assertEqual((self.folder / "out.csv").read_text().splitlines()[0], "index,price")
        self.assertEqual((self.folder / "out.csv").read_text(),
                         self.predict("runs/r/001", "--input", "new.csv", "--threads", "1").out)

    def test_tables_that_do_not_fit_are_refused(self):
        self.train_table()
        self.write("missing.csv", "size,color\n1,red\n")
        self.refused(1, "missing.csv: expected the columns of the training data; missing: \"colour\"",
                     "is \"color\" the column \"colour\"?", arguments=("runs/r/001", "--input", "missing.csv"))
        self.write("words.csv", "size,colour\n1,red\nlarge,red\n")
        self.refused(1, "words.csv:3: column \"size\": expected a number, as in training, found \"large\"",
                     arguments=("runs/r/001", "--input", "words.csv"))
        self.write("semicolons.csv", "size;colour\n1;red\n")
        self.refused(1, "semicolons.csv: expected the columns", "another one than \",\", as in training?",
                     arguments=("runs/r/001", "--input", "semicolons.csv"))
        self.write("short.csv", "size,colour\n1\n")
        self.refused(1, "short.csv:2:", arguments=("runs/r/001", "--input", "short.csv"))
        self.refused(1, "none.csv", arguments=("runs/r/001", "--input", "none.csv"))
        self.write("a.pdf", "x")
        self.refused(
            1, "a.pdf: expected a folder of images, or a file .csv", arguments=("runs/r/001", "--input", "a.pdf")
        )
        self.write("photos/a.png", "x")
        for name, what in (("photos", "a folder"), ("photos/a.png", "an image")):
            self.refused(1, f"{name}: expected a table, as the model was trained on, found {what}",
                         "hint: give a .csv file with the columns of the training",
                         arguments=("runs/r/001", "--input", name))

    def test_digits_are_classified(self):
        self.recipe(**DIGITS)
        self.train()
        values = [i % 7 / 7 for i in range(3 * 64)]
        self.write("x.npy", npy((3, 1, 8, 8), values))
        rows = self.rows_of(self.predict("runs/r/001", "--input", "x.npy"))
        self.assertEqual(len(rows), 3)
        for row in rows:
            probabilities = [float(row[f"p({digit})"]) for digit in range(10)]
            self.assertAlmostEqual(sum(probabilities), 1, places=5)
            self.assertEqual(probabilities.index(max(probabilities)), int(row["class"]))
        self.write("flat.npy", npy((3, 64), values))
        self.refused(
            1,
            "flat.npy: expected x of numbers [N, 1, 8, 8], as the model was trained on, found numbers [N, 64]",
            arguments=("runs/r/001", "--input", "flat.npy"),
        )
        self.write("large.npy", npy((3, 1, 9, 8), values + values[:24]))
        self.refused(1, "large.npy: expected x of numbers [N, 1, 8, 8]", "found numbers [N, 1, 9, 8]",
                     arguments=("runs/r/001", "--input", "large.npy"))
        self.write("nan.npy", npy((1, 1, 8, 8), [float("nan")] * 64))
        self.refused(1, "nan.npy: some values are not finite", arguments=("runs/r/001", "--input", "nan.npy"))
        self.write("cut.npy", npy((3, 1, 8, 8), values)[:-5])
        self.refused(1, "cut.npy", arguments=("runs/r/001", "--input", "cut.npy"))
        self.write("x.csv", "a\n1\n")
        self.refused(1, "x.csv: a table, but the model was trained on arrays of numbers [N, 1, 8, 8]",
                     arguments=("runs/r/001", "--input", "x.csv"))

    def test_classes_go_by_their_names(self):
        names = ['"minus, or zero"', "plus"]
        self.write("signs.csv", "a,sign\n" + "".join(f"{i - 20},{names[i > 20]}\n" for i in range(40)))
        self.recipe(data='lab.data.csv { "signs.csv", target = "sign" }:split { val = 0.2 }',
                    model="nn.Linear(1)", loss="bce_with_logits", optim="lab.optim.AdamW { lr = 0.5 }", epochs="10")
        self.train()
        self.write("new.csv", "a\n-15\n15\n")
        rows = self.rows_of(self.predict("runs/r/001", "--input", "new.csv"))
        self.assertEqual([row["class"] for row in rows], ["minus, or zero", "plus"])
        for row in rows:
            self.assertAlmostEqual(float(row["p(plus)"]) + float(row["p(minus, or zero)"]), 1, places=5)

    def test_a_prompt_is_continued(self):
        self.train_text()
        greedy = self.predict("runs/r/001", "--prompt", "ab", "--length", "10", "--temperature", "0")
        self.assertEqual(greedy.out, "abcd abcd ab\n")
        whole = self.predict("runs/r/001", "--prompt", "ab", "--length", "10", "--temperature", "0", "--json").json()
        self.assertEqual(whole, {"kind": "predict", "status": "done", "text": "abcd abcd ab"})
        hot = ("runs/r/001", "--prompt", "ab", "--temperature", "30", "--length", "80")
        texts = [
            self.predict(*hot, *more).out for more in ((), (), ("--seed", "2"), ("--top-k", "1"), ("--top-p", "0.01"))
        ]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])
        self.assertEqual(texts[3], "ab" + "cd ab" * 16 + "\n")
        self.assertEqual(texts[4], texts[3])
        self.predict("runs/r/001", "--prompt", "ab", "--output", "out.txt", "--temperature", "0", "--length", "3")
        self.assertEqual((self.folder / "out.txt").read_text(), "abcd \n")
        self.refused(1, "the prompt:1: character 2, 'é' (U+00E9), is not among the 5",
                     "replace this character by one of abcd, or train on a text that has the character",
                     arguments=("runs/r/001", "--prompt", "aé"))
        self.refused(1, "the prompt: expected at least one character", arguments=("runs/r/001", "--prompt="))

    def test_what_is_no_prediction_is_a_wrong_use(self):
        self.train_table()
        self.refused(2, "needs --input FILE, or --prompt TEXT", arguments=("runs/r/001",))
        self.refused(2, "--output: expected a file, found the folder runs",
                     arguments=("runs/r/001", "--input", "houses.csv", "--output", "runs"))
        self.refused(2, "--output: expected a file .csv or .json, found out.npy",
                     arguments=("runs/r/001", "--input", "houses.csv", "--output", "out.npy"))
        self.refused(2, "--output: expected another file than that of --input, found ./houses.csv",
                     arguments=("runs/r/001", "--input", "houses.csv", "--output", "./houses.csv"))
        result = self.predict("runs/r/001", "--input", "none.csv", "--json", code=1)
        self.assertIn("none.csv", result.json()["error"]["message"])
        self.refused(2, "needs --input FILE", arguments=("runs/r/001", "--input", "a.csv", "--prompt", "a"))
        self.refused(
            2, "--top-k means nothing without --prompt", arguments=("runs/r/001", "--input", "a", "--top-k", "2")
        )
        self.refused(
            2, "--format means nothing without --input", arguments=("runs/r/001", "--prompt", "a", "--format", "csv")
        )
        self.refused(2, "--top-p: expected a number above 0 and at most 1, found \"2\"",
                     arguments=("runs/r/001", "--prompt", "a", "--top-p", "2"))
        self.refused(2, "--format: expected csv or json", arguments=("runs/r/001", "--input", "a", "--format", "xml"))
        self.refused(2, "there is no folder", arguments=("runs/r/009", "--input", "houses.csv"))
        self.refused(
            2,
            "has no stage \"other\"",
            "it has f",
            arguments=("runs/r/001", "--input", "houses.csv", "--stage", "other"),
        )
        self.refused(2, "not a language model", arguments=("runs/r/001", "--prompt", "a"))
        self.write("task.lua", 'return lab.task { name = "t", run = function() end }')
        self.run_program("task.lua")
        self.refused(
            2, "stage \"t\" is of kind task: only a fit, a sweep and an ensemble have models",
            "hint: a task predicts in its own function", arguments=("runs/task/001", "--input", "houses.csv")
        )
        self.write("two.lua", fit(**TABLE).replace("return lab.fit", "lab.run(lab.fit") + ")\n"
                   'return lab.task { name = "t", run = function() end }\n')
        self.run_program("two.lua")
        self.refused(2, "stage \"t\" is of kind task", "hint: --stage f\n",
                     arguments=("runs/two/001", "--input", "houses.csv"))

    def test_without_weights_there_is_nothing_to_predict_with(self):
        self.write("houses.csv", houses(120))
        self.recipe(**TABLE, more='  on = { start = function() error("stop here") end },\n')
        self.train(code=1)
        self.refused(2, "there are no weights yet", arguments=("runs/r/001", "--input", "houses.csv"))

    def test_a_damaged_checkpoint_is_named(self):
        self.train_table()
        for path in (self.folder / "runs/r/001/checkpoints").glob("best-*.safetensors"):
            path.write_bytes(path.read_bytes()[:-1] + b"\x55")
        self.refused(3, "best-", "its bytes are not those that were committed",
                     arguments=("runs/r/001", "--input", "houses.csv"))

    def test_a_damaged_model_file_is_damage(self):
        self.train_table()
        model = self.folder / "runs/r/001/model.json"
        for text, why in (("{", "it is not valid JSON"), ("{}", "it holds no models")):
            model.write_text(text)
            self.refused(3, f"{model} is damaged: {why}", arguments=("runs/r/001", "--input", "houses.csv"))

    def test_a_stage_by_name(self):
        self.write("houses.csv", houses(120))
        self.write(
            "r.lua",
            fit(**TABLE)
            .replace("return lab.fit", "local first = lab.run(lab.fit")
            .replace('name = "f"', 'name = "first"')
            .rstrip()
            + ")\n"
            + fit(**TABLE).split("\n", 1)[1].replace('name = "f"', 'name = "second", seed = 9'),
        )
        self.train()
        texts = [self.predict(run, "--input", "houses.csv", *more).out for run, more in
                 (("runs/r/001", ()), ("runs/r/001", ("--stage", "second")), ("runs/r/001", ("--stage", "first")),
                  ("runs/r/001/stages/first", ()))]
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[2], texts[3])
        self.assertNotEqual(texts[0], texts[2])


SEVERAL = """local nn, optim = lab.nn, lab.optim
local mine = nn.Module {
  params = { weight = { 3, 64 } }, forward = function(self, x) return x:flatten(1):matmul(self.weight:t()) end }
return lab.fit {
  name = "f", data = lab.data.digits(), input = { g = { 4 } }, batch = 256, epochs = 2, %s
  model = { g = nn.Linear(64), d = nn.Sequential { nn.Flatten(), nn.Linear(3) }, own = mine },
  optim = { g = optim.SGD { lr = 0.1 }, d = optim.SGD { lr = 0.1 }, own = optim.SGD { lr = 0.1 } },
  step = function(run, batch)
    for name, x in pairs { g = lab.tensor.randn { batch.size, 4 }, d = batch.x, own = batch.x } do
      local loss = run.model[name]:forward(x):pow(2):mean()
      run.optim[name]:zero_grad(); loss:backward(); run.optim[name]:step()
    end
    return { loss = 1 / (1 + run.epoch) }
  end,
  on = { finish = function(run)
    for _, name in ipairs { "g", "d", "own" } do
      local x = lab.tensor.ones(name == "g" and { 1, 4 } or { 1, 1, 8, 8 })
      print(name .. " " .. run.model[name]:eval():forward(x):sum():item())
    end
  end },
}
"""


class Several(PredictTest):
    """A fit with several models: they are named."""

    def sums(self, text):
        return dict(re.findall(r"\b(g|d|own) (-?[\d.e-]+)$", text, re.MULTILINE))

    def sum(self, name, *arguments):
        result = self.predict("runs/teacher/001", "--model", name, "--threads", "1", *arguments)
        values = [float(value) for key, value in self.rows_of(result)[0].items() if key != "index"]
        self.assertEqual(len(values), 64 if name == "g" else 3)
        return sum(values)

    def test_each_predicts_by_its_name(self):
        self.write("teacher.lua", SEVERAL % "")
        self.run_program("teacher.lua", "--threads", "1")
        sums = self.sums((self.folder / "runs/teacher/001/log.txt").read_text())
        self.write("g.npy", npy((1, 4), [1] * 4))
        self.write("d.npy", npy((1, 1, 8, 8), [1] * 64))
        for name, file in (("g", "g.npy"), ("d", "d.npy"), ("own", "d.npy")):
            self.assertAlmostEqual(self.sum(name, "--input", file), float(sums[name]), places=4)
        self.refused(1, "g.npy: expected x of numbers [N, 1, 8, 8]",
                     arguments=("runs/teacher/001", "--model", "d", "--input", "g.npy"))
        self.refused(2, "has several models, and none was named", "it has d, g, own",
                     arguments=("runs/teacher/001", "--input", "g.npy"))
        self.refused(2, "has no model named \"h\"", "it has d, g, own",
                     arguments=("runs/teacher/001", "--input", "g.npy", "--model", "h"))

        self.write(
            "r.lua",
            "local run = lab.load_run('runs/teacher/001')\n"
            "local x = { g = lab.tensor.ones { 1, 4 }, d = lab.tensor.ones { 1, 1, 8, 8 } }\n"
            "for name, one in pairs(x) do print(name .. ' ' .. run:model(name):forward(one):sum():item()) end\n",
        )
        texts = self.sums(self.run_program("r.lua").err)
        for name in ("g", "d"):
            self.assertAlmostEqual(float(texts[name]), float(sums[name]), places=4)
        self.write(
            "r.lua",
            "local run = lab.load_run('runs/teacher/001')\n"
            "print('g ' .. run:predict(lab.tensor.ones { 1, 4 }, { model = 'g' }):sum():item())\n"
            "print('d ' .. run:predict({ x = lab.tensor.ones { 1, 1, 8, 8 } }, { model = 'd' }):sum():item())\n",
        )
        texts = self.sums(self.run_program("r.lua").err)
        for name in ("g", "d"):
            self.assertAlmostEqual(float(texts[name]), float(sums[name]), places=4)
        for call, message in (
            ("model()", "result:model: the fit in"),
            ("model('h')", "has no model named \"h\""),
            ("model('own')", "has functions of its recipe"),
            ("model(5)", "result:model.name: expected"),
            ("predict(lab.tensor.ones { 1, 4 })", "has several models, and none was named"),
            ("predict(lab.tensor.ones { 1, 4 }, 'g')", "expected { model = \"NAME\" } after the inputs"),
            ("predict(lab.tensor.ones { 1, 4 }, { modle = 'g' })", "expected { model = "),
            ("generate('a')", "has several models, and none was named"),
            ("generate('a', { model = 'g' })", "not a language model"),
        ):
            self.write("r.lua", f"lab.load_run('runs/teacher/001'):{call}")
            self.assert_said(self.run_program("r.lua", code=1), "r.lua:1: ", message)

    def test_the_best_weights_are_those_of_all(self):
        # The step says that it was best at the first validation.
        self.write("teacher.lua", SEVERAL % 'monitor = "train.loss", goal = "max", keep = "best",')
        self.run_program("teacher.lua", "--threads", "1")
        self.assertEqual(self.summary(self.folder / "runs/teacher/001")["best"]["epoch"], 1)
        sums = self.sums((self.folder / "runs/teacher/001/log.txt").read_text())
        self.write("g.npy", npy((1, 4), [1] * 4))
        # What on.finish sees, and says, are the kept weights.
        self.assertAlmostEqual(self.sum("g", "--input", "g.npy"), float(sums["g"]), places=4)

    def test_a_single_model_has_no_name(self):
        self.write("houses.csv", houses(60))
        self.recipe(**TABLE)
        self.train()
        self.refused(2, "has one model, without a name, found \"g\"",
                     arguments=("runs/r/001", "--input", "houses.csv", "--model", "g"))


TOGETHER = """local nn = lab.nn
local data = lab.data.%(data)s { samples = 120, seed = 3 }:split { train = 0.5, val = 0.5 }
local function build(hp)
  return lab.fit {
    name = "member", data = data, loss = "%(loss)s", batch = 16, epochs = 2,
    model = nn.Sequential { nn.Linear(8), nn.Tanh(), nn.Linear(%(outputs)s) }, optim = lab.optim.SGD { lr = hp.lr },
  }
end
local found = lab.run(lab.sweep {
  name = "s", space = { lr = lab.space.log(1e-2, 1) }, metric = "val.loss", sampler = lab.sampler.random(),
  trials = 4, seeds = 2, build = build,
})
%(more)s
"""
CLASSES = {"data": "blobs", "loss": "cross_entropy", "outputs": 3}
VALUES = {"data": "sine", "loss": "mse", "outputs": 1}
SEEDS = 'lab.ensemble { name = "e", params = found.best.params, seeds = 3, keep = 2, build = build }'


class Together(PredictTest):
    """The models of sweeps and ensembles."""

    def numbers(self, *arguments):
        """The columns of numbers of what is predicted."""
        rows = self.rows_of(self.predict(*arguments, "--input", "x.npy", "--threads", "1"))
        return [{name: float(x) for name, x in row.items() if name not in ("index", "class")} for row in rows]

    def train_together(self, more, kind):
        self.write("r.lua", TOGETHER % {**kind, "more": more})
        values = [0.5, -1, 2, 0, 1, 3]
        self.write("x.npy", npy((3, 2), values) if kind is CLASSES else npy((6, 1), values))
        self.train()
        return self.summary(self.run_folder())

    def assert_mean(self, found, summary):
        """`found` is the mean of the members, with their standard deviation."""
        members = [self.numbers(f"runs/r/001/{member['folder']}") for member in summary["members"]]
        for row, *of_members in zip(found, *members):
            for name in of_members[0]:
                values = [one[name] for one in of_members]
                mean = sum(values) / len(values)
                spread = "spread" + name[1:] if name.startswith("p(") else f"spread({name})"
                self.assertAlmostEqual(row[name], mean, places=6)
                deviation = (sum((x - mean) ** 2 for x in values) / len(values)) ** 0.5
                self.assertAlmostEqual(row[spread], deviation, places=6)

    def test_members_predict_their_mean_and_spread(self):
        summary = self.train_together("return " + SEEDS, CLASSES)
        self.assertEqual(len({member["folder"] for member in summary["members"]}), 2)
        found = self.numbers("runs/r/001")
        self.assertEqual(list(found[0]), ["p(0)", "p(1)", "p(2)", "spread(0)", "spread(1)", "spread(2)"])
        self.assertGreater(found[0]["spread(0)"], 0)
        self.assert_mean(found, summary)
        objects = self.predict("runs/r/001", "--input", "x.npy", "--threads", "1", "--json").json()["predictions"]
        for name in ("probabilities", "spread"):
            column = "p(1)" if name == "probabilities" else "spread(1)"
            self.assertEqual([one[name]["1"] for one in objects], [row[column] for row in found])
        self.refused(2, "an ensemble of 2 models has no single one", arguments=("runs/r/001", "--prompt", "a"))
        model = self.run_folder() / summary["members"][1]["folder"] / "model.json"
        file = json.loads(model.read_text())
        file["models"][""]["class_names"] = ["a", "b", "c"]
        model.write_text(json.dumps(file))
        self.refused(3, summary["members"][1]["folder"], "predicts other classes than the first",
                     arguments=("runs/r/001", "--input", "x.npy"))

    def test_values_are_averaged_too(self):
        summary = self.train_together("return " + SEEDS, VALUES)
        found = self.numbers("runs/r/001")
        self.assertEqual(list(found[0]), ["value", "spread(value)"])
        self.assert_mean(found, summary)

    def test_members_that_a_sweep_has_trained(self):
        summary = self.train_together(
            'return lab.ensemble { name = "e", from = found, keep = 5, metric = "val.loss", build = build }', CLASSES)
        found = self.numbers("runs/r/001")
        self.assert_mean(found, summary)
        # A run that has moved finds them too.
        (self.folder / "runs/r").rename(self.folder / "runs/moved")
        self.assertEqual(self.numbers("runs/moved/001"), found)

    def test_a_sweep_predicts_with_its_best_trial(self):
        best = self.train_together("return nil", CLASSES)["best"]
        seed = best["seed_values"].index(min(best["seed_values"])) + 1
        trial = f"runs/r/001/stages/s/trials/{best['trial']:04}/seed-{seed}"
        of_trial = self.numbers(trial)
        self.assertEqual(list(of_trial[0]), ["p(0)", "p(1)", "p(2)"])
        self.assertEqual(self.numbers("runs/r/001"), of_trial)
        self.assertEqual(self.numbers("runs/r/001/stages/s"), of_trial)
        self.assertEqual(self.numbers("runs/r/001", "--stage", "s"), of_trial)
        self.write("t.lua", f"""local nn = lab.nn
local found, trial = lab.load_run("runs/r/001/stages/s"), lab.load_run("{trial}")
local x = lab.tensor {{ {{ 0.5, -1 }} }}
local p, spread = found:predict(x)
assert(spread == nil and (trial:predict(x) - p):abs():max():item() == 0)
assert((found:model():forward(x) - trial:model():forward(x)):abs():max():item() == 0)
return lab.fit {{
  name = "t", data = lab.data.blobs {{ samples = 120 }}, loss = "cross_entropy", steps = 1,
  model = nn.Sequential {{ nn.Linear(8), nn.Tanh(), nn.Linear(3) }}, optim = lab.optim.SGD {{ lr = 0.1 }},
  init = lab.init.weights "runs/r/001/stages/s",
}}
""")
        self.run_program("t.lua")

    def test_an_ensemble_in_a_recipe_and_resumed(self):
        self.train_together(f"""local e = lab.run({SEEDS})
local x = lab.tensor {{ {{ 0.5, -1 }} }}
local p, spread = e:predict(x)
assert((p:sum() - 1):abs():item() < 1e-6 and spread.shape[2] == 3)
local ok, message = pcall(e.model, e)
assert(not ok and message:find("an ensemble of 2 models has no single one", 1, true), message)
local a, b = unpack((function()
  local all = {{}}
  for i, member in ipairs(e.members) do all[i] = lab.load_run(e.out .. "/" .. member.folder):predict(x) end
  return all
end)())
assert(((a + b) / 2 - p):abs():max():item() < 1e-6)
assert(((a - b):abs() / 2 - spread):abs():max():item() < 1e-6)
print("the same")
return lab.task {{ name = "t", run = function(ctx) ctx:log("p", p[0][1]:item()) end }}
""", CLASSES)
        self.assertIn("the same", (self.run_folder() / "log.txt").read_text())
        # The result of a stage that an earlier process has finished predicts alike.
        value = self.summary(self.run_folder())["metrics"]["p"]
        shutil.copytree(self.run_folder(), self.folder / "cut")
        (self.folder / "cut/summary.json").unlink()
        shutil.rmtree(self.folder / "cut/checkpoints", ignore_errors=True)
        self.run_program("resume", "cut")
        self.assertEqual(self.summary(self.folder / "cut")["metrics"]["p"], value)

    def test_what_has_no_model_says_so(self):
        self.train_together("return nil", CLASSES)
        self.write("p.lua", (self.folder / "r.lua").read_text().replace('"val.loss"', '{ "val.loss", "train.loss" }'))
        self.run_program("p.lua")
        self.refused(2, "has several metrics, and so no single best trial", "trials/00",
                     arguments=("runs/p/001", "--input", "x.npy"))
        text = (self.folder / "r.lua").read_text()
        self.write("m.lua", text.replace("nn.Tanh()", "nn.Module { forward = function(self, x) return x:tanh() end }"))
        self.run_program("m.lua")
        self.refused(2, "has functions of its recipe, and of a sweep or an ensemble no such model can be built again",
                     "a fit can", arguments=("runs/m/001", "--input", "x.npy"))
        summary = self.run_folder() / "stages/s/summary.json"
        summary.write_text(json.dumps({**json.loads(summary.read_text()), "best": {"trial": "two"}}))
        self.refused(3, f"{summary} is damaged: its best trial or its members cannot be read",
                     arguments=("runs/r/001/stages/s", "--input", "x.npy"))
        summary.unlink()
        self.refused(2, 'stage "s" has not ended', arguments=("runs/r/001/stages/s", "--input", "x.npy"))


class Results(CliTest):
    def test_a_result_has_a_model_and_is_plain_data_besides(self):
        self.write("r.lua", fit(**DIGITS).replace("return lab.fit", "local result = lab.run(lab.fit").rstrip() + """)
for key in pairs(result) do assert(key ~= "model" and key ~= "predict", key) end
assert(rawget(result, "model") == nil)
assert(not pcall(setmetatable, result, {}))
local x = lab.tensor.rand({ 5, 1, 8, 8 }, { seed = 1 })
local p = result:predict(x)
assert((p:sum(1) - 1):abs():max():item() < 1e-5)
local model = result:model()
assert(model:forward(x):size(1) == 10)
assert(not p:requires_grad())
local ok, message = pcall(result.predict, result, lab.tensor.rand({ 5, 8, 8 }, { seed = 1 }))
assert(not ok and message:find("expected x of numbers [N, 1, 8, 8]", 1, true), message)
ok, message = pcall(result.generate, result, "a")
assert(not ok and message:find("not a language model", 1, true), message)
ok, message = pcall(result.model, {})
assert(not ok and message:find("expected a result of lab.run before the colon", 1, true), message)
print("first " .. p:sum(0)[3]:item())
return lab.task { name = "t", state = { result }, run = function(ctx)
  print("inside " .. result:predict(x):sum(0)[3]:item())
  ctx:log("a", 1)
end }
""")
        result = self.train()
        lines = [line.split()[-1] for line in result.err.splitlines() if line.startswith(("first", "inside"))]
        self.assertEqual(len(lines), 2, result)
        self.assertEqual(lines[0], lines[1])

    def test_a_model_of_an_earlier_process_and_of_another_run(self):
        self.write("abc.txt", "abcd " * 200)
        self.write("teacher.lua", fit(**TEXT))
        self.run_program("teacher.lua", "--threads", "1")
        text = fit(**TEXT).replace("return lab.fit", "local result = lab.run(lab.fit").rstrip() + """)
print("text " .. result:generate("ab", { length = 6, temperature = 0 }))
local other = lab.load_run("runs/teacher/001")
assert(other.status == "done" and other.name == "f")
print("text " .. other:generate("ab", { length = 6, temperature = 0 }))
return lab.task { name = "t", run = function() if %s then error("stop here") end end }
"""
        self.write("r.lua", text % "true")
        first = self.train(code=1)
        second = self.run_program("resume", "runs/r/001", code=1)
        for result in (first, second):
            self.assertEqual(result.err.count("text abcd abc"), 2, result)

    def test_a_model_with_functions_needs_its_recipe(self):
        self.write("teacher.lua", """local nn = lab.nn
local mine = nn.Module {
  params = { weight = { 16, 64 } },
  forward = function(self, x) return x:matmul(self.weight:t()) end,
}
lab.run(lab.task { name = "before", run = function() print("ran") end })
""" + fit(
            data=DIGITS["data"], batch="64",
            model="nn.Sequential { nn.Flatten(), mine, nn.Linear(10) }").split("\n", 1)[1])
        self.run_program("teacher.lua", "--threads", "1")
        self.write("x.npy", npy((2, 1, 8, 8), [i % 7 / 7 for i in range(128)]))
        result = self.run_program("predict", "runs/teacher/001", "--input", "x.npy")
        self.assertEqual(len(result.out.splitlines()), 3, result)
        self.assertNotIn("ran", result.err)
        self.write("r.lua", 'lab.load_run("runs/teacher/001"):model()')
        self.assert_said(
            self.run_program("r.lua", code=1),
            "r.lua:1: result:model: the model has functions of its recipe",
            "`trainlab predict RUN`",
        )

    def test_a_run_that_is_not_there(self):
        self.write("r.lua", 'lab.load_run("runs/none")')
        self.assert_said(self.run_program("r.lua", code=1), "r.lua:1: load_run.path: there is no folder")
        self.write("t.lua", 'return lab.task { name = "t", run = function() end }')
        self.run_program("t.lua")
        self.write("r.lua", 'lab.load_run("runs/t/001"):model()')
        self.assert_said(self.run_program("r.lua", code=1), "r.lua:1: result:model: a task keeps no model")


if __name__ == "__main__":
    unittest.main()
