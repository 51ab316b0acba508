"""`trainlab plan RECIPE.lua`: what a recipe takes, by its measured steps. On a busy machine each measurement lasts ten
seconds, because the time of a step is never known well enough."""

import unittest

from planning import DIGITS, PlanTest
from program import fit


def stage(name, **options):
    """An expression in Lua for a fit of this name."""
    return "(function()\n" + fit(**options).replace('"f"', f'"{name}"') + "end)()"


TASK = """local digits = lab.data.digits()
local function build(hp)
  return lab.task { name = "t", run = function(ctx)
    local model = lab.build(lab.nn.Linear(10), { input = { 64 } })
    local optimizer = lab.optimizer(lab.optim.SGD { lr = hp.lr }, model:parameters())
    for batch in ctx:batches(digits.train, { size = 64, epochs = 3 }) do
      local loss = lab.ops.cross_entropy_loss(model:forward(batch.x:flatten(1)), batch.y)
      optimizer:zero_grad(); loss:backward(); optimizer:step()
      ctx:log("train.loss", loss)
    end
  end }
end
"""


class Recipe(PlanTest):
    def test_a_recipe(self):
        self.recipe(epochs=20)
        plan = self.plan("r.lua", "--threads", "1", "--within", "1 h")
        self.assertEqual((plan["kind"], plan["stage"], plan["stage_kind"]), ("plan", "f", "fit"))
        self.assertEqual(plan["steps_per_epoch"], 4)
        self.assertEqual(plan["within"], 3600)
        self.assertLess(plan["step_seconds"]["low"], plan["step_seconds"]["high"])
        self.assertAlmostEqual(plan["epoch_seconds"]["median"], 4 * plan["step_seconds"]["median"])
        self.assertGreater(plan["epochs"], 20)
        self.assertGreater(plan["trainings"], 1)
        self.assertEqual(plan["ends_first"], "length")
        if plan["watts"] is None:  # no counter of the processors can be read here
            self.assertIsNone(plan["joules"])
        else:
            self.assertAlmostEqual(plan["joules"], plan["watts"] * plan["seconds"])
        self.assertGreater(plan["largest_parameters"], plan["parameters"])
        self.assertIn(plan["largest_by"], ("time", "memory"))
        self.assertLess(plan["seconds_low"], plan["seconds"])
        self.assertLess(plan["seconds"], plan["seconds_high"])
        self.assertAlmostEqual(plan["rate"] / (plan["flops_per_step"] / plan["step_seconds"]["median"]), 1)
        self.assertEqual((plan["flags"], plan["passes"]), (["data_inefficient"], 20))
        for name in ("approaches", "loss", "cost", "currency"):
            self.assertIsNone(plan[name])
        text = self.run_program("plan", "r.lua", "--threads", "1", "--within", "1 h").out
        for part in (" FLOP/s, MFU ", f"an estimate by {plan['largest_by']}, if ", "  data-inefficient: 20 passes"):
            self.assertIn(part, text)
        self.recipe(epochs=3)
        self.assertEqual(self.plan("r.lua", "--threads", "1")["flags"], [])
        self.assertFalse((self.folder / "runs").exists())

    def test_parameters_of_the_recipe(self):
        """After its path, also those that have the name of a flag that plans no recipe."""
        self.write("r.lua", 'local width, tokens = lab.param { "width", type = "integer" }, lab.param { "tokens", 2 }\n'
                   + fit(**{**DIGITS, "epochs": "1",
                            "model": "nn.Sequential { nn.Flatten(), nn.Linear(width), nn.ReLU(), nn.Linear(10) }"}))
        given, more = ("--width", "3", "--tokens=1"), ("--threads", "1", "--quiet")
        self.assertEqual(self.plan("r.lua", *given, *more)["parameters"], 64 * 3 + 3 + 10 * 3 + 10)
        sizes = self.plan("model", "r.lua", *given, *more)["sizes"]
        self.assertEqual(sizes[-1]["set"], ["model[2].out_features=12"])
        self.assertEqual(self.plan("data", "r.lua", *given, *more)["metric"], "val.loss")
        seeds = self.plan("seeds", "r.lua", *given, "--difference", "1", *more)
        run = self.summary(self.folder / "runs/plan/r/001/seed-001")
        self.assertEqual((seeds["needed"]["difference"], run["parameters"]), (1, 64 * 3 + 3 + 10 * 3 + 10))
        self.plan("sweep", "r.lua", "--tokens", "1", "--flops", "2e7", "--size", "width=4,8,16", *more)
        self.refused(["r.lua", "--tokens", "1"], "r.lua:1: the recipe needs a value for --width: an integer")
        self.refused(["seeds", "runs", "--width", "3"], "trainlab: --width means nothing to `trainlab plan seeds`")

    def test_what_a_recipe_costs(self):
        self.write("prices.toml", '\n[class]\nprice = "3.6 EUR/h"\nas_of = 2026-11-01\n')
        self.write("r.lua", 'lab.budget { money = "1 EUR", prices = "prices.toml" }\n' + fit(epochs=20))
        plan = self.plan("r.lua", "--threads", "1")
        # 0.1 cents a second, with what runs before.
        self.assertGreater(plan["cost"], 0.001 * plan["seconds"])
        self.assertEqual((plan["currency"], plan["price_as_of"]), ("EUR", "2026-11-01"))
        self.assertIn("EUR with what runs before, at the price of 2026-11-01",
                      self.run_program("plan", "r.lua", "--threads", "1").out)

    def test_a_training_with_a_time_of_its_own(self):
        self.write("r.lua", fit(epochs=1000000, more='  time = "1 min",\n'))
        plan = self.plan("r.lua", "--threads", "1", "--within", "1 h")
        self.assertEqual((plan["seconds"], plan["ends_first"]), (60, "length"))
        self.assertLess(plan["steps"] * plan["step_seconds"]["median"], 60)
        result = self.run_program("plan", "r.lua", "--threads", "1", "--within", "1 h")
        self.assertIn("  length     1 min 00 s (1 min 00 s ... 1 min 00 s), by its option `time`\n", result.out)
        self.assertIn("  ends first the length of the stage\n", result.out)

    def test_a_test_part_without_a_validation_part(self):
        """The test has as many samples as 9,999 steps, and takes half of their time."""
        self.recipe(data="lab.data.blobs { samples = 161600 }:split { train = 0.01, test = 0.99 }", epochs=1000000)
        plan = self.plan("r.lua", "--threads", "1")
        self.assertEqual(plan["steps_per_epoch"], 101)
        at_end = plan["training_seconds"]["median"] / plan["step_seconds"]["median"] - 101 * 1000000
        self.assertGreater(at_end, 2500)
        self.assertLess(at_end, 10000)

    def test_a_budget_of_flops(self):
        self.write("r.lua", 'lab.budget { flops = 1e6 }\n' + fit(epochs=1000))
        plan = self.plan("r.lua", "--threads", "1")
        self.assertEqual((plan["ends_first"], plan["flops_budget"], plan["usable"]), ("budget", 1e6, None))
        # An epoch has three steps of 16 samples and one of 12.
        sample = plan["flops_per_step"] / 15
        epochs, rest = divmod(1e6, 60 * sample)
        self.assertEqual(plan["steps"], 4 * epochs + rest // (16 * sample))
        result = self.run_program("plan", "r.lua", "--threads", "1")
        for text in ("  budget     1e+06 FLOPs for the stage\n", "  ends first the budget\n"):
            self.assertIn(text, result.out)

    def test_flops_are_those_of_the_run(self):
        """Of epochs whose last step is smaller, and of a training that ends within an epoch."""
        self.recipe(batch="25", epochs="3")
        for more in ([], ["--set", "epochs=nil", "--set", "steps=5"]):
            run = self.train("--json", *more).json()
            plan = self.plan("r.lua", "--threads", "1", *more)
            self.assertEqual((plan["steps_per_epoch"], plan["flops"]), (3, run["flops"]))
        self.write("r.lua", f"lab.budget {{ flops = {run['flops']} }}\n" + fit(batch="25", epochs="1000"))
        self.assertEqual((self.train("--json").json()["steps"], self.plan("r.lua", "--threads", "1")["steps"]), (5, 5))

    def test_a_budget_into_which_nothing_fits(self):
        self.write("r.lua", 'lab.budget { time = "1 s", reserve = "0.999 s" }\n' + fit())
        result = self.run_program("plan", "r.lua", "--threads", "1")
        self.assertIn("  fits       nothing: what comes before and the reserve use all of it\n", result.out)

    def test_a_validation_at_the_end_counts_once(self):
        """The only one of the training takes longer than its 101 steps."""
        self.recipe(data="lab.data.blobs { samples = 161600 }:split { train = 0.01, val = 0.99 }", epochs=1)
        plan = self.plan("r.lua", "--threads", "1")
        self.assertEqual(plan["steps_per_epoch"], 101)
        # Each step has its share of the validation: one more would be about as long as 101 of them.
        self.assertLess(plan["training_seconds"]["median"] / plan["step_seconds"]["median"], 150)

    def test_a_stop_rule_may_end_the_fit_early(self):
        self.recipe(epochs=1000000, more='  stop = lab.stop.patience { metric = "val.loss", patience = 5 },\n')
        plan = self.plan("r.lua", "--threads", "1", "--within", "10 s")
        self.assertGreater(plan["seconds"], 10)
        self.assertEqual((plan["ends_first"], plan["at_most"][0]), ("unknown", "seconds"))
        self.assertRegex(self.run_program("plan", "r.lua", "--threads", "1").out, r"\n  length     at most ")

    def test_functions_and_verdicts_may_end_the_fit_early(self):
        for option, at_most in (("on = { validate = function(run) end }", ["seconds"]),
                                ('health = { action = "stop" }', ["seconds"]),
                                ('health = { action = "tell" }, on = { finish = function() end }', [])):
            with self.subTest(option):
                self.recipe(epochs=1000000, more=f"  {option},\n")
                self.assertEqual(self.plan("r.lua", "--threads", "1")["at_most"][:1], at_most)

    def test_a_fit_of_negative_flops(self):
        self.write("r.lua", fit().replace("epochs = 3", "flops = -1"))
        for command in ("plan", "check"):
            self.assert_said(self.run_program(command, "r.lua", code=1), "r.lua:", "flops: expected")

    def test_a_task(self):
        self.write("t.lua", TASK + "return build { lr = 0.01 }\n")
        text = self.run_program("plan", "t.lua", "--threads", "1").out
        self.assertIn("\n  length     unknown: the function of a task decides how long it goes on\n", text)

    def test_a_sweep_of_tasks(self):
        length = "\n  length     unknown: the function of a task decides how long it goes on; "
        for end, tasks in (("trials = 4", "4 tasks"), ('time = "1 h"', "as many as begin in the 1 h 00 min of its ")):
            self.write("s.lua", TASK + f"""return lab.sweep {{
  name = "s", metric = "train.loss", build = build, {end}, space = {{ lr = lab.space.log(1e-3, 0.1) }},
}}
""")
            self.assertIn(length + tasks, self.run_program("plan", "s.lua", "--threads", "1").out)

    def test_a_stage_that_follows_others(self):
        """The stages before it run whole, use their part of the budget, and leave nothing."""
        self.write("r.lua", f"""lab.budget {{ time = "1 h", flops = 1e9 }}
local first = lab.run({stage("f", epochs="2")})
print("f had " .. first.steps .. " steps")
return {stage("g", epochs="100 * first.steps")}
""")
        result = self.run_program("plan", "r.lua", "--stage", "g", "--threads", "1", "--json")
        self.assert_said(result, "stage f runs first and whole, because stage g may need its result", "f had 8 steps")
        plan = result.json()
        self.assertEqual((plan["stage"], plan["ends_first"]), ("g", "length"))
        self.assertAlmostEqual(plan["flops"], 3200 * plan["flops_per_step"])
        self.assertAlmostEqual(plan["flops_budget"], 1e9 - 8 * plan["flops_per_step"])
        self.assertLess(plan["usable"], 3600 - plan["reserve"])
        self.refused(["r.lua", "--stage", "h", "--threads", "1", "--quiet"],
                     'trainlab: --stage h: r.lua has no such stage, only "f", "g"')
        self.assertFalse((self.folder / "runs").exists())

    def test_a_recipe_that_begins_with_a_search_for_its_rate(self):
        self.write("r.lua", f'local found = lab.run(lab.find.lr {{ name = "rate", fit = {stage("f")} }})\n'
                            f'return {stage("g", optim="lab.optim.SGD { lr = found.lr.suggestion or 0.01 }")}\n')
        for words in (["r.lua"], ["data", "r.lua"], ["model", "r.lua"]):
            result = self.run_program("plan", *words, "--threads", "1", code=2)
            self.assert_said(result, 'expected a stage that trains what it keeps, found lab.find.lr "rate"',
                             "--stage NAME plans a stage that follows it")
        self.assertEqual(self.plan("r.lua", "--stage", "g", "--threads", "1", "--quiet")["stage"], "g")

    def test_more_data_and_a_larger_model_for_a_later_stage(self):
        wide = "nn.Sequential { nn.Flatten(), nn.Linear(4), nn.ReLU(), nn.Linear(10) }"
        digits = {**DIGITS, "epochs": "1", "model": wide}
        self.write("r.lua", f'lab.run({stage("f", **digits)})\nreturn {stage("g", **digits)}\n')
        for topic in ("data", "model"):
            result = self.run_program("plan", topic, "r.lua", "--stage", "g", "--threads", "1", "--json")
            self.assert_said(result, "stage f runs first and whole, because stage g may need its result")
            self.assertEqual((result.json()["kind"], result.json()["stage"]), ("plan_" + topic, "g"))
        self.refused(["model", "r.lua", "--stage", "h", "--threads", "1", "--quiet"],
                     'trainlab: --stage h: r.lua has no such stage, only "f", "g"')
        self.assertFalse((self.folder / "runs").exists())

    def test_a_law_judges_the_recipe(self):
        """It says what the training reaches, and what would be best for its FLOPs."""
        self.recipe(epochs=20)
        self.write("law.json", '{"law": {"E": 0.1, "A": 20, "B": 500, "alpha": 0.5, "beta": 0.5}}')
        plan = self.plan("r.lua", "--threads", "1", "--law", "law.json", "--device-name", "h200")
        self.assertAlmostEqual(plan["mfu"] * 989e12 / plan["rate"], 1)
        n, d = plan["parameters"], plan["tokens"]
        self.assertAlmostEqual(d, plan["flops"] / 6 / n)
        best = plan["approaches"][0]
        self.assertEqual((len(plan["approaches"]), best["name"], plan["law"]["source"]), (1, "fit", "law.json"))
        self.assertAlmostEqual(6 * best["parameters"] * best["tokens"] / plan["flops"], 1)
        # Data that come back are worth less.
        self.assertGreater(plan["loss"], 0.1 + 20 / n ** 0.5 + 500 / d ** 0.5)
        # The best N and D have 20 / √N = 500 / √D.
        self.assertAlmostEqual(best["tokens"] / best["parameters"] / 625, 1)
        text = self.run_program("plan", "r.lua", "--threads", "1", "--law", "law.json").out
        for part in ("of one training, by the law:", f"  loss     {plan['loss']:.3f} by L(N, D) = 0.1 + 20/N^0.5",
                     "  data-inefficient: 20 passes over the data"):
            self.assertIn(part, text)
        self.write("law.json", "{}")
        self.refused(["r.lua", "--law", "law.json"],
                     "law.json:1: expected the JSON of `trainlab plan fit … --json`, but law.E is nil")
        self.refused(["r.lua", "--device-name", "abacus"], 'trainlab: --device-name: the peak of "abacus" is not known')

    def test_recipes_that_cannot_be_planned(self):
        self.recipe()
        self.refused(["--flops", "1e20", "r.lua"], "trainlab: --flops means nothing to `trainlab plan RECIPE.lua`")
        self.refused(["r.lua", "--flops", "1e20"], "trainlab: --flops: the recipe has no parameter 'flops'")
        self.refused(["r.lua", "s.lua"], "trainlab: `trainlab plan RECIPE.lua` takes one recipe")
        self.refused(["nowhere.lua"], "trainlab: there is no recipe nowhere.lua")
        self.refused(["--flops", "1e20", "--stage", "f"],
                     "trainlab: --stage goes with a recipe: trainlab plan RECIPE.lua")
        self.refused(["seeds", "r.lua", "--stage", "f"], "trainlab: --stage means nothing to `trainlab plan seeds`")
        self.refused(["--flops", "1e20", "--set", "epochs=2"],
                     "trainlab: --set goes with a recipe: trainlab plan RECIPE.lua")


if __name__ == "__main__":
    unittest.main()
