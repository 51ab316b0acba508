"""Every operation of Lua on every kind of value that a recipe can have: tests/torture/operands.lua, a sample of it."""

import re
import unittest

from program import SOURCE, CliTest


class Operands(CliTest):
    def test_every_operation_gives_a_value_or_a_plain_error(self):
        result = self.train("--every", "29", recipe=SOURCE / "tests" / "torture" / "operands.lua")
        values, errors = map(int, re.search(r"(\d+) values, (\d+) errors", result.err).groups())
        self.assertGreater(values, 1000, result)
        self.assertGreater(errors, 5000, result)


if __name__ == "__main__":
    unittest.main()
