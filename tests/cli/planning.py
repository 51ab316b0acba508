"""What the tests of `trainlab plan` share."""

from program import CliTest

# The error falls with the data: ten classes in 64 dimensions, of which few samples show little.
DIGITS = {"data": "lab.data.digits():split { train = 0.6, val = 0.2, test = 0.2, seed = 7 }",
          "model": "nn.Sequential { nn.Flatten(), nn.Linear(10) }", "batch": "16", "epochs": "4"}
# E, A, B, alpha, beta of Besiroglu et al. 2024.
LAW = (1.81686, 482.00572, 2085.43420, 0.34781, 0.36585)


def loss(parameters, tokens):
    e, a, b, alpha, beta = LAW
    return e + a / parameters ** alpha + b / tokens ** beta


def table():
    """Runs without noise, as a CSV file of the usual columns."""
    rows = [(n, n * d, loss(n, n * d)) for n in (5e7, 2e8, 1e9, 4e9) for d in (3, 10, 30, 100)]
    return "parameters,tokens,loss\n" + "".join(f"{n},{d},{l!r}\n" for n, d, l in rows)


class PlanTest(CliTest):
    def plan(self, *arguments):
        return self.run_program("plan", *arguments, "--json").json()

    def refused(self, arguments, message, code=2):
        self.assert_message(self.run_program("plan", *arguments, code=code), message)
