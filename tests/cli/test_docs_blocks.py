"""Every code block of the documentation runs.

The words after the fence say what the block is:
  ```lua                    a whole recipe. It is checked with --step; a recipe that runs stages with lab.run, that is a
                            task, or that returns no stage, is run
  ```lua fragment           statements from the middle of a recipe, which are executed after FRAME
  ```lua compiled           statements that belong into a function of a run: they are compiled
  ```lua fit                options of lab.fit, beside those of FIT; ```lua fit regression: with numbers as targets
  ```sh                     command lines, each with its meaning behind two spaces; those of trainlab are parsed
  ```console                command lines after "$ ", with what they print
  ```text                   what trainlab prints
  ```cpp                    compiled into a test of the engine (tests/engine/model)

Recipes are made so that their lines are those of the page: an error's line is a line of the page.
"""

import re
import shlex
import unittest
from collections import namedtuple

from program import SOURCE, CliTest

PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md"))]
KINDS = ("lua", "lua fragment", "lua compiled", "lua fit", "lua fit regression", "sh", "console", "text", "cpp")

Block = namedtuple("Block", "page line kind text")  # line: that of the opening fence

# What fragments find around them.
FRAME = """
local nn, init, loss, metric, stop = lab.nn, lab.init, lab.loss, lab.metric, lab.stop
local optim, sched, augment = lab.optim, lab.sched, lab.augment
local space, sampler, pruner, scheduler = lab.space, lab.sampler, lab.pruner, lab.scheduler
local data = lab.data.digits():split { train = 0.8, val = 0.2 }
local net = nn.Sequential { nn.Flatten(), nn.Linear(10) }
local model = lab.build(net, { input = { 1, 8, 8 }, seed = 1 })
local batch = { x = lab.tensor.zeros(4, 1, 8, 8), y = lab.tensor.zeros({ 4 }, { dtype = "int64" }), size = 4 }
local t = lab.tensor { {1, 2}, {3, 4} }
local function make() return lab.tensor.zeros(4, 2), lab.tensor.zeros(4, 1), lab.tensor.ones(4) end
local function block_of_the_page() end
"""
FIT = """
local nn, optim, sched = lab.nn, lab.optim, lab.sched
local data = lab.data.tensors { columns = { "x", "y", "z" }, load = function()
  local x = lab.tensor.randn({ 200, 6 }, { seed = 1 })
  return x, TARGET, x:matmul(lab.tensor.randn({ 6, 10 }, { seed = 2 }))
end }
local function fit(options)
  local all = {
    name = "fit", data = data:split { val = 0.2 }, model = nn.Sequential { nn.Linear(10) }, epochs = 10,
    loss = TARGET_LOSS, optim = optim.SGD { lr = 0.1 },
  }
  for name, value in pairs(options) do all[name] = value end
  return lab.fit(all)
end
"""
TARGETS = {
    "lua fit": ('x:abs():mul(1000):to("int64"):remainder(10):select(1, 0)', '"cross_entropy"'),
    "lua fit regression": ('x:matmul(lab.tensor.randn({ 6, 10 }, { seed = 3 }))', '"mse"'),
}


def one_line(text):
    return " ".join(text.split("\n"))


def blocks():
    for page in PAGES:
        kind, begun, lines = None, 0, []
        for number, line in enumerate(page.read_text().split("\n"), 1):
            if not line.startswith("```"):
                lines.append(line)
            elif kind is None:
                kind, begun, lines = line[3:], number, []
            else:
                yield Block(page, begun, kind, "\n".join(lines))
                kind = None


