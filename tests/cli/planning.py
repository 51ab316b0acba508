"""What the tests of `trainlab plan` share."""

from program import CliTest

# The error falls with the data: ten classes in 64 dimensions, of which few samples show little.
DIGITS = {"data": "lab.data.digits():split { train = 0.6, val = 0.2, test = 0.2, seed = 7 }",
          "model": "nn.Sequential { nn.Flatten(), nn.Linear(10) }", "batch": "16", "epochs": "4"}


class PlanTest(CliTest):
    def plan(self, *arguments):
        return self.run_program("plan", *arguments, "--json").json()

    def refused(self, arguments, message, code=2):
        self.assert_message(self.run_program("plan", *arguments, code=code), message)
