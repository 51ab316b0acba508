"""The fields of results are documented: those of real stages are the declared ones, and objects are in the docs."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from program import SOURCE, CliTest, fit, npy

ENGINE = pathlib.Path(os.environ["TRAINLAB"]).parent.parent / "libexec" / "trainlab-engine"

STAGES = """
lab.budget { time = "1 h" }
local nn, data = lab.nn, lab.data.blobs { samples = 60 }:split { train = 0.5, val = 0.25, test = 0.25 }
local function build(hp)
  return lab.fit {
    name = "member", data = data, model = nn.Linear(3), loss = "cross_entropy", metrics = { "accuracy", "report" },
    optim = lab.optim.SGD { lr = hp.lr }, batch = 15, epochs = 1,
  }
end
local space = { lr = lab.space.log(1e-3, 1e-1) }
local fit = lab.run(build { lr = 0.1 })
lab.run(lab.fit {
  name = "sick", data = data:map("x", function(x) return x * 1000 end), model = nn.Linear(3), loss = "cross_entropy",
  optim = lab.optim.SGD { lr = 0.1 }, batch = 15, epochs = 1, promote = {},
})
lab.run(lab.fit {
  name = "warned", data = data, model = nn.Sequential { nn.Linear(3), nn.Softmax() }, loss = "cross_entropy",
  optim = lab.optim.SGD { lr = 0.1 }, batch = 15, epochs = 1,
})
lab.run(lab.fit {
  name = "mislabelled", model = nn.Linear(2), loss = "cross_entropy", optim = lab.optim.SGD { lr = 0.1 }, epochs = 1,
  data = lab.data.tensors(function()
    local x, y = lab.tensor.randn({ 90, 2 }, { seed = 3 }), { dtype = "int64" }
    return lab.ops.cat({ x, x }), lab.ops.cat({ lab.tensor.zeros({ 90 }, y), lab.tensor.ones({ 90 }, y) })
  end):split { train = 0.8, val = 0.2 },
})
assert(fit.best.value == fit.metrics["val.loss"] and fit.kind == "fit")
lab.run(lab.task { name = "task", run = function(ctx)
  for step in ctx:steps(2) do ctx:log("x", step) end
end })
local one = { name = "one", space = space, metric = "val.loss", trials = 2, seeds = 2, build = build }
local found = lab.run(lab.sweep(one))
lab.run(lab.sweep { name = "confirmed", space = space, metric = "val.loss", trials = 2, build = build,
                    scheduler = lab.scheduler.asha { max = 1 }, confirm = { top = 2, seeds = 2 } })
lab.run(lab.sweep { name = "two", space = space, metric = { "val.loss", "val.accuracy" }, trials = 2, seeds = 2,
                    build = build })
lab.run(lab.sweep { name = "failing", space = space, metric = "val.loss", trials = 2, build = function(hp)
  return lab.fit { name = "member", data = data:map("x", function(x) return x * 1000 end), model = nn.Linear(3),
                   loss = "cross_entropy", optim = lab.optim.SGD { lr = hp.trial == 1 and 1e38 or hp.lr }, batch = 15,
                   epochs = 1 }
end })
local longer = lab.fit { name = "longer", data = data, model = nn.Linear(3), loss = "cross_entropy", epochs = 60,
                         optim = lab.optim.SGD { lr = 0.1 }, batch = 15 }
for _, search in ipairs { "lr", "batch", "optimizer" } do lab.run(lab.find[search] { fit = longer }) end
return lab.ensemble { name = "together", params = found.best.params, seeds = 3, keep = 2, metric = "val.loss",
                      build = function(hp) return hp.trial == 1 and error("left out") or build(hp) end }