class Blocks(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.blocks = list(blocks())

    def of_kind(self, *kinds):
        found = [block for block in self.blocks if block.kind in kinds]
        self.assertTrue(found)
        return found

    def written(self, block, before, after):
        """A recipe with the block at its lines, between two texts of one line each."""
        return self.write(f"{block.page.stem}-{block.line}.lua",
                          "\n" * (block.line - 1) + one_line(before) + "\n" + block.text + "\n" + after + "\n")

    def test_each_says_what_it_is(self):
        for block in self.blocks:
            self.assertIn(block.kind, KINDS, f"{block.page.name}:{block.line}")

    def test_whole_recipes(self):
        self.write("verse.txt", "Tell me, where is fancy bred,\nor in the heart or in the head?\n" * 20)
        for block in self.of_kind("lua"):
            with self.subTest(block=f"{block.page.name}:{block.line}"):
                recipe = self.written(block, "", "")
                if "return lab." in block.text and "lab.task" not in block.text and "lab.run(" not in block.text:
                    self.run_program("check", recipe, "--step")
                else:
                    self.run_program(recipe, "--threads", "1")

    def test_options_of_fits(self):
        for block in self.of_kind("lua fit", "lua fit regression"):
            with self.subTest(block=f"{block.page.name}:{block.line}"):
                target, loss = TARGETS[block.kind]
                frame = FIT.replace("TARGET_LOSS", loss).replace("TARGET", target)
                self.run_program("check", self.written(block, frame + "return fit {", "}"), "--step")

    def test_fragments(self):
        """Those of one page in one recipe."""
        for page in PAGES:
            found = [block for block in self.blocks
                     if block.page == page and block.kind in ("lua fragment", "lua compiled")]
            if not found:
                continue
            with self.subTest(page=page.name):
                lines = page.read_text().split("\n")
                recipe = [""] * len(lines)
                recipe[0] = one_line(FRAME)
                for block in found:
                    last = block.line + block.text.count("\n") + 1
                    runs = block.kind == "lua fragment"
                    recipe[block.line - 1] += "block_of_the_page(" + ("(" if runs else "") + "function()"
                    recipe[block.line:last] = block.text.split("\n")
                    recipe[last] = "end)" + ("())" if runs else "")
                self.run_program(self.write(f"{page.stem}.lua", "\n".join(recipe)))

    def command_lines(self):
        for block in self.of_kind("sh", "console"):
            for line in block.text.split("\n"):
                if block.kind == "console" and not line.startswith("$ "):
                    continue
                command = re.split(r" {2,}", line.removeprefix("$ "))[0]
                command = re.sub(r".*<\((.*)\)", r"\1", command)  # source <(trainlab …)
                yield f"{block.page.name}:{block.line}", shlex.split(re.sub(r"[][…]", " ", command))

    def test_command_lines(self):
        """Each line of trainlab as help, which knows the flags of the command and the parameters of the recipe."""
        (self.folder / "recipes").symlink_to(SOURCE / "recipes")
        first = next(block for block in self.blocks if block.page.name == "guide.md" and block.kind == "lua")
        self.write("first.lua", first.text)
        self.run_program("recipes/daily.lua", "--set", "epochs=1", "--quiet")  # what --latest daily finds
        for place, (program, *arguments) in self.command_lines():
            with self.subTest(place=place, line=" ".join([program, *arguments])):
                if program in ("tools/run", "tools/test"):
                    self.assertTrue((SOURCE / program).exists())
                    continue
                self.assertEqual(program, "trainlab")
                command = "run" if arguments[0].endswith(".lua") else arguments[0]
                shown = self.run_program(*arguments, "--help").out + self.run_program(command, "--help").out
                for word in arguments:
                    if word.startswith("--"):
                        self.assertIn(word.split("=")[0], shown)

    def test_plans_without_a_recipe(self):
        """They only calculate: the page shows what the program prints on any machine."""
        found = [block for block in self.of_kind("console") if block.text.startswith("$ trainlab plan --")]
        self.assertTrue(found)
        for block in found:
            with self.subTest(block=f"{block.page.name}:{block.line}"):
                line, output = block.text.split("\n", 1)
                self.assertEqual(output + "\n", self.run_program(*shlex.split(line)[2:]).out)


if __name__ == "__main__":
    unittest.main()
