"""The recipes of the project reach what they promise, on real data."""

import re
import unittest

from program import SOURCE, CliTest

RECIPES = SOURCE / "recipes"
MNIST = SOURCE.parent / "shared" / "data" / "mnist"


class Recipes(CliTest):
    def train_recipe(self, name, *arguments):
        return self.run_program(RECIPES / name, *arguments, "--json", "--quiet").json()

    def test_digits(self):
        summary = self.train_recipe("digits.lua")
        self.assertIn(summary["status"], ("done", "stopped"))
        self.assertGreaterEqual(summary["metrics"]["test.accuracy"], 0.96)

    def test_tabular(self):
        summary = self.train_recipe("tabular.lua")
        self.assertGreaterEqual(summary["metrics"]["test.r2"], 0.9)

    def test_kfold(self):
        self.train_recipe("kfold.lua", "--folds", "3")
        (artifact,) = self.run_folder(name="kfold").glob("**/folds.txt")
        accuracy, deviation = re.fullmatch(r"accuracy (\S+), deviation (\S+) over 3 folds\n", artifact.read_text()).groups()
        self.assertGreaterEqual(float(accuracy), 0.8)
        self.assertLess(float(deviation), 0.1)

    @unittest.skipUnless(MNIST.is_dir(), f"no MNIST files at {MNIST}")
    def test_mnist_cnn(self):
        summary = self.train_recipe("mnist.lua", "--data", MNIST, "--model", "cnn", "--epochs", "2")
        self.assertGreaterEqual(summary["metrics"]["test.accuracy"], 0.985)

    @unittest.skipUnless(MNIST.is_dir(), f"no MNIST files at {MNIST}")
    def test_check_tells_tree_parameters_flops_and_memory(self):
        text = self.run_program("check", RECIPES / "mnist.lua", "--data", MNIST, "--step").out
        for words in ("[2] Linear(128)", "101770", "203 kFLOP forward", "memory (estimate)", "one training step", "one validation"):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