"""

FIXED = """
local nn = lab.nn
return lab.fit {
  name = "fixed", data = lab.data.digits():split { train = 0.6, val = 0.2, seed = 7 }, loss = "cross_entropy",
  model = nn.Sequential { nn.Flatten(), nn.Linear(24), nn.ReLU(), nn.Linear(10) }, batch = 50, epochs = 8,
  optim = lab.optim.SGD { lr = 5, momentum = 0.9 }, health = { action = "fix" },
}
"""


class Results(CliTest):
    def declared(self):
        """Field → names of the fields of its table, or none."""
        table = self.folder / "table.json"
        subprocess.run([ENGINE, "--table", table], check=True)
        return {entry["name"].removeprefix("result."): {option["name"] for option in entry.get("options", [])}
                for entry in json.loads(table.read_text())
                if entry["name"].startswith("result.")}

    def test_fields_are_declared(self):
        """Each field of the summaries of all kinds of stages, and no other."""
        self.write("r.lua", STAGES)
        self.train("--out", "all")
        self.write("prices.toml", '[mine]\nprice = "1 EUR/h"\nas_of = "2026-11-01"\n')
        self.write("b.lua", 'lab.budget { flops = 1e9, money = "1 EUR", prices = "prices.toml" }\n' + fit())
        self.run_program("b.lua", "--out", "bounded", "--quiet")
        self.write("f.lua", FIXED)
        self.run_program("f.lua", "--out", "fixed", "--quiet")
        run = self.folder / "all"
        folders = [run, *run.glob("stages/*"), self.folder / "bounded", self.folder / "fixed"]
        summaries = [self.summary(folder) for folder in folders]
        self.assertEqual({summary["kind"] for summary in summaries},
                         {"fit", "task", "sweep", "ensemble", "find.lr", "find.batch", "find.optimizer"})
        found = {}
        for summary in summaries:
            for name, value in summary.items():
                fields = found.setdefault(name, set())
                for table in value if isinstance(value, list) else [value]:
                    if isinstance(table, dict):
                        fields.update(table)
        declared = self.declared()
        self.assertEqual(set(found), set(declared))
        for name, fields in declared.items():
            if fields:  # else a number, a text, or a table by names of the recipe
                self.assertEqual(found[name], fields, name)
        page = (SOURCE / "docs" / "results.md").read_text()
        for name, fields in declared.items():
            for field in {name, *(fields if name != "trials" else ())}:
                self.assertIn(f"`{field}`", page)
        self.assertIn("result.best", self.run_program("help", "result").out)
        self.assertIn("seed_values", self.run_program("help", "result.best").out)

    def test_compute_and_data_that_are_wasted(self):
        """Labels that nothing explains: the fit soon knows them by heart, and what it learns is worth nothing."""
        self.write("r.lua", """local nn = lab.nn
local function make()
  return lab.tensor.randn({ 90, 8 }, { seed = 1 }), lab.tensor.randint(0, 3, { 90 }, { seed = 2 })
end
local keep, members = lab.param { "keep", "best" }, lab.param { "members", 1 }
local data = lab.data.tensors(make):split { train = 0.5, val = 0.5 }
local function build()
  return lab.fit { name = "f", data = data, batch = 15,
    model = nn.Sequential { nn.Linear(32), nn.ReLU(), nn.Linear(3) }, loss = "cross_entropy", keep = keep,
    optim = lab.optim.AdamW { lr = 0.03 }, epochs = 30 }
