"""Tensors through the real program: memory of a loop, help of operators, errors."""

import resource
import unittest

from program import CliTest

LOOP = """
local sum = 0
for i = 1, COUNT do
  local t = lab.tensor.zeros(262144)  -- 1 MiB
  sum = sum + t.shape[1]
end
assert(sum == COUNT * 262144)
"""


class Tensors(CliTest):
    def test_a_loop_that_makes_tensors_does_not_grow(self):
        def peak(count):
            """MiB of the largest of all processes that this one has waited for: an engine that made `count` tensors."""
            self.run_program(self.write("loop.lua", LOOP.replace("COUNT", str(count))), "--threads", 1)
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024

        few = peak(10)
        self.assertLess(peak(10000), few + 64)

    def test_too_much_memory_is_an_error_at_its_line(self):
        text = "local kept = {}\nfor i = 1, 1e6 do\n  kept[i] = lab.tensor.zeros(1e12)\nend\n"
        result = self.run_program(self.write("much.lua", text), code=1)
        self.assertIn("much.lua:3: lab.ops.zeros: out of memory for the recipe's tensors", result.err)

    def test_shapes_beyond_all_memory(self):
        for call, said, hint in (
                ("zeros({ 1e18, 1e18 })", "argument 1 (size): expected a list of integers, found a list of 2 numbers, "
                 "1e+18 among them", "beyond 2^53 not every whole number is exact"),
                ("randn({ 1e9, 1e9, 3 })", "expected a tensor of less than 2^63 bytes, found the shape "
                 "[1000000000, 1000000000, 3]", "no memory holds it: are the sizes right?"),
                ("zeros({ 1e15, 1e15 })", "expected a tensor of less than 2^63 bytes", "no memory holds it"),
                ("zeros({ 2.5, 3 })", "expected a list of integers, found a list of 2 numbers, 2.5 among them", "")):
            with self.subTest(call):
                result = self.run_program(self.write("r.lua", f"local x = lab.tensor.{call}\n"), code=1)
                self.assert_said(result, f"r.lua:1: lab.ops.{call.split('(', 1)[0]}: ", said, hint)

    def test_the_library_of_linear_algebra_writes_nothing_into_the_output(self):
        self.write("r.lua", "local x = lab.tensor.zeros({ 4, 4 })\n"
                            "print(lab.ops.linalg_svdvals(x:add(1 / 0)):isnan():any())\n"
                            "lab.ops.linalg_lstsq(x:add(0 / 0), x)\n")
        result = self.run_program("r.lua", code=1)
        self.assert_said(result, "r.lua:3: lab.ops.linalg_lstsq: LibTorch cannot compute this with these arguments: "
                                 "torch.linalg.lstsq takes no value that is NaN or infinite (self float32 [4, 4]")
        self.assertNotIn("MKL", result.out + result.err)

    def test_a_parameter_that_is_another_now_is_refused(self):
        for change, message in (
                ("w:t_()", "the parameter '1' was contiguous when the optimizer was made, and is a view of shape "
                           "[2, 2] with other strides now"),
                ("w:unsqueeze_(0)", "expected a gradient float32 [1, 2, 2] for '1', found float32 [2, 2]")):
            self.write("r.lua", f"""local w = lab.tensor.ones(2, 2):requires_grad(true)
local opt = lab.optimizer(lab.optim.SGD {{ lr = 0.1 }}, {{ w }})
w.grad = lab.tensor.ones(2, 2)
lab.no_grad(function() {change} end)
opt:step()
""")
            with self.subTest(change=change):
                result = self.run_program("r.lua", code=1)
                self.assertIn("r.lua:5: " + message, result.err, result)

    def test_tensors_that_a_recipe_writes_are_read_back(self):
        self.write("write.lua", """return lab.task { name = "t", run = function(ctx)
  local t = lab.tensor { { 1, 2 }, { 3, 4.5 } }
  ctx:artifact("t.npy", t)
  ctx:artifact("all.safetensors", { t = t, ids = lab.tensor({ 7, -1 }, { dtype = "int64" }) })
end }""")
        self.run_program("write.lua", "--threads", 1, "--out", "out", "--quiet")
        self.write("read.lua", """local folder = "out/artifacts/"
local one, all = lab.tensor.load(folder .. "t.npy"), lab.tensor.load(folder .. "all.safetensors")
assert(one:equal(lab.tensor { { 1, 2 }, { 3, 4.5 } }) and all.t:equal(one))
assert(all.ids.dtype == "int64" and all.ids[0]:item() == 7 and all.ids[1]:item() == -1)
""")
        self.run_program("read.lua", "--threads", 1)
        for content, message in (("{ 1 }", "expected the names of tensors, found the key"),
                                 ("{ a = 1 }", "expected a tensor as 'a', found the number 1"),
                                 ("lab.tensor { 1 }", "expected a name that ends in .npy or .png for a tensor"),
                                 ("lab.nn.ReLU()", "expected a text, a tensor or a table of tensors by name")):
            with self.subTest(content):
                self.write("bad.lua", f"""return lab.task {{ name = "t", run = function(ctx)
  ctx:artifact("x.safetensors", {content})
end }}""")
                result = self.run_program("bad.lua", code=1)
                self.assertIn("bad.lua:2: ctx:artifact: ", result.err)
                self.assertIn(message, result.err)

    def test_a_device_that_is_not_there_is_named(self):
        for line in ("lab.tensor.zeros({ 2 }, { device = NAME })", "lab.tensor({ 1 }, { device = NAME })",
                     "lab.tensor { 1 }:to { device = NAME }", "lab.ops.zeros({ 2 }, { device = NAME })",
                     "lab.build(lab.nn.Linear(2), { input = { 2 }, device = NAME })"):
            with self.subTest(line):
                text = "local before\nlocal made = " + line.replace("NAME", '"cuda:99"')
                result = self.run_program(self.write("device.lua", text), code=2)
                self.assert_said(result, "device.lua:2: ", "device cuda:99 is not there: found ")

    def test_help_of_an_operator(self):
        self.assertIn("ops.matmul(self, other) → tensor", self.run_program("help", "ops.matmul").out)
        self.assertIn("did you mean ops.matmul?", self.run_program("help", "ops.matmull", code=2).err)

    def test_weights_are_changed_without_recording(self):
        for change in ("lab.ops.add_(w, 1)", "w[0] = 3"):
            text = f"local w = lab.tensor.ones({{ 2 }}, {{ requires_grad = true }})\n{change}\n"
            result = self.run_program(self.write("leaf.lua", text), code=1)
            self.assert_said(result, "leaf.lua:2: ", "in-place operation",
                             "hint: lab.no_grad(function() … end) changes weights without recording it")

    def test_shapes_that_do_not_fit(self):
        text = "local a = lab.tensor.zeros(2, 3)\nlocal b = a:matmul(a)\n"
        result = self.run_program(self.write("shapes.lua", text), code=1)
        self.assertIn("shapes.lua:2: lab.ops.matmul: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3) "
                      "(self float32 [2, 3], other float32 [2, 3])", result.err)


if __name__ == "__main__":
    unittest.main()
