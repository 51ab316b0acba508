"""The recipes of the project reach what they promise, on real data."""

import re
import unittest

from program import SOURCE, CliTest
from test_images import png

RECIPES = SOURCE / "recipes"
MNIST = SOURCE.parent / "shared" / "data" / "mnist"


class Recipes(CliTest):
    def train_recipe(self, name, *arguments):
        summary = self.run_program(RECIPES / name, *arguments, "--json", "--quiet").json()
        self.assertFalse(summary.get("health"), f"{name} is healthy, and got a verdict")
        return summary

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
        accuracy, deviation = re.fullmatch(
            r"accuracy (\S+), deviation (\S+) over 3 folds\n", artifact.read_text()
        ).groups()
        self.assertGreaterEqual(float(accuracy), 0.8)
        self.assertLess(float(deviation), 0.1)

    def begin(self, name, *arguments):
        """Checks a recipe and trains it for a few steps; gives the summary."""
        recipe = RECIPES / f"{name}.lua"
        self.assertIn(f"{name}  {recipe}:", self.run_program("check", recipe, *arguments).out)
        summary = self.train_recipe(recipe, *arguments, "--threads", "1")
        self.assertEqual(summary["status"], "done")
        for metric, value in summary["metrics"].items():
            self.assertIsNotNone(value, f"{metric} of {name} is not finite")
        return summary

    def test_short_runs_of_those_that_bring_their_data(self):
        for name, arguments, metric in (("autoencoder", ("--epochs", 2, "--width", 4), "test.loss"),
                                        ("by_hand", ("--epochs", 1), "test.accuracy"),
                                        ("gan", ("--epochs", 1), "train.g_loss"),
                                        ("names", ("--epochs", 1), "test.f1"),
                                        ("reinforce", ("--episodes", 3), "train.average"),
                                        ("sine", ("--epochs", 1), "test.r2")):
            with self.subTest(name):
                self.assertIn(metric, self.begin(name, *arguments)["metrics"])
        samples = next(self.run_folder(name="gan").glob("**/artifacts/samples.png"))
        self.assertTrue(samples.read_bytes().startswith(b"\x89PNG"))
        self.assertTrue(list(self.run_folder(name="reinforce").glob("**/checkpoints/policy.safetensors")))

    def test_a_short_run_of_chargpt(self):
        text = self.write("text.txt", "To be, or not to be, that is the question.\n" * 60)
        summary = self.begin("chargpt", "--text", text, "--steps", 3, "--layers", 1, "--width", 16, "--context", 16)
        self.assertEqual(summary["steps"], 3)
        self.assertGreater(summary["metrics"]["val.bits_per_character"], 0)

    def test_a_short_run_of_cifar(self):
        for part, images in (("train", 5), ("test", 1)):
            for label in range(10):
                for number in range(images):
                    self.write(f"images/{part}/{label}/{number}.png", png(32, 32, 25 * label + number))
        summary = self.begin("cifar", "--data", self.folder / "images", "--width", 8, "--batch", 16, "--set", "steps=3")
        self.assertEqual(summary["steps"], 3)
        self.assertIn("test.accuracy", summary["metrics"])

    @unittest.skipUnless(MNIST.is_dir(), f"no MNIST files at {MNIST}")
    def test_mnist_cnn(self):
        summary = self.train_recipe("mnist.lua", "--data", MNIST, "--model", "cnn", "--epochs", "2")
        self.assertGreaterEqual(summary["metrics"]["test.accuracy"], 0.985)

    @unittest.skipUnless(MNIST.is_dir(), f"no MNIST files at {MNIST}")
    def test_check_tells_tree_parameters_flops_and_memory(self):
        text = self.run_program("check", RECIPES / "mnist.lua", "--data", MNIST, "--step").out
        for words in (
            "[2] Linear(128)",
            "101770",
            "203 kFLOP forward",
            "memory (predicted)",
            "one training step",
            "one validation",
        ):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