end
if members == 1 then return build() end
return lab.ensemble { name = "e", params = {}, seeds = members, metric = "val.loss", build = build }
""")
        for keep in ("best", "last"):
            result = self.train("--keep", keep, "--out", keep)
            summary = self.summary(self.folder / keep)
            rows = [json.loads(line) for line in (self.folder / keep / "metrics.jsonl").read_text().splitlines()]
            best = min(rows, key=lambda row: row["val.loss"])
            kept = best if keep == "best" else rows[-1]
            efficiency = summary["efficiency"]
            self.assertAlmostEqual(efficiency["passes"], kept["samples"] / 45)
            self.assertAlmostEqual(efficiency["loss_ratio"], kept["train.loss"] / kept["val.loss"], places=5)
            if keep == "best":
                self.assertEqual(efficiency["compute_share"], best["step"] / summary["steps"])
                self.assertEqual(efficiency["flags"], ["compute_inefficient"])
                self.assertIn(f"compute-inefficient: what is kept was reached with {efficiency['compute_share']:.4g} "
                              "of the FLOPs", result.out)
            else:
                self.assertIn("data_inefficient", efficiency["flags"])
                self.assertIn("data-inefficient: 30 passes over the same data", result.out)
        # The trials of a study are counted.
        result = self.train("--keep", "last", "--members", "3", "--out", "members")
        flags = [flag for fit in (self.folder / "members").glob("trials/*/seed-1")
                 for flag in self.summary(fit)["efficiency"]["flags"]]
        self.assertEqual(flags.count("data_inefficient"), 3)
        counted = {"judged": 3, **{name: flags.count(name) for name in ("compute_inefficient", "data_inefficient")}}
        self.assertEqual(self.summary(self.folder / "members")["efficiency"], counted)
        for text in (result.out, self.run_program("report", "members").out):
            self.assertIn("  data-inefficient: 3 of 3 trials\n", text)
        # Blobs are learnt to the end, and their validation loss is no higher than the training loss.
        self.recipe(epochs=30, optim="lab.optim.SGD { lr = 0.003 }")
        self.train("--out", "well")
        efficiency = self.summary(self.folder / "well")["efficiency"]
        self.assertEqual(efficiency["flags"], [], efficiency)
        self.assertEqual(efficiency["compute_share"], 1)

    def test_warnings(self):
        """Warnings of mistakes are in the result, and --quiet does not hide them."""
        applied_twice = fit(model="nn.Sequential { nn.Linear(3), nn.Softmax() }")
        ensemble = applied_twice.replace("return ", "local function build() return ").rstrip() + (
            ' end\nreturn lab.ensemble { name = "e", seeds = 2, build = build }\n')
        for name, text in (("f", applied_twice), ("e", ensemble)):
            with self.subTest(name):
                self.write("r.lua", text)
                result = self.train("--quiet", "--json", "--out", name)
                warnings = result.json()["warnings"]
                self.assertEqual(len(warnings), 1, result)
                self.assertRegex(warnings[0], r"^r\.lua:\d+: model\[2\]\.Softmax: cross_entropy applies the softmax ")
                self.assertEqual(result.err, f"warning: {warnings[0]}\n")
                self.assertIn(f"\n  warning: {warnings[0]}\n", self.run_program("report", name).out)
                self.assertEqual(self.run_program("report", name, "--json").json()["warnings"], warnings)
        self.recipe()
        self.assertNotIn("warnings", self.train("--json", "--out", "none").json())

    def test_a_page_replaces_no_other_file(self):
        self.recipe()
        self.train("--quiet", "--out", "run")
        for text in ("lab.fit {}\n", "<!DOCTYPE html>\n<title>mine</title>\n"):
            self.write("mine", text)
            for command in (("report", "run"), ("profile", "r.lua", "--seconds", "0.3")):
                result = self.run_program(*command, "--html", "mine", code=2)
                self.assert_said(result, "--html: ", "mine is there already, and is no page of trainlab", "hint: ")
                self.assertEqual((self.folder / "mine").read_text(), text)
        self.write("empty.html", "")
        for _ in range(2):
            self.run_program("report", "run", "--html", "empty.html")
        self.assertIn("<title>trainlab</title>", (self.folder / "empty.html").read_text())

    def test_a_field_that_no_result_has(self):
        self.recipe()
        recipe = (self.folder / "r.lua").read_text()
        for read, message, hint in (
                ("result.metrcs", "the result has no field 'metrcs'", "did you mean result.metrics?"),
                ('result["val.loss"]', "the result has no field 'val.loss'",
                 'did you mean result.metrics["val.loss"]?'),
                ("result.epoch", "the result has no field 'epoch'", "did you mean result.best.epoch?"),
                ('result.metrics["val.los"]', "result.metrics has no 'val.los'",
                 'did you mean result.metrics["val.loss"]?'),
                ("result.best.valeu", "result.best has no 'valeu'", "did you mean result.best.value?"),
                ("result.speed.share", "result.speed has no 'share'", "did you mean result.speed.shares?"),
                ("result.qqqqqqq", "the result has no field 'qqqqqqq'", "`trainlab help result` lists the fields")):
            self.write("field.lua", recipe.replace("return lab.fit", "local result = lab.run(lab.fit") +
                       f")\nprint({read})\n")
            self.assert_said(self.run_program("field.lua", code=1), message, hint)
        self.write("found.lua", recipe.replace("return lab.fit", "local fit = lab.fit") + "local found = "
                   'lab.run(lab.find.lr { name = "rate", fit = fit })\nprint(found.lr.sugestion)\n')
        self.assert_said(self.run_program("found.lua", code=1), "result.lr has no 'sugestion'",
                         "did you mean result.lr.suggestion?")
        self.write("returned.lua", recipe.replace("return lab.fit", "return lab.run(lab.fit") + ")\n")
        self.assert_said(self.run_program("returned.lua", code=1), "a recipe returns a stage, found the result of a "
                         "stage", "return the last stage itself, without lab.run")
        # What this result does not have, but another one has, is nil; a place in a list is nothing to a result.
        self.write("field.lua", recipe.replace("return lab.fit", "local result = lab.run(lab.fit") +
                   ")\nprint(result.pareto, result[1], #result, type(result.predict), result.best.trial)\n")
        self.assertIn("nil\tnil\t0\tfunction\tnil", self.run_program("field.lua").err)

    def test_report_of_metrics_that_a_task_logs_in_few_rows(self):
        self.write("t.lua", """return lab.task { name = "t", run = function(ctx)
  for step in ctx:steps(20, { save = { lab.tensor.zeros(2) } }) do
    ctx:log("train.loss", 1 / (1 + step))
    if step % 10 == 5 then ctx:log("val.accuracy", step / 20) end
  end
end }
""")
        self.run_program("t.lua", "--out", "t", "--quiet")
        text = self.run_program("report", "t").out
        self.assertRegex(text, r"(?m)^    epoch  step  train.loss  val.accuracy$")
        self.assertRegex(text, r"(?m)^  val.accuracy  0.25  ▁█ +0.75$")
        self.assertNotIn("nan", text)

    def test_objects_are_documented(self):
        self.recipe()
        self.train()
        self.write("x.txt", "x0,x1\n1,2\n")
        objects = [self.run_program(*arguments, "--json", code=code).json() for code, *arguments in (
            (0, "list"), (0, "check", "r.lua"), (0, "help"), (0, "r.lua", "--help"), (1, "check", "x.txt"),
            (2, "resume", "nowhere"))]
        self.write("none.lua", "print(1)\n")
        objects.append(self.run_program("none.lua", "--json").json())
        self.write("x.npy", npy((1, 2), [1.0, 2.0]))
        objects.append(self.run_program("predict", "runs/r/001", "--input", "x.npy", "--json").json())
        section = (SOURCE / "docs" / "results.md").read_text().partition("## `--json`")[2]
        for value in objects:
            for table in (value, value.get("error", {}), *value.get("runs", [])):
                for name in table:
                    self.assertIn(f"`{name}`", section)

    def test_rows_are_documented(self):
        self.recipe(more="  on = { validate = function(run) run:log('mine', 1) end },\n")
        self.train()
        section = re.search("## Rows\n(.*?)\n## ", (SOURCE / "docs" / "results.md").read_text(), re.S).group(1)
        for name in set(self.rows(self.run_folder())[0]) - {"train.loss", "val.loss", "mine"}:
            self.assertIn(f"`{name}`", section)


if __name__ == "__main__":
    unittest.main()
