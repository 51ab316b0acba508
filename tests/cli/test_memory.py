"""The option `memory` of lab.fit in the real program."""

import unittest

from program import LINES, CliTest, fit

# A layer of the recipe's own, with a random operator, between layers of the engine.
MODULE = """local calls = { forward = 0 }
local nn = lab.nn
local mine = nn.Module {
  params = { w = { 8, 8 } },
  forward = function(self, x)
    %s
    return x:matmul(self.w) * (1 + math.random())
  end,
}
"""
MODEL = "nn.Sequential { nn.Linear(8), nn.BatchNorm1d(), nn.ReLU(), nn.Dropout(0.1), mine, nn.Tanh(), nn.Linear(3) }"


class Recompute(CliTest):
    def recipe_with(self, name, body, memory):
        more = f"  memory = {{ recompute = {memory} }},\n" if memory else ""
        self.write(name, MODULE % body + fit(model=MODEL, more=more))

    def test_a_layer_of_the_recipe_is_computed_again_with_the_same_bytes(self):
        self.recipe_with("plain.lua", "", None)
        self.train("--out", "plain", recipe="plain.lua")
        for memory in ('"every 2"', '{ "1-4", "5" }', '"5"'):
            with self.subTest(memory):
                self.recipe_with("again.lua", "", memory)
                out = memory.strip('"{ }')[:5].replace(" ", "").replace('"', "")
                self.train("--out", out, recipe="again.lua")
                self.assert_same_end(self.folder / "plain", self.folder / out)

    def test_a_layer_that_counts_its_calls_is_refused(self):
        line = MODULE.count("\n") + LINES["fit"]
        self.recipe_with("r.lua", "calls.forward = calls.forward + 1", '"every 2"')
        result = self.train(code=1)
        self.assert_message(result, f"r.lua:{line}: memory.recompute: model[5].Module changes values that its "
                                    "function uses, and would change them twice in a step")
        self.assert_said(result, "hint: leave the layer out of memory.recompute")
        self.recipe_with("r.lua", "calls.forward = calls.forward + 1", '{ "1-4", "6" }')
        self.train("--out", "without")

    def test_patterns_and_their_price(self):
        self.recipe(more='  memory = { recompute = "9" },\n')
        result = self.train(code=1)
        self.assert_said(result, ' memory.recompute: no layer matches "9"', "hint: layers are named by their places")
        self.recipe(more='  memory = { recompute = "every 2" },\n')
        checked = self.run_program("check", "r.lua")
        self.assertRegex(checked.out,
                         r"computed again +1 segment with 2 of the 4 layers of the chain, at most \d+ % more arith")


if __name__ == "__main__":
    unittest.main()
