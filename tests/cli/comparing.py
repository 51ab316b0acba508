"""What the tests of `trainlab compare` share: a recipe whose results are known, and the command."""

import json

from program import CliTest, fit

DATA = "lab.data.digits():split { train = 0.2, val = 0.2, test = 0.6, seed = 7 }"
# The loss of validation falls from 2.3 to 1.2 with every seed, below 1.5 in epoch 5. With `pause`, each validation
# loops this many times: the rows are the same, and only the time differs.
RECIPE = """local pause = lab.param { "pause", 0, min = 0 }
local rate = lab.param { "rate", 0.05 }
""" + fit(data=DATA, optim="lab.optim.SGD { lr = rate }", model="nn.Sequential { nn.Flatten(), nn.Linear(10) }",
          epochs="8", more='  metrics = { "accuracy" },\n'
                           "  on = { validate = function() for i = 1, pause do end end },\n")
TARGET = ("--target", "val.loss=1.5")
# B ends at 1.7. It is watched for longer than A needs, also on a busy machine.
NEVER = ("--b", "rate=0.02", "--b", "pause=5000000")
# A validation then takes some 100 ms, a training without a pause less. A machine that is busy with something else makes
# single trainings several times slower: a test may ask for a verdict on the speed only where `compare` may train more
# seeds until the verdict is clear.
PAUSE = "pause=10000000"
LOOKS = (5, 8, 12, 20)  # the seeds after which `compare` may stop


class Compare(CliTest):
    def compare(self, *arguments, code=0, **options):
        return self.run_program("compare", *arguments, "--threads", "1", code=code, **options)

    def keep_pairs(self, count, folder="runs/compare/a/001"):
        """Makes the comparison one that was interrupted after the pair of this number."""
        record = json.loads((self.folder / folder / "comparison.json").read_text())
        self.write(f"{folder}/comparison.json",
                   json.dumps({**record, "pairs": record["pairs"][:count], "has_ended": False}))

    def refused(self, text, *arguments, code=2):
        result = self.compare(*arguments, code=code)
        self.assertIn(text, result.err, result)
        self.assertFalse((self.folder / "runs/compare").exists(), result)
        return result
