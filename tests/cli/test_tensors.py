"""Tensors through the real program: memory of a loop, help of operators, errors."""

import resource
import unittest

from program import CliTest

LOOP = """
local sum = 0
for i = 1, 10000 do
  local t = lab.tensor.zeros(262144)  -- 1 MiB
  sum = sum + t.shape[1]
end
assert(sum == 10000 * 262144)
"""


class Tensors(CliTest):
    def test_a_loop_that_makes_tensors_does_not_grow(self):
        self.run_program(self.write("loop.lua", LOOP), "--threads", 1)
        # The largest of all processes that this one has waited for: the engine. Kilobytes.
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 200 * 1024)

    def test_too_much_memory_is_an_error_at_its_line(self):
        text = "local kept = {}\nfor i = 1, 1e6 do\n  kept[i] = lab.tensor.zeros(1e12)\nend\n"
        result = self.run_program(self.write("much.lua", text), code=1)
        self.assertIn("much.lua:3: lab.ops.zeros: out of memory for the recipe's tensors", result.err)

    def test_help_of_an_operator(self):
        self.assertIn("ops.matmul(self, other) → tensor", self.run_program("help", "ops.matmul").out)
        self.assertIn("did you mean ops.matmul?", self.run_program("help", "ops.matmull", code=2).err)

    def test_shapes_that_do_not_fit(self):
        text = "local a = lab.tensor.zeros(2, 3)\nlocal b = a:matmul(a)\n"
        result = self.run_program(self.write("shapes.lua", text), code=1)
        self.assertIn("shapes.lua:2: lab.ops.matmul: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3) "
                      "(self float32 [2, 3], other float32 [2, 3])", result.err)


if __name__ == "__main__":
    unittest.main()
